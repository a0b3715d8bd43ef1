//! The console blocks of the README and of the documents print what they say.

use crate::workspace::Workspace;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Commands and what they print, from the blocks marked `console`. A command that
/// ends in `\\` goes on in the next line, behind `> `.
fn examples(text: &str) -> Vec<(String, String)> {
    let mut examples: Vec<(String, String)> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        if line.starts_with("```") {
            inside = line == "```console";
        } else if let Some(command) = line.strip_prefix("$ ").filter(|_| inside) {
            examples.push((command.to_owned(), String::new()));
        } else if let (true, Some((command, output))) = (inside, examples.last_mut()) {
            match line.strip_prefix("> ").filter(|_| command.ends_with('\\')) {
                Some(more) => *command = format!("{command}\n{more}"),
                None => output.extend([line, "\n"]),
            }
        }
    }
    examples
}

/// Runs all commands of a document in one folder, one after the other.
fn check(name: &str, least: usize) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let work = Workspace::new();
    fs::copy(root.join("examples/data/ids.txt"), work.file("ids.txt")).unwrap();
    let programs = Path::new(env!("CARGO_BIN_EXE_bitsort")).parent().unwrap();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let examples = examples(&fs::read_to_string(root.join(name)).unwrap());
    assert!(examples.len() >= least, "{name}: {} examples", examples.len());
    for (command, expected) in examples {
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(format!("exec 2>&1; {command}"));
        shell.current_dir(work.path()).env("PATH", &path).env("LC_ALL", "C");
        let output = String::from_utf8(shell.output().unwrap().stdout).unwrap();
        assert_eq!(output, expected, "{name}: $ {command}");
    }
}

#[test]
fn the_examples_of_the_readme_print_what_it_says() {
    check("README.md", 20);
}

#[cfg(feature = "compression")]
#[test]
fn the_examples_of_the_cookbook_print_what_it_says() {
    check("docs/cookbook.md", 90);
}

#[test]
fn the_differences_to_gnu_sort_are_what_the_document_says() {
    let version = Command::new("sort").arg("--version").output().unwrap().stdout;
    if String::from_utf8_lossy(&version).contains("GNU coreutils") {
        check("docs/sort-differences.md", 35);
    } else {
        println!("skipped: sort is not that of GNU");
    }
}

#[cfg(feature = "compression")]
#[test]
fn the_examples_of_the_other_documents_print_what_they_say() {
    check("docs/tuning.md", 10);
    check("docs/algorithm.md", 6);
    check("docs/interchange.md", 3);
}

/// The anchors of a document, as they are made of its headings.
fn anchors(text: &str) -> Vec<String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let kept = |letter: &char| letter.is_alphanumeric() || " -_".contains(*letter);
    let anchor = |heading: &str| heading.to_lowercase().chars().filter(kept).collect::<String>();
    headings.map(|line| anchor(line.trim_start_matches('#').trim()).replace(' ', "-")).collect()
}

#[test]
fn links_between_documents_lead_somewhere() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut documents = vec![root.join("README.md"), root.join("CONTRIBUTING.md")];
    let others = fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path());
    documents.extend(others.filter(|path| path.extension().is_some_and(|end| end == "md")));
    let mut links = 0;
    for document in &documents {
        let text = fs::read_to_string(document).unwrap();
        let targets = text.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
        for (target, _) in targets.filter(|(target, _)| !target.starts_with("https://")) {
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let path = match file {
                "" => document.clone(),
                _ => document.parent().unwrap().join(file),
            };
            let place = format!("{}: {target}", document.display());
            assert!(path.exists(), "{place}");
            let known = || anchors(&fs::read_to_string(&path).unwrap());
            assert!(anchor.is_empty() || known().iter().any(|known| known == anchor), "{place}");
            links += 1;
        }
    }
    assert!(links >= 80, "{links} links");
}

#[test]
fn the_document_on_benchmarks_lists_every_record() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let listed = fs::read_to_string(root.join("docs/benchmarks.md")).unwrap();
    let files = fs::read_dir(root.join("benches/record")).unwrap();
    let paths = files.map(|entry| entry.unwrap().path());
    let records: Vec<_> =
        paths.filter(|path| path.extension().is_some_and(|e| e == "md")).collect();
    assert!(!records.is_empty());
    for record in records {
        let record = record.file_name().unwrap().to_str().unwrap();
        let link = format!("](../benches/record/{record})");
        assert!(listed.contains(&link), "{record}: run `scripts/bench --report`");
    }
}
