//! The library against a model, and the program as its users meet it.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod architecture;
mod command;
mod faults;
mod library;
mod limits;
mod model;
mod workspace;
