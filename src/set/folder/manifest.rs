//! The manifest of a folder.

use crate::error::{Error, FolderFault, Result};
use serde_json::{Map, Value, json};
use std::path::Path;

/// The name of the manifest.
pub(in crate::set) const MANIFEST: &str = "_manifest.json";
const VERSION: u64 = 1;
/// Most bytes of a manifest. A row has about 190: enough for more parts than a process may map.
pub(super) const MAX_MANIFEST_BYTES: usize = 16 << 20;

/// A row of the manifest: a part of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Part {
    /// The name of its file, `part-NNNNN.bits`.
    pub name: String,
    /// The smallest value.
    pub first: u64,
    /// The largest value.
    pub last: u64,
    /// Number of values; 1 at least.
    pub cardinality: u64,
    /// Bytes of the file.
    pub bytes: u64,
    /// XXH3-64 with seed 0 of the file.
    pub xxh3: u64,
}

/// All parts, in the order of their windows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::set) struct Manifest {
    pub(in crate::set) parts: Vec<Part>,
    pub(in crate::set) cardinality: u64,
}

impl Part {
    /// The name of the file of part `number`.
    pub(super) fn name_of(number: usize) -> String {
        format!("part-{number:05}.bits")
    }

    /// The row of a text that [`to_json`](Self::to_json) gave.
    ///
    /// # Errors
    ///
    /// If the text is no such row.
    pub fn from_json(text: &str) -> Result<Self> {
        let row = serde_json::from_str(text).ok().as_ref().and_then(Self::of_value);
        row.ok_or_else(|| Error::usage(format!("this is no row of a manifest: {text}")))
    }

    /// The row as a line of JSON, as it is in the manifest.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitsort::set::{self, IntegerSet, Part};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// let ids = IntegerSet::from([3, 40]);
    /// let part = set::or(&[&ids]).write_part(folder.path(), 7)?.expect("it has values");
    /// assert_eq!((part.name.as_str(), part.first, part.last), ("part-00007.bits", 3, 40));
    /// assert_eq!(Part::from_json(&part.to_json())?, part);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn to_json(&self) -> String {
        self.value().to_string()
    }

    fn value(&self) -> Value {
        json!({
            "name": self.name, "first": self.first, "last": self.last,
            "cardinality": self.cardinality, "bytes": self.bytes,
            "xxh3": format!("{:016x}", self.xxh3),
        })
    }

    fn of_value(value: &Value) -> Option<Self> {
        let number = |key| value.get(key).and_then(Value::as_u64);
        let digits = value.get("xxh3").and_then(Value::as_str)?;
        let is_hex = digits.len() == 16 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        Some(Self {
            name: value.get("name").and_then(Value::as_str)?.to_owned(),
            first: number("first")?,
            last: number("last")?,
            cardinality: number("cardinality")?,
            bytes: number("bytes")?,
            xxh3: u64::from_str_radix(digits, 16).ok().filter(|_| is_hex)?,
        })
    }

    /// Whether a name is that of a part. Such a name cannot lead out of the folder.
    pub(super) fn is_name(name: &str) -> bool {
        let number = name.strip_prefix("part-").and_then(|name| name.strip_suffix(".bits"));
        number.is_some_and(|number| {
            number.len() >= 5 && number.bytes().all(|digit| digit.is_ascii_digit())
        })
    }
}

impl Manifest {
    /// A manifest of parts in any order.
    ///
    /// # Errors
    ///
    /// If two parts overlap or have one name, or a part has no values.
    pub(super) fn of(folder: &Path, mut parts: Vec<Part>) -> Result<Self> {
        parts.sort_by_key(|part| part.first);
        let cardinality =
            parts.iter().try_fold(0_u64, |sum, part| sum.checked_add(part.cardinality));
        let manifest = Self { parts, cardinality: cardinality.unwrap_or(0) };
        manifest.check().map_err(|fault| fault.of(folder))?;
        Ok(manifest)
    }

    /// The manifest from its bytes.
    ///
    /// # Errors
    ///
    /// The fault in the bytes.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, FolderFault> {
        if bytes.len() > MAX_MANIFEST_BYTES {
            return Err(FolderFault::Manifest);
        }
        let manifest = Self::parse(bytes).ok_or(FolderFault::Manifest)?;
        manifest.check()?;
        Ok(manifest)
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let value: Map<String, Value> = serde_json::from_slice(bytes).ok()?;
        if value.get("version")?.as_u64()? != VERSION {
            return None;
        }
        let rows = value.get("parts")?.as_array()?;
        let parts = rows.iter().map(Part::of_value).collect::<Option<_>>()?;
        Some(Self { parts, cardinality: value.get("cardinality")?.as_u64()? })
    }

    fn check(&self) -> Result<(), FolderFault> {
        let mut sum = 0_u64;
        for part in &self.parts {
            let name = || part.name.clone();
            let span = part.last.checked_sub(part.first);
            let has_room = span.is_some_and(|span| part.cardinality.checked_sub(1) <= Some(span));
            if !Part::is_name(&part.name) || part.cardinality == 0 || !has_room {
                return Err(FolderFault::Row(name()));
            }
            sum = sum.checked_add(part.cardinality).ok_or_else(|| FolderFault::Row(name()))?;
        }
        for pair in self.parts.windows(2) {
            if pair[0].last >> 16 >= pair[1].first >> 16 {
                return Err(FolderFault::Overlap(pair[0].name.clone(), pair[1].name.clone()));
            }
        }
        let mut names: Vec<_> = self.parts.iter().map(|part| &part.name).collect();
        names.sort();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(FolderFault::Row(pair[0].clone()));
        }
        if sum == self.cardinality { Ok(()) } else { Err(FolderFault::Manifest) }
    }

    /// The bytes of the file, with one row on each line.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let rows: Vec<_> =
            self.parts.iter().map(|part| format!("\n    {}", part.value())).collect();
        let end = if rows.is_empty() { "" } else { "\n  " };
        format!(
            "{{\n  \"version\": {VERSION},\n  \"cardinality\": {},\n  \"parts\": [{}{end}]\n}}\n",
            self.cardinality,
            rows.join(",")
        )
        .into_bytes()
    }
}
