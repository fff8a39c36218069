// SPDX-License-Identifier: BSD-2-Clause
//! Spans: from a point in the program to the end of the enclosing block.

use crate::abi;
use crate::class::Class;
use crate::put::{head_bits, is_on, put, put_slow, this, Payload, Producer};
use crate::site::Site;
use core::marker::PhantomData;

/// An open span, which [`span!`](crate::span) returns. It ends when it is dropped, also when a
/// panic unwinds the stack. It stays on its thread: it is not `Send`, so that no task that moves
/// between threads holds one while it waits.
#[must_use = "a span ends when its guard is dropped: let _span = span!(...)"]
pub struct Span {
    /// 0 if its class was off at the start; its end then emits nothing.
    name: u32,
    _of_this_thread: PhantomData<*mut ()>,
}

/// The payload of a span's end, which is that of a span with the argument 0. A separate slow path
/// with few arguments keeps the end of a span so small that LLVM inlines it.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct End(abi::rs_span);

unsafe impl Payload for abi::rs_span {
    #[inline(always)]
    unsafe fn put_slow(self, p: *mut Producer, _: u64) {
        begin_slow(p, self.name, self.depth, self.arg)
    }
}

unsafe impl Payload for End {
    #[inline(always)]
    unsafe fn put_slow(self, p: *mut Producer, _: u64) {
        end_slow(p, self.0.name, self.0.depth)
    }
}

const BEGIN: u64 = abi::RS_ABI_ID_SPAN_BEGIN | head_bits::<abi::rs_span>();
const END: u64 = abi::RS_ABI_ID_SPAN_END | head_bits::<abi::rs_span>();

#[cold]
#[inline(never)]
unsafe fn begin_slow(p: *mut Producer, name: u32, depth: u32, arg: u64) {
    put_slow(p, BEGIN, &abi::rs_span { name, depth, arg })
}

#[cold]
#[inline(never)]
unsafe fn end_slow(p: *mut Producer, name: u32, depth: u32) {
    put_slow(p, END, &abi::rs_span { name, depth, arg: 0 })
}

impl Span {
    /// Opens a span with a name that is known only at run time: [`host::name()`](crate::host::name)
    /// returns its number. A number of 0 opens none.
    #[inline(always)]
    pub fn begin(class: Class, name: u32, arg: u64) -> Span {
        Span::open(if is_on(class) { name } else { 0 }, || arg)
    }

    #[doc(hidden)]
    #[inline(always)]
    pub fn at(class: Class, site: &'static Site, arg: impl FnOnce() -> u64) -> Span {
        Span::open(if is_on(class) { site.id() } else { 0 }, arg)
    }

    #[inline(always)]
    fn open(name: u32, arg: impl FnOnce() -> u64) -> Span {
        if name != 0 {
            let arg = arg();
            unsafe {
                let p = this();
                let depth = (*p).depth;
                (*p).depth = depth.wrapping_add(1);
                put(p, BEGIN, abi::rs_span { name, depth, arg });
            }
        }
        Span { name, _of_this_thread: PhantomData }
    }
}

impl Drop for Span {
    #[inline(always)]
    fn drop(&mut self) {
        if self.name != 0 {
            unsafe {
                let p = this();
                let depth = (*p).depth.wrapping_sub(1);
                (*p).depth = depth;
                let span = abi::rs_span { name: self.name, depth, arg: 0 };
                put(p, END, End(span));
            }
        }
    }
}

/// Opens a span: `let _span = span!(class, "name");` or `span!(class, "name", argument)`. It ends
/// when the [`Span`] is dropped. A plain `_` drops it immediately. The argument is an integer,
/// which is evaluated only if the class is on.
#[macro_export]
macro_rules! span {
    ($class:expr, $name:expr) => {
        $crate::__span!($crate::SITE_NAME, $class, $name, 0)
    };
    ($class:expr, $name:expr, $arg:expr) => {
        $crate::__span!($crate::SITE_SPAN, $class, $name, $arg)
    };
}

/// Opens a span with a site of this kind.
#[doc(hidden)]
#[macro_export]
macro_rules! __span {
    ($kind:expr, $class:expr, $name:expr, $arg:expr) => {{
        $crate::__site!(SITE, $kind, $name);
        $crate::Span::at($class, &SITE, || $arg as u64)
    }};
}
