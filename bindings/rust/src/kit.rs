// SPDX-License-Identifier: BSD-2-Clause
//! Guests of the micro-VM: ringside_kit(3). The kit's C part brings the vCPUs up and runs the
//! functions that the host calls by name.
//!
//! ```ignore
//! #![no_std]
//! use ringside::{kit, span, class::call};
//!
//! fn twice(args: &kit::Args) -> u64 {
//!     let _span = span!(call, "twice");
//!     kit::print("Hello from the guest\n");
//!     2 * args.int(0)
//! }
//! kit::export!("twice", twice, (Int) -> Int, "twice the argument");
//! ```
//!
//! The feature `kit` adds the other items that a guest in Rust needs to link: the panic handler,
//! which ends the guest with the panic's message, and names that `core` refers to. [`Heap`] is the
//! kit's heap for `alloc`.

use crate::abi;
use crate::ctypes::{c_char, c_void};
use core::alloc::{GlobalAlloc, Layout};
use core::fmt::{self, Write};

/// The type of an argument or a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Type {
    /// For a result: none.
    Void = abi::RS_KIT_VOID as u8,
    /// 64 bits.
    Int = abi::RS_KIT_INT as u8,
    /// 0 or 1.
    Bool = abi::RS_KIT_BOOL as u8,
    /// The bits of an IEEE 754 binary64.
    Float = abi::RS_KIT_FLOAT as u8,
    /// A text.
    Text = abi::RS_KIT_TEXT as u8,
    /// Bytes.
    Bytes = abi::RS_KIT_BYTES as u8,
}

/// The arguments of a call, which have the exported types.
#[repr(transparent)]
pub struct Args(abi::rs_kit_args);

impl Args {
    /// The vCPU that runs the function.
    pub fn vcpu(&self) -> u32 {
        self.0.vcpu
    }

    /// The number of arguments.
    pub fn count(&self) -> usize {
        self.0.n as usize
    }

    /// The i-th argument: an integer, a truth value, or the bits of a float.
    ///
    /// # Panics
    /// If there are fewer arguments.
    pub fn int(&self, i: usize) -> u64 {
        assert!(i < self.count(), "no such argument");
        self.0.v[i]
    }

    /// The i-th argument, a text or bytes, which is valid until the function returns.
    ///
    /// # Safety
    /// The function was exported with such an argument in this place.
    ///
    /// # Panics
    /// If there are fewer arguments.
    pub unsafe fn bytes(&self, i: usize) -> &[u8] {
        core::slice::from_raw_parts(self.int(i) as *const u8, self.0.bytes[i] as usize)
    }
}

/// A function that the host calls. The host finds it by its entry in the section `rs_exports`. It
/// returns an integer, a truth value, the bits of a float, or the result of [`return_bytes()`].
pub type Function = fn(&Args) -> u64;

/// Copies bytes, or a text, for the host, as the result of the function that runs on this vCPU,
/// which must return this function's result.
pub fn return_bytes(data: &[u8]) -> u64 {
    unsafe { abi::rs_kit_return_bytes(data.as_ptr() as *const c_void, data.len() as u32) }
}

/// An integer for a function of the host.
fn value(v: u64) -> abi::rs_kit_value {
    abi::rs_kit_value { type_: abi::RS_KIT_INT, bytes: 0, v }
}

/// Calls a function of the host with integers, whose result is an integer. `name` ends with a NUL.
/// Returns `None` if the host has no such function, or it has other types of arguments or result.
pub fn call_host(name: &'static [u8], args: &[u64]) -> Option<u64> {
    let mut values = [value(0); abi::RS_KIT_ARGS_MAX as usize];
    let mut result = value(0);

    if name.last() != Some(&0) || args.len() > values.len() {
        return None;
    }
    for (to, from) in values.iter_mut().zip(args) {
        *to = value(*from);
    }
    let done = unsafe {
        abi::rs_kit_call_host(
            name.as_ptr() as *const c_char,
            values.as_ptr(),
            args.len() as u32,
            &mut result,
        )
    };
    if done {
        Some(result.v)
    } else {
        None
    }
}

#[doc(hidden)]
#[repr(transparent)]
pub struct Export(abi::rs_kit_export);

// Only the host and the kit read it.
unsafe impl Sync for Export {}

impl Export {
    #[doc(hidden)]
    pub const fn new(
        name: &'static str,
        function: unsafe extern "C" fn(*const Args) -> u64,
        params: &'static [Type],
        result: Type,
        help: &'static str,
    ) -> Export {
        assert!(name.len() <= abi::RS_KIT_NAME_MAX as usize, "too long a name");
        assert!(params.len() <= abi::RS_KIT_ARGS_MAX as usize, "too many arguments");
        let mut types = [0; abi::RS_KIT_ARGS_MAX as usize];
        let mut i = 0;
        while i < params.len() {
            types[i] = params[i] as u8;
            i += 1;
        }
        Export(abi::rs_kit_export {
            name: name.as_ptr() as *const c_char,
            // Args is rs_kit_args.
            function: Some(unsafe {
                core::mem::transmute::<
                    unsafe extern "C" fn(*const Args) -> u64,
                    unsafe extern "C" fn(*const abi::rs_kit_args) -> u64,
                >(function)
            }),
            n_args: params.len() as u8,
            result: result as u8,
            params: types,
            help: help.as_ptr() as *const c_char,
        })
    }
}

/// Exports a function to the host: its name, the [`Function`], the [`Type`]s of its arguments and
/// of its result, and its help.
#[doc(hidden)]
#[macro_export]
macro_rules! __export {
    ($name:literal, $function:path, ($($param:ident),*) -> $result:ident, $help:literal) => {
        const _: () = {
            unsafe extern "C" fn call(args: *const $crate::kit::Args) -> u64 {
                let function: $crate::kit::Function = $function;
                function(&*args)
            }
            #[used]
            #[link_section = "rs_exports"]
            static EXPORT: $crate::kit::Export = $crate::kit::Export::new(
                concat!($name, "\0"),
                call,
                &[$($crate::kit::Type::$param),*],
                $crate::kit::Type::$result,
                concat!($help, "\0"),
            );
        };
    };
}
pub use __export as export;

/// A text for the kit, cut at its maximum length, with a NUL.
struct Text {
    bytes: [u8; 256],
    used: usize,
}

impl Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let bytes = text.len().min(self.bytes.len() - 1 - self.used);
        self.bytes[self.used..self.used + bytes].copy_from_slice(&text.as_bytes()[..bytes]);
        self.used += bytes;
        Ok(())
    }
}

fn text(args: fmt::Arguments) -> Text {
    let mut text = Text { bytes: [0; 256], used: 0 };
    let _ = text.write_fmt(args); // the output before a Display failed
    text
}

/// Prints a text through the host, in pieces of 255 bytes.
pub fn print(message: &str) {
    for piece in message.as_bytes().chunks(255) {
        let mut text = Text { bytes: [0; 256], used: 0 };
        text.bytes[..piece.len()].copy_from_slice(piece);
        unsafe { abi::rs_kit_print(text.bytes.as_ptr() as *const c_char) }
    }
}

/// Ends the guest: traces the reason and reports it to the host.
pub fn panic(why: fmt::Arguments) -> ! {
    let text = text(why);
    unsafe { abi::rs_kit_panic(text.bytes.as_ptr() as *const c_char) };
    loop {
        core::hint::spin_loop()
    }
}

extern "C" {
    fn aligned_alloc(align: usize, bytes: usize) -> *mut u8;
    fn free(memory: *mut u8);
    fn memcmp(a: *const u8, b: *const u8, bytes: usize) -> i32;
}

/// The kit's heap, which all vCPUs share. Exception handlers may not use it.
pub struct Heap;

unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        aligned_alloc(layout.align(), layout.size())
    }

    unsafe fn dealloc(&self, memory: *mut u8, _: Layout) {
        free(memory)
    }
}

/// Gives the kit's heap other memory, before its first use.
pub fn heap(memory: &'static mut [u8]) {
    unsafe { abi::rs_kit_heap(memory.as_mut_ptr() as *mut c_void, memory.len() as u64) }
}

#[panic_handler]
fn panicked(info: &core::panic::PanicInfo) -> ! {
    panic(format_args!("{}", info))
}

// Symbols that core and alloc need, which were compiled for a C library and for unwinding.

#[doc(hidden)]
#[no_mangle]
pub extern "C" fn rust_eh_personality() {}

#[doc(hidden)]
#[no_mangle]
pub extern "C" fn _Unwind_Resume() -> ! {
    panic(format_args!("unwinding in Rust"))
}

#[doc(hidden)]
#[no_mangle]
/// # Safety
/// As memcmp()'s.
pub unsafe extern "C" fn bcmp(a: *const u8, b: *const u8, bytes: usize) -> i32 {
    memcmp(a, b, bytes)
}
