// SPDX-License-Identifier: BSD-2-Clause
//! Spans: from a place in the program to the end of the block around it.

use crate::abi;
use crate::class::Class;
use crate::put::{is_on, put, put_slow, this, Payload, Producer};
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

/// The payload of a span's end, which is that of a span with the argument 0. A slow path of its own
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

#[cold]
#[inline(never)]
unsafe fn begin_slow(p: *mut Producer, name: u32, depth: u32, arg: u64) {
    put_slow(p, abi::RS_ABI_ID_SPAN_BEGIN, &abi::rs_span { name, depth, arg })
}

#[cold]
#[inline(never)]
unsafe fn end_slow(p: *mut Producer, name: u32, depth: u32) {
    put_slow(p, abi::RS_ABI_ID_SPAN_END, &abi::rs_span { name, depth, arg: 0 })
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
                put(p, abi::RS_ABI_ID_SPAN_BEGIN, abi::rs_span { name, depth, arg });
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
                put(p, abi::RS_ABI_ID_SPAN_END, End(span));
            }
        }
    }
}

/// Opens a span: `let _span = span!(class, "name");` or `span!(class, "name", argument)`. It ends
/// when the [`Span`] is dropped. A plain `_` drops it at once. The argument is an integer, which is
/// evaluated only if the class is on.
#[macro_export]
macro_rules! span {
    ($class:expr, $name:expr) => {
        $crate::span!($class, $name, 0)
    };
    ($class:expr, $name:expr, $arg:expr) => {{
        $crate::__site!(SITE, $crate::SITE_NAME, $name);
        $crate::Span::at($class, &SITE, || $arg as u64)
    }};
}
