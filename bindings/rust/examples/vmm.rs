// SPDX-License-Identifier: BSD-2-Clause
//! A small VMM on KVM, x86-64: runs a guest on one vCPU until it halts, and records both.
//!
//!     vmm GUEST TRACE
//!
//! The guest is a static ELF file, linked between 1 and 16 MiB, whose entry is called in 64-bit
//! mode with a stack, at addresses that are the same virtual and physical. It traces with
//! libringside-guest.a, and registers its rings through the doorbell.

use ringside::host::{self, Guest, GuestMemory, GuestOptions, Recorder, RecorderOptions};
use ringside::{class, emit, event, span, vmm};
use std::error::Error;
use std::fs::{File, OpenOptions};
use std::os::raw::{c_int, c_ulong, c_void};
use std::os::unix::io::{AsRawFd, FromRawFd};
use std::sync::Arc;

event! {
    /// The guest has halted.
    struct Halted = class::vcpu, "halted" { exits: u64, doorbells: u64 }
}

const RAM_BYTES: usize = 16 << 20;
const TABLES: usize = 0x1000; // a page each: PML4, PDPT, PD
const IMAGE_LOWEST: usize = 1 << 20;

// linux/kvm.h
const KVM_CREATE_VM: c_ulong = 0xae01;
const KVM_GET_VCPU_MMAP_SIZE: c_ulong = 0xae04;
const KVM_CREATE_VCPU: c_ulong = 0xae41;
const KVM_SET_USER_MEMORY_REGION: c_ulong = 0x4020ae46;
const KVM_RUN: c_ulong = 0xae80;
const KVM_GET_REGS: c_ulong = 0x8090ae81;
const KVM_SET_REGS: c_ulong = 0x4090ae82;
const KVM_GET_SREGS: c_ulong = 0x8138ae83;
const KVM_SET_SREGS: c_ulong = 0x4138ae84;
const KVM_GET_DEVICE_ATTR: c_ulong = 0x4018aee2;
const KVM_EXIT_IO: u32 = 2;
const KVM_EXIT_HLT: u32 = 5;

#[repr(C)]
struct MemoryRegion {
    slot: u32,
    flags: u32,
    gpa: u64,
    bytes: u64,
    hva: u64,
}

#[repr(C)]
struct DeviceAttr {
    flags: u32,
    group: u32, // 0: KVM_VCPU_TSC_CTRL
    attr: u64,  // 0: KVM_VCPU_TSC_OFFSET
    addr: u64,
}

#[repr(C)]
#[derive(Default)]
struct Regs {
    rax: u64,
    rbx: u64,
    rcx: u64,
    rdx: u64,
    rsi: u64,
    rdi: u64,
    rsp: u64,
    rbp: u64,
    r8_to_r15: [u64; 8],
    rip: u64,
    rflags: u64,
}

#[repr(C)]
#[derive(Default, Clone, Copy)]
struct Segment {
    base: u64,
    limit: u32,
    selector: u16,
    kind: u8,
    present: u8,
    dpl: u8,
    db: u8,
    s: u8,
    l: u8,
    g: u8,
    avl: u8,
    unusable: u8,
    padding: u8,
}

#[repr(C)]
#[derive(Default)]
struct SpecialRegs {
    cs: Segment,
    ds_to_gs: [Segment; 4],
    ss: Segment,
    tr_ldt: [Segment; 2],
    gdt_idt: [u64; 4],
    cr0: u64,
    cr2: u64,
    cr3: u64,
    cr4: u64,
    cr8: u64,
    efer: u64,
    apic_base: u64,
    interrupts: [u64; 4],
}

extern "C" {
    fn ioctl(fd: c_int, request: c_ulong, ...) -> c_int;
    fn mmap(
        at: *mut c_void,
        bytes: usize,
        prot: c_int,
        flags: c_int,
        fd: c_int,
        offset: i64,
    ) -> *mut c_void;
}

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn kvm<T>(file: &File, request: c_ulong, argument: *mut T, what: &str) -> Result<c_int> {
    let done = unsafe { ioctl(file.as_raw_fd(), request, argument) };
    if done < 0 {
        return Err(format!("cannot {}: {}", what, std::io::Error::last_os_error()).into());
    }
    Ok(done)
}

fn map(bytes: usize, file: Option<&File>) -> Result<*mut u8> {
    // PROT_READ | PROT_WRITE, MAP_SHARED, and MAP_ANONYMOUS without a file
    let (flags, fd) = file.map_or((0x21, -1), |file| (0x01, file.as_raw_fd()));
    let at = unsafe { mmap(std::ptr::null_mut(), bytes, 3, flags, fd, 0) };
    if at as isize == -1 {
        return Err(format!("cannot map memory: {}", std::io::Error::last_os_error()).into());
    }
    Ok(at as *mut u8)
}

/// The guest's RAM, from address 0 on. The guest writes to it at any time, so this code makes no
/// reference to it, and copies its bytes.
#[derive(Clone, Copy)]
struct Ram(*mut u8);

unsafe impl Send for Ram {}
unsafe impl Sync for Ram {}

impl Ram {
    fn at(&self, gpa: u64, bytes: usize) -> Option<*mut u8> {
        let end = usize::try_from(gpa).ok()?.checked_add(bytes)?;
        if end > RAM_BYTES {
            return None;
        }
        Some(unsafe { self.0.add(gpa as usize) })
    }
}

impl GuestMemory for Ram {
    fn read(&self, gpa: u64, to: &mut [u8]) -> bool {
        self.at(gpa, to.len())
            .map(|from| unsafe { std::ptr::copy_nonoverlapping(from, to.as_mut_ptr(), to.len()) })
            .is_some()
    }

    fn write(&self, gpa: u64, from: &[u8]) -> bool {
        self.at(gpa, from.len())
            .map(|to| unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), to, from.len()) })
            .is_some()
    }
}

fn number(bytes: &[u8], at: usize, size: usize) -> Result<u64> {
    let field = bytes.get(at..at + size).ok_or("the image is cut")?;
    Ok(field.iter().rev().fold(0, |value, &byte| value << 8 | byte as u64))
}

/// Loads the segments of an ELF file. Returns its entry.
fn load(ram: &Ram, path: &str) -> Result<u64> {
    let image = std::fs::read(path).map_err(|error| format!("cannot read {}: {}", path, error))?;
    if image.get(..5) != Some(b"\x7fELF\x02") {
        return Err(format!("{} is not a 64-bit ELF file", path).into());
    }
    let (headers, size) = (number(&image, 32, 8)? as usize, number(&image, 54, 2)? as usize);
    for i in 0..number(&image, 56, 2)? as usize {
        let at = headers.checked_add(i * size).ok_or("the image's headers are invalid")?;
        if number(&image, at, 4)? != 1 {
            continue; // not PT_LOAD
        }
        let (offset, bytes) =
            (number(&image, at + 8, 8)? as usize, number(&image, at + 32, 8)? as usize);
        let gpa = number(&image, at + 24, 8)?;
        let data = offset.checked_add(bytes).and_then(|end| image.get(offset..end));
        if gpa < IMAGE_LOWEST as u64 || !ram.write(gpa, data.ok_or("a segment is cut")?) {
            return Err(format!("a segment of {} is outside the guest's RAM", path).into());
        }
    }
    number(&image, 24, 8)
}

/// Maps the RAM, in pages of 2 MiB, at the same virtual addresses.
fn map_identically(ram: &Ram) {
    let write = |at: usize, entry: u64| ram.write(at as u64, &entry.to_le_bytes());
    write(TABLES, TABLES as u64 + 0x1000 | 3);
    write(TABLES + 0x1000, TABLES as u64 + 0x2000 | 3);
    for i in 0..RAM_BYTES >> 21 {
        write(TABLES + 0x2000 + i * 8, (i as u64) << 21 | 0x83);
    }
}

/// Puts a vCPU into 64-bit mode, at the guest's entry.
fn set_registers(cpu: &File, entry: u64) -> Result<()> {
    let mut special = SpecialRegs::default();
    kvm(cpu, KVM_GET_SREGS, &mut special, "read the vCPU's registers")?;
    let code = Segment {
        limit: !0,
        selector: 8,
        kind: 11,
        present: 1,
        s: 1,
        l: 1,
        g: 1,
        ..Default::default()
    };
    let data = Segment { selector: 16, kind: 3, l: 0, db: 1, ..code };
    special.cs = code;
    special.ds_to_gs = [data; 4];
    special.ss = data;
    special.cr3 = TABLES as u64;
    special.cr4 = 0x20; // PAE
    special.cr0 = 0x8005_0033; // PG AM WP NE ET MP PE
    special.efer = 0x500; // LMA LME
    kvm(cpu, KVM_SET_SREGS, &mut special, "set the vCPU's mode")?;
    // The entry is called: its stack has room for a return address.
    let mut regs = Regs { rip: entry, rsp: RAM_BYTES as u64 - 8, rflags: 2, ..Default::default() };
    kvm(cpu, KVM_SET_REGS, &mut regs, "set the vCPU's registers")?;
    Ok(())
}

/// The vCPU's TSC minus the host's, which KVM knows exactly.
fn tsc_offset(cpu: &File) -> Result<i64> {
    let mut offset = 0i64;
    let mut attr = DeviceAttr { flags: 0, group: 0, attr: 0, addr: &mut offset as *mut i64 as u64 };
    kvm(cpu, KVM_GET_DEVICE_ATTR, &mut attr, "read the vCPU's TSC offset")?;
    Ok(offset)
}

/// Runs the vCPU until it halts.
fn run(cpu: &File, state: *const u8, recorder: &Recorder, vcpu: &mut host::Vcpu) -> Result<()> {
    let field = |at: usize| unsafe { std::ptr::read_volatile(state.add(at) as *const u32) };
    let (mut exits, mut doorbells) = (0, 0);
    loop {
        {
            let _span = span!(class::vcpu, "run vCPU", vcpu.index());
            emit!(vmm::vcpu_run { vcpu: vcpu.index() });
            kvm(cpu, KVM_RUN, std::ptr::null_mut::<u8>(), "run the vCPU")?;
        }
        let reason = field(8); // struct kvm_run
        exits += 1;
        emit!(vmm::vcpu_exit { vcpu: vcpu.index(), reason, detail: 0 });
        if reason == KVM_EXIT_IO && field(32) >> 16 == host::DOORBELL_PORT as u32 {
            let mut regs = Regs::default();
            kvm(cpu, KVM_GET_REGS, &mut regs, "read the vCPU's registers")?;
            doorbells += 1;
            if let Err(error) = vcpu.doorbell(regs.rax as u32, regs.rcx) {
                eprintln!("vmm: the guest's trace: {}", error);
            }
        }
        recorder.drain(vcpu)?;
        match reason {
            KVM_EXIT_IO => (),
            KVM_EXIT_HLT => break,
            _ => return Err(format!("the guest ends with KVM's exit reason {}", reason).into()),
        }
    }
    emit!(Halted { exits, doorbells });
    Ok(())
}

fn create_vm(recorder: &Arc<Recorder>, image: &str) -> Result<()> {
    let dev = OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/kvm")
        .map_err(|error| format!("cannot open /dev/kvm: {}", error))?;
    let vm = kvm(&dev, KVM_CREATE_VM, std::ptr::null_mut::<u8>(), "create a VM")?;
    let vm = unsafe { File::from_raw_fd(vm) };
    let ram = Ram(map(RAM_BYTES, None)?);
    let mut region =
        MemoryRegion { slot: 0, flags: 0, gpa: 0, bytes: RAM_BYTES as u64, hva: ram.0 as u64 };
    kvm(&vm, KVM_SET_USER_MEMORY_REGION, &mut region, "give the VM its RAM")?;
    emit!(vmm::vm_create { vcpus: 1, memory: RAM_BYTES as u64 });
    let cpu = kvm(&vm, KVM_CREATE_VCPU, std::ptr::null_mut::<u8>(), "create a vCPU")?;
    let cpu = unsafe { File::from_raw_fd(cpu) };
    let state_bytes = kvm(&dev, KVM_GET_VCPU_MMAP_SIZE, std::ptr::null_mut::<u8>(), "use KVM")?;
    let state = map(state_bytes as usize, Some(&cpu))? as usize;
    let entry = load(&ram, image)?;
    emit!(vmm::vm_load { entry, size: 0 }, image);
    map_identically(&ram);
    set_registers(&cpu, entry)?;

    let options = GuestOptions { vm: "example", provider: None, vcpus: 1 };
    let guest = Guest::create(&options, recorder.clock(), ram)?;
    recorder.add_guest(&guest, false)?;
    let mut vcpu = guest.vcpu(0).ok_or("the vCPU is in use")?;
    vcpu.set_tsc_offset(tsc_offset(&cpu)?, 0);
    let recorder = recorder.clone();
    let thread = std::thread::spawn(move || {
        host::thread(Some("example"), 0).map_err(|error| error.to_string())?;
        run(&cpu, state as *const u8, &recorder, &mut vcpu).map_err(|error| error.to_string())
    });
    thread.join().map_err(|_| "the vCPU's thread panicked")??;
    guest.end();
    emit!(vmm::vm_destroy {});
    Ok(())
}

fn record(image: &str, directory: &str) -> Result<()> {
    host::start(&host::TraceOptions { provider: "examplevmm", ..Default::default() })?;
    let recorder = Arc::new(Recorder::create(RecorderOptions::to(directory))?);
    recorder.add_trace()?;
    create_vm(&recorder, image)?;
    let recorder = Arc::try_unwrap(recorder).map_err(|_| "the recorder is in use")?;
    let sum = recorder.close()?;
    println!("{} records, {} lost", sum.records, sum.lost);
    Ok(())
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if arguments.len() != 3 {
        eprintln!("usage: vmm GUEST TRACE");
        std::process::exit(2);
    }
    if let Err(error) = record(&arguments[1], &arguments[2]) {
        eprintln!("vmm: {}", error);
        std::process::exit(1);
    }
}
