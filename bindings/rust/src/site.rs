// SPDX-License-Identifier: BSD-2-Clause
//! Sites: the texts of names and of events' declarations, each once, in the section `rs_sites`.
//! Their layout is `struct rs_site` of ringside/emit.h, which a host reads in a guest's memory.
//!
//! A program's sites are numbered when it starts, a shared library's when it is loaded: each has a
//! copy of this crate, whose constructor registers the section. A guest's are numbered by
//! `guest::init()`, or by the kit.

use crate::abi;
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicU32, Ordering};

#[doc(hidden)]
pub const SITE_NAME: u32 = abi::RS_SITE_NAME;
#[doc(hidden)]
pub const SITE_EVENT: u32 = abi::RS_SITE_EVENT;

/// A text with its number. The macros define sites.
#[repr(transparent)]
pub struct Site(UnsafeCell<abi::rs_site>);

// Its number is written before the program's threads, or the guest's vCPUs, read it.
unsafe impl Sync for Site {}

impl Site {
    #[doc(hidden)]
    pub const fn new(text: &'static str, kind: u32) -> Site {
        Site(UnsafeCell::new(abi::rs_site {
            text: text.as_ptr() as *const crate::ctypes::c_char,
            len: text.len() as u32,
            kind,
            id: 0,
            reserved: 0,
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
}

/// Returns the bounds of this program's, shared library's or guest's own section, which are null if
/// it has no sites.
#[inline(always)]
pub(crate) fn bounds() -> (*mut abi::rs_site, *mut abi::rs_site) {
    let (begin, end);
    // Weak references: Rust has none that are stable.
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
}

/// Defines a site that is in no section: nothing uses it.
#[cfg(feature = "off")]
#[doc(hidden)]
#[macro_export]
macro_rules! __site {
    ($name:ident, $kind:expr, $text:expr) => {
        static $name: $crate::Site = $crate::Site::new($text, $kind);
    };
}
