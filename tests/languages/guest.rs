// SPDX-License-Identifier: BSD-2-Clause
//! The guest of guest.c in Rust: with spans in a generic function and in a closure.
#![no_std]
#![no_main]

use ringside::class::func;
use ringside::guest::{self, Config};
use ringside::{emit, event, span};

ringside::classes! { app = 0; }
event! {
    struct Tick = app, "tick" { n: u64, sign: i32 }
}

#[repr(align(64))]
struct Ring([u8; 64 << 10]);
static mut RING: Ring = Ring([0; 64 << 10]);

fn step(n: i32) {
    let _span = span!(app, "step", n);
    emit!(Tick { n: n as u64, sign: -n });
}

fn of_any_type<T>(value: T) -> T {
    let _span = span!(app, "generic", core::mem::size_of::<T>());
    value
}

#[inline(never)]
fn work() -> u64 {
    let _span = span!(func, "work");
    let closure = |n: u64| {
        let _span = span!(app, "closure");
        n
    };

    for n in 0..97 {
        step(n);
    }
    of_any_type(2u32) as u64 + of_any_type(2u64) + closure(3)
}

#[no_mangle]
pub extern "C" fn _start() -> ! {
    guest::init(&Config::default());
    let ring = unsafe { &mut *core::ptr::addr_of_mut!(RING.0) };
    if guest::vcpu_init(0, ring).is_ok() {
        work();
    }
    loop {
        unsafe { core::arch::asm!("hlt") }
    }
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {
        unsafe { core::arch::asm!("hlt") }
    }
}
