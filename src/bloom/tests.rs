use super::*;
use crate::error::Error;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

type Keys = BTreeSet<u64>;

fn filled<D: Plain>(bits: u64, hashes: u32, keys: &Keys) -> Filter<D> {
    let mut filter = Filter::<D>::with_bits(bits, hashes).unwrap();
    filter.extend(keys);
    filter
}

fn counted(cells: u64, hashes: u32, counter_bits: u32) -> CountingBloomFilter {
    let builder = CountingBloomFilter::builder().bits(cells).hashes(hashes);
    builder.counter_bits(counter_bits).build().unwrap()
}

fn has_all<D: Design, S: Storage>(filter: &Filter<D, S>, keys: &Keys) -> bool {
    let list: Vec<u64> = keys.iter().copied().collect();
    let mut found = Vec::new();
    filter.contains_many(&list, &mut found);
    let alone = keys.iter().all(|key| filter.contains(key));
    alone && found.len() == list.len() && found.iter().all(|found| *found)
}

/// Everything that keeps a key: build, merge, save, open, load.
fn no_key_is_ever_missed<D: Plain>(bits: u64, hashes: u32, a: &Keys, b: &Keys) {
    let both: Keys = a.union(b).copied().collect();
    let whole = filled::<D>(bits, hashes, &both);
    let mut joined = filled::<D>(bits, hashes, a);
    let list: Vec<u64> = b.iter().copied().collect();
    let mut other = Filter::<D>::with_bits(bits, hashes).unwrap();
    let new = other.insert_many(&list);
    assert_eq!((new, other.key_count()), (new, new));
    assert!(new <= b.len() as u64);
    assert!(other == filled::<D>(bits, hashes, b));

    let mut common = joined.to_memory().unwrap();
    common.intersection_assign(&other).unwrap();
    assert!(has_all(&common, &a.intersection(b).copied().collect()));
    joined.union_assign(&other).unwrap();
    assert!(joined == whole, "built apart and joined, or built whole");
    assert!(has_all(&joined, &both));

    let mut lent = Filter::<D>::with_bits(bits, hashes).unwrap();
    let shared = lent.share();
    std::thread::scope(|scope| {
        scope
            .spawn(|| a.iter().for_each(|key| assert!(shared.insert(key) || shared.contains(key))));
        scope.spawn(|| shared.insert_many(&list));
    });
    drop(shared);
    assert!(lent == whole);

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.bloom");
    whole.save(&path).unwrap();
    let opened = AnyFilter::open(&path).unwrap();
    opened.verify(&path).unwrap();
    let loaded = AnyFilter::load(&path).unwrap();
    assert!(both.iter().all(|key| opened.contains(key) && loaded.contains(key)));
    assert_eq!((opened.spec(), opened.key_count()), (whole.spec(), whole.key_count()));
    let mut again = Vec::new();
    whole.write_to(&mut again).unwrap();
    assert_eq!(again, fs::read(&path).unwrap());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn keys_stay_through_build_merge_save_and_load(
        a in prop::collection::btree_set(any::<u64>(), 0..300),
        b in prop::collection::btree_set(any::<u64>(), 0..300),
        bits in 1_u64..5000,
        hashes in 1_u32..20,
    ) {
        no_key_is_ever_missed::<Standard>(bits, hashes, &a, &b);
        no_key_is_ever_missed::<Blocked>(bits, hashes, &a, &b);
    }

    #[test]
    fn counters_agree_with_a_multiset(
        steps in prop::collection::vec((any::<bool>(), 0_u64..20), 0..200),
        width in prop::sample::select(vec![2_u32, 4, 8]),
    ) {
        let mut filter = counted(5000, 3, width);
        let mut model = [0_u64; 20];
        for (insert, key) in steps {
            let held = &mut model[usize::try_from(key).unwrap()];
            if insert {
                filter.insert(&key);
                *held += 1;
            } else if *held > 0 {
                prop_assert!(filter.remove(&key));
                *held -= 1;
            }
        }
        for (key, held) in (0_u64..).zip(model) {
            prop_assert!(filter.count(&key) >= held.min((1 << width) - 1));
            prop_assert_eq!(filter.contains(&key), filter.count(&key) > 0);
        }
        let keys: Keys = (0_u64..20).filter(|key| filter.contains(key)).collect();
        prop_assert!(has_all(&filter, &keys));
        let bits = filter.to_bloom().unwrap();
        prop_assert!(has_all(&bits, &keys));
        prop_assert_eq!(bits.ones(), filter.ones());
    }

    #[test]
    fn many_are_answered_as_one_by_one(
        keys in prop::collection::vec(any::<u64>(), 0..400),
        probes in prop::collection::vec(any::<u64>(), 0..400),
        hashes in 1_u32..12,
    ) {
        let keys: Keys = keys.into_iter().collect();
        let probes: Vec<u64> = probes.into_iter().chain(keys.iter().copied()).collect();
        let mut counting = counted(2000, hashes, 4);
        for key in &keys {
            counting.insert(key);
        }
        let standard = filled::<Standard>(2000, hashes, &keys);
        prop_assert!(counting.to_bloom().unwrap() == standard);
        let filters = [
            AnyFilter::Standard(standard),
            AnyFilter::Blocked(filled::<Blocked>(2000, hashes, &keys)),
            AnyFilter::Counting(counting),
        ];
        let mut found = Vec::new();
        for filter in filters {
            filter.contains_many(&probes, &mut found);
            let alone: Vec<bool> = probes.iter().map(|key| filter.contains(key)).collect();
            prop_assert_eq!(&found, &alone);
        }
    }

    #[test]
    fn damaged_files_are_errors_or_right(flips in prop::collection::vec((0_usize..5200, 0..8), 1..4)) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.bloom");
        let keys: Keys = (0..50).collect();
        let mut bytes = Vec::new();
        filled::<Blocked>(4096, 5, &keys).write_to(&mut bytes).unwrap();
        for (place, bit) in flips {
            let place = place % bytes.len();
            bytes[place] ^= 1_u8 << bit;
        }
        fs::write(&path, &bytes).unwrap();
        // A header that contradicts its checksum is refused at once, a payload
        // when it is loaded.
        if let Ok(filter) = AnyFilter::load(&path) {
            prop_assert!(keys.iter().all(|key| filter.contains(key)));
        }
        if let Ok(filter) = AnyFilter::open(&path) {
            let _ = (filter.contains(&7_u64), filter.estimated_keys(), filter.expected_rate());
        }
    }

    #[test]
    fn random_bytes_are_no_filter(bytes in prop::collection::vec(any::<u8>(), 0..6000), kind in 0..4) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        let mut bytes = bytes;
        // Beginnings that get past the first look.
        let start: &[u8] = match kind {
            0 => &header::MAGIC,
            1 => &[1, 5, 0, 0],
            2 => &[1, 0, 0, 0, 0, 0, 0, 0],
            3 => &[0, 0, 0, 2, 0, 0, 0, 5],
            _ => &[],
        };
        for (byte, start) in bytes.iter_mut().zip(start) {
            *byte = *start;
        }
        fs::write(&path, &bytes).unwrap();
        prop_assert!(AnyFilter::open(&path).is_err());
        let _ = (guava::load(&path).map(drop), dcso::load(&path).map(drop));
        let _ = spark::load(&path).map(drop);
    }
}

#[test]
fn truncation_anywhere_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x");
    let mut filter = filled::<Standard>(1000, 3, &(0..50).collect());
    let mut bytes = Vec::new();
    filter.write_to(&mut bytes).unwrap();
    for len in 0..bytes.len() {
        fs::write(&path, &bytes[..len]).unwrap();
        assert!(AnyFilter::open(&path).is_err(), "{len}");
    }
    fs::write(&path, [&bytes[..], &[0]].concat()).unwrap();
    assert!(AnyFilter::open(&path).is_err());

    let mut foreign = dcso::filter(50, 0.01).unwrap();
    foreign.extend(0..50_u64);
    let mut bytes = Vec::new();
    dcso::write_to(&foreign, b"", &mut bytes).unwrap();
    for len in 0..bytes.len() {
        fs::write(&path, &bytes[..len]).unwrap();
        assert!(dcso::load(&path).is_err(), "{len}");
    }
    filter = guava::filter(50, 0.01, guava::Options::default()).unwrap();
    bytes.clear();
    guava::write_to(&filter, &mut bytes).unwrap();
    for len in 0..bytes.len() {
        fs::write(&path, &bytes[..len]).unwrap();
        assert!(guava::load(&path).is_err(), "{len}");
    }
    filter = spark::filter(50, 0.01, -7).unwrap();
    bytes.clear();
    spark::write_to(&filter, &mut bytes).unwrap();
    for len in 0..bytes.len() {
        fs::write(&path, &bytes[..len]).unwrap();
        assert!(spark::load(&path).is_err() && AnyFilter::open(&path).is_err(), "{len}");
    }
    fs::write(&path, [&bytes[..], &[0]].concat()).unwrap();
    assert!(spark::load(&path).is_err());
}

/// Keys of the filters in tests/data/foreign.
const OF_SPARK: [&str; 4] = ["fox", "Zürich", "a key of more than sixteen bytes", ""];
const NUMBERS_OF_SPARK: [i64; 5] = [0, 1, -1, i64::MAX, i64::MIN];

#[test]
fn filters_of_spark_are_made_bit_for_bit() {
    let folder = tempfile::tempdir().unwrap();
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/foreign");
    for (name, scheme) in [
        ("v1", Scheme::SparkV1),
        ("v2", Scheme::SparkV2 { seed: 0 }),
        ("v2-seed", Scheme::SparkV2 { seed: -7 }),
    ] {
        let path = data.join(format!("{name}.spark"));
        let theirs = spark::load(&path).unwrap();
        assert_eq!(theirs.scheme(), scheme);
        let spec = theirs.spec();
        let builder = BloomFilter::builder().bits(spec.cells()).hashes(spec.hashes());
        let mut ours = builder.scheme(scheme).build().unwrap();
        ours.extend(OF_SPARK);
        ours.extend(NUMBERS_OF_SPARK);
        let mut bytes = Vec::new();
        spark::write_to(&ours, &mut bytes).unwrap();
        assert!(bytes == fs::read(&path).unwrap(), "{name}");
        assert!(OF_SPARK.iter().all(|key| theirs.contains(*key)));
        let mut found = Vec::new();
        theirs.contains_many(&NUMBERS_OF_SPARK, &mut found);
        assert_eq!(found, [true; 5]);
        // As a file of ours and back.
        let own = folder.path().join(name);
        theirs.save(&own).unwrap();
        let again = AnyFilter::load(&own).unwrap();
        assert_eq!(again.spec(), spec);
        assert_eq!(FilterKind::of(&path).unwrap(), FilterKind::Spark);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn filters_of_spark_come_back_from_their_files(
        keys in prop::collection::btree_set(any::<i64>(), 1..60),
        seed in any::<i32>(),
        rate in 0.0001..0.5_f64,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        let mut made = spark::filter(keys.len() as u64, rate, seed).unwrap();
        made.extend(keys.iter().copied());
        spark::save(&made, &path).unwrap();
        let read = FilterFile::open(&path).unwrap();
        prop_assert_eq!(read.kind(), FilterKind::Spark);
        prop_assert_eq!(read.filter.spec(), made.spec());
        prop_assert!(keys.iter().all(|key| read.filter.contains(key)));
        prop_assert!((0..200_i64).all(|key| read.filter.contains(&key) == made.contains(&key)));
    }
}

#[test]
fn a_filter_whose_file_was_cut_answers_maybe() {
    crate::guard_mapped_files().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.bloom");
    filled::<Standard>(1 << 20, 4, &(0..1000).collect()).save(&path).unwrap();
    let opened = AnyFilter::open(&path).unwrap();
    assert!(!(2000..2100_u64).all(|key| opened.contains(&key)));
    opened.intact(&path).unwrap();
    fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(4096).unwrap();
    assert!((0..2100_u64).all(|key| opened.contains(&key)));
    let mut found = Vec::new();
    opened.contains_many(&[3000_u64, 3001], &mut found);
    assert_eq!(found, [true, true]);
    assert!(opened.intact(&path).is_err());
    assert!(opened.write_to(Vec::new()).is_err());
}

#[test]
fn sizes_beyond_the_file_are_refused_before_memory_is_taken() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x");
    let refused = |bytes: &[u8], load: &dyn Fn(&Path) -> Option<Error>| {
        fs::write(&path, bytes).unwrap();
        assert!(matches!(load(&path), Some(Error::Damaged { .. })));
    };
    refused(&[1, 5, 0x7F, 0xFF, 0xFF, 0xFF, 0, 0], &|path| guava::load(path).err());
    refused(&[1, 5, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0], &|path| guava::load(path).err());
    let fields = [1_u64, 100, 0.01_f64.to_bits(), 7, u64::MAX, 0, 0];
    let bytes: Vec<u8> = fields.iter().flat_map(|field| field.to_le_bytes()).collect();
    refused(&bytes, &|path| dcso::load(path).err());
}

#[test]
fn what_cannot_be_built_says_why() {
    let rate = |rate| BloomFilter::new(1000, rate).err();
    assert_eq!(rate(0.0), Some(BuildError::Rate(0.0)));
    assert_eq!(rate(1.0), Some(BuildError::Rate(1.0)));
    assert_eq!(rate(-0.5), Some(BuildError::Rate(-0.5)));
    assert!(matches!(rate(f64::NAN), Some(BuildError::Rate(nan)) if nan.is_nan()));
    assert_eq!(BloomFilter::new(0, 0.01).err(), Some(BuildError::NoKeys));
    assert_eq!(BloomFilter::with_bits(100, 0).err(), Some(BuildError::Hashes(0)));
    assert_eq!(BloomFilter::with_bits(100, 256).err(), Some(BuildError::Hashes(256)));
    assert_eq!(BloomFilter::with_bits(0, 1).err(), Some(BuildError::NoBits));
    let bits = BloomFilter::with_bits_per_key(10, f64::INFINITY).err();
    assert_eq!(bits, Some(BuildError::BitsPerKey(f64::INFINITY)));
    assert_eq!(BloomFilter::new(u64::MAX, 1e-9).err(), Some(BuildError::TooLarge));
    assert_eq!(BlockedBloomFilter::with_bits(u64::MAX - 1, 1).err(), Some(BuildError::TooLarge));
    assert_eq!(CountingBloomFilter::with_bits(u64::MAX / 2, 1).err(), Some(BuildError::TooLarge));
    let refused = BloomFilter::with_bits(u64::MAX / 2, 1).err();
    assert!(matches!(refused, Some(BuildError::OutOfMemory { .. })), "{refused:?}");
    let counters = CountingBloomFilter::builder().bits(9).hashes(1).counter_bits(3).build();
    assert_eq!(counters.err(), Some(BuildError::CounterBits(3)));
    assert_eq!(BloomFilter::builder().keys(9).build().err(), Some(BuildError::Incomplete));
    let twice = BloomFilter::builder().keys(9).rate(0.1).bits(9).build();
    assert_eq!(twice.err(), Some(BuildError::Contradiction));
    let scheme = BlockedBloomFilter::builder().bits(512).hashes(3).scheme(Scheme::Dcso).build();
    assert_eq!(scheme.err(), Some(BuildError::Scheme(Scheme::Dcso)));
}

#[test]
fn filters_that_differ_do_not_join() {
    let make = |bits, hashes, seed| {
        BloomFilter::builder().bits(bits).hashes(hashes).seed(seed).build().unwrap()
    };
    let mut filter = make(100, 3, 1);
    assert_eq!(filter.union_assign(&make(101, 3, 1)), Err(Mismatch::Cells(100, 101)));
    assert_eq!(filter.union_assign(&make(100, 4, 1)), Err(Mismatch::Hashes(3, 4)));
    assert_eq!(filter.union_assign(&make(100, 3, 2)), Err(Mismatch::Seed(1, 2)));
    let other = BloomFilter::builder().bits(100).hashes(3).scheme(Scheme::Dcso).build().unwrap();
    let schemes = Mismatch::Scheme(Scheme::Xxh3 { seed: 1 }, Scheme::Dcso);
    assert_eq!(filter.estimated_union_keys(&other), Err(schemes));
    let widths = counted(100, 3, 2).union_assign(&counted(100, 3, 8));
    assert_eq!(widths, Err(Mismatch::CellBits(2, 8)));
    let mut any = AnyFilter::Standard(filter);
    let design = any.union_assign(&AnyFilter::Counting(counted(100, 3, 4)));
    assert_eq!(design, Err(Mismatch::Design("standard", "counting")));
}

#[test]
fn a_saturated_counter_never_falls() {
    for width in [2, 4, 8] {
        let (mut filter, largest) = (counted(10_000, 3, width), (1 << width) - 1);
        for _ in 0..largest {
            filter.insert("often");
        }
        filter.insert("once");
        assert_eq!((filter.count("often"), filter.count("once")), (largest, 1));
        for _ in 0..2 * largest {
            assert!(filter.remove("often"));
        }
        assert_eq!(filter.count("often"), largest);
        assert!(filter.remove("once") && !filter.contains("once") && !filter.remove("once"));

        let mut sum = counted(10_000, 3, width);
        sum.insert("once");
        let mut other = counted(10_000, 3, width);
        other.insert("once");
        other.insert("other");
        sum.union_assign(&other).unwrap();
        assert_eq!((sum.count("once"), sum.count("other")), (2, 1));
        sum.union_assign(&filter).unwrap();
        assert_eq!(sum.count("often"), largest);
        sum.intersection_assign(&other).unwrap();
        assert_eq!((sum.count("once"), sum.count("often")), (1, 0));
    }
}

#[test]
fn a_number_is_the_key_of_its_eight_bytes() {
    let mut filter = BloomFilter::builder().bits(1 << 16).hashes(4).seed(9).build().unwrap();
    assert!(filter.insert(&0x0102_u64));
    assert!(!filter.insert(&0x0102_u32) && !filter.insert(&[2_u8, 1, 0, 0, 0, 0, 0, 0][..]));
    assert!(!filter.insert(&0x0102_usize) && !filter.insert(&0x0102_isize));
    assert_eq!(filter.key_count(), 1);
    assert!(!filter.contains(&[2_u8, 1]));
}

#[test]
fn seeds_have_other_false_positives() {
    let ones = |seed| {
        let mut filter = BloomFilter::builder().bits(1000).hashes(3).seed(seed).build().unwrap();
        filter.extend(0..50_u64);
        filter.as_words().to_vec()
    };
    assert!(ones(1) == ones(1) && ones(1) != ones(2));
}

#[test]
fn measured_rates_agree_with_the_formulas() {
    fn check<D: Plain>(bits_per_key: f64) {
        let keys = 200_000;
        let mut filter = Filter::<D>::with_bits_per_key(keys, bits_per_key).unwrap();
        let list: Vec<u64> = (0..keys).collect();
        filter.insert_many(&list);
        let measured = filter.measured_rate(1_000_000, 1);
        let (low, high) = measured.interval(Confidence::Percent99);
        let theory = filter.rate_with(keys);
        assert!(low < theory && theory < high, "{theory} not in {low}..{high}");
        assert!(low < filter.expected_rate() && filter.expected_rate() < high);
        assert!((filter.estimated_keys() / params::real(keys) - 1.0).abs() < 0.01);
    }
    check::<Standard>(8.0);
    check::<Standard>(10.0);
    check::<Blocked>(8.0);
    check::<Blocked>(12.0);
}

#[test]
fn rates_of_the_known_table_are_met() {
    // Of many small filters: one alone may have luck.
    for (bits, hashes) in [(200, 1), (200, 5), (400, 3), (600, 5), (1000, 1), (1000, 5)] {
        let (mut probes, mut hits) = (0, 0);
        for seed in 0..400 {
            let builder = BloomFilter::builder().bits(bits).hashes(hashes);
            let mut filter = builder.seed(seed).build().unwrap();
            filter.extend(0..100_u64);
            let measured = filter.measured_rate(2000, seed);
            (probes, hits) = (probes + measured.probes, hits + measured.false_positives);
        }
        let measured = MeasuredRate { probes, false_positives: hits };
        let theory = params::rate(bits, 100, hashes);
        assert!((measured.rate() / theory - 1.0).abs() < 0.05, "{bits} {hashes} {measured:?}");
    }
}

#[test]
fn positions_reach_beyond_32_bits() {
    let mut filter = BloomFilter::with_bits((1 << 32) + (1 << 31), 8).unwrap();
    filter.extend(0..1000_u64);
    assert!((0..1000_u64).all(|key| filter.contains(&key)));
    assert_eq!(filter.ones(), 8000);
    let beyond = filter.as_words()[1 << 26..].iter().map(|word| word.count_ones()).sum::<u32>();
    assert!((2400..2950).contains(&beyond), "a third of 8000: {beyond}");
}

#[test]
fn the_bytes_of_files_do_not_change() {
    // Files outlive the program: a difference here needs another version.
    let digest = |filter: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = Vec::new();
        filter(&mut bytes);
        format!("{:016x}", xxhash_rust::xxh3::xxh3_64(&bytes))
    };
    let keys: Keys = (0..100).map(|key| key * key).collect();
    let mut counting = counted(1000, 5, 4);
    counting.extend(&keys);
    let digests = [
        digest(&|out| filled::<Standard>(1000, 5, &keys).write_to(out).unwrap()),
        digest(&|out| filled::<Blocked>(1024, 9, &keys).write_to(out).unwrap()),
        digest(&|out| counting.write_to(out).unwrap()),
    ];
    assert_eq!(digests, ["5e59c7cd56c65afd", "58a81bf47cbdaaa7", "ec7cfe5fa859ed24"]);
}

#[test]
fn a_file_is_replaced_by_one_of_its_kind_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x");
    let filter = AnyFilter::Blocked(BlockedBloomFilter::new(10, 0.01).unwrap());
    let file = FilterFile::new(filter, FilterKind::Guava);
    fs::write(&path, "before").unwrap();
    assert!(matches!(file.replace(&path), Err(Error::Usage { .. })));
    assert_eq!(fs::read(&path).unwrap(), b"before");
}

/// The mark of DCSO's files is the number of a hash function in Guava's.
#[test]
fn files_of_guava_are_not_taken_for_others() {
    for keys in [40, 50, 60, 70, 100, 120] {
        for key in 0..if cfg!(miri) { 2 } else { 300_u64 } {
            let mut filter = guava::filter(keys, 0.03, guava::Options::default()).unwrap();
            filter.insert(&key.to_string());
            let mut bytes = Vec::new();
            guava::write_to(&filter, &mut bytes).unwrap();
            let read = FilterFile::from_bytes(&bytes).unwrap();
            assert_eq!(read.kind(), FilterKind::Guava, "{keys} {key}");
            assert!(read.filter.contains(&key.to_string()));
        }
    }
}

#[test]
fn a_full_filter_may_have_all_keys_of_another_one() {
    let mut full = BloomFilter::with_bits(64, 1).unwrap();
    let mut half = full.try_clone().unwrap();
    full.extend(0..5000_u64);
    half.extend(0..40_u64);
    assert!(full.estimated_keys().is_infinite());
    for (a, b) in [(&full, &half), (&half, &full)] {
        let both = a.estimated_intersection_keys(b).unwrap();
        assert!((both - half.estimated_keys()).abs() < 1e-9, "{both}");
    }
    assert!(full.estimated_intersection_keys(&full).unwrap().is_infinite());
}
