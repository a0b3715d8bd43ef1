//! Commands for files of keys with an index.

use crate::cli::bitset::{Answer, Source};
use crate::cli::choices;
use crate::cli::columns::Byte;
use crate::cli::names;
use crate::cli::output::refuse_as_input;
use crate::cli::stats::StatsFormat;
use crate::cli::stdout::{buffered, print, print_line};
use crate::error::{Error, Result};
use crate::io::read::is_stdin;
use crate::lines::index::{
    BlockIndex, Builder, IndexFile, KeyRule, LookupReport, Stat, check_is_file, path_of, rows,
};
use crate::size::ByteSize;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const EXAMPLES: &str = "\
Examples:
  bitset bloom index build cells.csv --key columns 1,2,3   row, family, qualifier
  bitset bloom index get cells.csv 'user7,info,name'       its lines
  bitset bloom index build log --key until :               up to the first colon
  bitset bloom index build log --append                    what came since then
  bitset bloom index get log < keys --stats                many keys, and what it took";

/// Keys of standard input that are looked up together.
const KEYS_AT_ONCE: usize = 1 << 16;

/// The commands of `bitset bloom index`.
#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
#[command(after_help = EXAMPLES)]
pub(super) enum IndexCommand {
    /// Make the index of a file, beside it
    Build(BuildArgs),
    /// Print the lines of keys
    Get(GetArgs),
    /// Describe an index
    Stat {
        /// An index, such as DATA.bix
        index: PathBuf,
        /// One JSON object
        #[arg(long)]
        json: bool,
    },
    /// Read a file and its index and check both
    Verify {
        /// The file
        data: PathBuf,
        /// Its index, if it is not DATA.bix
        #[arg(long, value_name = "FILE")]
        index: Option<PathBuf>,
    },
}

#[derive(Debug, clap::Args)]
pub(super) struct BuildArgs {
    /// A file of rows, one a line
    #[arg(required_unless_present = "key")]
    data: Option<PathBuf>,

    /// Write the index to FILE instead of DATA.bix, whole or not at all
    #[arg(short, long, value_name = "FILE", value_parser = choices::new_file())]
    output: Option<PathBuf>,

    /// Bytes of a row that are its key: row (if not given), columns 1,2,3 (numbers of columns), prefix N or until BYTE
    #[arg(long, num_args = 1..=2, value_names = ["KIND", "OF"])]
    key: Vec<OsString>,

    /// The byte between columns, such as , or \t [default: ,]
    #[arg(long, value_name = "BYTE")]
    delimiter: Option<Byte>,

    /// Share of the blocks that are read although they do not have the key; 0.0001 takes twice the space of 0.01
    #[arg(long, value_name = "P", value_parser = super::rate, default_value_t = 0.01)]
    rate: f64,

    /// Bytes of a block (K, M, G)
    #[arg(long, value_name = "SIZE", default_value = "64K")]
    block: ByteSize,

    /// Take in what was appended to the file since its index was made
    #[arg(long, conflicts_with_all = ["key", "delimiter", "rate", "block"])]
    append: bool,
}

#[derive(Debug, clap::Args)]
pub(super) struct GetArgs {
    /// The file
    data: PathBuf,

    /// Keys; none means those on standard input, one a line; with --key columns, their fields with delimiters between
    #[arg(allow_negative_numbers = true)]
    keys: Vec<OsString>,

    /// Its index, if it is not DATA.bix
    #[arg(long, value_name = "FILE")]
    index: Option<PathBuf>,
}

impl IndexCommand {
    /// Whether the command reads much and prints nothing meanwhile.
    fn writes_file(&self) -> bool {
        matches!(self, Self::Build(_) | Self::Verify { .. })
    }
}

fn key_rule(words: &[OsString], delimiter: Option<Byte>) -> Result<KeyRule> {
    let words: Vec<_> = words.iter().map(|word| word.to_str().unwrap_or_default()).collect();
    // In quotes, as the messages have them.
    let words = match words[..] {
        [one] => one.splitn(2, ' ').collect(),
        _ => words,
    };
    let wrong = || {
        Error::usage(
            "a key is one of row, columns 1,2,3 (numbers of columns, no names), prefix N and until BYTE",
        )
    };
    if delimiter.is_some() && words.first() != Some(&"columns") {
        return Err(Error::usage("--delimiter is for --key columns"));
    }
    match words[..] {
        [] | ["row"] => Ok(KeyRule::Row),
        ["columns", numbers] => {
            let numbers: Result<Vec<u32>, _> = numbers.split(',').map(str::parse).collect();
            let Byte(delimiter) = delimiter.unwrap_or(Byte(b','));
            KeyRule::columns(numbers.map_err(|_| wrong())?, delimiter)
        }
        ["prefix", bytes] => match bytes.parse() {
            Ok(0) => Err(Error::usage("a key has at least one byte: prefix 1")),
            bytes => bytes.map(KeyRule::Prefix).map_err(|_| wrong()),
        },
        ["until", byte] => match byte.parse() {
            Ok(Byte(b'\n')) => Err(Error::usage("a row ends at a newline: --key row")),
            byte => byte.map(|Byte(byte)| KeyRule::Until(byte)).map_err(|_| wrong()),
        },
        _ => Err(wrong()),
    }
}

/// Runs a command.
pub(super) fn run(source: &Source, command: IndexCommand) -> Result<Answer> {
    let _bar = source.bar(command.writes_file());
    match command {
        IndexCommand::Build(args) => build(source, args)?,
        IndexCommand::Get(args) => return get(source, &args),
        IndexCommand::Stat { index, json } => {
            let stat = IndexFile::open(&index)?.stat();
            print(if json { format!("{}\n", as_json(&stat)) } else { as_text(&stat) })?;
        }
        IndexCommand::Verify { data, index } => {
            open(&data, index.as_deref())?.verify_with(source.progress())?;
            print_line("ok")?;
        }
    }
    Ok(Answer::Yes)
}

fn build(source: &Source, mut args: BuildArgs) -> Result<()> {
    // `row` takes no further word, and neither does a rule of one word: the next one is the file.
    let is_whole = |word: &OsString| word == "row" || word.as_bytes().contains(&b' ');
    if args.data.is_none() && args.key.len() == 2 && is_whole(&args.key[0]) {
        args.data = args.key.pop().map(PathBuf::from);
    }
    let data = args.data.ok_or_else(|| Error::usage("name the file that is to be indexed"))?;
    check_is_no_stream(&data)?;
    if let Some(output) = &args.output {
        names::only_index(output)?;
    }
    let index = args.output.unwrap_or_else(|| path_of(&data));
    let threads = source.memory().index_threads(source.threads(), args.block.bytes());
    let builder = Builder::new().threads(threads);
    let builder = builder.progress(Arc::clone(source.progress()));
    if args.append {
        builder.extend(&data, &index)?;
    } else {
        let rule = key_rule(&args.key, args.delimiter)?;
        builder.key(rule).rate(args.rate).block_size(args.block).build(&data, &index)?;
    }
    source.note_file(&index);
    Ok(())
}

fn check_is_no_stream(data: &Path) -> Result<()> {
    if is_stdin(data) {
        return Err(Error::usage("an index is of a file, not of standard input"));
    }
    Ok(())
}

/// Opens the index of a file, which is beside it unless its name is given.
fn open(data: &Path, index: Option<&Path>) -> Result<BlockIndex> {
    check_is_no_stream(data)?;
    check_is_file(data)?;
    let beside = path_of(data);
    if index.is_none() && !beside.exists() {
        let (data, beside) = (data.display(), beside.display());
        let what = "has no index: bitset bloom index build makes one";
        return Err(Error::usage(format!("cannot open {beside}: {data} {what}")));
    }
    BlockIndex::open(data, index.unwrap_or(&beside))
}

fn get(source: &Source, args: &GetArgs) -> Result<Answer> {
    let index = open(&args.data, args.index.as_deref())?;
    let stdin = args.keys.is_empty().then(|| PathBuf::from("-"));
    refuse_as_input(stdin.iter().chain([&args.data]))?;
    let mut out = buffered()?;
    let (mut total, mut keys, mut found) = (LookupReport::default(), 0_u64, 0_u64);
    let mut ask = |asked: &[&[u8]]| -> Result<()> {
        source.check()?;
        let mut before = None;
        total += index.for_each_line_of(asked, |key, line| {
            found += u64::from(before.replace(key) != Some(key));
            let end: &[u8] = if line.ends_with(b"\n") { b"" } else { b"\n" };
            out.write_all(line).and_then(|()| out.write_all(end)).map_err(Error::io("write", "-"))
        })?;
        keys += asked.len() as u64;
        Ok(())
    };
    if args.keys.is_empty() {
        source.line_tools().job().each(vec!["-".into()], |lines| {
            let mut keys = rows(lines).map(|(key, _)| key);
            loop {
                let next: Vec<_> = keys.by_ref().take(KEYS_AT_ONCE).collect();
                if next.is_empty() {
                    return Ok(());
                }
                ask(&next)?;
            }
        })?;
    } else {
        let keys: Vec<_> = args.keys.iter().map(|key| key.as_bytes()).collect();
        ask(&keys)?;
    }
    out.flush().map_err(Error::io("write", "-"))?;
    if source.stats() == Some(StatsFormat::Text) {
        source.tell_as(&summary(&total, keys, found));
    } else {
        for (what, count) in [
            ("keys", keys),
            ("found", found),
            ("lines", total.lines),
            ("blocks", total.blocks),
            ("skipped_blocks", total.skipped),
            ("out_of_order_blocks", total.out_of_order),
            ("read_blocks", total.read_blocks),
            ("false_positives", total.false_positives),
        ] {
            source.note(what, count);
        }
    }
    source.progress().read(total.read_bytes);
    Ok((found == keys).into())
}

fn summary(total: &LookupReport, keys: u64, found: u64) -> String {
    format!(
        "{found} of {keys} keys found, {} lines\n\
         {} of {} blocks skipped, {} of them by the order of keys\n\
         {} blocks read, {}, {} of them in vain",
        total.lines,
        total.skipped,
        total.blocks,
        total.out_of_order,
        total.read_blocks,
        ByteSize::from_bytes(total.read_bytes),
        total.false_positives,
    )
}

/// The rule in the form in which a user types it.
fn typed(rule: &KeyRule) -> String {
    match rule {
        KeyRule::Columns(columns) => {
            let numbers: Vec<_> = columns.numbers().iter().map(u32::to_string).collect();
            let delimiter = Byte(columns.delimiter());
            format!("columns {} --delimiter {delimiter}", numbers.join(","))
        }
        KeyRule::Prefix(bytes) => format!("prefix {bytes}"),
        KeyRule::Until(byte) => format!("until {}", Byte(*byte)),
        KeyRule::Row => "row".into(),
    }
}

fn as_json(stat: &Stat) -> Value {
    json!({
        "key": typed(&stat.rule),
        "sorted": stat.is_sorted,
        "data_bytes": stat.data_bytes,
        "data_checksum": format!("{:016x}", stat.data_checksum),
        "rows": stat.rows,
        "keys": stat.keys,
        "blocks": stat.blocks,
        "block_bytes": stat.block_bytes,
        "group_blocks": stat.group_blocks,
        "rate": stat.rate,
        "hashes": stat.hashes,
        "filter_bytes": stat.filter_bytes,
        "bounds_bytes": stat.bounds_bytes,
        "index_bytes": stat.index_bytes,
    })
}

#[expect(clippy::cast_precision_loss, reason = "a proportion")]
fn as_text(stat: &Stat) -> String {
    let size = |bytes: u64| ByteSize::from_bytes(bytes);
    let share = 100.0 * stat.index_bytes as f64 / stat.data_bytes as f64;
    let share =
        if stat.data_bytes > 0 { format!(", {share:.2} % of the data") } else { String::new() };
    let bits = 8.0 * stat.filter_bytes as f64 / stat.keys.max(1) as f64;
    let mut text = String::new();
    let sorted = if stat.is_sorted { "yes" } else { "no" };
    let lines = [
        ("key", typed(&stat.rule)),
        ("data", format!("{} ({} bytes)", size(stat.data_bytes), stat.data_bytes)),
        ("checksum", format!("{:016x}", stat.data_checksum)),
        ("rows", stat.rows.to_string()),
        ("sorted", sorted.into()),
        ("blocks", format!("{} of {}", stat.blocks, size(stat.block_bytes))),
        ("keys", format!("{} (those of each block)", stat.keys)),
        ("filters", format!("{}, {bits:.2} bits a key", size(stat.filter_bytes))),
        ("rate", format!("{} with {} hash functions", stat.rate, stat.hashes)),
        ("index", format!("{}{share}", size(stat.index_bytes))),
    ];
    for (name, value) in lines {
        let _ = writeln!(text, "{name:<9} {value}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_typed_and_shown_alike() {
        for text in
            ["row", "columns 2,1", "prefix 7", "until :", "until \\t", "until '", "until \\x0D"]
        {
            let words: Vec<_> = text.split(' ').map(OsString::from).collect();
            let rule = key_rule(&words, None).unwrap();
            assert_eq!(typed(&rule).replace(" --delimiter ,", ""), text);
            let delimited = key_rule(&words, Some(Byte(b';')));
            assert_eq!(delimited.is_ok(), text.starts_with("columns"), "{text}");
            if let Ok(rule) = delimited {
                assert_eq!(typed(&rule), format!("{text} --delimiter ;"));
            }
        }
        for text in [
            "",
            "row 1",
            "columns",
            "columns 0",
            "columns a",
            "prefix -1",
            "prefix 0",
            "until ab",
            "until \\x0A",
        ] {
            let words: Vec<_> = text.split(' ').map(OsString::from).collect();
            assert!(key_rule(&words, None).is_err(), "{text}");
        }
    }
}
