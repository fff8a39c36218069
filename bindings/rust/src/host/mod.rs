// SPDX-License-Identifier: BSD-2-Clause
//! Programs of the host: tracing of their threads, the recorder, and the host side of guests.

mod error;
mod guest;
pub mod log;
mod recorder;

pub use error::{Code, Error};
pub use guest::{Guest, GuestMemory, GuestOptions, Vcpu};
pub use recorder::{Kept, Recorder, RecorderOptions, Summary};

use crate::abi;
use error::{c_option, c_pointer, c_text, result};
use std::mem::MaybeUninit;

/// The port of the doorbell that guests ring: [`Vcpu::doorbell()`].
pub const DOORBELL_PORT: u16 = abi::RS_DOORBELL_PORT as u16;

/// How the program traces.
#[derive(Clone, Copy, Debug)]
pub struct TraceOptions<'a> {
    /// The provider of the program's events: 1 to 63 letters, digits, `_`, `.`, `-`.
    pub provider: &'a str,
    /// The classes that are on; 0: all.
    pub mask: u32,
    /// Bytes of each thread's ring; 0: 1 MiB.
    pub ring_bytes: u32,
}

impl Default for TraceOptions<'_> {
    fn default() -> Self {
        TraceOptions { provider: "app", mask: 0, ring_bytes: 0 }
    }
}

/// Enables tracing. It is an error if it is enabled already.
pub fn start(options: &TraceOptions) -> Result<(), Error> {
    let provider = c_text(options.provider)?;
    let options = abi::rs_trace_options {
        provider: provider.as_ptr() as *const _,
        mask: options.mask,
        ring_bytes: options.ring_bytes,
    };
    result(unsafe { abi::rs_trace_start(&options) })
}

/// Changes the classes that are on. May run while threads trace.
pub fn set_mask(mask: u32) {
    unsafe { abi::rs_trace_set_mask(mask) }
}

/// Disables tracing. Rings that no recorder has drained stay until one has.
pub fn stop() {
    unsafe { abi::rs_trace_stop() }
}

/// Declares that this thread runs a vCPU of a VM from now on: its later events show both. `None`
/// and
/// -1: none. A thread that alternates between VMs calls it at each change.
pub fn thread(vm: Option<&str>, vcpu: i32) -> Result<(), Error> {
    let vm = c_option(vm)?;
    unsafe { abi::rs_trace_thread(c_pointer(&vm), vcpu) };
    Ok(())
}

/// Declares that events of this program have addresses of its code, so that the recorder lists the
/// program's binaries in the trace.
pub fn has_addresses() {
    unsafe { abi::rs_trace_has_addresses() }
}

/// Registers a name that is known only at run time. Returns its number, for
/// [`Span::begin()`](crate::Span::begin) and for fields of the type `name`; 0 if there are too
/// many. The library keeps a copy until the program ends.
pub fn name(text: &str) -> Result<u32, Error> {
    let text = c_text(text)?;
    Ok(unsafe { abi::rs_trace_name(text.as_ptr() as *const _) })
}

/// The host's clock, with its origin: the start of a trace's time.
#[derive(Clone)]
pub struct Clock(pub(crate) abi::rs_clock);

impl Clock {
    /// Returns the clock, with its origin now.
    pub fn host() -> Result<Clock, Error> {
        let mut clock = MaybeUninit::<abi::rs_clock>::zeroed();
        unsafe {
            result(abi::rs_clock_host(clock.as_mut_ptr()))?;
            Ok(Clock(clock.assume_init()))
        }
    }

    /// The frequency of the time stamp counter.
    pub fn frequency_hz(&self) -> u64 {
        self.0.freq_hz
    }
}
