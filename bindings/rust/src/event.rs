// SPDX-License-Identifier: BSD-2-Clause
//! Events: typed records of the program, and those of the catalogue that end in a text.

use crate::abi;
use crate::class::Class;
use crate::put::{head_bits, is_on, put, this, Fields};

/// An event, which [`event!`](crate::event) or the catalogue ([`vmm`](crate::vmm)) declares. The
/// struct is its payload.
///
/// # Safety
/// The struct is packed, and laid out as in the declaration of `id()`.
pub unsafe trait Event: Copy {
    /// Its class.
    const CLASS: Class;
    /// The id of its records.
    fn id() -> u64;

    /// The header word of its records, without their CPU.
    #[doc(hidden)]
    #[inline(always)]
    fn head() -> u64 {
        Self::id() | head_bits::<Self>()
    }
}

/// An event whose last field is a text, which is not part of the struct.
///
/// # Safety
/// As of [`Event`].
pub unsafe trait TextEvent: Copy {
    /// Its class.
    const CLASS: Class;
    /// The id of its records.
    fn id() -> u64;
}

/// Emits an event if its class is on; otherwise the event is not built.
#[inline(always)]
pub fn emit<E: Event>(make: impl FnOnce() -> E) {
    if is_on(E::CLASS) {
        let event = make();
        unsafe { put(this(), E::head(), Fields(event)) }
    }
}

/// Emits an event with its text, which is cut if it is too long. It costs a call and the copy.
#[inline(always)]
pub fn emit_text<E: TextEvent>(make: impl FnOnce() -> E, text: &str) {
    if is_on(E::CLASS) {
        let event = make();
        unsafe {
            abi::rs_emit_text(
                this(),
                E::id(),
                &event as *const E as *const crate::ctypes::c_void,
                core::mem::size_of::<E>() as u32,
                text.as_ptr() as *const crate::ctypes::c_char,
                text.len(),
            );
        }
    }
}

/// The types of events' fields: integers, in hexadecimal where they are `x8` to `x64`, and `name`,
/// the number of a name. `s8` to `s64` are aliases of `i8` to `i64`.
#[allow(non_camel_case_types)]
pub mod types {
    pub use core::primitive::{i16, i32, i64, i8, u16, u32, u64, u8};
    /// A signed number.
    pub type s8 = i8;
    /// A signed number.
    pub type s16 = i16;
    /// A signed number.
    pub type s32 = i32;
    /// A signed number.
    pub type s64 = i64;
    /// Shown in hexadecimal.
    pub type x8 = u8;
    /// Shown in hexadecimal.
    pub type x16 = u16;
    /// Shown in hexadecimal.
    pub type x32 = u32;
    /// Shown in hexadecimal.
    pub type x64 = u64;
    /// The number of a name: [`host::name()`](crate::host::name).
    pub type name = u32;
}

/// The names of types in declarations (ringside/schema.h), where they differ from Rust's.
#[doc(hidden)]
#[macro_export]
macro_rules! words {
    (i8) => {
        "s8"
    };
    (i16) => {
        "s16"
    };
    (i32) => {
        "s32"
    };
    (i64) => {
        "s64"
    };
    ($type:ident) => {
        stringify!($type)
    };
}

/// The last name of a path.
#[doc(hidden)]
#[macro_export]
macro_rules! last {
    ($last:ident) => { stringify!($last) };
    ($first:ident :: $($rest:ident)::+) => { $crate::last!($($rest)::+) };
}

/// Declares an event of the program: its struct, class, name, and fields of [`types`]. The last
/// name of the class's path becomes part of the event's name: `io::disk-read`.
///
/// ```
/// ringside::classes! { io = 0; }
/// ringside::event! {
///     /// A read of the disk.
///     pub struct DiskRead = io, "disk-read" { sector: u64, bytes: u32, flags: x32 }
/// }
/// ```
#[macro_export]
macro_rules! event {
    ($(#[$meta:meta])* $vis:vis struct $name:ident = $($class:ident)::+, $text:literal
     { $($(#[$first_meta:meta])* $first:ident : $first_type:ident
        $(, $(#[$field_meta:meta])* $field:ident : $type:ident)* $(,)?)? }) => {
        $(#[$meta])*
        #[repr(C, packed)]
        #[derive(Clone, Copy, Default)]
        $vis struct $name {
            $($(#[$first_meta])* #[allow(missing_docs)]
            pub $first: $crate::types::$first_type,
            $($(#[$field_meta])* #[allow(missing_docs)]
            pub $field: $crate::types::$type,)*)?
        }

        unsafe impl $crate::Event for $name {
            const CLASS: $crate::Class = $($class)::+;

            #[inline(always)]
            fn id() -> u64 {
                $crate::ID_MASK & Self::head()
            }

            #[inline(always)]
            fn head() -> u64 {
                $crate::__site!(SITE, $crate::SITE_EVENT, concat!(
                    $crate::last!($($class)::+), "::", $text, "("
                    $(, $crate::words!($first_type), " ", stringify!($first)
                      $(, ",", $crate::words!($type), " ", stringify!($field))*)?
                    , ")"), $crate::head_bits::<$name>());
                SITE.head()
            }
        }
    };
}

/// Emits an event if its class is on: `emit!(DiskRead { sector: 7, bytes: 512, ..Default::default()
/// })`. The second form, with a text, is for events of the catalogue that end in one.
#[macro_export]
macro_rules! emit {
    ($event:expr) => {
        $crate::emit(|| $event)
    };
    ($event:expr, $text:expr) => {
        $crate::emit_text(|| $event, $text)
    };
}
