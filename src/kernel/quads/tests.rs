use super::*;
use crate::kernel::parse::PADDING;
use crate::number::{Line, Notation};
use proptest::prelude::*;

fn parsed(level: Level, text: &[u8], takes_ranges: bool) -> (Vec<(u64, u64, usize)>, usize) {
    let padding = [b'1'; PADDING];
    let bytes = [&padding, text, &padding].concat();
    let quads = Quads { bytes: &bytes, terminator: b'\n', takes_ranges };
    let mut found = Vec::new();
    let end = parse(level, quads, PADDING..PADDING + text.len(), |first, last, end| {
        found.push((first, last, end - PADDING));
    });
    (found, end - PADDING)
}

/// Lines as lists have them, and some that are nearly so.
fn line() -> impl Strategy<Value = String> {
    let octet = prop_oneof![
        8 => (0..=255_u32).prop_map(|octet| octet.to_string()),
        1 => "[0-9]{0,4}",
    ];
    let address = prop::collection::vec(octet, 4).prop_map(|octets| octets.join("."));
    let block = (any::<u32>(), 0..=33_u32, 0..8_u32).prop_map(|(bits, length, odd)| {
        let first =
            if odd == 0 { bits } else { bits & !(u32::MAX.checked_shr(length).unwrap_or(0)) };
        let [a, b, c, d] = first.to_be_bytes();
        format!("{a}.{b}.{c}.{d}/{length}")
    });
    let range = (any::<u32>(), any::<u32>(), 0..8_u32).prop_map(|(a, b, odd)| {
        let (first, last) = if odd == 0 { (a, b) } else { (a.min(b), a.max(b)) };
        let [first, last] = [first, last].map(std::net::Ipv4Addr::from);
        format!("{first}-{last}")
    });
    let odd = "[0-9./ -]{0,20}";
    let end = prop_oneof![8 => Just("\n"), 2 => Just("\r\n"), 1 => Just(" \n")];
    (prop_oneof![5 => address, 5 => block, 5 => range, 1 => odd], end)
        .prop_map(|(line, end)| line + end)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 4 } else { 2000 }))]

    #[test]
    fn all_levels_find_the_same(
        lines in prop::collection::vec(line(), 0..12),
        takes_ranges: bool,
        cut in 0..3_usize,
    ) {
        let mut text = lines.concat().into_bytes();
        text.truncate(text.len().saturating_sub(cut));
        let notation = if takes_ranges {
            Notation::CIDR
        } else {
            Notation::IPV4
        };
        let expected = parsed(Level::available()[0], &text, takes_ranges);
        for &level in Level::available() {
            prop_assert_eq!(&parsed(level, &text, takes_ranges), &expected, "{}", level.name());
        }
        let mut start = 0;
        for (first, last, end) in expected.0 {
            let line = notation.parse_line(&text[start..end]);
            let one = Line::Value(first);
            let is_same = if first == last { line == one } else {
                line == Line::Range { first, last }
            };
            prop_assert!(is_same, "{line:?}");
            start = end + 1;
        }
    }
}

#[test]
fn every_shape_of_an_address_is_plain() {
    let octets = [0, 9, 10, 99, 100, 199, 255];
    for a in octets {
        for b in octets {
            for c in octets {
                for d in octets {
                    let first = u64::from(u32::from_be_bytes([a, b, c, d]));
                    let text = format!("{a}.{b}.{c}.{d}\n");
                    for &level in Level::available() {
                        let found = parsed(level, text.as_bytes(), false);
                        let expected = (vec![(first, first, text.len() - 1)], text.len());
                        assert_eq!(found, expected, "{}", level.name());
                    }
                }
            }
        }
    }
    for odd in ["1.2.3\n", "1.2.3.256\n", "1.2.3.04\n", "1..2.3\n", "1.2.3.4.5\n", "1,2,3,4\n"] {
        for &level in Level::available() {
            assert_eq!(parsed(level, odd.as_bytes(), true), (vec![], 0), "{odd}");
        }
    }
}
