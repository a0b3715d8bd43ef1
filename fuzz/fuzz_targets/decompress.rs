//! Compressed inputs, whole or damaged: the sort of what they hold, or an error,
//! within the memory that was allowed.
#![no_main]

use arbitrary::Arbitrary;
use bitsort::ByteSize;
use bitsort::sort::{InvalidLines, Sort, Tuning};
use bitsort_fuzz::{Edit, MemoryFile, damage, folder, peak_of};
use libfuzzer_sys::fuzz_target;
use std::io::Write;

#[derive(Debug, Arbitrary)]
struct Case<'a> {
    members: Vec<Member<'a>>,
    edits: Vec<Edit>,
    distinct: bool,
}

#[derive(Debug, Arbitrary)]
enum Member<'a> {
    Packed {
        format: Packing,
        level: u8,
        numbers: Vec<u16>,
        repeat: u8,
    },
    /// Behind the bytes that tell the format.
    Raw {
        format: Packing,
        bytes: &'a [u8],
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Arbitrary)]
enum Packing {
    Gzip,
    Zstd,
    Bzip2,
    Xz,
}

impl Packing {
    fn magic(self) -> &'static [u8] {
        match self {
            Self::Gzip => b"\x1F\x8B\x08",
            Self::Zstd => b"\x28\xB5\x2F\xFD",
            Self::Bzip2 => b"BZh91AY&SY",
            Self::Xz => b"\xFD7zXZ\0",
        }
    }

    fn packed(self, level: u8, text: &[u8]) -> Vec<u8> {
        let all = "a vector takes all that is written";
        match self {
            Self::Gzip => {
                let level = flate2::Compression::new(u32::from(level % 10));
                let mut out = flate2::write::GzEncoder::new(Vec::new(), level);
                out.write_all(text).expect(all);
                out.finish().expect(all)
            }
            Self::Zstd => zstd::encode_all(text, i32::from(level % 8)).expect(all),
            Self::Bzip2 => {
                let level = bzip2::Compression::new(u32::from(level % 9) + 1);
                let mut out = bzip2::write::BzEncoder::new(Vec::new(), level);
                out.write_all(text).expect(all);
                out.finish().expect(all)
            }
            Self::Xz => {
                let options = lzma_rust2::XzOptions::with_preset(u32::from(level % 2));
                let mut out = lzma_rust2::XzWriter::new(Vec::new(), options).expect(all);
                out.write_all(text).expect(all);
                out.finish().expect(all)
            }
        }
    }
}

/// What the sort may take, and what is allowed beside it.
const MEMORY: ByteSize = ByteSize::from_mib(64);

fuzz_target!(|case: Case| {
    let (mut bytes, mut values) = (Vec::new(), Vec::new());
    let mut first = None;
    let mut is_whole = case.edits.is_empty();
    for member in case.members.iter().take(3) {
        match member {
            Member::Packed { format, level, numbers, repeat } => {
                let mut text = String::new();
                for _ in 0..=repeat % 64 {
                    for number in numbers.iter().take(500) {
                        text += &format!("{number}\n");
                        values.push(u64::from(*number));
                    }
                }
                bytes.extend(format.packed(*level, text.as_bytes()));
                is_whole &= *first.get_or_insert(*format) == *format;
            }
            Member::Raw { format, bytes: raw } => {
                bytes.extend_from_slice(format.magic());
                bytes.extend_from_slice(raw);
                is_whole = false;
            }
        }
    }
    damage(&mut bytes, &case.edits);
    let file = MemoryFile::new(&bytes);
    let sort = Sort::new()
        .memory(MEMORY)
        .threads(2)
        .temporary_folder(folder())
        .tuning(Tuning {
            block_bytes: Some(1 << 14),
            pool_bytes: Some(1 << 20),
            partitions: Some(64),
            scratch_bytes: Some(1 << 18),
            output_bytes: Some(1 << 16),
            ..Tuning::default()
        })
        .invalid(InvalidLines::Skip)
        .distinct(case.distinct);
    let mut out = Vec::new();
    let (result, taken) = peak_of(|| sort.file(file.path()).to_writer(&mut out));
    let kept = out.capacity();
    // What was written was not read back: it is not part of the limit.
    let allowed = MEMORY.bytes() as usize + 2 * kept;
    assert!(taken <= allowed, "{taken} bytes, {allowed} allowed");
    if is_whole {
        result.unwrap();
        values.sort_unstable();
        if case.distinct {
            values.dedup();
        }
        let lines = std::str::from_utf8(&out).unwrap().lines();
        assert!(lines.map(|line| line.parse::<u64>().unwrap()).eq(values));
    } else if let Ok(report) = result {
        assert_eq!(report.lines, report.values + report.blank + report.rejected);
        assert_eq!(report.written_bytes, out.len() as u64);
    }
});
