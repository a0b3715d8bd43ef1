//! Plain loops, compiled once for each instruction set.
//!
//! The compiler vectorizes such loops by itself, without intrinsics: a loop is a
//! [`Task`], and [`run`] has it compiled for the CPU's instructions.

use super::Level;
use super::level::Isa;

/// A loop. Its `run` is `#[inline(always)]`, so that it is compiled for the instructions of its
/// caller.
pub(super) trait Task {
    /// The result.
    type Output;
    /// Runs the loop.
    fn run(self) -> Self::Output;
}

/// Runs `task` with the instructions of `level`.
#[inline]
pub(super) fn run<T: Task>(level: Level, task: T) -> T::Output {
    match level.isa() {
        // SAFETY: `Level::available` is the only maker of this level, after the
        // CPU reported these features.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => unsafe { avx512(task) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => unsafe { avx2(task) },
        Isa::Scalar => task.run(),
        // The compiler uses NEON on every AArch64 that has it.
        #[cfg(target_arch = "aarch64")]
        Isa::Neon => task.run(),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,avx512vpopcntdq,bmi1,bmi2,popcnt")]
fn avx512<T: Task>(task: T) -> T::Output {
    task.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn avx2<T: Task>(task: T) -> T::Output {
    task.run()
}
