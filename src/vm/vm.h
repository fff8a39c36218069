/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The reference micro-VM: a small virtual machine on /dev/kvm for guests built with the guest kit
 * (ringside/kit.h). It has no devices, only one port for calls and one for the trace's doorbell. It
 * uses the public tracing interface as any VMM does: ringside/vmm.h for its own events and
 * ringside/host.h for those of the guest.
 *
 *	create -> load -> trace (optional) -> boot -> call ... call -> end -> destroy
 *
 * Threads: the VM owns one per vCPU, which runs only within boot() and call(). Only the owner's
 * thread may call the functions here, except stop() and memory access. No function prints.
 */
#ifndef RS_VM_H
#define RS_VM_H

#include <ringside/recorder.h>
#include <ringside/kit_abi.h>
#include <ringside/log.h>
#include <ringside/registers.h>

#define RS_VM_VCPUS_MAX	 64u
#define RS_VM_MEMORY_MAX (UINT64_C(3) << 30) /* KVM's own pages lie above */
#define RS_VM_RING_BYTES (UINT64_C(4) << 20)
#define RS_VM_LOG_MAX	 (UINT64_C(256) << 20)

struct rs_vm;

/* A function that the guest exports. */
struct rs_vm_export {
	char name[RS_KIT_NAME_MAX];
	uint32_t index; /* index in the guest's table, whose order is the linker's */
	uint32_t n_args;
	uint8_t result; /* RS_KIT_ */
	uint8_t params[RS_KIT_ARGS_MAX];
};

struct rs_vm_options {
	/* name of the VM, in its vCPUs' threads' traces and for other tools on the host
	 * (kvm/kvm.h); must outlive the VM */
	const char *name;
	uint32_t vcpus;	       /* 1 to RS_VM_VCPUS_MAX */
	uint64_t memory_bytes; /* a multiple of 2 MiB, up to RS_VM_MEMORY_MAX */
	uint64_t ring_bytes;   /* per vCPU; 0 means RS_VM_RING_BYTES */
	enum rs_kit_hand_over hand_over;
	uint32_t mask; /* trace classes to enable in the guest; 0 means all */
	/* The board of lent rings (ringside/lend.h) to which the exit loop writes ACRN's events,
	 * one ring per vCPU. NULL: none. Must outlive the VM. */
	const char *sbuf;
	/*
	 * The guest's log: a file, or shm:NAME, which is created if it does not exist. NULL: none.
	 * Its content survives the VM and this process: the guest's lines, and trace records that
	 * were not drained. rs_vm_create() first recovers what an earlier run left, as
	 * rs_log_start() does, into the directory. If that is NULL, it fails with RS_FAILED when no
	 * half is free. left is NULL, or zeroed memory that receives a description of what was
	 * recovered. All must outlive the VM.
	 */
	const char *guest_log;
	const char *guest_log_last;
	struct rs_log_left *guest_log_left;
	/* Receives what the guest prints: up to RS_KIT_TEXT_MAX bytes of any value. Runs on the
	 * vCPU's thread. */
	void (*print)(void *ctx, uint32_t vcpu, const char *text, size_t bytes);
	void *print_ctx;
};

/* Checks whether this process can use KVM. Returns RS_ABSENT if it cannot; the message says what to
 * do. */
struct rs_error *rs_vm_check(void);

struct rs_error *rs_vm_create(const struct rs_vm_options *options, struct rs_vm **vm);

/* Loads a static ELF64 guest. Returns RS_DAMAGED or RS_USAGE if the file is invalid. */
struct rs_error *rs_vm_load(struct rs_vm *vm, const char *path);

/* Finds a function that the loaded guest exports. Returns RS_USAGE if it has none of this name and
 * number of arguments. *function is valid until rs_vm_destroy(). */
struct rs_error *rs_vm_export_find(const struct rs_vm *vm, const char *name, uint32_t n_args,
				   const struct rs_vm_export **function);

/* Returns the name of a type (RS_KIT_), such as "text"; "?" if there is no such type. */
const char *rs_vm_type_name(uint32_t type);

/* Returns access to the guest's memory, for any thread, until rs_vm_destroy(). */
struct rs_guest_memory rs_vm_memory(struct rs_vm *vm);

/*
 * Reads a stopped vCPU's registers, or unwinds its stack by the CFI of the guest's binary: for
 * struct rs_host_options, with the VM as their ctx. The vCPU's thread may call them at an exit, and
 * any thread while neither boot() nor call() runs.
 */
bool rs_vm_registers(void *ctx, uint32_t vcpu, struct rs_x86_regs *regs);
uint32_t rs_vm_unwind(void *ctx, uint32_t vcpu, uint64_t *frames, uint32_t max, uint64_t *by_fp);

/* Collects the guest's trace with a recorder to which guest was added, by the hand-over method in
 * the options. Call it after load and before boot. */
struct rs_error *rs_vm_trace(struct rs_vm *vm, struct rs_host_guest *guest,
			     struct rs_recorder *recorder);

/* How a vCPU's run ended. */
enum rs_vm_end {
	RS_VM_NOT_RUN,
	RS_VM_RETURNED, /* the result is valid */
	RS_VM_CRASHED,	/* the guest cannot continue */
	RS_VM_TIMED_OUT,
	RS_VM_STOPPED, /* rs_vm_stop() ended it */
	RS_VM_FAILED,  /* KVM refused a request */
};
#define RS_VM_WHY_MAX 256u

/* Numbers of KVM's exits to the VMM. */
struct rs_vm_counts {
	uint64_t exits; /* of all kinds */
	uint64_t halts;
	uint64_t host_calls;
	uint64_t doorbell_register; /* exits for the trace: */
	uint64_t doorbell_full;	    /* ring registered, ring full, */
	uint64_t doorbell_stack;    /* a stack was requested */
	uint64_t interrupted;	    /* caused by a signal to the VMM */
};

struct rs_vm_outcome {
	enum rs_vm_end end;
	/* Texts and bytes belong to the VM, and are valid until its next call. */
	struct rs_kit_value result;
	uint64_t rip;		 /* where the vCPU was, if it did not return */
	char why[RS_VM_WHY_MAX]; /* printable text, if it did not return */
};

/* Runs the setup of every vCPU, vCPU 0 first. outcomes has one entry per vCPU. A timeout_ms of 0
 * means none. On an error, nothing ran. */
struct rs_error *rs_vm_boot(struct rs_vm *vm, uint32_t timeout_ms, struct rs_vm_outcome *outcomes);

/* Calls an exported function on all vCPUs in parallel, except those that crashed before. args must
 * match the function's number and types of arguments. Returns RS_USAGE if they are longer than a
 * vCPU's input (RS_KIT_BUFFER_BYTES). */
struct rs_error *rs_vm_call(struct rs_vm *vm, const struct rs_vm_export *function,
			    const struct rs_kit_value *args, uint32_t timeout_ms,
			    struct rs_vm_outcome *outcomes);

/* Interrupts boot() and call(): all vCPUs end with RS_VM_STOPPED. Any thread and signal handlers
 * may call it. */
void rs_vm_stop(struct rs_vm *vm);

/* Writes an ELF core of the VM to an empty file (introspect/dump.h). Neither boot() nor call() may
 * run. */
struct rs_error *rs_vm_core(struct rs_vm *vm, int fd, const char *path);

uint32_t rs_vm_vcpus(const struct rs_vm *vm);
struct rs_vm_counts rs_vm_counts(const struct rs_vm *vm, uint32_t vcpu);

/*
 * Returns by how many cycles KVM has moved the vCPU's TSC offset since rs_vm_trace() read it: 0,
 * unless the host's kernel considers its TSC unstable and moves the offset. The guest's times,
 * which are based on one offset, then have an error of up to this number of cycles.
 */
uint64_t rs_vm_tsc_moved(const struct rs_vm *vm, uint32_t vcpu);

/* Returns the first error of the guest's trace, and NULL afterwards. The caller owns it. */
struct rs_error *rs_vm_trace_error(struct rs_vm *vm);

/* Ends the virtual machine. Its memory remains readable. */
void rs_vm_end(struct rs_vm *vm);

void rs_vm_destroy(struct rs_vm *vm); /* NULL is ignored */

#endif
