//! Sets in serde's formats.

use super::integer_set::IntegerSet;
use serde::de::{self, SeqAccess, Visitor};
use serde::ser::SerializeSeq;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// Human-readable formats get a sequence of ascending numbers; others get the bytes of a 64-bit
/// roaring bitmap in the portable format, which the `roaring` crate and `CRoaring` read too.
///
/// # Errors
///
/// Those of the format.
impl Serialize for IntegerSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            let mut sequence = serializer.serialize_seq(usize::try_from(self.len()).ok())?;
            for value in self {
                sequence.serialize_element(&value)?;
            }
            return sequence.end();
        }
        serializer.serialize_bytes(&self.to_roaring_bytes())
    }
}

/// The numbers of a sequence may be in any order.
///
/// # Errors
///
/// If bytes are no sound roaring bitmap, and those of the format.
impl<'de> Deserialize<'de> for IntegerSet {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            deserializer.deserialize_seq(Numbers)
        } else {
            deserializer.deserialize_bytes(Portable)
        }
    }
}

struct Numbers;

impl<'de> Visitor<'de> for Numbers {
    type Value = IntegerSet;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a sequence of natural numbers below 2^64")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut numbers: A) -> Result<IntegerSet, A::Error> {
        let mut error = None;
        let values = std::iter::from_fn(|| match numbers.next_element::<u64>() {
            Ok(value) => value,
            Err(found) => {
                error = Some(found);
                None
            }
        });
        let set = values.fuse().collect();
        error.map_or(Ok(set), Err)
    }
}

struct Portable;

impl Visitor<'_> for Portable {
    type Value = IntegerSet;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the bytes of a 64-bit roaring bitmap in the portable format")
    }

    fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<IntegerSet, E> {
        IntegerSet::from_roaring_bytes(bytes).map_err(|damage| E::custom(damage.what))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use roaring::RoaringTreemap;
    use serde_test::{Configure, Token, assert_de_tokens_error, assert_tokens};
    use std::collections::BTreeSet;

    fn portable(set: &BTreeSet<u64>) -> Vec<u8> {
        let mut theirs = RoaringTreemap::from_iter(set);
        theirs.optimize();
        let mut bytes = Vec::new();
        theirs.serialize_into(&mut bytes).unwrap();
        bytes
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn sets_survive_both_kinds_of_formats(
            values in prop::collection::btree_set(any::<u64>(), 0..50),
            run in 0_u64..1 << 33,
        ) {
            let values: BTreeSet<u64> = values.into_iter().chain(run..run + 70_000).collect();
            let set: IntegerSet = values.iter().copied().collect();
            let text = serde_json::to_string(&set).unwrap();
            prop_assert_eq!(&text, &serde_json::to_string(&values).unwrap());
            prop_assert!(serde_json::from_str::<IntegerSet>(&text).unwrap() == set);
            let bytes: &'static [u8] = portable(&values).leak();
            assert_tokens(&set.compact(), &[Token::Bytes(bytes)]);
        }
    }

    #[test]
    fn containers_of_any_form_are_the_same_bytes() {
        let mut inserted = IntegerSet::new();
        for value in (3..70_000).rev() {
            inserted.insert(value);
        }
        let bytes: &'static [u8] = portable(&(3..70_000).collect()).leak();
        for set in [inserted, (3..70_000).collect()] {
            assert_tokens(&set.compact(), &[Token::Bytes(bytes)]);
        }
    }

    #[test]
    fn numbers_come_in_any_order_and_damage_is_an_error() {
        let set: IntegerSet = serde_json::from_str("[9, 3, 9, 18446744073709551615]").unwrap();
        assert!(set == IntegerSet::from_iter([3, 9, u64::MAX]));
        assert!(serde_json::from_str::<IntegerSet>("[1, -2]").is_err());
        let whole = portable(&BTreeSet::from([1, 2, 1 << 40]));
        for cut in 0..whole.len() {
            let cut: &'static [u8] = whole[..cut].to_vec().leak();
            let mut found =
                serde_test::Compact::<IntegerSet>::deserialize(de::value::BytesDeserializer::<
                    de::value::Error,
                >::new(cut));
            assert!(found.as_mut().is_err(), "cut at {}", cut.len());
        }
        let longer: &'static [u8] = [&whole[..], &[0]].concat().leak();
        assert_de_tokens_error::<serde_test::Compact<IntegerSet>>(
            &[Token::Bytes(longer)],
            "bytes follow the end of the 64-bit roaring bitmap",
        );
    }
}
