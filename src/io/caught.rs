//! Panics of the crates that read tables. They panic at some damage, and then the file is at fault.

use std::cell::Cell;
use std::panic::{set_hook, take_hook};

thread_local! {
    static IS_CATCHING: Cell<bool> = const { Cell::new(false) };
}

/// Calls a crate that reads a part of a file. A panic becomes an error, after which the reader must
/// not be used.
#[cfg(feature = "columnar")]
pub(super) fn caught<T>(read: impl FnOnce() -> std::io::Result<T>) -> std::io::Result<T> {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    let outer = IS_CATCHING.replace(true);
    let read = catch_unwind(AssertUnwindSafe(read));
    IS_CATCHING.set(outer);
    read.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let what = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic");
        let what = format!("its parts contradict each other ({what})");
        Err(std::io::Error::new(std::io::ErrorKind::InvalidData, what))
    })
}

/// Keeps quiet panics that become errors. Calls `otherwise` after the report of any other panic.
fn wrap_hook(otherwise: fn()) {
    let hook = take_hook();
    set_hook(Box::new(move |panic| {
        if !IS_CATCHING.get() {
            hook(panic);
            otherwise();
        }
    }));
}

/// Keeps panics quiet that become errors: the crates that read Parquet and Arrow files panic at some
/// damaged ones, which this library reports as errors. Without this call, the panic hook prints such
/// a panic, too.
///
/// It wraps the panic hook of the process, so call it once, at the start. The Python package does.
pub fn hush_caught_panics() {
    wrap_hook(|| {});
}

/// The same; any other panic ends the process at once, as other threads might wait for the one that
/// panicked.
#[cfg(feature = "cli")]
pub(crate) fn abort_on_other_panics() {
    wrap_hook(|| std::process::abort());
}

#[cfg(all(test, feature = "columnar"))]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_an_error() {
        assert_eq!(caught(|| Ok(7)).unwrap(), 7);
        let error = caught(|| -> std::io::Result<()> { panic!("a page is empty") }).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::InvalidData);
        assert!(error.to_string().contains("a page is empty") && !IS_CATCHING.get());
    }
}
