//! The options for formats of numbers and of sets. The names are those of the library.

use crate::number::Format;
use crate::set::SetFormat;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

/// Parses the name of a format of numbers, and lists all of them in help texts. The notation of text
/// has an option of its own.
pub(super) fn of_numbers() -> impl TypedValueParser<Value = Format> {
    let names = Format::ALL.map(|format| PossibleValue::new(format.name()));
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Format>())
}

/// The same for a format of sets.
pub(super) fn of_sets() -> impl TypedValueParser<Value = SetFormat> {
    let names = SetFormat::ALL.map(|format| {
        let name = PossibleValue::new(format.name()).help(format.about());
        name.hide(!format.is_built_in())
    });
    PossibleValuesParser::new(names).try_map(|name| name.parse::<SetFormat>())
}
