//! Files of sets: what others wrote, or damaged with all checksums made right
//! again, gives an error or answers, and answers agree where the file is whole.
#![no_main]

use arbitrary::Arbitrary;
use bitsort::set::foreign::{self, Foreign, ForeignFormat};
use bitsort::set::{self, IntegerSet, SetFile, SetFormat, SetKind, SetView};
use bitsort_fuzz::{Edit, MemoryFile, Piece, damage, folder, peak_of, seal, values_of};
use libfuzzer_sys::fuzz_target;

#[derive(Debug, Arbitrary)]
struct Case<'a> {
    base: Base<'a>,
    edits: Vec<Edit>,
    sealed: bool,
    probes: [u64; 3],
}

#[derive(Debug, Arbitrary)]
enum Base<'a> {
    Bytes(&'a [u8]),
    Written { format: Written, wide: bool, pieces: Vec<Piece> },
    OfOthers(u8),
    Foreign { format: u8, pieces: Vec<Piece> },
}

#[derive(Debug, Clone, Copy, Arbitrary)]
enum Written {
    Dense,
    Roaring,
    Sparse,
    Runs,
    Portable,
}

const OF_OTHERS: [&[u8]; 4] = [
    include_bytes!("../../tests/data/roaring/bitmap64.bin"),
    include_bytes!("../../tests/data/roaring/bitmapwithruns.bin"),
    include_bytes!("../../tests/data/roaring/bitmapwithoutruns.bin"),
    include_bytes!("../../tests/data/roaring/portable_bitmap64.bin"),
];

/// Where the header says that the checksums lie.
const CHECKSUMS: usize = 104;
/// Values that are looked at; a small file may stand for very many.
const MANY: usize = 100_000;

fn bytes_of(base: &Base) -> Vec<u8> {
    match base {
        Base::Bytes(bytes) => bytes.to_vec(),
        Base::OfOthers(number) => OF_OTHERS[usize::from(number % 4)].to_vec(),
        Base::Foreign { format, pieces } => {
            let format = ForeignFormat::ALL[usize::from(*format) % ForeignFormat::ALL.len()];
            let width = if format == ForeignFormat::ClickHouse32 { 32 } else { 60 };
            let set: IntegerSet = values_of(pieces, width).into_iter().collect();
            foreign::encode(&set, format).unwrap()
        }
        Base::Written { format, wide, pieces } => {
            let dense = matches!(format, Written::Dense);
            let width = if dense { 22 } else { 32 << u32::from(*wide) };
            let set: IntegerSet = values_of(pieces, width).into_iter().collect();
            let format = match format {
                Written::Dense => SetFormat::DenseBits,
                Written::Roaring => SetFormat::RoaringBits,
                Written::Sparse => SetFormat::SparseBits,
                Written::Runs => SetFormat::RunBits,
                Written::Portable => SetFormat::Roaring,
            };
            let path = folder().join("set");
            set.write_as(&path, format).unwrap();
            std::fs::read(&path).unwrap()
        }
    }
}

/// Every query; an answer or an error, and none takes memory.
fn ask(view: SetView<'_>, probes: &[u64]) {
    for &probe in probes {
        let _ = (view.contains(probe), view.rank(probe), view.select(probe));
        let _ = (view.next(probe), view.previous(probe));
        let _ = view.range_len(probe..=probe.saturating_add(1 << 20));
        let _ = view.range(probe..).take(10).count();
        let _ = view.range(..=probe).rev().take(10).count();
    }
    let _ = (view.min(), view.max(), view.len());
    let mut found = [false; 3];
    let _ = view.contains_many(&probes[..3], &mut found);
    let _ = view.iter().take(MANY).filter(Result::is_ok).count();
}

/// Answers of a set that contradicts itself nowhere.
fn check(view: SetView<'_>, cardinality: u64, probes: &[u64]) {
    let values: Vec<u64> = view.iter().take(MANY).map(Result::unwrap).collect();
    assert!(values.is_sorted_by(|a, b| a < b), "values ascend");
    assert_eq!(view.len(), Ok(cardinality));
    assert_eq!(view.min(), Ok(values.first().copied()));
    if values.len() < MANY {
        assert_eq!(values.len() as u64, cardinality);
        assert_eq!(view.max(), Ok(values.last().copied()));
    }
    for (index, &value) in values.iter().enumerate().step_by(1 + values.len() / 50) {
        assert_eq!(view.contains(value), Ok(true));
        assert_eq!(view.rank(value), Ok(index as u64 + 1));
        assert_eq!(view.select(index as u64), Ok(Some(value)));
        assert_eq!(view.next(value), Ok(Some(value)));
        assert_eq!(view.previous(value), Ok(Some(value)));
    }
    let known = values.last().copied().unwrap_or(u64::MAX);
    for &probe in probes.iter().filter(|probe| **probe <= known) {
        let rank = values.partition_point(|value| *value <= probe);
        let there = rank > 0 && values[rank - 1] == probe;
        assert_eq!(view.contains(probe), Ok(there));
        assert_eq!(view.rank(probe), Ok(rank as u64));
        let next = values.get(if there { rank - 1 } else { rank }).copied();
        assert!(values.len() == MANY || view.next(probe) == Ok(next));
    }
    assert_eq!(view.select(cardinality), Ok(None));
}

/// Bytes of other systems give an error or a set.
fn foreign(bytes: &[u8], probes: &[u64]) {
    let (_, taken) = peak_of(|| {
        for format in ForeignFormat::ALL {
            if let Ok(found) = foreign::decode_as(bytes, format, "bytes") {
                ask(found.view(), probes);
            }
        }
        if let Ok(found) = foreign::decode(bytes, "bytes") {
            ask(found.view(), probes);
        }
    });
    // A value of 4 bytes takes up to 24 in memory where all are far apart, and 8 on its way there.
    assert!(taken <= 16 * bytes.len() + (1 << 20), "{taken} bytes for {}", bytes.len());
    if let Ok(found) = foreign::decode(bytes, "bytes")
        && let Ok(set) = found.to_set()
    {
        check(set.view(), set.len(), probes);
    }
    for part in foreign::parts(bytes, "bytes").into_iter().flatten() {
        let _ = foreign::decode_part(bytes, &part, "bytes").map(|found| ask(found.view(), probes));
    }
    let _ = Foreign::of(bytes).to_string();
}

fuzz_target!(|case: Case| {
    let mut bytes = bytes_of(&case.base);
    damage(&mut bytes, &case.edits);
    if case.sealed {
        seal(&mut bytes, CHECKSUMS);
    }
    let probes = [case.probes[0], case.probes[1] >> 32, case.probes[2] >> 45];
    if let (Base::Foreign { format, pieces }, true) = (&case.base, case.edits.is_empty()) {
        let format = ForeignFormat::ALL[usize::from(*format) % ForeignFormat::ALL.len()];
        if !case.sealed {
            let width = if format == ForeignFormat::ClickHouse32 { 32 } else { 60 };
            let set: IntegerSet = values_of(pieces, width).into_iter().collect();
            assert_eq!(foreign::decode_as(&bytes, format, "bytes").unwrap().to_set().unwrap(), set);
        }
    }
    if let Ok(set) = IntegerSet::from_roaring_bytes(&bytes) {
        check(set.view(), set.len(), &probes);
    }
    if let Ok(view) = SetView::roaring(&bytes) {
        ask(view, &probes);
    }
    foreign(&bytes, &probes);
    let kind = SetKind::of(&bytes);
    let file = MemoryFile::new(&bytes);
    let path = file.path();
    let (opened, taken) = peak_of(|| {
        let opened = SetFile::open(&path);
        if let Ok(set) = &opened {
            ask(set.view(), &probes);
        }
        opened
    });
    // Beside what values of a container are decoded into: 4 bytes each.
    assert!(taken <= 3 * bytes.len() + (1 << 19), "{taken} bytes for {}", bytes.len());
    let Ok(set) = opened else {
        assert!(
            !case.edits.is_empty() || case.sealed || !matches!(case.base, Base::Written { .. })
        );
        return;
    };
    assert_eq!(Some(set.kind()), kind);
    let whole = set.verify();
    if whole.is_ok() {
        check(set.view(), set.len(), &probes);
        // Who reads the format as its specification says finds the same.
        let theirs: Option<Vec<u64>> = match set.kind() {
            SetKind::Roaring => {
                let theirs = roaring::RoaringBitmap::deserialize_from(&bytes[..]);
                theirs.ok().map(|set| set.iter().map(u64::from).take(MANY).collect())
            }
            SetKind::Treemap => {
                let theirs = roaring::RoaringTreemap::deserialize_from(&bytes[..]);
                theirs.ok().map(|set| set.iter().take(MANY).collect())
            }
            _ => None, // formats of its own
        };
        if let Some(theirs) = theirs {
            assert!(set.view().iter().take(MANY).map(Result::unwrap).eq(theirs));
        }
    } else {
        assert!(
            !case.edits.is_empty() || case.sealed || !matches!(case.base, Base::Written { .. })
        );
    }
    if set.len() <= 1 << 20 {
        let other = IntegerSet::from_iter(probes);
        let _ = (set.intersection_len(&other), set.is_subset(&other), set.is_disjoint(&other));
        let pair: [&dyn set::AsSet; 2] = [&set, &other];
        let _ = (set::or(&pair).to_set(), set::andnot(&pair).to_set());
        let _ = set::xor(&[&set, &set]).to_set();
        let copy = set.to_set();
        assert!(whole.is_err() || copy.unwrap().iter().eq(set.iter().map(Result::unwrap)));
    }
});
