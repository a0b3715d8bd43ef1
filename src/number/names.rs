//! Types whose values have names: they are printed as their name, and parsed from it.

/// Makes a type that has `ALL` and `name` print as its name and parse from it, and makes the error
/// for other texts.
macro_rules! named {
    ($type:ident, $error:ident) => {
        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }

        #[doc = concat!("Why a text is not the name of a [`", stringify!($type), "`].")]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
        #[error("expected one of {}", $type::ALL.map($type::name).join(", "))]
        pub struct $error;

        impl std::str::FromStr for $type {
            type Err = $error;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Self::ALL.into_iter().find(|found| found.name() == text).ok_or($error)
            }
        }
    };
}

pub(crate) use named;
