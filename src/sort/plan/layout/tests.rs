use super::*;
use crate::kernel::in_usize;
use crate::sort::partitioning::Window;

fn facts() -> Facts {
    Facts {
        values: Some(10_000_000),
        window: Window { base: 5, last: 400_000_000 },
        duplicate_share: 0.1,
        can_reread: true,
        spill_bytes: Ok(1 << 40),
    }
}

fn wishes(memory_bytes: u64) -> Wishes {
    Wishes {
        memory_bytes,
        beside: Beside::default(),
        threads: 2,
        strategy: None,
        ignores_duplicates: false,
        keeps_rejects: false,
        tuning: Tuning::default(),
    }
}

#[test]
fn the_shares_of_every_layout_add_up_to_the_limit() {
    let facts = facts();
    let (unpacking, packing) = (16 << 20, 9 << 20);
    let others =
        Beside { unpacking, decoding: 12345, packing, set_writer: 7, iterator: 99, keys: 11 };
    for (mebibytes, threads, rejects) in
        [(64, 1, false), (64, 2, false), (256, 2, true), (2048, 16, true)]
    {
        for beside in [Beside::default(), others] {
            let wishes =
                Wishes { threads, beside, keeps_rejects: rejects, ..wishes(mebibytes << 20) };
            let mut fitted = 0;
            for (bitmap, spill) in [(false, false), (false, true), (true, false), (true, true)] {
                let Some(layout) = divide(&facts, &wishes, bitmap, spill) else { continue };
                let sum: u64 = layout.shares().map(|(bytes, _)| bytes).sum();
                assert_eq!(sum, mebibytes << 20, "{layout:?}");
                fitted += 1;
            }
            assert!(fitted > 0);
        }
    }
}

/// Memory that is hardly enough is refused. A plan without room for a thread would lose its values.
#[test]
fn every_thread_of_a_layout_has_room_for_chunks() {
    for threads in [1, 2, 7, 16, 64] {
        for (bitmap, spill) in [(false, false), (false, true), (true, false)] {
            let divided =
                |bytes| divide(&facts(), &Wishes { threads, ..wishes(bytes) }, bitmap, spill);
            let (mut from, mut to) = (0, 1 << 34);
            while from + 1 < to {
                let middle: u64 = from + (to - from) / 2;
                if divided(middle).is_some() { to = middle } else { from = middle }
            }
            for more in [0, 1, 8, 64, 4096, 1 << 20] {
                let Some(layout) = divided(to + more) else { continue };
                let words = in_usize(layout.pool_bytes) / 8;
                let chunks = words / 2 / threads / layout.chunk_words;
                assert!(chunks >= 2, "{threads} threads, {to} + {more} bytes: {layout:?}");
            }
        }
    }
}

/// Entries of 4 bytes take half of the memory, and partitions that fit in the cache.
#[test]
fn phone_numbers_have_entries_of_4_bytes() {
    for bits in 32..=41 {
        let window = Window { base: 0, last: (1 << bits) - 1 };
        for values in [100_000, 10_000_000] {
            let facts = Facts { values: Some(values), window, ..facts() };
            let layout = divide(&facts, &wishes(1 << 30), false, true).unwrap();
            assert_eq!(layout.entry_bits, 32, "{values} values of {bits} bits");
        }
    }
    let window = Window { base: 0, last: u64::MAX };
    let layout = divide(&Facts { window, ..facts() }, &wishes(1 << 30), false, true).unwrap();
    assert_eq!(layout.entry_bits, 64);
}

/// On a machine of much memory, where a wide bitmap fits.
#[test]
fn places_in_a_segment_of_the_bitmap_have_32_bits() {
    for bits in 30..48 {
        let last = (1 << bits) - 1;
        for values in [1000, 1 << 20, 1 << 30, 1 << 36] {
            let window = Window { base: 0, last };
            let facts = Facts { values: Some(values), window, ..facts() };
            if let Some(layout) = divide(&facts, &wishes(1 << 46), true, false) {
                assert!(layout.partitioning.shift <= 32, "{bits} bits, {values} values");
            }
        }
    }
}

#[test]
fn a_folder_that_cannot_be_asked_is_told_where_its_room_is_needed() {
    let spill_bytes = Err("cannot look for room in /x: no".to_owned());
    let facts = Facts { spill_bytes, can_reread: false, ..facts() };
    assert!(choose(&facts, &wishes(1 << 30)).is_ok(), "in memory");
    let wishes = Wishes { strategy: Some(Strategy::Spill), ..wishes(64 << 20) };
    let refused = choose(&facts, &wishes).unwrap_err().to_string();
    assert!(refused.contains("cannot look for room in /x: no"), "{refused}");
}

/// There may be any number of copies, and only a bitmap has room for all that lie in the window.
#[test]
fn a_pipe_whose_copies_are_dropped_gets_a_bitmap_if_it_may_not_spill() {
    let window = Window { base: 0, last: u64::from(u32::MAX) };
    let facts = Facts { values: None, window, can_reread: false, spill_bytes: Ok(0), ..facts() };
    for (ignores_duplicates, memory_bytes, strategy) in [
        (true, 1 << 30, Strategy::Dense),
        (true, 256 << 20, Strategy::InMemory),
        (false, 1 << 30, Strategy::InMemory),
    ] {
        let wishes = Wishes { ignores_duplicates, ..wishes(memory_bytes) };
        assert_eq!(choose(&facts, &wishes).unwrap().strategy, strategy, "{memory_bytes}");
    }
}
