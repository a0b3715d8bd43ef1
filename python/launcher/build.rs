//! Lets the library find the stand-ins for Python's names in the programs.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if env::var("CARGO_CFG_TARGET_VENDOR").is_ok_and(|vendor| vendor == "apple") {
        println!("cargo::rustc-link-arg-bins=-Wl,-exported_symbol,_Py*,-exported_symbol,__Py*");
    } else {
        // The library must find these names and no others.
        for names in ["Py*", "_Py*"] {
            println!("cargo::rustc-link-arg-bins=-Wl,--export-dynamic-symbol={names}");
        }
    }
}
