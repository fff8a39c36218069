// SPDX-License-Identifier: BSD-2-Clause
//! Tracing of virtual machines, of the VMM and its guests on one clock: Ringside's C library for
//! Rust.
//!
//! Without a feature, the crate is for guests. It needs only `core`, and the guest's link adds
//! `libringside-guest.a`. With the feature `host`, it is for programs of the host: VMMs, and any
//! other program. It then needs `std`, and links `libringside`.
//!
//! ```no_run
//! # #[cfg(feature = "host")]
//! # fn main() -> Result<(), ringside::host::Error> {
//! use ringside::{emit, event, span};
//!
//! ringside::classes! { io = 0; }
//! event! {
//!     /// A read of the disk.
//!     struct DiskRead = io, "disk-read" { sector: u64, bytes: u32 }
//! }
//!
//! fn read_ahead() {
//!     let _span = span!(io, "read ahead"); // ends when it is dropped
//!     emit!(DiskRead { sector: 7, bytes: 512 });
//! }
//!
//! use ringside::host::{self, Recorder, RecorderOptions, TraceOptions};
//!
//! host::start(&TraceOptions { provider: "myvmm", ..Default::default() })?;
//! let recorder = Recorder::create(RecorderOptions::to("trace"))?;
//! recorder.add_trace()?;
//! read_ahead();
//! let summary = recorder.close()?;
//! assert_eq!(summary.lost, 0);
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "host"))]
//! # fn main() {}
//! ```
//!
//! A record carries ids. Each name and each declaration exists once, in a site in the link section
//! `rs_sites`, as in C; it gets its number when the program or the guest starts. A disabled class
//! costs a load and a branch. A record takes a time stamp, a claim on the ring of this thread or
//! vCPU, and its stores, without a lock or a call: the module `put` implements the inline functions
//! of C's headers in Rust, on the same structures.
//!
//! A signal handler, or a guest's exception handler, may trace, even in the middle of a record.
//! After `fork()`, the child does not trace.
//!
//! The C library's manual pages ringside_trace(3), ringside_host(3), ringside_guest(3),
//! ringside_kit(3), ringside_memory(3) and ringside_log(3) describe the functions that this crate
//! calls.
#![cfg_attr(not(feature = "host"), no_std)]
#![warn(missing_docs)]
#![allow(unknown_lints, unexpected_cfgs)] // of build.rs; older compilers do not know the lint

#[cfg(not(target_arch = "x86_64"))]
compile_error!("ringside: the crate is for x86-64");
#[cfg(all(feature = "host", feature = "kit"))]
compile_error!("ringside: the features host and kit exclude each other");

#[allow(
    missing_docs,
    non_camel_case_types,
    non_upper_case_globals,
    non_snake_case,
    dead_code,
    clippy::all,
    deref_nullptr
)]
mod abi {
    #[cfg(not(feature = "host"))]
    include!("abi/guest.rs");
    #[cfg(feature = "host")]
    include!("abi/host.rs");
}

/// C's types; `core::ffi` has them since Rust 1.64.
#[allow(non_camel_case_types, dead_code)]
mod ctypes {
    pub type c_char = i8;
    pub type c_uchar = u8;
    pub type c_short = i16;
    pub type c_ushort = u16;
    pub type c_int = i32;
    pub type c_uint = u32;
    pub type c_long = i64;
    pub type c_ulong = u64;
    pub use core::ffi::c_void;
}

pub mod class;
mod event;
pub mod log;
pub mod memory;
mod put;
mod site;
mod span;

#[cfg(not(feature = "host"))]
pub mod guest;
#[cfg(feature = "host")]
pub mod host;
#[cfg(feature = "kit")]
pub mod kit;
#[cfg(feature = "host")]
pub mod vmm;

pub use class::Class;
pub use event::{emit, emit_text, types, Event, TextEvent};
pub use put::is_on;
#[doc(hidden)]
pub use put::{head_bits, ID_MASK};
pub use site::Site;
#[doc(hidden)]
pub use site::{SITE_EVENT, SITE_NAME, SITE_SPAN};
pub use span::Span;
