//! The option for a format of sets. The names are those of the library.

use crate::set::SetFormat;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

/// Parses the name of a format, and lists all of them in help texts.
pub(super) fn parser() -> impl TypedValueParser<Value = SetFormat> {
    let names = SetFormat::ALL.map(|format| {
        let name = PossibleValue::new(format.name()).help(format.about());
        name.hide(!format.is_built_in())
    });
    PossibleValuesParser::new(names).try_map(|name| name.parse::<SetFormat>())
}
