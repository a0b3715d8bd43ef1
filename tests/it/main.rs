//! The library against a model, and the program as its users meet it.

mod architecture;
mod command;
mod faults;
mod library;
mod limits;
mod model;
mod workspace;
