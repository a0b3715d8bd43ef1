//! Counts the values of a set in the cells of a map.

use super::{MAX_ORDER, Map};
use crate::error::{Error, Result};
use crate::kernel::Level;
use crate::kernel::popcount::ones;
use crate::set::container::{Container, ends, sound};
use crate::set::{AsSet, Damage, Operand, SetView};

/// The default order.
const DEFAULT_ORDER: u32 = 9;

impl Map {
    /// A map of a set. Its universe is the smallest power of 4 that is above all values; its side has
    /// 2^`order` cells, by default 2^9, or fewer in a smaller universe.
    ///
    /// O(containers) if a cell has whole containers, else O(values).
    ///
    /// # Errors
    ///
    /// If `order` is above [`MAX_ORDER`], or the set is damaged.
    pub fn of(set: &(impl AsSet + ?Sized), order: Option<u32>) -> Result<Self> {
        let set = set.as_set();
        let max = set.ask(SetView::max)?.unwrap_or(0);
        let bits = (u64::BITS - max.leading_zeros()).next_multiple_of(2).max(2);
        Self::counted(set, order, bits, false)
    }

    /// A map of a set of IPv4 addresses, as numbers, in their whole space.
    ///
    /// # Errors
    ///
    /// As those of [`of`](Self::of), and if a value is no address.
    pub fn of_ipv4(set: &(impl AsSet + ?Sized), order: Option<u32>) -> Result<Self> {
        let set = set.as_set();
        let max = set.ask(SetView::max)?.unwrap_or(0);
        if max > u32::MAX.into() {
            return Err(Error::NoIpv4 { input: set.name().display().to_string(), value: max });
        }
        Self::counted(set, order, u32::BITS, true)
    }

    fn counted(set: Operand<'_>, order: Option<u32>, bits: u32, ipv4: bool) -> Result<Self> {
        if order.is_some_and(|order| order > MAX_ORDER) {
            return Err(Error::usage(format!("a map has at most 2^{MAX_ORDER} cells a side")));
        }
        let order = order.unwrap_or(DEFAULT_ORDER).min(bits / 2);
        let cell_bits = bits - 2 * order;
        let mut counts = vec![0_u64; 1 << (2 * order)];
        let cells = counts.len();
        let place = |cell: u64| {
            let place = usize::try_from(cell).ok().filter(|place| *place < cells);
            place.ok_or(Damage::of("a value is larger than the largest one"))
        };
        let count = if set.view().full_containers() > 0 { count_runs } else { count_containers };
        count(set.view(), cell_bits, &mut |cell, count| {
            counts[place(cell)?] += count;
            Ok(())
        })
        .map_err(|damage| set.damaged(damage))?;
        set.after(Ok(()))?;
        let name = set.name().file_name().unwrap_or(set.name().as_os_str());
        Ok(Self { order, cell_bits, counts, title: name.to_string_lossy().into_owned(), ipv4 })
    }
}

/// Takes the number of a cell, and how many more values it has.
type Counter<'c> = &'c mut dyn FnMut(u64, u64) -> Result<(), Damage>;

fn count_containers(set: SetView<'_>, cell_bits: u32, count: Counter<'_>) -> Result<(), Damage> {
    let (mut cursor, mut lows) = (set.cursor(), Vec::new());
    while let Some((key, container)) = cursor.next()? {
        if cell_bits >= 16 {
            count(key >> (cell_bits - 16), container.len().into())?;
            continue;
        }
        match container {
            Container::Runs(runs) => {
                for (first, last) in sound(runs.iter().map(|&run| ends(run))) {
                    let [first, last] = [first, last].map(|low| key << 16 | u64::from(low));
                    count_run([first, last], cell_bits, count)?;
                }
            }
            Container::Bitmap(words) if cell_bits >= u64::BITS.ilog2() => {
                let cells = words.chunks(1 << (cell_bits - u64::BITS.ilog2()));
                for (cell, words) in (key << (16 - cell_bits)..).zip(cells) {
                    count(cell, ones(Level::best(), words))?;
                }
            }
            _ => {
                let found = container.positions(0, &mut lows);
                for &low in &lows[..found] {
                    count((key << 16 | u64::from(low)) >> cell_bits, 1)?;
                }
            }
        }
    }
    Ok(())
}

fn count_runs(set: SetView<'_>, cell_bits: u32, count: Counter<'_>) -> Result<(), Damage> {
    for run in set.runs() {
        let (first, last) = run?;
        count_run([first, last], cell_bits, count)?;
    }
    Ok(())
}

fn count_run([mut from, last]: [u64; 2], cell_bits: u32, count: Counter<'_>) -> Result<(), Damage> {
    // A cell may have all numbers of 64 bits.
    let of_cell = u64::MAX.checked_shr(u64::BITS - cell_bits).unwrap_or(0);
    loop {
        let to = last.min(from | of_cell);
        count(from.checked_shr(cell_bits).unwrap_or(0), to - from + 1)?;
        if to == last {
            return Ok(());
        }
        from = to + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::set::IntegerSet;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 2 } else { 60 }))]

        #[test]
        fn each_cell_has_its_values(
            sparse in prop::collection::vec(0..1_u64 << 20, 0..50),
            dense in prop::collection::vec(0..1_u64 << 16, 0..8000),
            ranges in prop::collection::vec((0..1_u64 << 20, 0..200_000_u64), 0..4),
            order in 0..10_u32,
        ) {
            let mut set = IntegerSet::from_iter(sparse);
            set.extend(dense);
            for (first, len) in ranges {
                set.insert_range(first..first + len);
            }
            set.optimize();
            let map = Map::of(&set, Some(order)).unwrap();
            let mut counts = vec![0; map.counts.len()];
            for value in &set {
                counts[usize::try_from(value >> map.cell_bits).unwrap()] += 1;
            }
            prop_assert!(map.counts == counts);
        }
    }
}
