//! Writes manual pages, completions for shells, and the text of `--version`.

use super::stdout::stdout;
use crate::error::{Error, Result};
use crate::kernel::Level;
use clap::Command;
use clap_complete::Shell;
use clap_mangen::Man;
use std::io::{self, Write};
use std::sync::LazyLock;

/// What a program can write about itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Generate {
    /// A manual page
    Man,
    /// Completions for bash
    Bash,
    /// Completions for zsh
    Zsh,
    /// Completions for fish
    Fish,
}

/// The version, the features that the program was built with, and the vector
/// instructions that it uses here.
pub(super) fn version() -> &'static str {
    static VERSION: LazyLock<String> = LazyLock::new(described);
    &VERSION
}

fn described() -> String {
    let features = [
        ("cli", true),
        ("compression", cfg!(feature = "compression")),
        ("columnar", cfg!(feature = "columnar")),
    ];
    let features: Vec<&str> =
        features.into_iter().filter_map(|(name, is_built)| is_built.then_some(name)).collect();
    let (version, features) = (env!("CARGO_PKG_VERSION"), features.join(", "));
    format!("{version}\nfeatures: {features}\nSIMD: {}", Level::best().name())
}

/// Writes the page or the completions to standard output.
pub(super) fn write(mut command: Command, what: Generate) -> Result<()> {
    let mut out = Vec::new();
    let shell = match what {
        Generate::Man => None,
        Generate::Bash => Some(Shell::Bash),
        Generate::Zsh => Some(Shell::Zsh),
        Generate::Fish => Some(Shell::Fish),
    };
    match shell {
        Some(shell) => {
            let name = command.get_name().to_owned();
            clap_complete::generate(shell, &mut command, name, &mut out);
        }
        None => manual(&mut command, &mut out).map_err(Error::io("write", "-"))?,
    }
    stdout()?.write_all(&out).map_err(Error::io("write", "-"))
}

/// Date of the last change of options.
const MANUAL_DATE: &str = "2026-11-22";

/// One page, with a section for each command.
fn manual(command: &mut Command, out: &mut Vec<u8>) -> io::Result<()> {
    command.build();
    // A page is for any machine, whatever its vector instructions are.
    let page = command.clone().long_version(env!("CARGO_PKG_VERSION"));
    Man::new(page).date(MANUAL_DATE).manual("User Commands").render(out)?;
    for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help") {
        commands(sub, out)?;
    }
    Ok(())
}

fn commands(command: &Command, out: &mut Vec<u8>) -> io::Result<()> {
    let name = command.get_bin_name().unwrap_or(command.get_name()).to_uppercase();
    writeln!(out, ".SH \"{name}\"")?;
    let page = Man::new(command.clone());
    page.render_synopsis_section(out)?;
    page.render_description_section(out)?;
    page.render_options_section(out)?;
    for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help") {
        commands(sub, out)?;
    }
    Ok(())
}
