//! Expressions over sets: what is printed is parsed again, and what is parsed
//! is evaluated as plain words of bits say.
#![no_main]

use arbitrary::Arbitrary;
use bitsort::set::{Expression, IntegerSet};
use libfuzzer_sys::fuzz_target;

const UNIVERSE: u64 = 3 << 16;
const NAMES: [&str; 4] = ["a", "b2", "_c", "é"];

#[derive(Debug, Arbitrary)]
struct Case<'a> {
    sets: [(bool, Vec<(u16, u16)>); 4],
    tree: Tree,
    text: &'a str,
}

#[derive(Debug, Arbitrary)]
enum Tree {
    Name(u8),
    Range(u32, u32),
    Join(u8, bool, Box<Tree>, Box<Tree>),
}

/// As a user would write it, with more parentheses than needed or spaces.
fn print(tree: &Tree, out: &mut String) {
    match tree {
        Tree::Name(name) => out.push_str(NAMES[usize::from(name % 4)]),
        Tree::Range(first, last) => *out += &format!("{first}..{last}"),
        Tree::Join(op, spaced, a, b) => {
            out.push_str(if *spaced { "( " } else { "(" });
            print(a, out);
            out.push_str([" & ", "|", "\t^ ", " -"][usize::from(op % 4)]);
            print(b, out);
            out.push(')');
        }
    }
}

/// Bit `v % 64` of word `v / 64` stands for value `v`.
type Model = Vec<u64>;

fn join(op: usize, a: &[u64], b: &[u64]) -> Model {
    let one: fn(u64, u64) -> u64 =
        [|a, b| a & b, |a, b| a | b, |a, b| a ^ b, |a, b: u64| a & !b][op];
    a.iter().zip(b).map(|(&a, &b)| one(a, b)).collect()
}

fn add(model: &mut Model, first: u64, last: u64) {
    for value in first..=last.min(UNIVERSE - 1) {
        if value % 64 == 0 && value + 63 <= last {
            model[(value / 64) as usize] = u64::MAX;
        } else {
            model[(value / 64) as usize] |= 1 << (value % 64);
        }
    }
}

fn range(first: u64, last: u64) -> Model {
    let mut model = vec![0; UNIVERSE as usize / 64];
    add(&mut model, first, last);
    model
}

fn values(model: &[u64]) -> impl Iterator<Item = u64> {
    let filled = (0_u64..).step_by(64).zip(model).filter(|(_, word)| **word != 0);
    filled.flat_map(|(base, word)| {
        (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| base + bit)
    })
}

fn of_tree(tree: &Tree, sets: &[Model; 4]) -> Model {
    match tree {
        Tree::Name(name) => sets[usize::from(name % 4)].clone(),
        Tree::Range(first, last) => range(u64::from(*first), u64::from(*last)),
        Tree::Join(op, _, a, b) => join(usize::from(op % 4), &of_tree(a, sets), &of_tree(b, sets)),
    }
}

fn of_expression(expression: &Expression, sets: &[Model; 4]) -> Option<Model> {
    let (op, operands) = match expression {
        Expression::Name(name) => {
            return Some(sets[NAMES.iter().position(|known| known == name)?].clone());
        }
        Expression::Range(first, last) => return Some(range(*first, *last)),
        Expression::And(operands) => (0, operands),
        Expression::Or(operands) => (1, operands),
        Expression::Xor(operands) => (2, operands),
        Expression::AndNot(operands) => (3, operands),
    };
    let mut models = operands.iter().map(|operand| of_expression(operand, sets));
    let first = models.next()??;
    models.try_fold(first, |so_far, model| Some(join(op, &so_far, &model?)))
}

/// A range takes memory; the model has no more than its universe.
fn narrow(tree: Expression) -> Expression {
    let all = |operands: Vec<Expression>| operands.into_iter().map(narrow).collect();
    match tree {
        Expression::Range(first, last) => Expression::Range(first % UNIVERSE, last % UNIVERSE),
        Expression::Name(name) => Expression::Name(name),
        Expression::And(operands) => Expression::And(all(operands)),
        Expression::Or(operands) => Expression::Or(all(operands)),
        Expression::Xor(operands) => Expression::Xor(all(operands)),
        Expression::AndNot(operands) => Expression::AndNot(all(operands)),
    }
}

fn size(tree: &Tree) -> usize {
    match tree {
        Tree::Name(_) | Tree::Range(..) => 1,
        Tree::Join(_, _, a, b) => size(a) + size(b),
    }
}

fn check(expression: &Expression, sets: &[IntegerSet; 4], expected: &[u64]) {
    let found = expression
        .eval(|name| NAMES.iter().position(|known| *known == name).map(|index| &sets[index]));
    assert!(found.unwrap().to_set().unwrap().iter().eq(values(expected)));
}

fuzz_target!(|case: Case| {
    let runs = case.sets.each_ref().map(|(_, runs)| {
        let ends = runs.iter().take(40).map(|&(first, len)| {
            let first = u64::from(first) * 3;
            (first, (first + u64::from(len % 700)).min(UNIVERSE - 1))
        });
        ends.collect::<Vec<_>>()
    });
    let models = runs.each_ref().map(|runs| {
        let mut model = range(1, 0);
        runs.iter().for_each(|&(first, last)| add(&mut model, first, last));
        model
    });
    let sets: [IntegerSet; 4] = std::array::from_fn(|index| {
        let (is_inserted, mut set) = (case.sets[index].0, IntegerSet::new());
        for &(first, last) in &runs[index] {
            if is_inserted {
                set.extend(first..=last);
            } else {
                set.insert_range(first..=last);
            }
        }
        set
    });
    if size(&case.tree) <= 40 {
        let mut text = String::new();
        print(&case.tree, &mut text);
        // Nested deeper than is taken, or a number of more than the universe.
        if let Ok(expression) = text.parse::<Expression>() {
            let model = of_tree(&case.tree, &models);
            assert_eq!(of_expression(&expression, &models).as_ref(), Some(&model));
            let narrowed = narrow(expression);
            check(&narrowed, &sets, &of_expression(&narrowed, &models).unwrap());
        } else {
            assert!(size(&case.tree) > 1, "{text}");
        }
    }
    match case.text.parse::<Expression>() {
        Ok(expression) => {
            let expression = narrow(expression);
            if case.text.len() < 200
                && let Some(expected) = of_expression(&expression, &models)
            {
                check(&expression, &sets, &expected);
            }
        }
        Err(error) => {
            assert!(case.text.is_char_boundary(error.offset), "{error}");
            assert!(!error.to_string().is_empty());
        }
    }
});
