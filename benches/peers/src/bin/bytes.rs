//! Prints what sets take in memory and in files, as CSV.
//!
//! `cargo run --release --bin bytes`. Memory is what was asked of the allocator and not given
//! back; pages of mapped files are the kernel's, and do not count.

use bitsort_peers::data::{DENSITIES, Data, Distribution, UNIVERSE};
use bitsort_peers::{CRoaring, Dense, MappedDense, MappedRoaring, Representation, Roaring};
use std::alloc::{GlobalAlloc, Layout, System};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

static HELD: AtomicUsize = AtomicUsize::new(0);

struct Counting;

// SAFETY: every call goes to the system's allocator as it came.
#[expect(unsafe_code, reason = "an allocator cannot be safe")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        HELD.fetch_add(layout.size(), Relaxed);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn row<R: Representation>(data: &Data, folder: &Path) {
    let before = HELD.load(Relaxed);
    let set = R::build(data, false, folder);
    let held = HELD.load(Relaxed) - before;
    let (name, file) = (R::NAME, set.file_bytes());
    let Data { distribution, density, a, .. } = data;
    println!("{distribution},{density:e},{},\"{name}\",{held},{file}", a.len());
}

fn main() {
    // SAFETY: nothing of CRoaring has been called before.
    #[expect(unsafe_code, reason = "CRoaring's own memory is to be counted, too")]
    unsafe {
        croaring::configure_rust_alloc();
    }
    let folder = tempfile::tempdir().expect("there is a folder for temporary files");
    println!("distribution,density,values,representation,memory_bytes,file_bytes");
    for distribution in Distribution::ALL {
        for density in DENSITIES {
            let data = Data::new(distribution, UNIVERSE, density, 0);
            row::<Dense>(&data, folder.path());
            row::<MappedDense>(&data, folder.path());
            row::<MappedRoaring>(&data, folder.path());
            row::<Roaring>(&data, folder.path());
            row::<CRoaring>(&data, folder.path());
        }
    }
}
