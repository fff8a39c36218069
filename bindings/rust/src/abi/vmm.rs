// SPDX-License-Identifier: BSD-2-Clause
// Written by scripts/rust-abi from the headers in include/ringside: do not edit.

catalogue! {
event vm_create = 1, vm, "vm", "create", "a virtual machine was created", { vcpus: u32, memory: u64, }
event vm_load = 2, vm, "vm", "load", "the guest's image is in its memory", { entry: u64, size: u64, [image] }
event vm_destroy = 3, vm, "vm", "destroy", "the virtual machine was destroyed", { }
event vcpu_create = 4, vm, "vm", "vcpu-create", "a vCPU was created", { vcpu: u32, tsc_offset: s64, }
event vcpu_run = 16, vcpu, "vcpu", "run", "the vCPU is about to enter the guest", { vcpu: u32, }
event vcpu_exit = 17, vcpu, "vcpu", "exit", "the vCPU is back in the VMM", { vcpu: u32, reason: u32, detail: u64, }
event call_guest = 32, call, "call", "guest-begin", "the VMM calls a guest's function", { vcpu: u32, [function] }
event call_guest_end = 33, call, "call", "guest-end", "the guest's function returned; the result of a text is its size, of a float its bits", { vcpu: u32, result: u64, }
event call_host = 34, call, "call", "host-begin", "the guest calls a VMM's function", { vcpu: u32, [function] }
event call_host_end = 35, call, "call", "host-end", "the VMM's function returns; the result of a text is its size, of a float its bits", { vcpu: u32, result: u64, }
event guest_crash = 48, vm, "vm", "crash", "the guest cannot continue", { vcpu: u32, rip: u64, [why] }
}
