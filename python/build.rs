//! Builds the programs `bitsort` and `bitset` into the wheel's folder of scripts.
//!
//! `maturin` makes a wheel of a library or of programs, not of both; but it takes whatever
//! lies in the folder `data` of pyproject.toml. It reads that folder after this has run.
//!
//! The code of the programs is in the library, so that the wheel has it once. They are copies
//! of a launcher, which loads the library.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{error, fs};

fn main() -> Result<(), Box<dyn error::Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    if env::var_os("CARGO_FEATURE_PROGRAMS").is_none() {
        return Ok(());
    }
    if folds_code()? {
        println!("cargo::rustc-cdylib-link-arg={FOLD_CODE}");
    }
    let here = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    for watched in ["../Cargo.toml", "../Cargo.lock", "launcher"] {
        println!("cargo::rerun-if-changed={watched}");
    }
    let built = build(&here.join("../Cargo.toml"))?;
    let scripts = here.join("bitsort.data/scripts");
    fs::create_dir_all(&scripts)?;
    for script in ["bitset", "bitsort"] {
        println!("cargo::rerun-if-changed=bitsort.data/scripts/{script}");
        fs::copy(built.join("bitsort-launcher"), scripts.join(script))?;
    }
    Ok(())
}

/// Tells the linker to keep one of several functions with the same instructions.
const FOLD_CODE: &str = "-Wl,--icf=all";

/// Whether the linker can do that, as LLD can: a small library is linked so.
fn folds_code() -> Result<bool, Box<dyn error::Error>> {
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let source = out.join("empty.rs");
    fs::write(&source, "")?;
    let mut rustc = Command::new(env::var_os("RUSTC").ok_or("cargo sets RUSTC")?);
    rustc.args(["--crate-type", "cdylib", "--target", &env::var("TARGET")?]);
    rustc.arg(format!("-Clink-arg={FOLD_CODE}")).arg("--out-dir").arg(&out).arg(&source);
    Ok(rustc.output()?.status.success())
}

/// Builds the launcher; gives its folder. The cargo that runs this holds a lock on its own
/// folder, so that it gets another one.
fn build(manifest: &Path) -> Result<PathBuf, Box<dyn error::Error>> {
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let target_folder = out.ancestors().nth(4).ok_or("OUT_DIR is not where cargo has it")?;
    let folder = target_folder.join("programs");
    let (host, target) = (env::var("HOST")?, env::var("TARGET")?);
    let mut cargo = Command::new(env::var_os("CARGO").ok_or("cargo sets CARGO")?);
    cargo.args(["build", "--locked", "--profile", "wheel-programs"]);
    cargo.args(["--package", "bitsort-launcher"]);
    cargo.arg("--manifest-path").arg(manifest).arg("--target-dir").arg(&folder);
    if host != target {
        cargo.arg("--target").arg(&target);
    }
    if !cargo.status()?.success() {
        return Err("the launcher of bitsort and bitset could not be built".into());
    }
    let folder = if host == target { folder } else { folder.join(target) };
    Ok(folder.join("wheel-programs"))
}
