use super::manifest::MANIFEST;
use super::*;
use crate::error::{Error, FolderFault};
use crate::io::page::fix_checksums;
use crate::set::view::tests::check;
use crate::set::{IntegerSet, SetFile, SetFormat, hashed_pieces, or};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::fs;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Values of parts that become dense, roaring and sparse files.
fn values() -> impl Strategy<Value = BTreeSet<u64>> {
    let near = prop::collection::btree_set(0_u64..400_000, 0..400);
    let far = prop::collection::btree_set(any::<u64>(), 0..300);
    let run = (0_u64..1 << 40, 0_u64..100_000).prop_map(|(first, len)| first..first + len);
    (near, far, run).prop_map(|(near, far, run)| near.into_iter().chain(far).chain(run).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_folder_answers_like_the_model(
        set in values(),
        parts in 1_usize..9,
        probes in prop::collection::vec(any::<u64>(), 20),
    ) {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("set");
        let memory: IntegerSet = set.iter().copied().collect();
        write_folder(&memory, &path, NonZero::new(parts).unwrap()).unwrap();
        let file = SetFile::open(&path).unwrap();
        let in_parts: Vec<u64> = file.view().iter().map(Result::unwrap).step_by(97).collect();
        let probes: Vec<u64> = in_parts.into_iter().chain(probes).collect();
        check(file.view(), &set, &probes)?;
        let expected: Vec<u64> = set.iter().copied().collect();
        let (mut both_ends, mut taken) = (file.iter(), (Vec::new(), Vec::new()));
        for turn in 0.. {
            let next = if turn % 3 == 0 { both_ends.next() } else { both_ends.next_back() };
            match (next, turn % 3) {
                (Some(value), 0) => taken.0.push(value.unwrap()),
                (Some(value), _) => taken.1.push(value.unwrap()),
                (None, _) => break,
            }
        }
        let (mut met, back) = taken;
        met.extend(back.into_iter().rev());
        prop_assert_eq!(met, expected);
    }

    #[test]
    fn pieces_have_all_values_of_their_windows(
        set in values(),
        starts in prop::collection::btree_set(1_u64..1 << 41, 0..5),
        most_bytes in prop_oneof![Just(1_usize), Just(20_000), Just(8 << 20)],
    ) {
        let memory: IntegerSet = set.iter().copied().collect();
        let starts: Vec<u64> = starts.into_iter().collect();
        let mut found = BTreeSet::new();
        let mut windows = Vec::new();
        for (window, bytes) in pieces(&memory, &starts, most_bytes, &Arc::default()).unwrap() {
            let piece = SetFile::from_bytes(&bytes).unwrap();
            let (min, max) = (piece.min().unwrap().unwrap(), piece.max().unwrap().unwrap());
            prop_assert!(window == 0 || starts[window - 1] <= min);
            prop_assert!(starts.get(window).is_none_or(|&start| max < start));
            prop_assert!(bytes.len() <= most_bytes || min >> 16 == max >> 16);
            found.extend(piece.iter().map(Result::unwrap));
            windows.push(window);
        }
        prop_assert!(windows.is_sorted());
        prop_assert_eq!(found, set);
    }

    #[test]
    fn buckets_of_two_sets_belong_together(
        sets in [values(), values()],
        buckets in 1_usize..7,
        most_bytes in prop_oneof![Just(1_usize), Just(8 << 20)],
    ) {
        let mut found = vec![BTreeSet::new(); buckets];
        for set in &sets {
            let memory: IntegerSet = set.iter().copied().collect();
            let mut met = BTreeSet::new();
            let pieces = hashed_pieces(&memory, buckets, most_bytes, &Arc::default());
            for (bucket, bytes) in pieces.unwrap() {
                let piece = SetFile::from_bytes(&bytes).unwrap();
                let (min, max) = (piece.min().unwrap().unwrap(), piece.max().unwrap().unwrap());
                prop_assert!(bytes.len() <= most_bytes || min >> 16 == max >> 16);
                let values: Vec<u64> = piece.iter().map(Result::unwrap).collect();
                found[bucket].extend(values.iter().copied());
                met.extend(values);
            }
            prop_assert_eq!(&met, set);
        }
        let [a, b] = &sets;
        let sum: usize = found.iter().map(BTreeSet::len).sum();
        prop_assert_eq!(sum, a.union(b).count());
        prop_assert!(hashed_pieces(&IntegerSet::new(), 0, most_bytes, &Arc::default()).is_err());
    }
}

/// A folder of three parts.
fn three(root: &Path) -> PathBuf {
    let path = root.join("set");
    let set = (0..900).map(|index| index << 16).collect::<IntegerSet>();
    write_folder(&set, &path, NonZero::new(3).unwrap()).unwrap();
    path
}

fn refusal(path: &Path) -> FolderFault {
    match SetFile::open(path) {
        Err(Error::Folder { fault, .. }) => fault,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_folder_that_is_not_whole_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let path = three(root.path());
    let (manifest, part) = (path.join(MANIFEST), path.join("part-00001.bits"));
    let (told, bytes) = (fs::read_to_string(&manifest).unwrap(), fs::read(&part).unwrap());

    fs::remove_file(&part).unwrap();
    assert_eq!(refusal(&path), FolderFault::Missing("part-00001.bits".into()));
    fs::write(&part, &bytes[..bytes.len() - 1]).unwrap();
    assert!(SetFile::open(&path).is_err());
    let other = IntegerSet::from([400 << 16]);
    assert!(or(&[&other]).write(&part).is_err(), "a part is not replaced alone");
    or(&[&other]).write(root.path().join("other.bits")).unwrap();
    fs::copy(root.path().join("other.bits"), &part).unwrap();
    assert!(matches!(refusal(&path), FolderFault::Bytes { .. }));
    fs::write(&part, &bytes).unwrap();

    fs::remove_file(&manifest).unwrap();
    assert_eq!(refusal(&path), FolderFault::NoManifest);
    let swapped = |from: &str, to: &str| {
        assert!(told.contains(from), "{told}");
        fs::write(&manifest, told.replacen(from, to, 1)).unwrap();
        refusal(&path)
    };
    assert_eq!(swapped("\"version\": 1", "\"version\": 2"), FolderFault::Manifest);
    assert_eq!(swapped("\"cardinality\": 900", "\"cardinality\": 901"), FolderFault::Manifest);
    assert_eq!(
        swapped("part-00001", "../part-00001"),
        FolderFault::Row("../part-00001.bits".into())
    );
    assert_eq!(swapped("part-00001", "part-00000"), FolderFault::Row("part-00000.bits".into()));
    // Values 300 << 16 to 599 << 16.
    let first = swapped("\"first\":19660800", "\"first\":19595264");
    assert!(matches!(first, FolderFault::Overlap(..)), "{first:?}");
    let first = swapped("\"first\":19660800", "\"first\":19660801");
    assert_eq!(first, FolderFault::Row("part-00001.bits".into()));
    fs::write(&manifest, "[".repeat(1 << 20)).unwrap();
    assert_eq!(refusal(&path), FolderFault::Manifest);

    fs::write(&manifest, &told).unwrap();
    SetFile::open(&path).unwrap().verify().unwrap();
    fs::remove_file(&part).unwrap();
    std::os::unix::fs::symlink(".", &part).unwrap();
    assert!(SetFile::open(&path).is_err(), "a part that leads to the folder itself");
}

#[test]
fn damage_names_the_part_and_verify_reads_them_all() {
    let root = tempfile::tempdir().unwrap();
    let path = three(root.path());
    let part = path.join("part-00002.bits");
    let mut bytes = fs::read(&part).unwrap();
    bytes[4096 + 40] ^= 0x10; // in the payload
    fs::write(&part, &bytes).unwrap();
    let file = SetFile::open(&path).unwrap();
    let told = file.verify().unwrap_err().to_string();
    assert!(told.contains("part-00002.bits"), "{told}");
    let found: Result<Vec<u64>, _> = file.iter().collect();
    if let Err(error) = found {
        assert!(error.to_string().contains("part-00002.bits"), "{error}");
    }
    // A part that is whole, and another one.
    let told = fs::read_to_string(path.join(MANIFEST)).unwrap();
    let at = told.find("xxh3\":\"").unwrap() + 7;
    let mut changed = told.into_bytes();
    changed[at] = if changed[at] == b'0' { b'1' } else { b'0' };
    fs::write(path.join(MANIFEST), changed).unwrap();
    let told = SetFile::open(&path).unwrap().verify().unwrap_err().to_string();
    assert!(told.contains("checksum"), "{told}");
}

#[test]
fn a_folder_appears_whole_and_replaces_only_its_like() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("set");
    let ids = IntegerSet::from([3, 1 << 40]);
    let parts = NonZero::new(2).unwrap();
    fs::create_dir(&path).unwrap();
    for _ in 0..3 {
        write_folder(&ids, &path, parts).unwrap();
        assert_eq!(SetFile::open(&path).unwrap().to_set().unwrap(), ids);
    }
    // An input may be the output.
    let open = SetFile::open(&path).unwrap();
    write_folder(&open, &path, NonZero::new(1).unwrap()).unwrap();
    assert_eq!(open.to_set().unwrap(), ids);
    assert_eq!(fs::read_dir(&path).unwrap().count(), 2);

    fs::write(path.join("letter.txt"), "mine").unwrap();
    let refused = write_folder(&ids, &path, parts).unwrap_err();
    assert!(refused.to_string().contains("letter.txt"), "{refused}");
    assert!(path.join("letter.txt").is_file());
    let file = root.path().join("file");
    fs::write(&file, "mine").unwrap();
    assert!(write_folder(&ids, &file, parts).is_err());
    let empty = root.path().join("empty");
    write_folder(&IntegerSet::new(), &empty, parts).unwrap();
    let empty = SetFile::open(&empty).unwrap();
    assert!(empty.is_empty() && empty.min().unwrap().is_none() && empty.iter().next().is_none());
    empty.verify().unwrap();
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 3, "no temporary folder stays");
}

#[test]
fn a_manifest_without_end_is_not_read_to_its_end() {
    let root = tempfile::tempdir().unwrap();
    let long = root.path().join(MANIFEST);
    let file = fs::File::create(&long).unwrap();
    file.set_len(1 << 40).unwrap(); // a hole: it takes no room
    assert!(matches!(refusal(root.path()), FolderFault::Manifest));
    let ids = IntegerSet::from([3, 40]);
    assert!(write_folder(&ids, root.path(), NonZero::new(2).unwrap()).is_err());
}

#[test]
fn parts_and_pieces_of_a_set_have_all_its_values() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("ids.bits");
    let ids: IntegerSet = (0..1_u64 << 18).step_by(3).collect();
    ids.write_as(&path, SetFormat::DenseBits).unwrap();
    let mut bytes = fs::read(&path).unwrap();
    // Behind the header is the first word, which has value 3: the header counts it.
    bytes[4096] ^= 1 << 3;
    fix_checksums(&mut bytes);
    let damaged = SetFile::from_bytes(&bytes).unwrap();
    let expected = "another number of values";
    let parts = NonZero::new(3).unwrap();
    let refused = write_folder(&damaged, root.path().join("parts"), parts).unwrap_err();
    assert!(refused.to_string().contains(expected), "{refused}");
    assert!(!root.path().join("parts").exists());
    let refused = pieces(&damaged, &[1 << 17], 1 << 12, &Arc::default()).unwrap_err();
    assert!(refused.to_string().contains(expected), "{refused}");
}

#[test]
fn copies_of_a_damaged_set_are_refused_by_its_checksums() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("ids.bits");
    IntegerSet::from([3, 40]).write_as(&path, SetFormat::DenseBits).unwrap();
    let mut bytes = fs::read(&path).unwrap();
    bytes[4096] ^= (1 << 3) | (1 << 5); // 5 takes the place of 3
    let damaged = SetFile::from_bytes(&bytes).unwrap();
    assert_eq!(damaged.to_set().unwrap(), [5, 40].into());
    let refused = [
        pieces(&damaged, &[], 1 << 12, &Arc::default()).unwrap_err(),
        hashed_pieces(&damaged, 2, 1 << 12, &Arc::default()).unwrap_err(),
        or(&[&damaged]).to_temporary_file().unwrap_err(),
        or(&[&damaged]).write_part(root.path(), 0).unwrap_err(),
        or(&[&damaged]).write(&path).unwrap_err(),
    ];
    for refused in refused {
        assert!(refused.to_string().contains("checksum"), "{refused}");
    }
    // The bytes are not copied; the values of many sets are joined without their checksums.
    let other = IntegerSet::from([7]);
    assert_eq!(or(&[&damaged, &other]).to_temporary_file().unwrap().len(), 3);
}

#[test]
fn a_cursor_goes_behind_the_last_key_of_all() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("set");
    write_folder(&IntegerSet::from([3, u64::MAX]), &path, NonZero::new(2).unwrap()).unwrap();
    let file = SetFile::open(&path).unwrap();
    let mut cursor = file.view().cursor();
    cursor.seek(1 << 48).unwrap();
    assert!(cursor.next().unwrap().is_none());
    assert_eq!(file.to_set().unwrap(), [3, u64::MAX].into());
}

#[test]
fn a_commit_refuses_parts_that_are_not_there_and_drops_those_of_nobody() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("set");
    let (low, high) = (IntegerSet::from([3]), IntegerSet::from([1 << 40]));
    assert!(FolderWriter::create("").is_err());
    let writer = FolderWriter::create(&path).unwrap();
    let part = or(&[&low]).write_part(writer.folder(), 0).unwrap().unwrap();
    assert_eq!(or(&[&IntegerSet::new()]).write_part(writer.folder(), 7).unwrap(), None);
    or(&[&high]).write_part(writer.folder(), 9).unwrap();
    fs::write(writer.folder().join(".bitsort-left"), "by a task that was killed").unwrap();
    writer.commit(vec![part.clone()]).unwrap();
    assert_eq!(fs::read_dir(&path).unwrap().count(), 2);
    let writer = FolderWriter::create(&path).unwrap();
    let missing = Part { name: "part-00005.bits".into(), ..part.clone() };
    assert!(writer.commit(vec![missing]).is_err());
    let writer = FolderWriter::create(&path).unwrap();
    or(&[&low]).write_part(writer.folder(), 0).unwrap();
    or(&[&low]).write_part(writer.folder(), 1).unwrap();
    let twin = Part { name: "part-00001.bits".into(), ..part.clone() };
    assert!(writer.commit(vec![part, twin]).unwrap_err().to_string().contains("overlap"));
    assert_eq!(SetFile::open(&path).unwrap().to_set().unwrap(), low);
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 1);
}
