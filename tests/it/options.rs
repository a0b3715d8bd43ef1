//! Every command and every option of the help texts is accepted, and every
//! command behaves when its output cannot be written and when its input is empty.
//!
//! Names of commands and options, and the values of options, come from the help
//! texts, what is typed with them from `tests/data/options.txt`: the tests fail if
//! that lacks something.

use crate::workspace::{Ran, Workspace, words};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::process::{Command, Stdio};

/// What is known of a command from `options.txt`.
#[derive(Debug, Default)]
struct Known {
    /// A run of it, and the status with which it ends.
    run: String,
    status: i32,
    /// What it says of nothing.
    empty: String,
    /// Options, and what follows them.
    options: Vec<(String, String)>,
}

impl Known {
    fn rows<'a>(&'a self, option: &'a str) -> impl Iterator<Item = &'a str> {
        self.options.iter().filter(move |(name, _)| name == option).map(|(_, rest)| rest.as_str())
    }
}

fn known() -> BTreeMap<String, Known> {
    let mut commands = BTreeMap::<String, Known>::new();
    let mut current = String::new();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/options.txt");
    let text = fs::read_to_string(path).unwrap();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let Some(line) = line.strip_prefix("  ") else {
            line.clone_into(&mut current);
            commands.entry(current.clone()).or_default();
            continue;
        };
        let line = match line.strip_prefix("columnar ") {
            Some(line) if cfg!(feature = "columnar") => line,
            Some(_) => continue,
            None => line,
        };
        let command = commands.get_mut(&current).unwrap();
        let (name, rest) = line.split_once(' ').unwrap();
        let rest = rest.replace('@', &command.run);
        match name {
            "$" => {
                let (run, status) = rest.split_once(" => ").unwrap_or((&rest, "0"));
                (command.run, command.status) = (run.to_owned(), status.parse().unwrap());
            }
            "empty" => command.empty = rest,
            option => command.options.push((option.to_owned(), rest)),
        }
    }
    commands
}

/// An option as its help describes it.
#[derive(Debug, Default)]
struct Documented {
    /// The long name first.
    names: Vec<String>,
    /// The possible values, where they are listed.
    values: Vec<String>,
}

/// Options and subcommands of a help text.
fn parse_help(text: &str) -> (Vec<Documented>, Vec<String>) {
    let (mut options, mut commands) = (Vec::<Documented>::new(), Vec::new());
    let mut section = "";
    for line in text.lines() {
        let content = line.trim_start();
        match line.len() - content.len() {
            0 if !content.is_empty() => section = content,
            2 if section == "Commands:" => {
                commands.extend(content.split_whitespace().next().map(str::to_owned));
            }
            2 | 6 if section == "Options:" && content.starts_with('-') => {
                let names = content.split(", ").map(|name| {
                    name.split(|end| " <[=".contains(end)).next().unwrap_or_default().to_owned()
                });
                let mut names: Vec<String> = names.filter(|name| name.starts_with('-')).collect();
                names.reverse();
                options.push(Documented { names, values: Vec::new() });
            }
            _ => {
                let Some(option) = options.last_mut() else { continue };
                if let Some((value, _)) =
                    content.strip_prefix("- ").and_then(|value| value.split_once(':'))
                {
                    option.values.push(value.to_owned());
                } else if content.starts_with("[alias") {
                    let names = content.trim_end_matches(']').split([' ', ',']);
                    option
                        .names
                        .extend(names.filter(|name| name.starts_with('-')).map(str::to_owned));
                }
            }
        }
    }
    (options, commands)
}

/// Every command, as typed, and its options.
fn documented(command: &str, found: &mut Vec<(String, Vec<Documented>)>) {
    let help = typed(command, "--help").output().unwrap();
    assert!(help.status.success() && help.stderr.is_empty(), "{command} --help");
    let (options, commands) = parse_help(std::str::from_utf8(&help.stdout).unwrap());
    assert!(options.len() >= 2, "{command}: {options:?}");
    for sub in commands.iter().filter(|sub| *sub != "help") {
        documented(&format!("{command} {sub}"), found);
    }
    if commands.is_empty() {
        found.push((command.to_owned(), options));
    }
}

fn all_documented() -> Vec<(String, Vec<Documented>)> {
    let mut found = Vec::new();
    documented("bitsort", &mut found);
    documented("bitset", &mut found);
    found
}

/// The command with these arguments.
fn typed(command: &str, arguments: &str) -> Command {
    let mut parts = command.split(' ');
    let mut built = Command::new(match parts.next() {
        Some("bitsort") => env!("CARGO_BIN_EXE_bitsort"),
        _ => env!("CARGO_BIN_EXE_bitset"),
    });
    built.args(parts).args(words(arguments)).stdin(Stdio::null());
    built
}

/// Files that the lines of `options.txt` name.
struct Fixture(Workspace);

impl Fixture {
    fn new() -> Self {
        let made = Workspace::new();
        for (name, content) in [
            ("ids.txt", "40\n35\n7\n35\n"),
            ("sorted.txt", "7\n35\n40\n"),
            ("header.txt", "id\n7\n"),
            ("dirty.txt", "7\nx\n"),
            ("zeros", "40\x007\0"),
            ("ids.csv", "name,id\nx,7\ny,30\n"),
            ("semi.csv", "x;7\ny;30\n"),
            ("cells.csv", "a,1\nb,2\n"),
            ("raw", "AAAABBBB"),
            ("list", "ids.txt\0"),
            ("changes", "+1\n-35\n"),
            ("quads.txt", "0.0.0.40\n0.0.0.35\n0.0.0.7\n"),
            ("quads.diff", "+0.0.0.1\n-0.0.0.35\n"),
            ("empty", ""),
        ] {
            made.write(name, content);
        }
        for line in [
            "build ids.txt -o s.bits",
            "build empty -o e.bits",
            "group ids.csv --key name --column id -o k.sets",
            "bloom build ids.txt -o f.bloom",
            "bloom build ids.txt -o c.bloom --design counting",
            "bloom build ids.txt -o guava.bloom --to guava",
            "bloom build ids.txt -o dcso.bloom --to dcso",
            "bloom build ids.txt -o spark.bloom --to spark",
            "build ids.txt -o s.ch32 --to clickhouse-u32",
            "build ids.txt -o s.ch64 --to clickhouse-u64",
            "build ids.txt -o s.roaring",
            "build ids.txt -o s.doris --to doris",
            "build ids.txt -o s.iceberg --to iceberg",
            "build ids.txt -o s.delta --to delta",
            "build ids.txt -o s.inline --to delta-inline",
            "bloom build empty -o e.bloom",
            "bloom index build cells.csv",
            "bloom index build empty",
        ] {
            made.set(line, "").quiet();
        }
        if cfg!(feature = "columnar") {
            made.set("build ids.txt -o spark.parquet --to spark-bitmap", "").quiet();
            made.run("ids.txt --bloom -o filter.parquet").quiet();
        }
        Self(made)
    }

    /// Runs it in a folder with these files, with this as standard output. They
    /// are links: no command changes a file in place.
    fn run(&self, command: &str, arguments: &str, stdout: impl Into<Stdio>) -> Ran {
        let work = Workspace::new();
        for name in self.0.names() {
            fs::hard_link(self.0.file(&name), work.file(&name)).unwrap();
        }
        let mut built = typed(command, arguments);
        built.current_dir(work.path()).stdout(stdout).stderr(Stdio::piped());
        Ran::from(built.output().unwrap())
    }

    /// What is wrong, unless it is accepted.
    fn accepts(&self, command: &str, arguments: &str, status: i32) -> Option<String> {
        let ran = self.run(command, arguments, Stdio::piped());
        (ran.code != Some(status)).then(|| format!("{command} {arguments}\n{ran:?}\n"))
    }

    /// The same, or unless it takes note of an output that cannot be written, if
    /// it writes there at all.
    fn behaves(&self, command: &str, arguments: &str, status: i32) -> Option<String> {
        let ran = self.run(command, arguments, Stdio::piped());
        let full = self.run(command, arguments, File::create("/dev/full").unwrap());
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let closed = self.run(command, arguments, writer);
        // Without a reader, "no" may be known, or not yet.
        let is_answer = [Some(0), Some(status)].contains(&closed.code);
        let quietly = is_answer && (arguments.contains("--stats") || closed.err.is_empty());
        let (code, message) = if ran.out.is_empty() { (status, "") } else { (2, "No space left") };
        let noticed = full.code == Some(code) && full.err.contains(message);
        let fine = ran.code == Some(status) && quietly && noticed;
        (!fine).then(|| {
            format!("{command} {arguments}\n{ran:?}\n> /dev/full: {full:?}\n| true: {closed:?}\n")
        })
    }
}

/// Options of every command of `bitset`.
const COMMON: [(&str, &str); 6] = [
    ("--mem", "64M @"),
    ("--temporary-directory", ". @"),
    ("--threads", "2 @"),
    ("--progress", "never @"),
    ("--quiet", "@"),
    ("--stats", "@"),
];

/// Other spellings of a row: by its other names, and with other values.
fn variants(option: &Documented, rows: &[&str], optional: bool) -> Vec<String> {
    let ([long, others @ ..], Some(first)) = (option.names.as_slice(), rows.first()) else {
        return Vec::new();
    };
    let (value, rest) = first.split_once(' ').unwrap_or((first, ""));
    let mut lines: Vec<String> = others.iter().map(|name| format!("{name} {first}")).collect();
    for other in option.values.iter().filter(|other| *other != value) {
        if optional {
            lines.push(format!("{long}={other} {first}"));
        } else if !rows.iter().any(|row| row.split(' ').next() == Some(other)) {
            lines.push(format!("{long} {other} {rest}"));
        }
    }
    lines
}

#[test]
fn every_documented_option_is_accepted() {
    let (fixture, known) = (Fixture::new(), known());
    let (mut runs, mut wrong) = (0, Vec::new());
    for (command, options) in all_documented() {
        let table = known.get(&command).unwrap_or_else(|| panic!("options.txt lacks {command}"));
        wrong.extend(fixture.behaves(&command, &table.run, table.status));
        for option in &options {
            let long = option.names[0].as_str();
            if long == "--help" || long == "--version" {
                continue;
            }
            let common = COMMON.iter().find(|(name, _)| *name == long);
            let common = common.map(|(_, rest)| rest.replace('@', &table.run));
            let mut rows: Vec<&str> = table.rows(long).collect();
            let mut lines: Vec<String> = Vec::new();
            if let (true, Some(row)) = (rows.is_empty(), &common) {
                rows.push(row);
                lines.push(format!("{long} {row}"));
            } else {
                assert!(!rows.is_empty(), "no row for {command} {long}");
                for row in &rows {
                    let line = format!("{long} {row}");
                    wrong.extend(fixture.behaves(&command, &line, table.status));
                }
            }
            // An optional value follows a `=`.
            let optional = long == "--stats" || table.rows(&format!("{long}=json")).count() > 0;
            lines.extend(variants(option, &rows, optional));
            for line in &lines {
                wrong.extend(fixture.accepts(&command, line, table.status));
            }
            runs += rows.len() + lines.len();
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(runs >= 300, "{runs} runs");
}

#[test]
fn every_row_is_of_a_documented_option() {
    let documented: BTreeMap<_, _> = all_documented().into_iter().collect();
    for (command, table) in known() {
        let options = documented.get(&command).unwrap_or_else(|| panic!("no {command}"));
        for (row, _) in &table.options {
            let name = row.split('=').next().unwrap();
            assert!(options.iter().any(|option| option.names[0] == name), "{command} {row}");
        }
    }
}

#[test]
fn every_command_knows_what_to_do_with_nothing() {
    let fixture = Fixture::new();
    for (command, table) in known() {
        let (arguments, answer) = table.empty.split_once(" => ").unwrap();
        let (code, words) = answer.split_once(' ').unwrap_or((answer, ""));
        let ran = fixture.run(&command, arguments, Stdio::piped());
        assert_eq!(ran.code, code.parse().ok(), "{command} {arguments}: {ran:?}");
        assert_eq!(ran.err, "", "{command} {arguments}");
        if words != "..." {
            assert_eq!(ran.out, words.replace(" /", "\n"), "{command} {arguments}");
        }
    }
}

#[test]
fn help_that_cannot_be_written_is_an_error() {
    let fixture = Fixture::new();
    let mut lines = vec![
        ("bitsort".to_owned(), "--version"),
        ("bitset".to_owned(), "--version"),
        ("bitset".to_owned(), "help"),
        ("bitset bloom".to_owned(), "help build"),
        ("bitset bloom".to_owned(), "--help"),
    ];
    for (command, _) in all_documented() {
        lines.extend(["--help", "-h"].map(|flag| (command.clone(), flag)));
    }
    let wrong: Vec<String> =
        lines.iter().filter_map(|(command, flag)| fixture.behaves(command, flag, 0)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
