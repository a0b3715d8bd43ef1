//! Expressions over named sets: `a & (b | c) - d`.
//!
//! Grammar, tightest first, as in Python: parentheses, names, names in quotation marks
//! (`"new york"`) and ranges `10..20` (both ends belong to it), then `-` (difference), `&`
//! (intersection), `^` (symmetric difference), `|` (union); each operator
//! groups from the left.

use super::join::Joined;
use super::operand::AsSet;
use super::plan::Plan;
use crate::error::Error;
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

/// Why a text is no [`Expression`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expression: byte {offset}: expected {expected}, found {found}")]
pub struct ParseExpressionError {
    /// Where, in bytes from 0.
    pub offset: usize,
    /// What could have been there.
    pub expected: &'static str,
    /// What was there.
    pub found: String,
}

/// More parentheses in each other are refused: no expression shall exhaust the stack.
const MAX_DEPTH: usize = 200;

impl std::str::FromStr for Expression {
    type Err = ParseExpressionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut parser = Parser { text, chars: text.char_indices().peekable(), depth: 0 };
        let expression = parser.level(0)?;
        match parser.peek() {
            None => Ok(expression),
            Some(_) => Err(parser.unexpected("an operator (- & ^ |) or the end")),
        }
    }
}

struct Parser<'t> {
    text: &'t str,
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
            Some(c) if c.is_ascii_digit() => {
                let first = self.number()?;
                for _ in 0..2 {
                    if self.chars.next_if(|&(_, c)| c == '.').is_none() {
                        return Err(self.unexpected("a range, FIRST..LAST"));
                    }
                }
                Ok(Expression::Range(first, self.number()?))
            }
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
            let expected = "a name in quotation marks, with escapes that make UTF-8";
            return Err(self.unexpected(expected));
        };
        while self.chars.next_if(|&(at, _)| at < end).is_some() {}
        Ok(Expression::Name(name))
    }

    fn number(&mut self) -> Result<u64, ParseExpressionError> {
        let start = self.offset();
        while self.chars.next_if(|(_, c)| c.is_ascii_digit()).is_some() {}
        let end = self.offset();
        let digits = &self.text[start..end];
        digits.parse().map_err(|_| ParseExpressionError {
            offset: start,
            expected: "a number below 2^64",
            found: format!("\"{digits}\""),
        })
    }
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

impl Expression {
    /// Names that occur in it, each once, in order.
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

    /// The set that the expression stands for; `set` gives the set of a name.
    ///
    /// # Errors
    ///
    /// If `set` knows no set of a name.
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
            let unknown = || Error::usage(format!("no set is given for {name}"));
            set(name).map(Plan::of).ok_or_else(unknown)
        })?;
        Ok(Joined::of(plan))
    }

    fn plan<'a>(&self, set: &impl Fn(&str) -> Result<Plan<'a>, Error>) -> Result<Plan<'a>, Error> {
        let (op, operands) = match self {
            Self::Name(name) => return set(name),
            Self::Range(first, last) => return Ok(Plan::Range(*first, *last)),
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
