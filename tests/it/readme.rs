//! The console blocks of the README print what they say.

use crate::workspace::Workspace;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Commands and what they print, from the blocks marked `console`.
fn examples(text: &str) -> Vec<(String, String)> {
    let mut examples: Vec<(String, String)> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        if line.starts_with("```") {
            inside = line == "```console";
        } else if let Some(command) = line.strip_prefix("$ ").filter(|_| inside) {
            examples.push((command.to_owned(), String::new()));
        } else if let (true, Some((_, output))) = (inside, examples.last_mut()) {
            *output += line;
            *output += "\n";
        }
    }
    examples
}

#[test]
fn the_examples_of_the_readme_print_what_it_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let work = Workspace::new();
    fs::copy(root.join("examples/data/ids.txt"), work.file("ids.txt")).unwrap();
    let programs = Path::new(env!("CARGO_BIN_EXE_bitsort")).parent().unwrap();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let examples = examples(&fs::read_to_string(root.join("README.md")).unwrap());
    assert!(examples.len() >= 8, "{} examples", examples.len());
    for (command, expected) in examples {
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(format!("{command} 2>&1")).current_dir(work.path()).env("PATH", &path);
        let output = String::from_utf8(shell.output().unwrap().stdout).unwrap();
        assert_eq!(output, expected, "$ {command}");
    }
}
