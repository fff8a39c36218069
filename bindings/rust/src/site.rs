// SPDX-License-Identifier: BSD-2-Clause
//! Sites: the texts of names and of events' declarations, each once, in the section `rs_sites`.
//! Their layout is `struct rs_site` of ringside/emit.h, which a host reads in a guest's memory.
//!
//! A program's sites are numbered when it starts, a shared library's when it is loaded: each has a
//! copy of this crate, whose constructor registers the section. A guest's are numbered by
//! `guest::init()`, or by the kit.

use crate::abi;
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

#[doc(hidden)]
pub const SITE_NAME: u32 = abi::RS_SITE_NAME;
#[doc(hidden)]
pub const SITE_EVENT: u32 = abi::RS_SITE_EVENT;

#[doc(hidden)]
pub const SITE_SPAN: u32 = abi::RS_SITE_SPAN;

/// A text with its number. The macros define sites.
#[repr(transparent)]
pub struct Site(UnsafeCell<abi::rs_site>);

// Its number is written before the program's threads, or the guest's vCPUs, read it.
unsafe impl Sync for Site {}

impl Site {
    #[doc(hidden)]
    pub const fn new(text: &'static str, kind: u32) -> Site {
        Site::with_head(text, kind, 0)
    }

    /// A site of an event whose records have these [`head_bits()`](crate::put::head_bits), which
    /// are all in the upper half of the word.
    #[doc(hidden)]
    pub const fn with_head(text: &'static str, kind: u32, head_bits: u64) -> Site {
        Site(UnsafeCell::new(abi::rs_site {
            text: text.as_ptr() as *const crate::ctypes::c_char,
            len: text.len() as u32,
            kind,
            id: 0,
            reserved: (head_bits >> 32) as u32,
        }))
    }

    /// The number; 0 before the start, or if there are too many sites.
    #[inline(always)]
    #[doc(hidden)]
    pub fn id(&self) -> u32 {
        // A relaxed load is a plain one. The number is written once.
        unsafe {
            (*(core::ptr::addr_of!((*self.0.get()).id) as *const AtomicU32)).load(Ordering::Relaxed)
        }
    }

    /// The header word of an event's records, without its CPU: the number, and the bits that the
    /// site was made with, in one load.
    #[inline(always)]
    #[doc(hidden)]
    pub fn head(&self) -> u64 {
        // Aligned: an rs_site starts with a pointer, and the id is at a multiple of 8.
        unsafe {
            (*(core::ptr::addr_of!((*self.0.get()).id) as *const AtomicU64)).load(Ordering::Relaxed)
        }
    }
}

/// Returns the bounds of this program's, shared library's or guest's own section, which are null if
/// it has no sites.
#[inline(always)]
pub(crate) fn bounds() -> (*mut abi::rs_site, *mut abi::rs_site) {
    let (begin, end);
    // Weak references, for which Rust has no stable form.
    unsafe {
        core::arch::asm!(
            ".weak __start_rs_sites",
            ".hidden __start_rs_sites",
            ".weak __stop_rs_sites",
            ".hidden __stop_rs_sites",
            "mov {}, qword ptr [rip + __start_rs_sites@GOTPCREL]",
            "mov {}, qword ptr [rip + __stop_rs_sites@GOTPCREL]",
            out(reg) begin,
            out(reg) end,
            options(nomem, nostack, preserves_flags)
        )
    };
    (begin, end)
}

#[cfg(feature = "host")]
extern "C" fn register_own_sites() {
    let (begin, end) = bounds();
    if !begin.is_null() {
        unsafe { abi::rs_trace_register_sites(begin, end) }
    }
}

#[cfg(feature = "host")]
#[used]
#[link_section = ".init_array"]
static REGISTER_OWN_SITES: extern "C" fn() = register_own_sites;

/// Defines a site.
#[cfg(not(feature = "off"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __site {
    ($name:ident, $kind:expr, $text:expr) => {
        #[used]
        #[link_section = "rs_sites"]
        static $name: $crate::Site = $crate::Site::new($text, $kind);
    };
    ($name:ident, $kind:expr, $text:expr, $head_bits:expr) => {
        #[used]
        #[link_section = "rs_sites"]
        static $name: $crate::Site = $crate::Site::with_head($text, $kind, $head_bits);
    };
}

/// Defines a site outside the section, which is not used.
#[cfg(feature = "off")]
#[doc(hidden)]
#[macro_export]
macro_rules! __site {
    ($name:ident, $kind:expr, $text:expr) => {
        static $name: $crate::Site = $crate::Site::new($text, $kind);
    };
    ($name:ident, $kind:expr, $text:expr, $head_bits:expr) => {
        static $name: $crate::Site = $crate::Site::with_head($text, $kind, $head_bits);
    };
}
