//! What several fuzz targets need.

mod damage;
mod file;
mod heap;
mod line;
mod values;

pub use damage::{Edit, damage, seal};
pub use file::{MemoryFile, folder};
pub use heap::peak_of;
pub use line::{Meaning, meaning};
pub use values::{Piece, values_of};
