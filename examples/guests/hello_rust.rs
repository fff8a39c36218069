// SPDX-License-Identifier: BSD-2-Clause
//! A minimal guest in Rust with a trace: prints through the host, and adds two numbers.
//!
//!     ringside run --record trace build/examples/guests/hello_rust
//!     ringside print --tree trace
//!     ringside run build/examples/guests/hello_rust add 40 2
#![no_std]
#![no_main]

use core::sync::atomic::{AtomicU32, Ordering};
use ringside::class::func;
use ringside::{emit, event, kit, log, span};

ringside::classes! { greeting = 0; }
event! {
    /// The guest has printed its greeting.
    struct Greeted = greeting, "greeted" { vcpu: u32, times: u32 }
}

static TIMES: AtomicU32 = AtomicU32::new(0);

fn hello(args: &kit::Args) -> u64 {
    let _span = span!(func, "hello");

    kit::print("Hello from the guest\n");
    let times = TIMES.fetch_add(1, Ordering::Relaxed) + 1;
    emit!(Greeted { vcpu: args.vcpu(), times });
    log!(Info, "greeted");
    0
}
kit::export!("main", hello, () -> Int, "prints a greeting");

fn add(args: &kit::Args) -> u64 {
    let _span = span!(func, "add", args.int(0));

    args.int(0).wrapping_add(args.int(1))
}
kit::export!("add", add, (Int, Int) -> Int, "the sum of two numbers");

fn longer(args: &kit::Args) -> u64 {
    // The host checks the types of arguments before it calls.
    let (one, other) = unsafe { (args.bytes(0), args.bytes(1)) };
    (one.len() > other.len()) as u64
}
kit::export!("longer", longer, (Text, Text) -> Bool, "whether the first text is longer");
