//! Filter files of our own, of Guava, of DCSO and of Spark, damaged or of any bytes: what
//! loads answers, and is saved and loaded again as it was.
#![no_main]

use arbitrary::Arbitrary;
use bitsort::bloom::{AnyFilter, BlockedBloomFilter, BloomFilter, Builder, CountingBloomFilter};
use bitsort::bloom::{Design, dcso, guava, spark};
use bitsort_fuzz::{Edit, MemoryFile, damage, peak_of, seal};
use libfuzzer_sys::fuzz_target;

#[derive(Debug, Arbitrary)]
struct Case<'a> {
    base: Base<'a>,
    keys: Vec<u16>,
    edits: Vec<Edit>,
    sealed: bool,
}

#[derive(Debug, Arbitrary)]
enum Base<'a> {
    Bytes(&'a [u8]),
    Standard { bits: u16, hashes: u8, seed: u64 },
    Blocked { bits: u16, hashes: u8, seed: u64 },
    Counting { bits: u16, hashes: u8, log: u8 },
    Guava { keys: u8, mitz_32: bool },
    Dcso { keys: u8, data: &'a [u8] },
    Spark { keys: u8, seed: i32 },
    OfOthers(u8),
}

const OF_OTHERS: [&[u8]; 6] = [
    include_bytes!("../../tests/data/guava/string-1.guava"),
    include_bytes!("../../tests/data/guava/long-0.guava"),
    include_bytes!("../../tests/data/dcso/data.dcso"),
    include_bytes!("../../tests/data/dcso/keys.dcso"),
    include_bytes!("../../tests/data/foreign/v1.spark"),
    include_bytes!("../../tests/data/foreign/v2-seed.spark"),
];

/// Where the header says that the checksums lie.
const CHECKSUMS: usize = 96;

fn filter_file<D: Design>(builder: Builder<D>, keys: &[u16]) -> Vec<u8> {
    let mut out = Vec::new();
    if let Ok(mut filter) = builder.build() {
        for key in keys {
            filter.insert(&u64::from(*key));
        }
        assert!(keys.iter().all(|key| filter.contains(&u64::from(*key))));
        filter.write_to(&mut out).unwrap();
    }
    out
}

fn bytes_of(base: &Base, keys: &[u16]) -> Vec<u8> {
    let mut out = Vec::new();
    match *base {
        Base::Bytes(bytes) => return bytes.to_vec(),
        Base::OfOthers(number) => return OF_OTHERS[usize::from(number % 6)].to_vec(),
        Base::Standard { bits, hashes, seed } => {
            let builder = BloomFilter::builder().bits(bits.into()).hashes(hashes.into());
            return filter_file(builder.seed(seed), keys);
        }
        Base::Blocked { bits, hashes, seed } => {
            let builder = BlockedBloomFilter::builder().bits(bits.into()).hashes(hashes.into());
            return filter_file(builder.seed(seed), keys);
        }
        Base::Counting { bits, hashes, log } => {
            let builder = CountingBloomFilter::builder().bits(bits.into()).hashes(hashes.into());
            return filter_file(builder.counter_bits(1 << (log & 3)), keys);
        }
        Base::Guava { keys: count, mitz_32 } => {
            let options = guava::Options { mitz_32, ..guava::Options::default() };
            let mut filter = guava::filter(count.into(), 0.03, options).unwrap();
            for key in keys {
                filter.insert(&u64::from(*key));
            }
            guava::write_to(&filter, &mut out).unwrap();
        }
        Base::Spark { keys: count, seed } => {
            let mut filter = spark::filter(u64::from(count) + 1, 0.03, seed).unwrap();
            for key in keys {
                filter.insert(&u64::from(*key));
            }
            spark::write_to(&filter, &mut out).unwrap();
        }
        Base::Dcso { keys: count, data } => {
            let mut filter = dcso::filter(u64::from(count) + 1, 0.01).unwrap();
            for key in keys {
                filter.insert(&u64::from(*key));
            }
            dcso::write_to(&filter, data, &mut out).unwrap();
        }
    }
    out
}

fn answers(filter: &AnyFilter, keys: &[u64]) -> Vec<bool> {
    let mut found = Vec::new();
    filter.contains_many(keys, &mut found);
    assert!(found.iter().zip(keys).all(|(found, key)| *found == filter.contains(key)));
    found
}

/// All questions but those for keys; numbers, whatever the filter.
fn describe(filter: &AnyFilter) {
    assert!((0.0..=1.0).contains(&filter.fill_ratio()));
    assert!(filter.estimated_keys() >= 0.0);
    let rate = filter.expected_rate();
    assert!((0.0..=1.0).contains(&rate), "{rate}");
    let measured = filter.measured_rate(100, 1);
    assert!(!format!("{measured:?} {:?}", filter.spec()).is_empty());
}

/// What is loaded from the bytes that it was saved as.
fn again(filter: &AnyFilter) -> (Vec<u8>, AnyFilter) {
    let mut bytes = Vec::new();
    filter.write_to(&mut bytes).unwrap();
    let file = MemoryFile::new(&bytes);
    (bytes, AnyFilter::load(file.path()).unwrap())
}

fn check(filter: AnyFilter, keys: &[u64]) {
    describe(&filter);
    let found = answers(&filter, keys);
    let (bytes, same) = again(&filter);
    assert_eq!((same.spec(), same.key_count()), (filter.spec(), filter.key_count()));
    assert_eq!(same.goal(), filter.goal());
    assert_eq!(answers(&same, keys), found);
    assert_eq!(again(&same).0, bytes);
    let mut more = same;
    let new = more.insert_many(keys);
    assert!(new <= keys.len() as u64);
    assert!(answers(&more, keys).iter().all(|found| *found), "an inserted key is found");
    more.union_assign(&filter).unwrap();
    more.intersection_assign(&filter).unwrap();
    let mut kept = answers(&more, keys).into_iter().zip(found);
    assert!(kept.all(|(now, before)| now || !before), "no key is lost");
    describe(&more);
}

fuzz_target!(|case: Case| {
    let mut bytes = bytes_of(&case.base, &case.keys);
    damage(&mut bytes, &case.edits);
    if case.sealed {
        seal(&mut bytes, CHECKSUMS);
    }
    let keys: Vec<u64> = case.keys.iter().map(|key| u64::from(*key)).chain(0..20).collect();
    let file = MemoryFile::new(&bytes);
    let path = file.path();
    let ((own, guavas, dcsos), taken) =
        peak_of(|| (AnyFilter::load(&path), guava::load(&path), dcso::load(&path)));
    let (sparks, more) = peak_of(|| spark::load(&path));
    let taken = taken.max(more);
    assert!(taken <= 4 * bytes.len() + (1 << 16), "{taken} bytes for {}", bytes.len());
    if let Ok(mapped) = AnyFilter::open(&path) {
        let mut found = Vec::new();
        mapped.contains_many(&keys, &mut found);
        let _ = (mapped.fill_ratio(), mapped.estimated_keys(), mapped.expected_rate());
        if let Ok(loaded) = &own {
            assert_eq!(answers(loaded, &keys), found);
        }
    }
    if case.edits.is_empty() && !case.sealed {
        let is_own = matches!(
            case.base,
            Base::Standard { .. } | Base::Blocked { .. } | Base::Counting { .. }
        );
        assert!(!is_own || bytes.is_empty() || own.is_ok());
        assert!(!matches!(case.base, Base::Guava { .. }) || guavas.is_ok());
        assert!(!matches!(case.base, Base::Dcso { .. }) || dcsos.is_ok());
        assert!(!matches!(case.base, Base::Spark { .. }) || sparks.is_ok());
    }
    if let Ok(filter) = own {
        check(filter, &keys);
    }
    let write = |filter: &BloomFilter| {
        let mut out = Vec::new();
        guava::write_to(filter, &mut out).unwrap();
        out
    };
    if let Ok(filter) = guavas {
        assert_eq!(write(&filter), bytes, "Guava's format has no room for anything else");
        check(AnyFilter::Standard(filter), &keys);
    }
    if let Ok(filter) = sparks {
        let mut out = Vec::new();
        spark::write_to(&filter, &mut out).unwrap();
        assert_eq!(out, bytes, "Spark's format has no room for anything else");
        check(AnyFilter::Standard(filter), &keys);
    }
    if let Ok((filter, data)) = dcsos {
        let mut out = Vec::new();
        dcso::write_to(&filter, &data, &mut out).unwrap();
        assert_eq!(out.len(), bytes.len());
        assert_eq!(out[8..], bytes[8..], "all but the flags are kept");
        check(AnyFilter::Standard(filter), &keys);
    }
});
