//! Files that Guava and DCSO's `bloom` wrote; scripts/check-guava and
//! scripts/check-dcso make them and compare many more.

use bitsort::bloom::{BloomFilter, dcso, guava};
use std::fs;
use std::path::{Path, PathBuf};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

fn guava_options(strategy: u8) -> guava::Options {
    guava::Options { mitz_32: strategy == 0, hash_rule: guava::HashRule::FromBits }
}

/// Keys of the files: numbers, as text where the funnel takes text.
const NUMBERS: [i32; 10] = [0, 1, -1, 7, 42, 65_536, i32::MAX, i32::MIN, 1_000_003, 99];

fn check_guava(funnel: &str, key: impl Fn(i32) -> Vec<u8>) {
    for strategy in [0, 1] {
        let path = data(&format!("guava/{funnel}-{strategy}.guava"));
        let theirs = guava::load(&path).unwrap();
        let mut ours = guava::filter(20, guava::DEFAULT_RATE, guava_options(strategy)).unwrap();
        for number in NUMBERS {
            ours.insert(&key(number));
            assert!(theirs.contains(&key(number)), "{funnel} {strategy} {number}");
        }
        let mut bytes = Vec::new();
        guava::write_to(&ours, &mut bytes).unwrap();
        assert_eq!(bytes, fs::read(&path).unwrap(), "{funnel} {strategy}");
        assert!(guava::is_guava_file(&bytes, bytes.len() as u64));
        assert!(theirs == ours);
        assert!((theirs.key_count()).abs_diff(10) <= 2, "{}", theirs.key_count());
    }
}

#[test]
fn filters_of_guava_are_read_and_written_bit_for_bit() {
    check_guava("long", |number| guava::long(number.into()).to_vec());
    check_guava("int", |number| guava::int(number).to_vec());
    check_guava("string", |number| number.to_string().into_bytes());
    check_guava("bytes", |number| number.to_string().into_bytes());
    check_guava("chars", |number| guava::unencoded_chars(&number.to_string()));
}

#[test]
fn sizes_are_those_of_both_generations_of_guava() {
    let shape = |keys, rate, hash_rule| {
        let options = guava::Options { mitz_32: false, hash_rule };
        let filter = guava::filter(keys, rate, options).unwrap();
        (filter.cells(), filter.hashes())
    };
    // 3 % always gives 5 hash functions in current versions.
    assert_eq!(shape(1000, 0.03, guava::HashRule::FromRate), (7360, 5));
    assert_eq!(shape(1000, 0.03, guava::HashRule::FromBits), (7360, 5));
    // The old rule looks at the number of bits after it was cut off.
    assert_eq!(shape(2, 0.5, guava::HashRule::FromBits), (64, 1));
    assert_eq!(shape(1, 0.1, guava::HashRule::FromBits), (64, 3));
    assert_eq!(shape(0, 0.03, guava::HashRule::FromRate), (64, 5));
    assert_eq!(shape(100_000, 0.9999, guava::HashRule::FromRate), (64, 1));
}

#[test]
fn filters_of_bloom_are_read_and_written_bit_for_bit() {
    let long = "x".repeat(200);
    let keys = ["fox", "dog", "Zürich", "0", "a key of more than sixteen bytes", "中", &long];
    let check = |name: &str, mut ours: BloomFilter, keys: &[&str], expected: &[u8]| {
        let (theirs, extra) = dcso::load(data(name)).unwrap();
        ours.extend(keys);
        assert!(keys.iter().all(|key| theirs.contains(key)), "{name}");
        assert!(theirs == ours && theirs.key_count() == ours.key_count(), "{name}");
        assert_eq!((theirs.goal(), &extra[..]), (ours.goal(), expected), "{name}");
        let mut bytes = Vec::new();
        dcso::write_to(&ours, &extra, &mut bytes).unwrap();
        assert_eq!(bytes, fs::read(data(name)).unwrap(), "{name}");
        assert!(dcso::is_dcso_file(&bytes));
    };
    check("dcso/keys.dcso", dcso::filter(50, 0.01).unwrap(), &keys, b"");
    check("dcso/data.dcso", dcso::filter(3, 0.2).unwrap(), &keys[..2], b"data of any kind\n");
}

#[test]
fn a_file_may_claim_any_number_of_keys() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x");
    let mut bytes = fs::read(data("dcso/keys.dcso")).unwrap();
    bytes[40..48].fill(0xFF);
    fs::write(&path, bytes).unwrap();
    let (mut filter, _) = dcso::load(&path).unwrap();
    assert_eq!(filter.key_count(), u64::MAX);
    assert!(filter.insert("cow") && filter.insert_many(&["hen", "pig"]) == 2);
    let mut new = Vec::new();
    filter.insert_each(&["owl"], &mut new);
    assert_eq!((&new[..], filter.key_count()), (&[true][..], u64::MAX));
}

#[test]
fn filters_of_others_are_refused_by_name() {
    let ours = BloomFilter::new(10, 0.01).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x");
    let refused = guava::save(&ours, &path).unwrap_err().to_string();
    assert!(refused.contains("its own hash functions"), "{refused}");
    assert!(dcso::save(&ours, b"", &path).is_err() && !path.exists());
    // Their filters are saved in files of ours, and come back as they were.
    let (theirs, _) = dcso::load(data("dcso/keys.dcso")).unwrap();
    theirs.save(&path).unwrap();
    let opened = bitsort::bloom::AnyFilter::open(&path).unwrap();
    assert!(opened.contains("fox") && opened.spec() == theirs.spec());
    assert_eq!(opened.goal(), theirs.goal());
    fs::write(&path, [0x1F, 0x8B, 8, 0]).unwrap();
    let packed = dcso::load(&path).unwrap_err().to_string();
    assert!(packed.contains("packed by gzip"), "{packed}");
    fs::write(&path, []).unwrap();
    assert!(dcso::load(&path).is_err() && guava::load(&path).is_err());
    let mut bytes = fs::read(data("dcso/keys.dcso")).unwrap();
    bytes[8..16].fill(0);
    fs::write(&path, bytes).unwrap();
    assert!(dcso::load(&path).unwrap_err().to_string().contains("is for is 0"));
    let packed = theirs.save(folder.path().join("x.gz")).unwrap_err().to_string();
    assert!(packed.contains("cannot be compressed"), "{packed}");
}
