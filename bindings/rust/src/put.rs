// SPDX-License-Identifier: BSD-2-Clause
//! Puts a record into the ring: the Rust version of `rs_record_put()` (ringside/record.h),
//! `rs_sbuf_reserve_nested()` and `rs_sbuf_commit_nested()` (ringside/sbuf.h), whose comments
//! explain each step. Rust cannot call C's inline functions, and a call of C for each record would
//! cost more than the record. The slow path is in C.
//!
//! A producer is used by one thread or vCPU, and by handlers that interrupt it. The structures are
//! those of the C headers; see `src/abi`.

use crate::abi;
use crate::class::Class;
use core::arch::asm;
use core::mem::{size_of, MaybeUninit};
use core::ptr;
use core::sync::atomic::{compiler_fence, AtomicU32, AtomicU64, Ordering};

pub(crate) type Producer = abi::rs_sbuf_producer;

extern "C" {
    #[cfg_attr(feature = "host", link_name = "rs_trace_mask")]
    #[cfg_attr(not(feature = "host"), link_name = "rs_guest_mask")]
    static MASK: u32;
}

/// Returns whether a class is on.
#[inline(always)]
pub fn is_on(class: Class) -> bool {
    // In a guest, the C runtime writes the mask before the producer can be read. Volatile, as the
    // kernels' READ_ONCE(): LLVM 14 does not test an atomic variable in memory, but loads it first.
    !cfg!(feature = "off") && unsafe { ptr::read_volatile(ptr::addr_of!(MASK)) } & class.mask() != 0
}

/// Returns this thread's producer: the thread-local variable `rs_trace_self` of ringside/trace.h,
/// by the initial-exec model. A thread's producer does not move.
#[cfg(feature = "host")]
#[inline(always)]
pub(crate) fn this() -> *mut Producer {
    let p;
    unsafe {
        asm!(
            "mov {0}, qword ptr fs:[0]",
            "add {0}, qword ptr [rip + rs_trace_self@GOTTPOFF]",
            out(reg) p,
            options(pure, nomem, nostack)
        )
    };
    p
}

/// Returns this vCPU's producer. A pointer to it is at %gs:0, as in ringside/guest.h, or where the
/// guest keeps it: see `guest::init()`.
#[cfg(not(feature = "host"))]
#[inline(always)]
pub(crate) fn this() -> *mut Producer {
    let p;
    unsafe { asm!(crate::guest::LOAD_THIS!(), out(reg) p, options(nostack, preserves_flags)) };
    p
}

/// Takes a stamp and claims the bytes from `from` to `to`. Returns the stamp, and whether the claim
/// succeeded; it fails if a handler put in between. CMPXCHG without LOCK is atomic against this
/// thread's own handlers. RDTSC does not serialise; stamps of one processor never go back. This is
/// one block rather than two, because that lowers LLVM's estimate of the cost of inlining the end
/// of a span.
#[inline(always)]
unsafe fn stamp_and_claim(p: *mut Producer, from: u64, to: u64) -> (u64, bool) {
    let (stamp, seen): (u64, u64);
    asm!(
        "rdtsc",
        "shl rdx, 32",
        "or rdx, rax",
        "mov rax, {from}",
        "cmpxchg qword ptr [{at}], {to}",
        at = in(reg) ptr::addr_of_mut!((*p).reserve),
        from = in(reg) from,
        to = in(reg) to,
        out("rdx") stamp,
        out("rax") seen,
        options(nostack)
    );
    (stamp, seen == from)
}

/// Facts of a record that follow from the size of its payload.
struct Record<T>(T);

impl<T> Record<T> {
    const SLOT: usize = abi::RS_SLOT_BYTES as usize;
    const HEAD: usize = abi::RS_RECORD_HEAD as usize;
    const SLOTS: usize = (Self::HEAD + size_of::<T>() + Self::SLOT - 1) / Self::SLOT;
    const BYTES: usize = Self::SLOTS * Self::SLOT;
    /// Offset of the last slot, after the payload.
    const PADDING: usize = Self::BYTES - Self::HEAD - size_of::<T>();
    /// A payload that is too long does not compile.
    const BITS: u64 = {
        assert!(size_of::<T>() <= abi::RS_RECORD_PAYLOAD_MAX as usize, "too long a payload");
        abi::RS_ABI_HEAD_OURS | (Self::SLOTS as u64) << abi::RS_ABI_SLOTS_SHIFT
    };
}

/// The bits of a header word that are the record's id.
#[doc(hidden)]
pub const ID_MASK: u64 = (1 << abi::RS_ABI_SLOTS_SHIFT) - 1;

/// Returns the record's header word without its id and its CPU.
#[doc(hidden)]
pub const fn head_bits<T>() -> u64 {
    Record::<T>::BITS
}

/// Writes a record to its slots.
#[inline(always)]
unsafe fn fill<T: Copy>(at: *mut u8, tsc: u64, head: u64, payload: T) {
    ptr::write(at as *mut u64, tsc);
    ptr::write(at.add(8) as *mut u64, head);
    let at = at.add(Record::<T>::HEAD);
    ptr::write_unaligned(at as *mut T, payload);
    ptr::write_bytes(at.add(size_of::<T>()), 0, Record::<T>::PADDING);
}

/// Publishes, unless an interrupted outer put has not finished, which then publishes for both.
#[inline(always)]
unsafe fn commit(p: *mut Producer, ring: *mut abi::rs_sbuf, start: u64) {
    if (*p).published != start {
        return;
    }
    let to = (*p).reserve;
    // Pairs with the consumer's acquire of tail.
    (*(ptr::addr_of!((*ring).tail) as *const AtomicU32)).store(to as u32, Ordering::Release);
    // Release, so that the compiler keeps it after the store to tail: a handler in between that saw
    // its start published would publish, and tail would go back.
    (*(ptr::addr_of!((*p).published) as *const AtomicU64)).store(to, Ordering::Release);
    compiler_fence(Ordering::SeqCst);
    if (*p).reserve != to {
        publish_again(p, to);
    }
}

#[cold]
#[inline(never)]
unsafe fn publish_again(p: *mut Producer, to: u64) {
    abi::rs_sbuf_publish_again(p, to);
}

/// Puts a record at the end of a lap, into a new or a full ring, or where a loss is to be reported.
#[cold]
#[inline(never)]
pub(crate) unsafe fn put_slow<T: Copy>(p: *mut Producer, head: u64, payload: &T) {
    let room = abi::rs_sbuf_reserve_slow(p, Record::<T>::BYTES as u32);
    if !room.at.is_null() {
        fill(room.at, room.tsc, head | (*p).cpu_bits, *payload);
        commit(p, room.ring, room.start);
    }
}

/// A payload: plain data without padding.
///
/// # Safety
/// It has no padding between or after its fields.
pub(crate) unsafe trait Payload: Copy {
    /// Puts it when [`put()`] finds no room immediately.
    ///
    /// # Safety
    /// As of [`put()`].
    #[inline(always)]
    unsafe fn put_slow(self, p: *mut Producer, head: u64) {
        // A separate copy, whose address the call takes, so that the payload stays in registers.
        let mut copy = MaybeUninit::<Self>::uninit();
        ptr::copy_nonoverlapping(&self, copy.as_mut_ptr(), 1);
        put_slow(p, head, copy.assume_init_ref())
    }
}

/// The payload of an event.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Fields<T: Copy>(pub T);

unsafe impl<T: Copy> Payload for Fields<T> {}

/// Puts one record of this thread or vCPU, with a header word that has its id and its
/// [`head_bits()`]. A ring that is full counts it as lost.
///
/// If a handler puts between the read of `reserve` and the claim, the slow path claims again. A
/// loop would save nothing, and LLVM pads the begin of a loop with instructions.
///
/// # Safety
/// `p` is [`this()`].
#[inline(always)]
pub(crate) unsafe fn put<T: Payload>(p: *mut Producer, head: u64, payload: T) {
    let bytes = Record::<T>::BYTES as u64;
    // Volatile, so that it is read again after an earlier put, because a handler may have put
    // since.
    let from = ptr::read_volatile(ptr::addr_of!((*p).reserve));
    if from + bytes <= (*p).limit {
        let (stamp, claimed) = stamp_and_claim(p, from, from + bytes);
        if claimed {
            // A limit above 0 implies that there is a ring.
            let ring = (*p).ring;
            let at = (ring.add(1) as *mut u8).add(from as u32 as usize);
            fill(at, stamp, head | (*p).cpu_bits, payload);
            commit(p, ring, from);
            return;
        }
    }
    payload.put_slow(p, head)
}
