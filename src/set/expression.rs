//! Expressions over named sets: `a & (b | c) - d`.
//!
//! Grammar, tightest first, as in Python: parentheses, names, names in quotation marks
//! (`"new york"`) and ranges `10..20` (both ends belong to it), then `-` (difference), `&`
//! (intersection), `^` (symmetric difference), `|` (union); each operator
//! groups from the left.
//!
//! In another notation than decimal, the ends of a range are written in it (`0x10..0xff`,
//! `10.0.0.1..10.0.0.9`), and a block of addresses is a range (`10.0.0.0/8`).

use super::join::Joined;
use super::operand::AsSet;
use super::plan::Plan;
use crate::error::Error;
use crate::number::{Line, Notation};
use crate::set::container::Op;
use crate::set::keyed::unquoted;
use std::collections::HashSet;
use std::iter::Peekable;
use std::str::CharIndices;

/// A parsed expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expression {
    /// A set by its name.
    Name(String),
    /// All values from the first to the last.
    Range(u64, u64),
    /// Values in all.
    And(Vec<Expression>),
    /// Values in any.
    Or(Vec<Expression>),
    /// Values in an odd number.
    Xor(Vec<Expression>),
    /// Values of the first that are in no other.
    AndNot(Vec<Expression>),
}

/// Why a text is not an [`Expression`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expression: byte {offset}: expected {expected}, found {found}")]
pub struct ParseExpressionError {
    /// The place of the error, in bytes from 0.
    pub offset: usize,
    /// What the parser expected there.
    pub expected: &'static str,
    /// What the parser found there.
    pub found: String,
}

/// Most parentheses inside of each other: more could exhaust the stack.
const MAX_DEPTH: usize = 200;

impl std::str::FromStr for Expression {
    type Err = ParseExpressionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse_in(text, Notation::DECIMAL)
    }
}

struct Parser<'t> {
    text: &'t str,
    notation: Notation,
    chars: Peekable<CharIndices<'t>>,
    depth: usize,
}

type Make = fn(Vec<Expression>) -> Expression;

/// Operators, the loosest first.
const OPERATORS: [(char, Make); 4] = [
    ('|', Expression::Or),
    ('^', Expression::Xor),
    ('&', Expression::And),
    ('-', Expression::AndNot),
];

impl Parser<'_> {
    fn peek(&mut self) -> Option<char> {
        while self.chars.next_if(|(_, c)| c.is_whitespace()).is_some() {}
        self.chars.peek().map(|&(_, c)| c)
    }

    fn offset(&mut self) -> usize {
        self.chars.peek().map_or(self.text.len(), |&(offset, _)| offset)
    }

    fn unexpected(&mut self, expected: &'static str) -> ParseExpressionError {
        let found =
            self.peek().map_or("the end".to_owned(), |c| format!("\"{}\"", c.escape_debug()));
        ParseExpressionError { offset: self.offset(), expected, found }
    }

    fn level(&mut self, level: usize) -> Result<Expression, ParseExpressionError> {
        let Some(&(operator, make)) = OPERATORS.get(level) else { return self.atom() };
        let first = self.level(level + 1)?;
        if self.peek() != Some(operator) {
            return Ok(first);
        }
        let mut operands = vec![first];
        while self.peek() == Some(operator) {
            self.chars.next();
            operands.push(self.level(level + 1)?);
        }
        Ok(make(operands))
    }

    fn atom(&mut self) -> Result<Expression, ParseExpressionError> {
        match self.peek() {
            Some('(') => {
                if self.depth == MAX_DEPTH {
                    return Err(self.unexpected("at most 200 parentheses in each other"));
                }
                self.depth += 1;
                self.chars.next();
                let inner = self.level(0)?;
                if self.peek() != Some(')') {
                    return Err(self.unexpected("a closing parenthesis"));
                }
                self.chars.next();
                self.depth -= 1;
                Ok(inner)
            }
            Some(c) if c.is_ascii_digit() || self.begins_range() => self.range(),
            Some('"') => self.quoted(),
            Some(c) if is_name(c) => {
                let start = self.offset();
                while self.chars.next_if(|&(_, c)| is_name(c)).is_some() {}
                let end = self.offset();
                Ok(Expression::Name(self.text[start..end].to_owned()))
            }
            _ => Err(self.unexpected("a name, a range or a parenthesis")),
        }
    }

    /// A name in quotation marks, as [`KeyName`](crate::set::keyed::KeyName) writes it.
    fn quoted(&mut self) -> Result<Expression, ParseExpressionError> {
        let start = self.offset();
        let inside = self.text.get(start + 1..).unwrap_or_default();
        let found = unquoted(inside.as_bytes()).and_then(|(name, rest)| {
            Some((String::from_utf8(name).ok()?, self.text.len() - rest.len()))
        });
        let Some((name, end)) = found else {
            let expected = "a name between two quotation marks, with escapes that make UTF-8";
            return Err(self.unexpected(expected));
        };
        while self.chars.next_if(|&(at, _)| at < end).is_some() {}
        Ok(Expression::Name(name))
    }

    /// The characters of the next number, without a `..` behind it.
    fn word(&mut self) -> &str {
        let rest = &self.text[self.offset()..];
        let end = rest.find(|c| !self.notation.may_have(c)).unwrap_or(rest.len());
        rest[..end].split("..").next().unwrap_or_default()
    }

    /// Whether a number with the form of a name comes next, such as `ff..1ff`.
    fn begins_range(&mut self) -> bool {
        let end = self.offset() + self.word().len();
        end > self.offset() && self.text[end..].starts_with("..")
    }

    /// A range, or a block of addresses.
    fn range(&mut self) -> Result<Expression, ParseExpressionError> {
        let whole = self.notation == Notation::IPV4 && self.word().contains('/');
        let [first, mut last] = self.number(whole)?;
        if !whole {
            for _ in 0..2 {
                if self.chars.next_if(|&(_, c)| c == '.').is_none() {
                    return Err(self.unexpected("a range, FIRST..LAST"));
                }
            }
            [_, last] = self.number(false)?;
        }
        Ok(Expression::Range(first, last))
    }

    /// The ends of the next number or block.
    fn number(&mut self, is_block: bool) -> Result<[u64; 2], ParseExpressionError> {
        let start = self.offset();
        let (notation, expected) = if is_block {
            (Notation::CIDR, "a block of addresses without bits behind its prefix")
        } else {
            (self.notation, self.notation.number_name())
        };
        let word = self.word();
        let (line, found) = (notation.parse_line(word.as_bytes()), format!("\"{word}\""));
        let end = start + word.len();
        while self.chars.next_if(|&(at, _)| at < end).is_some() {}
        match line {
            Line::Value(value) => Ok([value, value]),
            Line::Range { first, last } => Ok([first, last]),
            _ => Err(ParseExpressionError { offset: start, expected, found }),
        }
    }
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

impl Expression {
    /// Parses an expression whose ranges are written in a notation.
    ///
    /// # Errors
    ///
    /// If the text is no expression. The error has the place.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitsort::number::Notation;
    /// use bitsort::set::Expression;
    ///
    /// let block = Expression::parse_in("10.0.0.0/8", Notation::CIDR)?;
    /// assert_eq!(block, Expression::Range(0x0A00_0000, 0x0AFF_FFFF));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn parse_in(text: &str, notation: Notation) -> Result<Self, ParseExpressionError> {
        let (notation, chars) = (notation.without_ranges(), text.char_indices().peekable());
        let mut parser = Parser { text, notation, chars, depth: 0 };
        let expression = parser.level(0)?;
        match parser.peek() {
            None => Ok(expression),
            Some(_) => Err(parser.unexpected("an operator (- & ^ |) or the end")),
        }
    }

    /// The names in it, each once, in order.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        let (mut names, mut known) = (Vec::new(), HashSet::new());
        self.collect_names(&mut |name| {
            if known.insert(name) {
                names.push(name);
            }
        });
        names
    }

    fn collect_names<'e>(&'e self, visit: &mut impl FnMut(&'e str)) {
        match self {
            Self::Name(name) => visit(name),
            Self::Range(..) => {}
            Self::And(all) | Self::Or(all) | Self::Xor(all) | Self::AndNot(all) => {
                for operand in all {
                    operand.collect_names(visit);
                }
            }
        }
    }

    /// The set of the expression. `set` gives the set of a name.
    ///
    /// # Errors
    ///
    /// If `set` gives no set for a name.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitsort::set::{Expression, IntegerSet};
    ///
    /// let (a, b) = (IntegerSet::from([1, 2, 3]), IntegerSet::from([3, 4]));
    /// let expression: Expression = "(a | b) - 2..3".parse()?;
    /// let found = expression.eval(|name| match name {
    ///     "a" => Some(&a),
    ///     "b" => Some(&b),
    ///     _ => None,
    /// })?;
    /// assert_eq!(found.to_set()?, IntegerSet::from([1, 4]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn eval<'a, T: AsSet + ?Sized + 'a>(
        &self,
        set: impl Fn(&str) -> Option<&'a T>,
    ) -> Result<Joined<'a>, Error> {
        let plan = self.plan(&|name| {
            let unknown = || Error::usage(format!("no set is given for {}", name.escape_debug()));
            set(name).map(Plan::of).ok_or_else(unknown)
        })?;
        Ok(Joined::of(plan))
    }

    fn plan<'a>(&self, set: &impl Fn(&str) -> Result<Plan<'a>, Error>) -> Result<Plan<'a>, Error> {
        let (op, operands) = match self {
            Self::Name(name) => return set(name),
            Self::Range(first, last) => return Ok(Plan::range(*first, *last)),
            Self::And(operands) => (Op::And, operands),
            Self::Or(operands) => (Op::Or, operands),
            Self::Xor(operands) => (Op::Xor, operands),
            Self::AndNot(operands) => (Op::AndNot, operands),
        };
        let plans = operands.iter().map(|operand| operand.plan(set)).collect::<Result<_, _>>()?;
        Ok(Plan::join(op, plans))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::set::IntegerSet;

    fn shown(expression: &Expression) -> String {
        let (operator, operands) = match expression {
            Expression::Name(name) => return name.clone(),
            Expression::Range(first, last) => return format!("{first}..{last}"),
            Expression::And(operands) => ("&", operands),
            Expression::Or(operands) => ("|", operands),
            Expression::Xor(operands) => ("^", operands),
            Expression::AndNot(operands) => ("-", operands),
        };
        format!("({})", operands.iter().map(shown).collect::<Vec<_>>().join(operator))
    }

    #[test]
    fn operators_bind_as_in_python() {
        for (text, expected) in [
            ("a & (b | c) - d", "(a&((b|c)-d))"),
            ("a|b^c&d-e", "(a|(b^(c&(d-e))))"),
            ("a - b - c", "(a-b-c)"),
            ("a - (b - c) - d", "(a-(b-c)-d)"),
            (" 10..20 & ids_2", "(10..20&ids_2)"),
            (r#""new york" - "a\"\x41" "#, "(new york-a\"A)"),
        ] {
            assert_eq!(shown(&text.parse().unwrap()), expected);
        }
    }

    #[test]
    fn ranges_are_in_the_notation() {
        for (notation, text, expected) in [
            (Notation::HEX, "a & a..1F - 0xff..0XFFF", "(a&(10..31-255..4095))"),
            (Notation::HEX, "face | 10..10", "(face|16..16)"),
            (Notation::HEX.with_ranges(), "f..f-cafe", "(15..15-cafe)"),
            (Notation::IPV4, "0.0.0.1..0.0.1.0&a", "(1..256&a)"),
            (Notation::CIDR, "(a|b)-0.0.1.0/24", "((a|b)-256..511)"),
            (Notation::IPV4.with_ranges(), "0.0.0.0/0 - 0.0.0.7/32", "(0..4294967295-7..7)"),
        ] {
            let parsed = Expression::parse_in(text, notation);
            assert_eq!(shown(&parsed.unwrap()), expected, "{text}");
        }
        for (notation, text, offset) in [
            (Notation::HEX, "a & 10", 6),
            (Notation::HEX, "10000000000000000..a", 0),
            (Notation::HEX, "a - 0x..4", 4),
            (Notation::IPV4, "a & 10.0.0.1", 12),
            (Notation::IPV4, "10.0.0..10.0.0.1", 0),
            (Notation::IPV4, "a - 10.0.0.1/8", 4),
            (Notation::CIDR, "10.0.0.0/8..11.0.0.0", 10),
            (Notation::CIDR, "5..7", 0),
        ] {
            assert_eq!(Expression::parse_in(text, notation).unwrap_err().offset, offset, "{text}");
        }
    }

    #[test]
    fn an_operation_of_nothing_has_no_values() {
        for make in [Expression::And, Expression::Or, Expression::Xor, Expression::AndNot] {
            let found = make(Vec::new()).eval(|_| None::<&IntegerSet>).unwrap();
            assert_eq!(found.count().unwrap(), 0);
        }
    }

    #[test]
    fn mistakes_are_shown_where_they_are() {
        for (text, offset) in [
            ("", 0),
            ("a &", 3),
            ("(a", 2),
            ("a b", 2),
            ("a)", 1),
            ("5", 1),
            ("5..", 3),
            ("99999999999999999999..1", 0),
            ("a & ~b", 4),
            ("a & \"b", 4),
            (r#""\xFF""#, 0),
        ] {
            assert_eq!(text.parse::<Expression>().unwrap_err().offset, offset, "{text}");
        }
        assert!("(".repeat(100_000).parse::<Expression>().is_err());
        assert!("a-".repeat(100_000).parse::<Expression>().is_err());
        let long = format!("{}b", "a - c & ".repeat(100_000));
        assert_eq!(long.parse::<Expression>().unwrap().names(), ["a", "c", "b"]);
    }
}
