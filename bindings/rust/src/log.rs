// SPDX-License-Identifier: BSD-2-Clause
//! Lines of the log: ringside_log(3). [`log!`](crate::log) writes one; `host::log` and `guest::log`
//! start the log.

use crate::abi;
use core::fmt::{self, Write};
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

/// The level of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u32)]
pub enum Level {
    /// The program cannot continue.
    Fatal = abi::RS_LOG_FATAL,
    /// A message of the hypervisor that is always shown.
    Acrn = abi::RS_LOG_ACRN,
    /// An error.
    Error = abi::RS_LOG_ERROR,
    /// A warning.
    Warning = abi::RS_LOG_WARNING,
    /// The default of the memory.
    Info = abi::RS_LOG_INFO,
    /// All.
    Debug = abi::RS_LOG_DEBUG,
}

extern "C" {
    #[cfg_attr(feature = "host", link_name = "rs_log_levels")]
    #[cfg_attr(not(feature = "host"), link_name = "rs_guest_log_levels")]
    static LEVELS: AtomicPtr<AtomicU32>;
}

/// Returns whether lines of a level are kept or shown.
#[inline(always)]
pub fn is_on(level: Level) -> bool {
    unsafe {
        // Pairs with the release of the log's start. The array has a word for each sink.
        let at = LEVELS.load(Ordering::Acquire);
        (*at.add(abi::RS_LOG_MEMORY as usize)).load(Ordering::Relaxed) >= level as u32
            || (*at.add(abi::RS_LOG_CONSOLE as usize)).load(Ordering::Relaxed) >= level as u32
    }
}

/// A line that is being formatted, cut at the maximum length of a line.
struct Line {
    text: [u8; abi::RS_LOG_LINE_MAX as usize],
    bytes: usize,
}

impl Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut bytes = text.len().min(self.text.len() - self.bytes);
        while !text.is_char_boundary(bytes) {
            bytes -= 1;
        }
        self.text[self.bytes..self.bytes + bytes].copy_from_slice(&text.as_bytes()[..bytes]);
        self.bytes += bytes;
        if bytes == text.len() {
            Ok(())
        } else {
            Err(fmt::Error)
        }
    }
}

#[doc(hidden)]
#[inline(never)]
pub fn put(level: Level, args: fmt::Arguments) {
    let mut line = Line { text: [0; abi::RS_LOG_LINE_MAX as usize], bytes: 0 };
    let format = b"%.*s\0".as_ptr() as *const crate::ctypes::c_char;

    // An error is a line that was cut, or a Display that failed: the line has the output before it.
    // A text without arguments needs no formatting, and so none of core's code in a guest without
    // SSE.
    let _ = match args.as_str() {
        Some(text) => line.write_str(text),
        None => line.write_fmt(args),
    };
    let bytes = line.bytes as crate::ctypes::c_int;
    unsafe {
        #[cfg(feature = "host")]
        abi::rs_log_put(level as u32, format, bytes, line.text.as_ptr());
        #[cfg(not(feature = "host"))]
        abi::rs_guest_log_put(
            crate::guest::producer(),
            level as u32,
            format,
            bytes,
            line.text.as_ptr(),
        );
    }
}

/// Logs a line: `log!(Info, "vCPU {} is up", vcpu)`, with a level of [`Level`]. Its arguments are
/// evaluated only if a sink accepts the level.
#[macro_export]
macro_rules! log {
    ($level:ident, $($args:tt)+) => {
        if $crate::log::is_on($crate::log::Level::$level) {
            $crate::log::put($crate::log::Level::$level, format_args!($($args)+))
        }
    };
}
