//! Files that other roaring libraries wrote.

use crate::workspace::Workspace;
use bitsort::set::{self, IntegerSet, SetFile};
use std::fs;
use std::path::{Path, PathBuf};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/roaring").join(name)
}

fn check(name: &str, expected: impl Iterator<Item = u64>) {
    let mut expected: Vec<u64> = expected.collect();
    expected.sort_unstable();
    expected.dedup();
    let file = SetFile::open(data(name)).unwrap();
    file.verify().unwrap();
    assert_eq!(file.len(), expected.len() as u64);
    assert!(file.view().iter().map(Result::unwrap).eq(expected.iter().copied()), "{name}");
    for (index, &value) in (0..).zip(&expected).step_by(997) {
        assert!(file.view().contains(value).unwrap());
        assert_eq!(file.view().select(index).unwrap(), Some(value));
        assert_eq!(file.view().rank(value).unwrap(), index + 1);
    }
    assert!(file.to_set().unwrap().iter().eq(expected.iter().copied()));
    assert_eq!(
        IntegerSet::from_roaring_bytes(&fs::read(data(name)).unwrap()).unwrap(),
        file.to_set().unwrap()
    );
    // Written again, it is read by the roaring crate, and has the same values.
    let work = Workspace::new();
    let copy = work.file("copy.roaring");
    set::or(&[&file]).write_as(&copy, set::SetFormat::Roaring).unwrap();
    let bytes = fs::read(&copy).unwrap();
    let theirs: Vec<u64> = match roaring::RoaringBitmap::deserialize_from(&bytes[..]) {
        Ok(bitmap) => bitmap.iter().map(u64::from).collect(),
        Err(_) => roaring::RoaringTreemap::deserialize_from(&bytes[..]).unwrap().iter().collect(),
    };
    assert_eq!(theirs, expected, "{name}");
}

#[test]
fn the_files_of_the_specification_hold_what_it_says() {
    let narrow = || {
        (0..100_000).step_by(1000).chain((100_000..200_000).map(|k| 3 * k)).chain(700_000..800_000)
    };
    check("bitmapwithruns.bin", narrow());
    check("bitmapwithoutruns.bin", narrow());
    check(
        "bitmap64.bin",
        (0..65_536).step_by(2).chain(1 << 32..(1 << 32) + 1_000_000).chain([1 << 48]),
    );
    let bucket = |base: u64| {
        (0..=0x9000)
            .chain(0xA000..=0x1_0000)
            .chain([0x2_0000, 0x2_0005])
            .chain((0..0x1_0000).step_by(2).map(|j| 0x8_0000 + j))
            .map(move |low: u64| base | low)
    };
    check("portable_bitmap64.bin", bucket(0).chain(bucket(1 << 32)));
}
