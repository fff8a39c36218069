// SPDX-License-Identifier: BSD-2-Clause
//! The loops of languages.c in Rust.

use ringside::{emit, event, host, span};
use std::arch::asm;

ringside::classes! { bench = 0; }
event! {
    struct Pair = bench, "pair" { a: u64, b: u64 }
}

#[inline(never)]
fn one_record(i: u64) {
    emit!(Pair { a: i, b: i + 1 })
}

#[inline(never)]
fn one_span(i: u64) {
    let _span = span!(bench, "span");
    unsafe { asm!("/* {} */", in(reg) i) }
}

macro_rules! repeat {
    ($name:ident, $i:ident, $what:expr) => {
        #[inline(never)]
        fn $name(n: u64) {
            let mut $i = 0u64;
            while $i < n {
                unsafe { asm!("/* {} */", inout(reg) $i) };
                $what;
                $i += 1;
            }
        }
    };
}
repeat!(loop_alone, i, ());
repeat!(record, i, emit!(Pair { a: i, b: i + 1 }));
repeat!(span, i, {
    let _span = span!(bench, "span");
});
repeat!(record_called, i, one_record(i));
repeat!(span_called, i, one_span(i));

fn main() {
    let loops: [(&str, fn(u64)); 5] = [
        ("loop", loop_alone),
        ("record", record),
        ("span", span),
        ("record-called", record_called),
        ("span-called", span_called),
    ];
    let arguments: Vec<String> = std::env::args().collect();
    let n = arguments[2].parse().expect("a number of rounds");
    let options =
        host::TraceOptions { provider: "bench", ring_bytes: 8 << 20, ..Default::default() };

    host::start(&options).expect("tracing");
    one_record(1); // creates the ring
    for (name, run) in loops {
        if name == arguments[1] {
            run(n);
        }
    }
}
