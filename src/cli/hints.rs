//! Gives a hint for an error: what the user can do next. Errors state facts; only this file names
//! flags and commands.

use super::names::is_set_file;
use crate::bloom::is_filter_file;
use crate::error::{ColumnFault, DataChange, Error, FolderFault, UnreadTable};
use crate::io::read::is_compressed;
use crate::lines::Funnel;
use crate::number::{Line, Malformed, Notation};
use crate::set::foreign::ForeignFormat;
use crate::set::keyed::is_sets_file;
use std::ffi::OsString;
use std::io;
use std::path::Path;

/// What the user of `program` can do next, if anything.
pub(super) fn hint(program: &str, error: &Error) -> Option<&'static str> {
    Some(match error {
        Error::MalformedLine { input, line, reason, excerpt, .. } => {
            line_hint(program, input, *line, *reason, excerpt)
        }
        Error::MalformedRow { .. } => skipping(program),
        Error::NoKey { expected, .. } => key_hint(expected),
        Error::NoField { .. } => "check --column and --delimiter",
        Error::TableColumn { fault, .. } => return column_hint(program, *fault),
        Error::UnreadTable { format: UnreadTable::Feather1, .. } => {
            "it is a Feather file of version 1: write it as Parquet or Arrow"
        }
        Error::UnreadTable { .. } => "write it without encryption",
        Error::LeftOut { .. } => "cargo install --path . --features columnar",
        Error::Unsorted { .. } => "sort it first, or leave out --merge",
        Error::NoSuchColumn { .. } => "give the column's number, or check --delimiter",
        Error::ValueTooLarge { format, .. } => wider_format(format),
        Error::MemoryLimitTooSmall { .. } => "raise --mem",
        Error::NoPlan { .. } if names_strategy() => {
            "leave out --strategy; multi-pass needs plain files, as pipes and compressed files cannot be read twice, dense memory for a bitmap (--mem), spill a folder with room (-T)"
        }
        Error::NoPlan { .. } => {
            "raise --mem, lower --threads, give a folder with more room with -T, or give plain files, as pipes and compressed files cannot be read twice"
        }
        Error::FilterFull { .. } => "raise --mem or --rate, or see --exact",
        // `bitsort` has no filters.
        Error::OutOfMemory { .. } if program == "bitsort" => "lower --mem or --threads",
        Error::OutOfMemory { .. } => {
            "lower --mem, or --threads; for a filter, expect fewer keys or allow a higher rate"
        }
        Error::LineTooLong { by_memory: true, .. } => "give more with --mem",
        Error::LineNotCompared { .. } => "if its lines end in NUL, say so with --zero-terminated",
        Error::TooWide { .. } if program == "bitsort" => {
            "text, and .bits files of runs (--to bits), take ranges of any width"
        }
        Error::TooWide { .. } => {
            "an input has ranges or blocks: write ranges again (--ranges), a .bits file of runs (--to bits), or --count, where the command has them"
        }
        Error::NoIpv4 { .. } => "leave out --ipv4 and --as",
        Error::Folder { fault: FolderFault::Fixed, .. } => {
            "write it again: bitset or FOLDER MORE --parts N -o FOLDER"
        }
        Error::Folder { fault: FolderFault::Foreign(_), .. } => {
            "name a folder that is empty, or not there yet"
        }
        Error::Folder { fault: FolderFault::NoManifest, .. } => "name the files inside it",
        Error::Unrecognized { .. } => {
            "say what a raw bitmap is with --from bitmap-lsb or bitmap-msb; bitset build takes integers, with --from u64le or another"
        }
        Error::Outdated { change: DataChange::Longer(_), .. } => {
            "index what was appended: bitset bloom index build --append DATA, with -o INDEX if that is not DATA.bix"
        }
        Error::DamagedIndex { offset: 0, .. } => {
            "if this is the data, name its index, DATA.bix; else index it again: bitset bloom index build DATA"
        }
        Error::Outdated { .. } | Error::DamagedIndex { .. } => {
            "index the file again: bitset bloom index build DATA"
        }
        Error::Damaged { input, offset: 0, .. } if is_filter_file(Path::new(input)) => A_FILTER,
        Error::Damaged { input, offset: 0, .. } if is_compressed(Path::new(input)) => {
            "the file is compressed: unpack it first"
        }
        Error::NotConvertible { input, .. } if is_sets_file(Path::new(input)) => OF_KEYS,
        Error::NotConvertible { .. } => {
            "bitset build makes a set of numbers in text, and of a column of a table"
        }
        Error::CannotReread { .. } if merges() => {
            "leave out --merge, or raise --mem: a merge needs a buffer for each input, larger ones with --column; or give plain files, as pipes and compressed files cannot be read twice"
        }
        Error::CannotReread { .. } => {
            "raise --mem, or give a plain file, as pipes and compressed files cannot be read twice; a sort without --no-spill uses temporary files"
        }
        Error::Io { action, path, source } => return io_hint(action, path, source),
        _ => return None,
    })
}

/// The hint for a line that is no key of this kind.
fn key_hint(expected: &str) -> &'static str {
    // A column of Parquet has keys of its own, which no funnel changes.
    if [Funnel::Long, Funnel::Int, Funnel::Chars].map(Funnel::expected).contains(&expected) {
        "choose another --funnel; --skip-empty leaves empty lines out, --crlf carriage returns"
    } else {
        "--skip-empty leaves empty lines out, --crlf carriage returns"
    }
}

/// The hint for a column of a table.
fn column_hint(program: &str, fault: ColumnFault) -> Option<&'static str> {
    Some(match fault {
        ColumnFault::NoFilter => "bitsort --bloom -o FILE.parquet writes one beside the column",
        ColumnFault::OtherType => {
            "choose another column, or write it as integers: casts are the task of the program that writes the file"
        }
        ColumnFault::NoneOfType => {
            "write one as integers: casts are the task of the program that writes the file"
        }
        ColumnFault::NoBitmaps => return None,
        ColumnFault::NotChosen if program == "bitset" && options().all(|word| word != "bloom") => {
            "choose one of its columns with --column, or make a set of one: bitset build --column; the --key of group may be bytes"
        }
        ColumnFault::NotChosen => "choose one of its columns with --column",
    })
}

/// The hint for a value that a format cannot hold.
fn wider_format(format: &str) -> &'static str {
    match format {
        "ipv4" | "ipv4-ranges" | "cidr" => "--as hex and --as decimal write all numbers",
        "clickhouse-u32" => "choose --to clickhouse-u64",
        _ if format.parse::<ForeignFormat>().is_ok() => {
            "choose --to bits, roaring or another format of 64-bit sets"
        }
        _ => "choose --to u64le, u64be or text",
    }
}

/// The hint for a set where numbers are wanted.
const A_SET: &str = "it is a set already: bitset cat prints it, bitset or joins it with others";

/// The hint for a `.sets` file where one set is wanted.
const OF_KEYS: &str = "it has sets by key: bitset cat FILE:KEY prints one";

/// The hint for a `.bloom` file where a set or numbers are wanted.
const A_FILTER: &str =
    "if this is a Bloom filter, bitset bloom info tells what it has, bitset bloom contains asks it";

/// The hint for a malformed line.
fn line_hint(
    program: &str,
    input: &str,
    line: u64,
    reason: Malformed,
    excerpt: &str,
) -> &'static str {
    match reason {
        _ if is_sets_file(Path::new(input)) => OF_KEYS,
        _ if is_set_file(Path::new(input)) => A_SET,
        _ if is_filter_file(Path::new(input)) => A_FILTER,
        Malformed::ManyValues if program == "bitset" => {
            "--ranges and --as cidr are for lines of sets; a line that is looked up must have one value"
        }
        Malformed::RangeTooHigh => "single ids of such rows may be any numbers below 2^64",
        Malformed::ManyValues => {
            "with -u, --as cidr writes blocks and --ranges ranges; bitset joins lists of them"
        }
        _ if line == 1
            && let Some(hint) = start_hint(excerpt) =>
        {
            hint
        }
        _ if program == "bitsort" && ends_in_nul(excerpt) => {
            "if its lines end in NUL, say so with --zero-terminated; if it is text in UTF-16, iconv -f UTF-16 -t UTF-8 FILE |"
        }
        // The numbers that keys-of looks up may come in any format.
        _ if is_binary(excerpt)
            && program == "bitset"
            && looked_up_by(input).is_some_and(|command| command != "keys-of") =>
        {
            "it is no text, and lines that are looked up are text: bitsort --from u64le FILE | makes lines of plain integers"
        }
        _ if is_binary(excerpt) => {
            "it is no text: bitset identify FILE tells what it is, bitset convert reads sets of other programs that are not packed, --from u32le or u64le takes plain integers"
        }
        Malformed::LineTooLong if program == "bitset" => {
            "a line has one number, range or block: check the line ends"
        }
        Malformed::BadQuote => "if a quote is like any other byte in this file, say --no-quoting",
        _ if has_carriage_returns(excerpt) => {
            "its lines end in carriage returns alone: tr '\\r' '\\n' < FILE | makes lines of them"
        }
        Malformed::MissingField if program == "bitset" => {
            "check --column, --key and --delimiter; build, filter and group leave such lines out with --skip-invalid"
        }
        Malformed::MissingField if checks() => {
            "check --column and --delimiter; --invalid skip passes over such lines"
        }
        Malformed::MissingField => {
            "check --column and --delimiter; --invalid skip counts such lines, --rejects FILE collects them"
        }
        _ => {
            let text = readable(excerpt);
            match of_value(program, input, &text) {
                Some(hint) => hint,
                None if looked_up_by(input).is_some_and(|command| command == "contains") => {
                    "bitset filter --skip-invalid SET FILE prints the lines that are in the set, and leaves such lines out"
                }
                None if line == 1 && text.contains(|shown: char| shown.is_ascii_alphabetic()) => {
                    may_be_header(program)
                }
                None => skipping(program),
            }
        }
    }
}

/// How inputs begin that are of a kind which is not read here, as excerpts show it, and the hint.
const STARTS: [(&str, &str); 6] = [
    (
        "\\x04\\\"M\\x18",
        "lz4 packed it, which is not read here: unpack it in a pipe, lz4 -dc FILE |",
    ),
    ("\\xff\\xfe", UTF_16),
    ("\\xfe\\xff", UTF_16),
    // Ours, through a pipe.
    ("\\x89BIX", AN_INDEX),
    ("\\x89B", OURS),
    ("\\x89S", OURS),
];

const UTF_16: &str = "it is text in UTF-16, which is not read here: convert it in a pipe, iconv -f UTF-16 -t UTF-8 FILE |";

const OURS: &str = "it is a set or a filter of bitset: bitset cat prints the values of a set";

const AN_INDEX: &str = "it is an index: bitset bloom index stat DATA describes that of DATA";

/// The hint for an input that begins so.
fn start_hint(excerpt: &str) -> Option<&'static str> {
    let (_, hint) = STARTS.iter().find(|(start, _)| excerpt.starts_with(start))?;
    Some(hint)
}

/// What may be fields of a line.
fn fields(text: &str) -> impl Iterator<Item = &str> + Clone {
    text.split([',', ';', '\t', '|', ' ', '"'])
}

/// The hint for a text that is a number in another notation.
pub(super) fn notation(text: &str) -> Option<&'static str> {
    let mut fields = fields(text);
    if fields.clone().any(may_be_ipv6) {
        return Some("this may be an IPv6 address: only those of IPv4 are read, with --as ipv4");
    }
    if has_notation() {
        return None;
    }
    if may_be_address(text) {
        return Some("--as ipv4 reads addresses, and --as cidr writes blocks of them");
    }
    if text.starts_with("0x") || text.starts_with("0X") {
        return Some("--as hex reads hexadecimal numbers");
    }
    fields.any(may_be_address).then_some("--as ipv4 reads addresses, if the wanted column has them")
}

/// The hint for a line of an input, whose number is written in another way.
pub(super) fn of_value(program: &str, input: &str, text: &str) -> Option<&'static str> {
    notation(text).or_else(|| {
        let is_field = fields(text).any(may_be_range);
        is_field.then(|| of_range(program, input, may_be_range(text))).flatten()
    })
}

/// The hint for a line that may be a range, or have one in a column.
fn of_range(program: &str, input: &str, is_line: bool) -> Option<&'static str> {
    if program == "bitset" && looked_up_by(input).is_some() {
        return Some("a line that is looked up must have one value");
    }
    Some(match program {
        _ if !takes_ranges(program) => return None,
        "bitset" if is_line => "--ranges reads lines of ranges, FIRST-LAST",
        "bitset" => "--ranges reads ranges, FIRST-LAST, if the wanted column has them",
        _ if is_line => {
            "--ranges reads lines of ranges, FIRST-LAST; bitsort takes -u with it, or a set as output"
        }
        _ => {
            "--ranges reads ranges, FIRST-LAST, if the wanted column has them; bitsort takes -u with it, or a set as output"
        }
    })
}

/// The command that looks the lines of an input up in its first file.
fn looked_up_by(input: &str) -> Option<OsString> {
    const COMMANDS: [&str; 3] = ["filter", "contains", "keys-of"];
    let is_other = |word: &OsString| !COMMANDS.iter().any(|command| word == command);
    let mut words = std::env::args_os().skip_while(is_other);
    let command = words.next()?;
    let mut is_value = false;
    let set = words.find(|word| {
        let is_file = !is_value && (word == "-" || Path::new(word).exists());
        is_value = wants_value(word.as_encoded_bytes());
        is_file
    });
    set.is_none_or(|set| set != input).then_some(command)
}

/// Whether this is an option of a command that looks lines up, and the next word is its value.
fn wants_value(word: &[u8]) -> bool {
    const OPTIONS: [&str; 9] = [
        "--output",
        "--mem",
        "--temporary-directory",
        "--threads",
        "--column",
        "--delimiter",
        "--from",
        "--as",
        "--progress",
    ];
    match word {
        [b'-', b'-', ..] => OPTIONS.iter().any(|option| word == option.as_bytes()),
        [b'-', letters @ ..] => short(letters).count() + 1 == letters.len(),
        _ => false,
    }
}

/// Whether the command reads ranges, if it is told to.
fn takes_ranges(program: &str) -> bool {
    /// Lines are ranges or blocks already, or addresses.
    const WITHOUT: [&str; 5] = ["--ranges", "cidr", "--as=cidr", "ipv4", "--as=ipv4"];
    /// What `bitsort` does to single values only, in full and as one letter.
    const OF_VALUES: [&str; 9] = [
        "merge",
        "check",
        "check-silently",
        "reverse",
        "count",
        "repeated",
        "strategy",
        "no-spill",
        "zero-terminated",
    ];
    const LETTERS: &[u8] = b"mcCrz";
    let is_of_values = |word: &[u8]| match word {
        [b'-', b'-', option @ ..] => {
            let name = option.split(|byte| *byte == b'=').next().unwrap_or_default();
            OF_VALUES.iter().any(|other| name == other.as_bytes())
        }
        [b'-', letters @ ..] => short(letters).any(|letter| LETTERS.contains(&letter)),
        _ => false,
    };
    !options().any(|word| {
        let word = word.as_encoded_bytes();
        let is_of_lines = WITHOUT.iter().any(|other| word == other.as_bytes());
        is_of_lines || program == "bitsort" && is_of_values(word)
    })
}

/// Whether a text is two decimal numbers with a sign between them.
fn may_be_range(text: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.trim().split_once('-').is_some_and(|(first, last)| is_number(first) && is_number(last))
}

/// The same behind a message that is no error of a line.
pub(super) fn and_notation(text: &str) -> String {
    behind(notation(text))
}

/// A hint behind a message.
pub(super) fn behind(hint: Option<&str>) -> String {
    hint.map(|hint| format!("; {hint}")).unwrap_or_default()
}

/// Whether the user has said how numbers are written.
fn has_notation() -> bool {
    std::env::args_os().any(|word| word.as_encoded_bytes().starts_with(b"--as"))
}

/// Whether the user has left malformed lines out.
fn skips_invalid() -> bool {
    std::env::args_os().any(|word| word == "--skip-invalid")
}

/// The hint for a first line with letters.
fn may_be_header(program: &str) -> &'static str {
    match program {
        "bitset" if skips_invalid() => skipping(program),
        "bitset" => {
            "build, filter and group leave such lines of their input out with --skip-invalid; a first line of names is left out by --header with --column, else by tail -n +2 FILE |"
        }
        _ if checks() => {
            "--invalid skip passes over such lines, --header skips a first line of names"
        }
        _ => {
            "--invalid skip counts such lines, --rejects FILE collects them, --header skips a first line of names"
        }
    }
}

/// How malformed lines are left out.
fn skipping(program: &str) -> &'static str {
    match program {
        "bitset" if skips_invalid() => {
            "make a set of this file first: bitset build --skip-invalid FILE -o FILE.bits"
        }
        "bitset" => {
            "build, filter and group leave such lines of their input out with --skip-invalid; other commands can read the set file that build makes"
        }
        _ if checks() => "--invalid skip passes over such lines",
        _ => "--invalid skip counts such lines, --rejects FILE collects them",
    }
}

/// The hint for an action on a file that the system refused.
fn io_hint(action: &str, path: &Path, source: &io::Error) -> Option<&'static str> {
    if action == "write" && path == Path::new("-") {
        return (source.kind() == io::ErrorKind::StorageFull).then_some("free some space");
    }
    if source.raw_os_error() == Some(rustix::io::Errno::MFILE.raw_os_error()) {
        return Some(
            "raise the limit of open files with ulimit -n, or give fewer inputs at a time",
        );
    }
    Some(match (source.kind(), action) {
        (io::ErrorKind::NotFound, "open") if appends_to(path) => {
            "the first time, index the whole file without --append"
        }
        // The system says this of a file above `ulimit -f`, too.
        (io::ErrorKind::FileTooLarge, "write") if source.raw_os_error().is_none() => {
            "choose --to bits, roaring-bits or sparse"
        }
        (io::ErrorKind::StorageFull, _) => {
            "free some space, or choose another folder (-T for temporary files, -o for the output where a command has it)"
        }
        (io::ErrorKind::PermissionDenied, "create") if path.exists() => {
            "the folder that it is in must let you replace it"
        }
        (_, "map") if no_map(source) => "it is no ordinary file: cat FILE > COPY makes one",
        (io::ErrorKind::OutOfMemory, "map") => {
            "ulimit -v or vm.max_map_count allows no more maps of files: give fewer files at a time"
        }
        (io::ErrorKind::OutOfMemory, _) if merges() => {
            "raise --mem; with several packed inputs, leave out --merge, which unpacks all of them at once"
        }
        (io::ErrorKind::OutOfMemory, _) => {
            "raise --mem, or lower --threads, which share parts of it"
        }
        (io::ErrorKind::IsADirectory, "write") if is_set_file(path) => {
            "--parts N -o FOLDER writes a set in parts"
        }
        (io::ErrorKind::IsADirectory, "write") => "name a file inside it",
        (io::ErrorKind::IsADirectory, _) if is_set_file(path) => A_SET,
        (io::ErrorKind::IsADirectory, _) => "name the files inside it",
        (
            io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput | io::ErrorKind::UnexpectedEof,
            "read",
        ) => "the file is damaged, or was cut off: get a whole copy of it",
        _ => return None,
    })
}

/// Whether a file cannot be mapped because the system makes its content up, as in `/proc`.
fn no_map(source: &io::Error) -> bool {
    use rustix::io::Errno;
    let refusals = [Errno::NODEV, Errno::IO].map(Errno::raw_os_error);
    source.raw_os_error().is_some_and(|error| refusals.contains(&error))
}

/// Whether `bitsort` was told to merge.
fn merges() -> bool {
    has_option("--merge", b"m")
}

/// Whether `bitsort` was told to check the order of its input.
fn checks() -> bool {
    has_option("--check", b"cC")
}

/// Whether `bitsort` was told how to sort.
fn names_strategy() -> bool {
    options().any(|word| word.as_encoded_bytes().starts_with(b"--strategy"))
}

/// Whether an option is there, by its name or one of its letters.
fn has_option(name: &str, its_letters: &[u8]) -> bool {
    options().any(|word| match word.as_encoded_bytes() {
        [b'-', b'-', ..] => word == name,
        [b'-', letters @ ..] => short(letters).any(|letter| its_letters.contains(&letter)),
        _ => false,
    })
}

/// Whether `bloom index build` was told to append to this index.
fn appends_to(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "bix")
        && options().any(|word| word == "--append")
}

/// The words of the command line that may be options.
fn options() -> impl Iterator<Item = OsString> {
    std::env::args_os().skip(1).take_while(|word| word != "--")
}

/// The options of one letter in a word, without that behind which a value follows.
fn short(letters: &[u8]) -> impl Iterator<Item = u8> {
    let is_long = letters.starts_with(b"-");
    let letters = letters.iter().copied().take_while(|letter| !b"oST".contains(letter));
    letters.filter(move |_| !is_long)
}

/// Whether the text of a malformed line has control characters, which no text has.
fn is_binary(excerpt: &str) -> bool {
    let typed = excerpt.replace(r"\\", ""); // a backslash of the line itself
    typed.contains(r"\x0") || typed.contains(r"\x1")
}

/// The text of a malformed line without escaped bytes.
fn readable(excerpt: &str) -> String {
    let mut text = String::with_capacity(excerpt.len());
    let mut shown = excerpt.chars();
    while let Some(next) = shown.next() {
        match next {
            '\\' => match shown.next() {
                Some('x') => drop(shown.nth(1)),
                Some('t') => text.push('\t'),
                Some('r' | 'n') | None => {}
                Some(quote) => text.push(quote),
            },
            other => text.push(other),
        }
    }
    text
}

/// Whether a malformed line has a carriage return before a digit.
fn has_carriage_returns(excerpt: &str) -> bool {
    let typed = excerpt.replace(r"\\", ""); // a backslash of the line itself
    typed.split(r"\r").skip(1).any(|behind| behind.starts_with(|next: char| next.is_ascii_digit()))
}

/// Whether a malformed line may be numbers that end in NUL.
fn ends_in_nul(excerpt: &str) -> bool {
    let numbers = excerpt.replace(r"\x00", " ");
    numbers.len() < excerpt.len()
        && numbers.starts_with(|first: char| first.is_ascii_digit())
        && numbers.chars().all(|shown| shown.is_ascii_digit() || matches!(shown, ' ' | '…'))
}

/// Whether a field may be an address.
fn may_be_address(field: &str) -> bool {
    let line = Notation::CIDR.parse_line(field.as_bytes());
    matches!(line, Line::Value(_) | Line::Range { .. })
}

/// Whether a field may be an address of IPv6, or a block of them.
fn may_be_ipv6(field: &str) -> bool {
    let address = field.split('/').next().filter(|address| address.len() > 2);
    address.is_some_and(|address| address.parse::<std::net::Ipv6Addr>().is_ok())
}
