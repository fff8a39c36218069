// SPDX-License-Identifier: BSD-2-Clause
//! Tracing from inside a guest: ringside_guest(3). Each vCPU has a ring in the guest's memory.
//!
//! ```ignore
//! guest::init(&guest::Config { hand_over: HandOver::Doorbell, ..Default::default() });
//! guest::vcpu_init(0, &mut ring)?; // on each vCPU, before its first event
//! ```
//!
//! A guest of the micro-VM uses [`kit`](crate::kit) instead, whose C part makes these calls.
//!
//! The producer of a vCPU is at %gs:0, which [`vcpu_init()`] sets. A kernel with per-CPU data of
//! its own keeps a pointer to [`vcpu_producer()`] there, sets [`Config::own_this`], and gives its
//! place in the environment variable RINGSIDE_GUEST_THIS when rustc compiles this crate: a memory
//! operand of x86-64's assembler, such as `gs:[0x40]`.

use crate::abi;
use crate::ctypes::{c_char, c_void};
use crate::put::{this, Producer};
use core::sync::atomic::{AtomicU32, Ordering};

#[cfg(not(ringside_guest_this))]
macro_rules! load_this {
    () => {
        "mov {}, qword ptr gs:[0]"
    };
}
#[cfg(ringside_guest_this)]
macro_rules! load_this {
    () => {
        concat!("mov {}, qword ptr ", env!("RINGSIDE_GUEST_THIS"))
    };
}
pub(crate) use load_this as LOAD_THIS;

/// How the host gets the records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum HandOver {
    /// An OUT registers the ring, and another one makes the host drain it when it is full.
    Doorbell = abi::RS_GUEST_DOORBELL,
    /// The host reads the ring while the guest runs. A full ring drops and counts.
    Shared = abi::RS_GUEST_SHARED,
    /// The host does not read it. A full ring drops its oldest quarter.
    Keep = abi::RS_GUEST_KEEP,
}

/// How the guest traces.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// How the host gets the records.
    pub hand_over: HandOver,
    /// The classes that are on; 0: all.
    pub mask: u32,
    /// Added to a guest-virtual address, it gives the guest-physical one.
    pub to_gpa: u64,
    /// The guest keeps pointers to its producers: leave %gs alone.
    pub own_this: bool,
}

impl Default for Config {
    fn default() -> Config {
        Config { hand_over: HandOver::Doorbell, mask: 0, to_gpa: 0, own_this: false }
    }
}

/// Why a ring, or a log, could not be set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// The number of the vCPU is too high.
    TooManyVcpus,
    /// The memory is too small or not aligned, or a log's halves hold lines that were not
    /// recovered.
    BadMemory,
}

fn result(status: abi::rs_guest_status) -> Result<(), Error> {
    match status {
        abi::RS_GUEST_OK => Ok(()),
        abi::RS_GUEST_TOO_MANY_VCPUS => Err(Error::TooManyVcpus),
        _ => Err(Error::BadMemory),
    }
}

/// Numbers the guest's sites, and fills in the area in which the host finds rings and texts. Call
/// it once, on the boot vCPU, before any event.
pub fn init(config: &Config) {
    let config = abi::rs_guest_config {
        hand_over: config.hand_over as u32,
        mask: config.mask,
        to_gpa: config.to_gpa,
        own_this: config.own_this,
    };
    let (begin, end) = crate::site::bounds();
    unsafe { abi::rs_guest_start(&config, begin, end) }
}

/// Creates the ring of a vCPU in memory, which is aligned to 8 bytes. Runs on that vCPU.
pub fn vcpu_init(vcpu: u32, ring: &'static mut [u8]) -> Result<(), Error> {
    result(unsafe {
        abi::rs_guest_vcpu_init(vcpu, ring.as_mut_ptr() as *mut c_void, ring.len() as u64)
    })
}

/// Returns the address of a vCPU's producer, for a guest with [`Config::own_this`]. Null: there is
/// no such vCPU.
pub fn vcpu_producer(vcpu: u32) -> *mut c_void {
    unsafe { abi::rs_guest_producer(vcpu) as *mut c_void }
}

/// For a handler that will return, on vCPU `vcpu`, before it traces; optional. It lets a later
/// [`abandon()`] keep the handler's records.
pub fn handler_enter(vcpu: u32) {
    unsafe { abi::rs_guest_handler_enter(vcpu) }
}

/// For a handler that will not return, before it traces: abandons an interrupted put, counts it as
/// lost, and publishes the records that handlers put after it.
pub fn abandon(vcpu: u32) {
    unsafe { abi::rs_guest_abandon(vcpu) }
}

/// Returns the address of the area, for a host with [`HandOver::Shared`].
#[allow(unused_unsafe)] // older compilers want it
pub fn area() -> *const c_void {
    unsafe { core::ptr::addr_of!(abi::rs_guest_area) as *const c_void }
}

/// This vCPU's producer for lines of the log; null if the guest does not trace.
pub(crate) fn producer() -> *mut Producer {
    extern "C" {
        static rs_guest_mask: AtomicU32;
    }
    if unsafe { rs_guest_mask.load(Ordering::Relaxed) } != 0 {
        this()
    } else {
        core::ptr::null_mut()
    }
}

/// The guest's log: ringside_log(3).
pub mod log {
    use super::*;

    /// Where the log is, and the function that writes its lines to the console.
    pub struct Config {
        /// Its memory, aligned to 64 bytes; an existing log in it is used.
        pub memory: &'static mut [u8],
        /// Lanes of a new log; 0: 1.
        pub lanes: u32,
        /// Bytes of each half of a new log, for trace rings.
        pub trace_bytes: u64,
        /// The frequency of the TSC; 0: the host's value in the memory.
        pub tsc_hz: u64,
        /// Unix time when the TSC was 0; 0: not known.
        pub wall_ns: i64,
        /// The guest's name, which ends with a NUL.
        pub name: &'static [u8],
        /// Writes a line without its newline; runs in any context that logs.
        pub console: Option<unsafe extern "C" fn(text: *const c_char, bytes: u32)>,
    }

    /// Keeps the newest lines that fit, until [`start()`]. The memory is aligned to 64 bytes.
    pub fn early(memory: &'static mut [u8]) -> Result<(), Error> {
        result(unsafe {
            abi::rs_guest_log_early(memory.as_mut_ptr() as *mut c_void, memory.len() as u64)
        })
    }

    /// Attaches the log to its memory, on the boot vCPU before others log. A name without a NUL at
    /// its end is [`Error::BadMemory`].
    pub fn start(config: Config) -> Result<(), Error> {
        if config.name.last() != Some(&0) {
            return Err(Error::BadMemory);
        }
        let config = abi::rs_guest_log_config {
            memory: config.memory.as_mut_ptr() as *mut c_void,
            bytes: config.memory.len() as u64,
            lanes: config.lanes,
            trace_bytes: config.trace_bytes,
            tsc_hz: config.tsc_hz,
            wall_ns: config.wall_ns,
            name: config.name.as_ptr() as *const c_char,
            console: config.console,
        };
        result(unsafe { abi::rs_guest_log_start(&config) })
    }
}
