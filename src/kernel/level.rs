//! Finds out, once, which vector instructions this CPU has.

use std::sync::OnceLock;

/// Proof that this CPU has an instruction set: only [`Level::available`] makes one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Level(Isa);

/// Instruction sets that kernels are written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Isa {
    /// The instructions of the compiler's target.
    Scalar,
    /// AVX2 and BMI1/2, POPCNT, LZCNT: x86-64-v3.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// AVX-512 F, BW, DQ, VL, VBMI, VBMI2 and VPOPCNTDQ, and GFNI: Ice Lake, Zen 4 and later.
    #[cfg(target_arch = "x86_64")]
    Avx512,
    /// Advanced SIMD of `AArch64`, little-endian: every such processor.
    #[cfg(target_arch = "aarch64")]
    Neon,
}

impl Level {
    /// Every level this CPU has, the simplest first.
    pub(crate) fn available() -> &'static [Self] {
        static AVAILABLE: OnceLock<Vec<Level>> = OnceLock::new();
        AVAILABLE.get_or_init(|| {
            #[expect(clippy::allow_attributes, reason = "other processors have one level only")]
            #[allow(unused_mut, reason = "as above")]
            let mut levels = vec![Self(Isa::Scalar)];
            #[cfg(target_arch = "x86_64")]
            {
                use std::arch::is_x86_feature_detected as has;
                let avx2 = has!("avx2") && has!("bmi1") && has!("bmi2") && has!("popcnt");
                if avx2 && has!("lzcnt") {
                    levels.push(Self(Isa::Avx2));
                    let foundation = has!("avx512f") && has!("avx512bw") && has!("avx512dq");
                    let counts = has!("avx512vl") && has!("avx512vpopcntdq");
                    let bytes = has!("avx512vbmi") && has!("avx512vbmi2") && has!("gfni");
                    if foundation && counts && bytes {
                        levels.push(Self(Isa::Avx512));
                    }
                }
            }
            // On a big-endian processor, the elements of a register have other numbers.
            #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
            if std::arch::is_aarch64_feature_detected!("neon") {
                levels.push(Self(Isa::Neon));
            }
            levels
        })
    }

    /// The best level this CPU has, or the one that the environment variable
    /// `BITSORT_SIMD` names (`scalar`, `avx2`, `avx512`, `neon`) if this CPU has it.
    pub(crate) fn best() -> Self {
        static BEST: OnceLock<Level> = OnceLock::new();
        *BEST.get_or_init(|| {
            let levels = Self::available();
            let wanted = std::env::var("BITSORT_SIMD").unwrap_or_default();
            let named = levels.iter().find(|level| level.name() == wanted);
            named.or(levels.last()).copied().unwrap_or(Self(Isa::Scalar))
        })
    }

    /// The name in `BITSORT_SIMD`.
    pub(crate) const fn name(self) -> &'static str {
        match self.0 {
            Isa::Scalar => "scalar",
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => "avx2",
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => "avx512",
            #[cfg(target_arch = "aarch64")]
            Isa::Neon => "neon",
        }
    }

    /// Whether loops over many values at once are known to be faster. They are not with the
    /// instructions that every x86-64 has; with NEON nobody has measured them.
    pub(crate) fn is_vector(self) -> bool {
        match self.0 {
            Isa::Scalar => false,
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 | Isa::Avx512 => true,
            #[cfg(target_arch = "aarch64")]
            Isa::Neon => false,
        }
    }

    /// The instruction set, for dispatchers.
    pub(super) const fn isa(self) -> Isa {
        self.0
    }
}
