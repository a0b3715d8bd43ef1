//! Files of sets by key: what others wrote, or damaged with all checksums made right again,
//! gives an error or answers, and answers agree where the file is whole.
#![no_main]

use arbitrary::Arbitrary;
use bitsort::lines::Group;
use bitsort::set::AsSet;
use bitsort::set::foreign::spark;
use bitsort::set::keyed::{KeyName, KeyedSets, Overlap, union};
use bitsort_fuzz::{Edit, MemoryFile, damage, folder, peak_of, seal};
use libfuzzer_sys::fuzz_target;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Arbitrary)]
struct Case<'a> {
    base: Base<'a>,
    edits: Vec<Edit>,
    sealed: bool,
    probes: [u32; 3],
}

#[derive(Debug, Arbitrary)]
enum Base<'a> {
    Bytes(&'a [u8]),
    Rows(Vec<(&'a [u8], Ids)>),
    /// Rows of Spark's bitmaps: no file, but bytes of others as well.
    Spark(Vec<(i64, &'a [u8])>),
}

/// Numbers of a key, so many in a row from the first on.
#[derive(Debug, Arbitrary)]
struct Ids {
    first: u32,
    count: u16,
    step: u8,
    far: bool,
}

impl Ids {
    fn values(&self) -> impl Iterator<Item = u64> {
        let first = u64::from(self.first) << if self.far { 20 } else { 0 };
        (0..u64::from(self.count % 5000)).map(move |at| first + at * u64::from(self.step))
    }
}

/// Where the header says that the checksums lie.
const CHECKSUMS: usize = 72;
/// Values that are looked at; a small file may stand for very many.
const MANY: usize = 100_000;

type Model = BTreeMap<Vec<u8>, BTreeSet<u64>>;

fn model(rows: &[(&[u8], Ids)]) -> Model {
    let mut model = Model::new();
    for (key, ids) in rows {
        for id in ids.values() {
            model.entry(key.to_vec()).or_default().insert(id);
        }
    }
    model
}

fn written(model: &Model) -> Vec<u8> {
    let path = folder().join("written.sets");
    let pairs: Vec<_> =
        model.iter().flat_map(|(key, ids)| ids.iter().map(|id| (key.clone(), *id))).collect();
    Group::new().threads(1).pairs(pairs).to_file(&path).unwrap();
    std::fs::read(&path).unwrap()
}

/// Every question; an answer or an error, and none takes memory.
fn ask(sets: &KeyedSets, probes: &[u64]) {
    for keyed in sets.iter().take(100).flatten() {
        let _ = (sets.find(keyed.key), KeyName(keyed.key).to_string());
        let Ok(Some(set)) = sets.get(keyed.key) else { continue };
        for &probe in probes {
            let _ = (set.contains(probe), set.rank(probe), set.select(probe));
            let _ = set.view().range(probe..).take(10).count();
        }
        let _ = (set.min(), set.max(), set.verify());
        let _ = set.view().iter().take(MANY).filter(Result::is_ok).count();
    }
    let _ = sets.keys_of(probes);
    let _ = (sets.find(b""), sets.get("k"), sets.set(sets.len()).is_err());
}

/// Answers of a file that contradicts itself nowhere.
fn check(sets: &KeyedSets, expected: Option<&Model>) {
    let mut found = Model::new();
    for (index, keyed) in sets.iter().enumerate() {
        let keyed = keyed.unwrap();
        assert_eq!(sets.find(keyed.key).unwrap(), Some(index));
        let set = sets.get(keyed.key).unwrap().unwrap();
        assert_eq!(set.len(), keyed.cardinality);
        if set.len() > MANY as u64 {
            return;
        }
        let values: BTreeSet<u64> = set.iter().map(Result::unwrap).collect();
        assert_eq!(values.len() as u64, keyed.cardinality);
        found.insert(keyed.key.to_vec(), values);
    }
    if let Some(expected) = expected {
        assert_eq!(&found, expected);
    }
    let ids: Vec<u64> = found.values().filter_map(BTreeSet::first).copied().take(5).collect();
    for (id, keys) in ids.iter().zip(sets.keys_of(&ids).unwrap()) {
        let having = found.iter().filter(|(_, ids)| ids.contains(id));
        assert!(keys.iter().copied().eq(having.map(|(key, _)| &key[..])));
    }
    for pair in Overlap::new(5).of_file(sets).unwrap() {
        let [a, b] = pair.sets.map(|index| &found[sets.key(index).unwrap()]);
        assert_eq!(pair.intersection, a.intersection(b).count() as u64);
    }
}

/// What can be done with several files.
fn join(sets: &KeyedSets) {
    let path = folder().join("joined.sets");
    if union(&[sets.clone(), sets.clone()], &path).is_ok() {
        let joined = KeyedSets::open(&path).unwrap();
        assert_eq!(joined.len(), sets.len());
    }
}

fn spark_rows(rows: &[(i64, &[u8])]) {
    let Ok(set) = spark::from_rows(rows.iter().copied()) else { return };
    let bits: u64 =
        rows.iter().flat_map(|(_, row)| row.iter()).map(|b| u64::from(b.count_ones())).sum();
    assert!(set.len() <= bits);
    let again = spark::from_rows(spark::rows(set.as_set().view()).map(|row| {
        let (bucket, bitmap) = row.unwrap();
        (bucket, bitmap.to_vec())
    }));
    assert_eq!(again.unwrap(), set);
}

fuzz_target!(|case: Case| {
    let (mut bytes, model) = match &case.base {
        Base::Spark(rows) => return spark_rows(rows),
        Base::Bytes(bytes) => (bytes.to_vec(), None),
        Base::Rows(rows) => {
            let model = model(rows);
            (written(&model), Some(model))
        }
    };
    damage(&mut bytes, &case.edits);
    if case.sealed {
        seal(&mut bytes, CHECKSUMS);
    }
    let is_whole = case.edits.is_empty() && !case.sealed;
    let probes = case.probes.map(u64::from);
    let file = MemoryFile::new(&bytes);
    let path = file.path();
    let (opened, taken) = peak_of(|| {
        let opened = KeyedSets::open(&path);
        if let Ok(sets) = &opened {
            ask(sets, &probes);
        }
        opened
    });
    assert!(taken <= 8 * bytes.len() + (1 << 20), "{taken} bytes for {}", bytes.len());
    let Ok(sets) = opened else {
        assert!(model.is_none() || !is_whole);
        return;
    };
    if sets.verify().is_ok() {
        check(&sets, model.as_ref().filter(|_| is_whole));
    } else {
        assert!(model.is_none() || !is_whole);
    }
    join(&sets);
});
