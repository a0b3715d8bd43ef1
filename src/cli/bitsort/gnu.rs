//! Options of GNU sort: those that are accepted, and advice for the others.

use clap::error::{ContextKind, ContextValue};

// Options that ask for what is done anyway.
#[derive(Debug, clap::Args)]
pub(super) struct GnuArgs {
    /// Accepted, and changes nothing: the order is always numeric
    #[arg(short, long, overrides_with = "numeric_sort")]
    numeric_sort: bool,

    /// Accepted, and changes nothing: equal numbers cannot be told apart
    #[arg(short, long, overrides_with = "stable")]
    stable: bool,

    /// Accepted, and changes nothing: the order is always numeric
    #[arg(long, value_name = "ORDER")]
    sort: Option<Order>,
}

/// An order that `--sort` accepts.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Order {
    /// From the smallest number to the largest
    Numeric,
}

/// The replacement for an option of GNU sort that was typed.
pub(super) fn advice(told: &clap::Error) -> Option<&'static str> {
    match told.get(ContextKind::InvalidArg)? {
        ContextValue::String(typed) => instead(typed.split('=').next()?),
        _ => None,
    }
}

fn instead(option: &str) -> Option<&'static str> {
    Some(match option {
        "-k" | "--key" => {
            "--column N takes the numbers from the N-th field, whose rows are not printed"
        }
        "-t" | "--field-separator" => "--delimiter BYTE says what is between fields, with --column",
        "-g" | "--general-numeric-sort" => {
            "numbers are naturals below 2^64: signs, fractions and exponents are malformed"
        }
        "-R" | "--random-sort" | "--random-source" => "bitsort cannot shuffle: shuf does",
        "-M"
        | "--month-sort"
        | "--human-numeric-sort"
        | "--version-sort"
        | "-d"
        | "--dictionary-order"
        | "-f"
        | "--ignore-case"
        | "-i"
        | "--ignore-nonprinting" => {
            "lines are natural numbers, in numeric order: sort orders other text"
        }
        "-b" | "--ignore-leading-blanks" => "leave it out: blanks around numbers are accepted",
        "--distinct" | "--uniq" | "--dedup" => "--unique drops duplicates of a number",
        "--only-dups" | "--duplicates" | "--dups" => {
            "--repeated keeps the numbers that occur more than once"
        }
        "--desc" | "--descending" => "--reverse sorts from the largest number to the smallest",
        "--signed" => "negative numbers are not read",
        "--debug" => "--explain prints what would be done",
        "--batch-size" | "--compress-program" => {
            "leave it out: temporary files hold only the low bits of values, and are read at once"
        }
        _ => return None,
    })
}
