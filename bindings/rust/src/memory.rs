// SPDX-License-Identifier: BSD-2-Clause
//! Records of allocations and of call stacks: ringside_memory(3).
//!
//! ```ignore
//! #[global_allocator]
//! static ALLOCATOR: Traced<System> = Traced(System);
//! ```
//!
//! Compile with `-C force-frame-pointers=yes` for stacks, which follow the frame pointers.

use crate::abi;
use crate::class;
use crate::ctypes::c_void;
use crate::put::{is_on, this, Producer};
use crate::site::Site;
use core::alloc::{GlobalAlloc, Layout};
use core::arch::asm;

/// Which stacks the records of allocations have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stacks {
    /// None.
    None,
    /// By frame pointers, of the functions that have them.
    Frames,
}

/// How allocations are recorded.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Their stacks.
    pub stacks: Stacks,
    /// The maximum number of addresses in a stack; 0: 64, which is the limit.
    pub depth: u32,
}

fn configure(options: &Options, interval: u64, seed: u64) -> bool {
    let options = abi::rs_memory_options {
        interval,
        stacks: match options.stacks {
            Stacks::None => abi::RS_STACKS_NONE,
            Stacks::Frames => abi::RS_STACKS_FRAMES,
        },
        depth: options.depth,
        seed,
        live: core::ptr::null_mut(),
        live_bytes: 0,
        host_stacks: core::ptr::null_mut(),
        n_host_stacks: 0,
    };
    unsafe { abi::rs_memory_configure(producer().unwrap_or(core::ptr::null_mut()), &options) }
}

/// Sets how allocations are recorded from here on. Before that, each one is recorded without a
/// stack. Call it after the start of tracing, while no other thread allocates. Returns whether the
/// depth is valid.
pub fn start(options: &Options) -> bool {
    configure(options, 0, 0)
}

/// Samples allocations from here on, otherwise like [`start()`]: one of s bytes is recorded with
/// the probability 1 - exp(-s / interval). `seed` initializes the random numbers; 0: from the
/// clock.
#[cfg(feature = "host")]
pub fn start_sampling(options: &Options, interval_bytes: u64, seed: u64) -> bool {
    configure(options, interval_bytes, seed)
}

#[inline(always)]
fn producer() -> Option<*mut Producer> {
    if is_on(class::mem) {
        Some(this())
    } else {
        None
    }
}

/// The address of an instruction here, and this function's frame.
#[inline(always)]
fn place() -> (u64, *const c_void) {
    let (here, frame);
    unsafe {
        asm!("lea {}, [rip]", "mov {}, rbp", out(reg) here, out(reg) frame,
             options(nostack, preserves_flags))
    };
    (here, frame)
}

#[doc(hidden)]
#[inline(always)]
pub fn stack_at(site: &'static Site) {
    if is_on(class::stack) && site.id() != 0 {
        let (here, frame) = place();
        unsafe { abi::rs_stack_put_sample(this(), here, frame, site.id()) }
    }
}

/// Records the call stack at this place under a name: `stack!("slow path")`.
#[macro_export]
macro_rules! stack {
    ($name:expr) => {{
        $crate::__site!(SITE, $crate::SITE_NAME, $name);
        $crate::memory::stack_at(&SITE)
    }};
}

/// An allocator whose allocations are recorded.
pub struct Traced<A: GlobalAlloc>(pub A);

impl<A: GlobalAlloc> Traced<A> {
    #[inline(always)]
    unsafe fn record(&self, memory: *mut u8, layout: Layout) {
        if let (Some(p), false) = (producer(), memory.is_null()) {
            let (here, frame) = place();
            abi::rs_memory_put_alloc(
                p,
                here,
                frame,
                memory as *const c_void,
                layout.size() as u64,
                layout.align() as u32,
            );
        }
    }
}

unsafe impl<A: GlobalAlloc> GlobalAlloc for Traced<A> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let memory = self.0.alloc(layout);
        self.record(memory, layout);
        memory
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let memory = self.0.alloc_zeroed(layout);
        self.record(memory, layout);
        memory
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        if let Some(p) = producer() {
            let (here, frame) = place();
            abi::rs_memory_put_free(p, here, frame, memory as *const c_void);
        }
        self.0.dealloc(memory, layout);
    }

    unsafe fn realloc(&self, from: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let p = match producer() {
            Some(p) => p,
            None => return self.0.realloc(from, layout, size),
        };
        let recorded = abi::rs_memory_put_moving(p, from as *const c_void);
        let memory = self.0.realloc(from, layout, size);
        let (here, frame) = place();
        abi::rs_memory_put_realloc(
            p,
            here,
            frame,
            from as *const c_void,
            recorded,
            memory as *const c_void,
            size as u64,
        );
        memory
    }
}
