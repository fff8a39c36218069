// SPDX-License-Identifier: BSD-2-Clause
//! A guest in Rust whose allocations are recorded: 23 boxes of 40 bytes, of which 4 are never
//! dropped, and a vector that grows to 100 numbers of 8 bytes by reallocation.
#![no_std]
#![no_main]
#![cfg_attr(alloc_error_handler, feature(alloc_error_handler))]

extern crate alloc;

use alloc::boxed::Box;
use alloc::vec::Vec;
use ringside::kit;
use ringside::memory::{self, Stacks, Traced};

#[global_allocator]
static ALLOCATOR: Traced<kit::Heap> = Traced(kit::Heap);

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

#[inline(never)]
fn memory_rust(_: &kit::Args) -> u64 {
    memory::start(&memory::Options { stacks: Stacks::Frames, depth: 0 });
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
kit::export!("main", memory_rust, () -> Int, "allocations in Rust; the sum of their contents");

#[cfg(alloc_error_handler)]
#[alloc_error_handler]
fn no_memory(_: core::alloc::Layout) -> ! {
    kit::panic(format_args!("no memory"))
}
