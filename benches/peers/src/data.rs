//! Ascending values of a density, and probes.

use fastrand::Rng;
use std::fmt;

/// Values are below it: a plain bitmap takes 16 MiB, more than L2 keeps.
pub const UNIVERSE: u64 = 1 << 27;
/// Parts of the universe that are in a set.
pub const DENSITIES: [f64; 7] = [1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 0.5];
/// Probes of the density benchmarks.
pub const PROBES: usize = 1 << 18;
/// Values of a run, on average.
const RUN: u64 = 64;

/// How values lie in the universe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Distribution {
    /// Each value is there with the same chance.
    Uniform,
    /// Runs of 32 to 96 values, spread evenly.
    Clustered,
}

impl Distribution {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Uniform, Self::Clustered];

    fn values(self, universe: u64, density: f64, rng: &mut Rng) -> Vec<u32> {
        match self {
            Self::Uniform => uniform(universe, density, rng),
            Self::Clustered => clustered(universe, density, rng),
        }
    }
}

impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Uniform => "uniform",
            Self::Clustered => "clustered",
        })
    }
}

/// Two sets of the same density.
#[derive(Debug)]
pub struct Data {
    /// Its distribution.
    pub distribution: Distribution,
    /// The part of the universe that is in each set.
    pub density: f64,
    /// Values are below it.
    pub universe: u64,
    /// Values of the first set, ascending.
    pub a: Vec<u32>,
    /// Values of the second set, ascending.
    pub b: Vec<u32>,
    /// Half of them are values of the first set, half are not; in no order.
    pub probes: Vec<u32>,
    /// How many of them are.
    pub hits: u64,
}

impl Data {
    /// The same values for the same arguments.
    #[must_use]
    pub fn new(distribution: Distribution, universe: u64, density: f64, probes: usize) -> Self {
        let mut rng = Rng::with_seed(0x0062_6974_736F_7274);
        let a = distribution.values(universe, density, &mut rng);
        let b = distribution.values(universe, density, &mut rng);
        let probes = self::probes(&a, universe, probes, &mut rng);
        let hits = probes.1;
        Self { distribution, density, universe, a, b, probes: probes.0, hits }
    }

    /// Its name in benchmarks.
    #[must_use]
    pub fn name(&self) -> String {
        name(self.distribution, self.density)
    }

    /// Values in both, and values in either.
    #[must_use]
    pub fn common(&self) -> (u64, u64) {
        let (mut i, mut j, mut both) = (0, 0, 0);
        while let (Some(x), Some(y)) = (self.a.get(i), self.b.get(j)) {
            both += u64::from(x == y);
            i += usize::from(x <= y);
            j += usize::from(y <= x);
        }
        (both, (self.a.len() + self.b.len()) as u64 - both)
    }
}

/// `uniform-1e-3`.
#[must_use]
pub fn name(distribution: Distribution, density: f64) -> String {
    format!("{distribution}-{density:e}")
}

fn uniform(universe: u64, density: f64, rng: &mut Rng) -> Vec<u32> {
    let mut values = Vec::new();
    let scale = 1.0 / (1.0 - density).ln();
    let mut next = 0_u64;
    loop {
        // Gaps of independent values are geometric.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "is positive")]
        let gap = ((1.0 - rng.f64()).ln() * scale) as u64;
        next = next.saturating_add(gap);
        if next >= universe {
            return values;
        }
        values.push(narrow(next));
        next += 1;
    }
}

fn clustered(universe: u64, density: f64, rng: &mut Rng) -> Vec<u32> {
    let mut values = Vec::new();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "is positive")]
    #[expect(clippy::cast_precision_loss, reason = "a small number")]
    let slot = (RUN as f64 / density) as u64;
    for start in (0..=universe - slot).step_by(usize::try_from(slot).unwrap_or(usize::MAX)) {
        let len = rng.u64(RUN / 2..=RUN + RUN / 2);
        let first = start + rng.u64(0..=slot - len);
        values.extend((first..first + len).map(narrow));
    }
    values
}

fn narrow(value: u64) -> u32 {
    u32::try_from(value).expect("universes have 32 bits at the most")
}

fn probes(values: &[u32], universe: u64, count: usize, rng: &mut Rng) -> (Vec<u32>, u64) {
    let mut probes: Vec<u32> = (0..count / 2).map(|_| values[rng.usize(..values.len())]).collect();
    let hits = probes.len() as u64;
    while probes.len() < count {
        let value = narrow(rng.u64(..universe));
        if values.binary_search(&value).is_err() {
            probes.push(value);
        }
    }
    rng.shuffle(&mut probes);
    (probes, hits)
}
