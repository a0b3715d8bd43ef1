use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;

fn values() -> impl Strategy<Value = BTreeSet<u16>> {
    let edges = prop_oneof![Just(0_u16), Just(1), Just(65_534), Just(65_535), any::<u16>()];
    let near = prop::collection::vec(0_u16..600, 0..400);
    (prop::collection::btree_set(edges, 0..150), near).prop_map(|(mut values, near)| {
        values.extend(near);
        values
    })
}

fn lows<'v>(values: impl IntoIterator<Item = &'v u16>) -> Vec<Low> {
    values.into_iter().map(|value| value.to_le_bytes()).collect()
}

proptest! {
    #[test]
    fn every_level_agrees_with_sets(a in values(), b in values(), shift in 0_usize..32) {
        let mut memory = vec![[7; 2]; shift];
        memory.extend(lows(&a));
        let (x, y) = (&memory[shift..], lows(&b));
        for &level in Level::available() {
            let name = level.name();
            let mut out = vec![[0; 2]; x.len() + y.len() + SLACK];
            prop_assert_eq!(common(level, x, &y), a.intersection(&b).count(), "{}", name);
            let count = filter(level, true, x, &y, &mut out);
            prop_assert_eq!(&out[..count], &lows(a.intersection(&b))[..], "{}", name);
            let count = filter(level, false, x, &y, &mut out);
            prop_assert_eq!(&out[..count], &lows(a.difference(&b))[..], "{}", name);
            let count = merge(level, true, x, &y, &mut out);
            prop_assert_eq!(&out[..count], &lows(a.union(&b))[..], "{}", name);
            let count = merge(level, false, x, &y, &mut out);
            prop_assert_eq!(&out[..count], &lows(a.symmetric_difference(&b))[..], "{}", name);
        }
    }

    #[test]
    fn no_order_of_values_makes_a_kernel_panic(
        a in prop::collection::vec(prop_oneof![Just(0_u16), Just(u16::MAX), any::<u16>()], 0..200),
        b in prop::collection::vec(prop_oneof![Just(0_u16), Just(u16::MAX), any::<u16>()], 0..200),
    ) {
        let (x, y) = (lows(&a), lows(&b));
        for &level in Level::available() {
            let mut out = vec![[0; 2]; x.len() + y.len() + SLACK];
            for flag in [true, false] {
                prop_assert!(filter(level, flag, &x, &y, &mut out) <= x.len());
                prop_assert!(merge(level, flag, &x, &y, &mut out) <= x.len() + y.len());
            }
        }
    }
}
