// SPDX-License-Identifier: BSD-2-Clause
//! Records the allocations of a Rust guest: `Traced` wraps its global allocator. Needs `core` alone,
//! Rust 1.63 or later, and x86-64. Compile with `-C force-frame-pointers=yes` for stacks, and link
//! with libringside-guest.a.
//!
//!	#[global_allocator]
//!	static ALLOCATOR: Traced<MyAllocator> = Traced(MyAllocator);

use core::alloc::{GlobalAlloc, Layout};
use core::arch::asm;
use core::sync::atomic::{AtomicU32, Ordering};

/// RS_CLASS_mem of ringside/emit.h.
const CLASS_MEM: u32 = 1 << 8;

/// struct rs_sbuf_producer of ringside/sbuf.h.
#[repr(C)]
pub struct Producer {
    _private: [u8; 0],
}

extern "C" {
    static rs_guest_mask: AtomicU32;
    fn rs_memory_put_alloc(p: *mut Producer, here: u64, frame: *const u8, address: *const u8,
                           size: u64, align: u32);
    fn rs_memory_put_free(p: *mut Producer, here: u64, frame: *const u8, address: *const u8);
    fn rs_memory_put_moving(p: *mut Producer, from: *const u8) -> bool;
    fn rs_memory_put_realloc(p: *mut Producer, here: u64, frame: *const u8, from: *const u8,
                             recorded: bool, address: *const u8, size: u64);
}

/// This vCPU's producer, or None if allocations are not recorded.
#[inline(always)]
fn producer() -> Option<*mut Producer> {
    // The C runtime writes the mask before it sets %gs, as ringside/guest.h has it.
    if unsafe { rs_guest_mask.load(Ordering::Relaxed) } & CLASS_MEM == 0 {
        return None;
    }
    let p: *mut Producer;
    unsafe { asm!("mov {}, gs:[0]", out(reg) p, options(nostack, preserves_flags)) };
    Some(p)
}

/// The address of an instruction here, and this function's frame.
#[inline(always)]
fn place() -> (u64, *const u8) {
    let (here, frame);
    unsafe {
        asm!("lea {}, [rip]", "mov {}, rbp", out(reg) here, out(reg) frame,
             options(nostack, preserves_flags))
    };
    (here, frame)
}

/// An allocator whose allocations are recorded.
pub struct Traced<A: GlobalAlloc>(pub A);

impl<A: GlobalAlloc> Traced<A> {
    #[inline(always)]
    unsafe fn record(&self, memory: *mut u8, layout: Layout) {
        if let (Some(p), false) = (producer(), memory.is_null()) {
            let (here, frame) = place();
            rs_memory_put_alloc(p, here, frame, memory, layout.size() as u64,
                                layout.align() as u32);
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
            rs_memory_put_free(p, here, frame, memory);
        }
        self.0.dealloc(memory, layout);
    }

    unsafe fn realloc(&self, from: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let p = match producer() {
            Some(p) => p,
            None => return self.0.realloc(from, layout, size),
        };
        let recorded = rs_memory_put_moving(p, from);
        let memory = self.0.realloc(from, layout, size);
        let (here, frame) = place();
        rs_memory_put_realloc(p, here, frame, from, recorded, memory, size as u64);
        memory
    }
}
