// SPDX-License-Identifier: BSD-2-Clause
//! The recorder: drains rings into a trace directory.

use super::error::{c_option, c_pointer, c_text, result};
use super::{Clock, Error, Guest, Vcpu};
use crate::abi;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::{Arc, Mutex};

/// How the recorder records. [`RecorderOptions::to()`] has the defaults.
#[derive(Clone, Copy, Debug)]
pub struct RecorderOptions<'a> {
    /// It is created; it is an error if it exists and is not empty. `None`: the newest packets stay
    /// in memory, and [`Recorder::write_kept()`] writes them.
    pub directory: Option<&'a str>,
    /// The longest time in microseconds between two rounds over the rings; 0: 1000.
    pub poll_us: u32,
    /// A packet is finished after this many milliseconds even if it is not full; 0: 100.
    pub flush_ms: u32,
    /// Number of threads that drain; 0: 1.
    pub threads: u32,
    /// Its threads have priority over others, if this user is allowed to set it.
    pub urgent: bool,
    /// The recording command, for the trace's description.
    pub command: Option<&'a str>,
    /// Limits of the packets in memory: the longest time, and the most bytes. The first one reached
    /// applies.
    pub keep_ns: u64,
    /// See `keep_ns`.
    pub keep_bytes: u64,
}

impl<'a> RecorderOptions<'a> {
    /// Returns the options for a recording to a directory.
    pub fn to(directory: &'a str) -> RecorderOptions<'a> {
        RecorderOptions {
            directory: Some(directory),
            poll_us: 0,
            flush_ms: 0,
            threads: 0,
            urgent: false,
            command: None,
            keep_ns: 0,
            keep_bytes: 0,
        }
    }
}

/// Counts of a recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Records drained from rings.
    pub records: u64,
    /// Known losses.
    pub lost: u64,
    /// Bytes written.
    pub bytes: u64,
    /// Streams.
    pub streams: u64,
    /// Guests whose ring was never found; set when the recorder is closed.
    pub silent_guests: u64,
}

impl Summary {
    fn from_c(sum: &abi::rs_recorder_summary) -> Summary {
        Summary {
            records: sum.records,
            lost: sum.lost,
            bytes: sum.bytes,
            streams: sum.streams,
            silent_guests: sum.silent_guests,
        }
    }
}

/// The result of [`Recorder::write_kept()`].
#[derive(Clone, Copy, Debug)]
pub struct Kept {
    /// The counts.
    pub sum: Summary,
    /// The trace is complete from here, in ns from the clock's origin; `i64::MIN`: from the start.
    pub from_ns: i64,
    /// To here.
    pub at_ns: i64,
    /// `from_ns` is so late because `keep_bytes` was reached.
    pub short_of_bytes: bool,
}

/// A recorder. Dropping it closes it without reporting errors; [`Recorder::close()`] returns them.
pub struct Recorder {
    raw: *mut abi::rs_recorder,
    clock: Clock,
    /// Guests, which must live as long as the recorder collects them.
    guests: Mutex<Vec<Arc<Guest>>>,
}

// The library's functions lock what threads share.
unsafe impl Send for Recorder {}
unsafe impl Sync for Recorder {}

impl Recorder {
    /// Creates a recorder, with the host's clock whose origin is now.
    pub fn create(options: RecorderOptions) -> Result<Recorder, Error> {
        Recorder::create_with_clock(options, Clock::host()?)
    }

    /// Creates a recorder with a clock.
    pub fn create_with_clock(options: RecorderOptions, clock: Clock) -> Result<Recorder, Error> {
        let directory = c_option(options.directory)?;
        let command = c_option(options.command)?;
        let c_options = abi::rs_recorder_options {
            directory: c_pointer(&directory),
            clock: clock.0,
            poll_us: options.poll_us,
            flush_ms: options.flush_ms,
            threads: options.threads,
            urgent: options.urgent,
            command: c_pointer(&command),
            keep_ns: options.keep_ns,
            keep_bytes: options.keep_bytes,
        };
        let mut raw = ptr::null_mut();
        result(unsafe { abi::rs_recorder_create(&c_options, &mut raw) })?;
        Ok(Recorder { raw, clock, guests: Mutex::new(Vec::new()) })
    }

    /// The clock, for [`Guest::create()`].
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Collects this program's threads, also later ones.
    pub fn add_trace(&self) -> Result<(), Error> {
        result(unsafe { abi::rs_recorder_add_trace(self.raw) })
    }

    /// Collects a guest. With `poll`, the recorder's threads drain its rings; otherwise only
    /// [`Recorder::drain()`] does. An error if the guest has a recorder.
    pub fn add_guest(&self, guest: &Arc<Guest>, poll: bool) -> Result<(), Error> {
        let mut guests = self.guests.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let _alone = guest.alone();
        result(unsafe { abi::rs_recorder_add_guest(self.raw, guest.raw, poll) })?;
        guests.push(guest.clone());
        Ok(())
    }

    /// Ends the collection of a guest whose vCPUs do not run any more, and drains its rings.
    /// Returns the errors of its rings and of the storage.
    pub fn remove_guest(&self, guest: &Arc<Guest>) -> Result<(), Error> {
        let mut guests = self.guests.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if !guests.iter().any(|other| Arc::ptr_eq(other, guest)) {
            return Err(Error::usage("this recorder does not collect this guest".to_string()));
        }
        let _alone = guest.alone();
        guests.retain(|other| !Arc::ptr_eq(other, guest));
        result(unsafe { abi::rs_recorder_remove_guest(self.raw, guest.raw) })
    }

    /// Drains a vCPU's ring, so that the records are in the packet before the guest continues. Call
    /// it after every exit of the vCPU, on its thread.
    pub fn drain(&self, vcpu: &mut Vcpu) -> Result<(), Error> {
        let _in_use = vcpu.guest.in_use();
        result(unsafe { abi::rs_recorder_drain_guest(self.raw, vcpu.guest.raw, vcpu.index) })
    }

    /// Returns the counts so far.
    pub fn progress(&self) -> Summary {
        let mut sum = MaybeUninit::<abi::rs_recorder_summary>::zeroed();
        unsafe {
            abi::rs_recorder_progress(self.raw, sum.as_mut_ptr());
            Summary::from_c(&sum.assume_init())
        }
    }

    /// Writes the packets that are kept in memory as a trace directory, with the reason in its
    /// description.
    pub fn write_kept(&self, directory: &str, why: &str) -> Result<Kept, Error> {
        let directory = c_text(directory)?;
        let why = c_text(why)?;
        let mut kept = MaybeUninit::<abi::rs_recorder_kept>::zeroed();
        unsafe {
            result(abi::rs_recorder_write_kept(
                self.raw,
                directory.as_ptr() as *const _,
                why.as_ptr() as *const _,
                kept.as_mut_ptr(),
            ))?;
            let kept = kept.assume_init();
            Ok(Kept {
                sum: Summary::from_c(&kept.sum),
                from_ns: kept.from_ns,
                at_ns: kept.at_ns,
                short_of_bytes: kept.short_of_bytes,
            })
        }
    }

    fn end(&mut self) -> Result<Summary, Error> {
        let mut sum = MaybeUninit::<abi::rs_recorder_summary>::zeroed();
        let raw = std::mem::replace(&mut self.raw, ptr::null_mut());
        let guests = self.guests.get_mut().unwrap_or_else(|poisoned| poisoned.into_inner());
        let done = {
            // A drain of a vCPU by another recorder must not run while this one is removed.
            let _alone: Vec<_> = guests.iter().map(|guest| guest.alone()).collect();
            result(unsafe { abi::rs_recorder_close(raw, sum.as_mut_ptr()) })
        };
        guests.clear();
        done.map(|()| Summary::from_c(unsafe { &sum.assume_init() }))
    }

    /// Drains the rest, and closes the directory. Returns the first error of any thread.
    pub fn close(mut self) -> Result<Summary, Error> {
        self.end()
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        if !self.raw.is_null() {
            let _ = self.end(); // there is no caller to return it to
        }
    }
}
