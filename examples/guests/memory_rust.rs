// SPDX-License-Identifier: BSD-2-Clause
//! A guest in Rust, without its standard library: 23 boxes of 40 bytes, of which 4 are never dropped,
//! and a vector that grows to 100 numbers of 8 bytes, whose memory is reallocated on the way.
#![no_std]
#![cfg_attr(alloc_error_handler, feature(alloc_error_handler))]

extern crate alloc;

mod ringside_memory;

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::alloc::{GlobalAlloc, Layout};
use ringside_memory::Traced;

extern "C" {
    fn aligned_alloc(align: usize, bytes: usize) -> *mut u8;
    fn free(memory: *mut u8);
    fn memcmp(a: *const u8, b: *const u8, bytes: usize) -> i32;
    fn rs_kit_panic(why: *const u8) -> !;
}

/// The kit's heap.
struct Heap;

unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        aligned_alloc(layout.align(), layout.size())
    }

    unsafe fn dealloc(&self, memory: *mut u8, _: Layout) {
        free(memory)
    }
}

#[global_allocator]
static ALLOCATOR: Traced<Heap> = Traced(Heap);

#[inline(never)]
fn boxed(value: u64) -> Box<[u64; 5]> {
    Box::new([value; 5])
}

#[inline(never)]
fn grow(n: u64) -> Vec<u64> {
    let mut numbers = Vec::with_capacity(1);
    for i in 0..n {
        numbers.push(i);
    }
    numbers
}

/// Called by memory_rust_kit.c.
#[no_mangle]
pub extern "C" fn memory_rust() -> u64 {
    let mut sum = 0;
    for i in 0..23 {
        let one = boxed(i);
        sum += one[4];
        if i % 6 == 5 || i == 22 {
            core::mem::forget(one);
        }
    }
    sum + grow(100).iter().sum::<u64>()
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    unsafe { rs_kit_panic(b"a panic in Rust\0".as_ptr()) }
}

#[cfg(alloc_error_handler)]
#[alloc_error_handler]
fn no_memory(_: Layout) -> ! {
    unsafe { rs_kit_panic(b"no memory\0".as_ptr()) }
}

// What core and alloc name, which were compiled for a C library and for unwinding.

#[no_mangle]
pub extern "C" fn rust_eh_personality() {}

#[no_mangle]
pub extern "C" fn _Unwind_Resume() -> ! {
    unsafe { rs_kit_panic(b"unwinding in Rust\0".as_ptr()) }
}

/// # Safety
/// As memcmp()'s.
#[no_mangle]
pub unsafe extern "C" fn bcmp(a: *const u8, b: *const u8, bytes: usize) -> i32 {
    memcmp(a, b, bytes)
}
