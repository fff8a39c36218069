// SPDX-License-Identifier: BSD-2-Clause
//! The log of a program: ringside_log(3). [`log!`](crate::log) writes lines, also before
//! [`start()`].

use super::error::{c_option, c_pointer, c_text, result};
use super::Error;
use crate::abi;
use crate::log::Level;
use std::mem::MaybeUninit;

/// Where the log is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    /// A file, or `shm:NAME`; `None`: `shm:ringside-log-PROGRAM`.
    pub path: Option<&'a str>,
    /// The program's name; `None`: the kernel's.
    pub name: Option<&'a str>,
    /// Bytes of both halves; 0: 4 MiB.
    pub bytes: u64,
    /// The part of these bytes for the rings of threads that trace, which then survive the program.
    pub trace_bytes: u64,
    /// 0: one for each CPU.
    pub lanes: u32,
    /// Where to save what earlier runs left; `None` leaves that to `ringside log`.
    pub last: Option<&'a str>,
}

/// The logs and traces of earlier runs.
#[derive(Clone, Debug, Default)]
pub struct Left {
    /// Runs that left lines or records.
    pub runs: u32,
    /// Those that ended unexpectedly.
    pub crashed: u32,
    /// Lines recovered.
    pub lines: u64,
    /// Lines that are missing between them.
    pub missing: u64,
    /// Records of traces, recovered.
    pub records: u64,
    /// The last file written; empty: none.
    pub file: String,
    /// A message about a problem; empty: none.
    pub remark: String,
}

fn text(bytes: &[crate::ctypes::c_char]) -> String {
    let bytes: Vec<u8> =
        bytes.iter().take_while(|&&byte| byte != 0).map(|&byte| byte as u8).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Attaches the log to its memory. On failure, early lines stay in their buffer.
pub fn start(options: &Options) -> Result<Left, Error> {
    let (path, name) = (c_option(options.path)?, c_option(options.name)?);
    let last = c_option(options.last)?;
    let c_options = abi::rs_log_options {
        path: c_pointer(&path),
        name: c_pointer(&name),
        bytes: options.bytes,
        trace_bytes: options.trace_bytes,
        lanes: options.lanes,
        last: c_pointer(&last),
    };
    let mut left = MaybeUninit::<abi::rs_log_left>::zeroed();
    let left = unsafe {
        result(abi::rs_log_start(&c_options, left.as_mut_ptr()))?;
        left.assume_init()
    };
    Ok(Left {
        runs: left.runs,
        crashed: left.crashed,
        lines: left.lines,
        missing: left.missing,
        records: left.records,
        file: text(&left.file),
        remark: text(&left.remark),
    })
}

/// Ends the run in order. Lines that other threads log meanwhile may be lost.
pub fn stop() {
    unsafe { abi::rs_log_stop() }
}

/// Sets the name that this thread's later lines show, up to 15 bytes.
pub fn thread(name: &str) -> Result<(), Error> {
    let name = c_text(name)?;
    unsafe { abi::rs_log_thread(name.as_ptr() as *const _) };
    Ok(())
}

/// A destination of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sink {
    /// Standard error.
    Console,
    /// The log's memory.
    Memory,
}

/// Sets the least urgent level that a sink accepts; `None`: it accepts nothing.
pub fn set_level(sink: Sink, level: Option<Level>) {
    let sink = match sink {
        Sink::Console => abi::RS_LOG_CONSOLE,
        Sink::Memory => abi::RS_LOG_MEMORY,
    };
    unsafe { abi::rs_log_set_level(sink, level.map_or(0, |level| level as u32)) }
}
