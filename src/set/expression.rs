//! Expressions over named sets: `a & (b | c) - d`.
//!
//! Grammar, tightest first, as in Python: parentheses, names and ranges
//! `10..20` (both ends belong to it), then `-` (difference), `&`
//! (intersection), `^` (symmetric difference), `|` (union); each operator
//! groups from the left.

use super::plan::Plan;
use crate::container::Op;
use std::iter::Peekable;
use std::str::CharIndices;

/// A parsed expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expression {
    /// A set by its name.
    Name(String),
    /// All values from the first to the last.
    Range(u64, u64),
    /// Values in both.
    And(Box<Expression>, Box<Expression>),
    /// Values in either.
    Or(Box<Expression>, Box<Expression>),
    /// Values in one of the two.
    Xor(Box<Expression>, Box<Expression>),
    /// Values of the first that are not in the second.
    AndNot(Box<Expression>, Box<Expression>),
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

/// Deeper nesting is refused: no expression shall exhaust the stack.
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

type Make = fn(Box<Expression>, Box<Expression>) -> Expression;

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
        let mut left = self.level(level + 1)?;
        let mut joined = 0;
        while self.peek() == Some(operator) {
            joined += 1;
            if self.depth + joined > MAX_DEPTH {
                return Err(self.unexpected("less nesting, at most 200 levels"));
            }
            self.chars.next();
            let right = self.level(level + 1)?;
            left = make(Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    fn atom(&mut self) -> Result<Expression, ParseExpressionError> {
        match self.peek() {
            Some('(') => {
                if self.depth == MAX_DEPTH {
                    return Err(self.unexpected("less nesting, at most 200 levels"));
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
            Some(c) if is_name(c) => {
                let start = self.offset();
                while self.chars.next_if(|&(_, c)| is_name(c)).is_some() {}
                let end = self.offset();
                Ok(Expression::Name(self.text[start..end].to_owned()))
            }
            _ => Err(self.unexpected("a name, a range or a parenthesis")),
        }
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
        let mut names = Vec::new();
        self.collect_names(&mut names);
        names
    }

    fn collect_names<'e>(&'e self, names: &mut Vec<&'e str>) {
        match self {
            Self::Name(name) if !names.contains(&name.as_str()) => names.push(name),
            Self::Name(_) | Self::Range(..) => {}
            Self::And(a, b) | Self::Or(a, b) | Self::Xor(a, b) | Self::AndNot(a, b) => {
                a.collect_names(names);
                b.collect_names(names);
            }
        }
    }

    /// The plan that computes it; `set` gives the set of a name.
    pub(crate) fn plan<'a, E>(
        &self,
        set: &impl Fn(&str) -> Result<Plan<'a>, E>,
    ) -> Result<Plan<'a>, E> {
        let (op, a, b) = match self {
            Self::Name(name) => return set(name),
            Self::Range(first, last) => return Ok(Plan::Range(*first, *last)),
            Self::And(a, b) => (Op::And, a, b),
            Self::Or(a, b) => (Op::Or, a, b),
            Self::Xor(a, b) => (Op::Xor, a, b),
            Self::AndNot(a, b) => (Op::AndNot, a, b),
        };
        Ok(Plan::Join(op, vec![a.plan(set)?, b.plan(set)?]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(expression: &Expression) -> String {
        let (operator, a, b) = match expression {
            Expression::Name(name) => return name.clone(),
            Expression::Range(first, last) => return format!("{first}..{last}"),
            Expression::And(a, b) => ('&', a, b),
            Expression::Or(a, b) => ('|', a, b),
            Expression::Xor(a, b) => ('^', a, b),
            Expression::AndNot(a, b) => ('-', a, b),
        };
        format!("({}{operator}{})", shown(a), shown(b))
    }

    #[test]
    fn operators_bind_as_in_python() {
        for (text, expected) in [
            ("a & (b | c) - d", "(a&((b|c)-d))"),
            ("a|b^c&d-e", "(a|(b^(c&(d-e))))"),
            ("a - b - c", "((a-b)-c)"),
            (" 10..20 & ids_2", "(10..20&ids_2)"),
        ] {
            assert_eq!(shown(&text.parse().unwrap()), expected);
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
        ] {
            assert_eq!(text.parse::<Expression>().unwrap_err().offset, offset, "{text}");
        }
        assert!("(".repeat(100_000).parse::<Expression>().is_err());
        assert!("a-".repeat(100_000).parse::<Expression>().is_err());
    }
}
