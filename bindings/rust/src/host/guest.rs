// SPDX-License-Identifier: BSD-2-Clause
//! The host side of a guest's trace, for any VMM: ringside_host(3).
//!
//! All data from the guest is hostile; the library checks it. A guest that breaks its ring loses
//! its own trace from there on, and one call returns an error; the VMM may continue.

use super::error::{c_option, c_pointer, c_text, result};
use super::{Clock, Error};
use crate::abi;
use crate::ctypes::c_void;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// A guest's memory, by guest-physical addresses. The recorder's threads call it, too. The guest
/// may write while it is read.
pub trait GuestMemory: Send + Sync {
    /// Reads. Returns false if any byte of the range is not the guest's RAM.
    fn read(&self, gpa: u64, to: &mut [u8]) -> bool;

    /// Writes. Returns false if any byte of the range is not the guest's RAM.
    fn write(&self, gpa: u64, from: &[u8]) -> bool;

    /// Unwinds a vCPU that rings a doorbell for its stack: writes guest-virtual addresses,
    /// innermost first, and returns how many, and a bit for each that was found by a frame pointer.
    /// Without this, guests that request stacks get none.
    fn unwind(&self, _vcpu: u32, _frames: &mut [u64]) -> (usize, u64) {
        (0, 0)
    }
}

/// How a guest is collected.
#[derive(Clone, Copy, Debug)]
pub struct GuestOptions<'a> {
    /// The VM's name.
    pub vm: &'a str,
    /// The provider of the guest's events; `None`: "guest".
    pub provider: Option<&'a str>,
    /// From 1 to 256.
    pub vcpus: u32,
}

type Memory = Box<dyn GuestMemory>;

/// A guest whose trace is collected.
pub struct Guest {
    pub(super) raw: *mut abi::rs_host_guest,
    /// Whether a handle of the vCPU exists, by number.
    taken: Vec<AtomicBool>,
    /// Held for reading by calls for one vCPU, for writing by calls that must run alone.
    calls: RwLock<()>,
    /// The callbacks' context; boxed twice for a thin pointer with a fixed address.
    _memory: Box<Memory>,
}

// The library locks what threads share; a vCPU has one handle, and calls follow one another.
unsafe impl Send for Guest {}
unsafe impl Sync for Guest {}

// A panic must not unwind through C: a callback that panics has failed.

unsafe extern "C" fn read(ctx: *mut c_void, gpa: u64, to: *mut c_void, bytes: usize) -> bool {
    let memory = &*(ctx as *const Memory);
    let to = std::slice::from_raw_parts_mut(to as *mut u8, bytes);
    catch_unwind(AssertUnwindSafe(|| memory.read(gpa, to))).unwrap_or(false)
}

unsafe extern "C" fn write(ctx: *mut c_void, gpa: u64, from: *const c_void, bytes: usize) -> bool {
    let memory = &*(ctx as *const Memory);
    let from = std::slice::from_raw_parts(from as *const u8, bytes);
    catch_unwind(AssertUnwindSafe(|| memory.write(gpa, from))).unwrap_or(false)
}

unsafe extern "C" fn unwind(
    ctx: *mut c_void,
    vcpu: u32,
    frames: *mut u64,
    max: u32,
    by_fp: *mut u64,
) -> u32 {
    let memory = &*(ctx as *const Memory);
    // The library's buffer may be uninitialized; a callback in Rust must not see that.
    ptr::write_bytes(frames, 0, max as usize);
    let frames = std::slice::from_raw_parts_mut(frames, max as usize);
    let (n, fp) = catch_unwind(AssertUnwindSafe(|| memory.unwind(vcpu, frames))).unwrap_or((0, 0));
    *by_fp = fp;
    n.min(max as usize) as u32
}

impl Guest {
    /// Creates the host side of a guest. The clock is that of the recorder that will collect it.
    pub fn create(
        options: &GuestOptions,
        clock: &Clock,
        memory: impl GuestMemory + 'static,
    ) -> Result<Arc<Guest>, Error> {
        let vm = c_text(options.vm)?;
        let provider = c_option(options.provider)?;
        let mut memory: Box<Memory> = Box::new(Box::new(memory));
        let ctx = &mut *memory as *mut Memory as *mut c_void;
        let c_options = abi::rs_host_options {
            vm: vm.as_ptr() as *const _,
            provider: c_pointer(&provider),
            memory: abi::rs_guest_memory { ctx, read: Some(read), write: Some(write) },
            clock: &clock.0,
            vcpus: options.vcpus,
            vcpu_ctx: ctx,
            registers: None,
            unwind: Some(unwind),
        };
        let mut raw = ptr::null_mut();
        result(unsafe { abi::rs_host_guest_create(&c_options, &mut raw) })?;
        Ok(Arc::new(Guest {
            raw,
            taken: (0..options.vcpus).map(|_| AtomicBool::new(false)).collect(),
            calls: RwLock::new(()),
            _memory: memory,
        }))
    }

    pub(super) fn in_use(&self) -> RwLockReadGuard<'_, ()> {
        self.calls.read().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    pub(super) fn alone(&self) -> RwLockWriteGuard<'_, ()> {
        self.calls.write().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Returns the handle of a vCPU, for the thread that runs it. `None`: there is no such vCPU, or
    /// its handle exists.
    pub fn vcpu(self: &Arc<Guest>, index: u32) -> Option<Vcpu> {
        let taken = self.taken.get(index as usize)?;
        if taken.swap(true, Ordering::AcqRel) {
            return None;
        }
        Some(Vcpu { guest: self.clone(), index })
    }

    /// Sets the address of the area, for a guest with the shared hand-over. Each drain polls until
    /// the area is there; if it never is, that is an error of
    /// [`Recorder::remove_guest()`](super::Recorder::remove_guest) or of its end.
    pub fn set_area(&self, gpa: u64) {
        let _alone = self.alone();
        unsafe { abi::rs_host_set_area(self.raw, gpa) }
    }

    /// Marks the guest as ended: its rings receive no more records.
    pub fn end(&self) {
        unsafe { abi::rs_host_guest_end(self.raw) }
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        // No recorder collects it: a recorder holds a reference.
        unsafe { abi::rs_host_guest_destroy(self.raw) }
    }
}

/// A vCPU of a guest, for the thread that runs it: there is one handle, since calls for one vCPU
/// must not overlap.
pub struct Vcpu {
    pub(super) guest: Arc<Guest>,
    pub(super) index: u32,
}

impl Vcpu {
    /// Its number.
    pub fn index(&self) -> u32 {
        self.index
    }

    /// Sets the vCPU's TSC minus the host's, known to within `error_cycles`: KVM's attribute
    /// KVM_VCPU_TSC_OFFSET has it exactly. Call it before the guest runs.
    pub fn set_tsc_offset(&mut self, offset: i64, error_cycles: u64) {
        let _alone = self.guest.alone();
        unsafe { abi::rs_host_set_tsc_offset(self.guest.raw, self.index, offset, error_cycles) }
    }

    /// Serves a doorbell, an OUT to [`DOORBELL_PORT`](super::DOORBELL_PORT), with its EAX and RCX.
    /// Returns an error of the code `Damaged`, once, if the guest's announcement is invalid, and of
    /// `Usage` if EAX is not a valid request. The VMM may continue.
    pub fn doorbell(&mut self, eax: u32, rcx: u64) -> Result<(), Error> {
        let _in_use = self.guest.in_use();
        result(unsafe { abi::rs_host_doorbell(self.guest.raw, self.index, eax, rcx) })
    }
}

impl Drop for Vcpu {
    fn drop(&mut self) {
        self.guest.taken[self.index as usize].store(false, Ordering::Release);
    }
}
