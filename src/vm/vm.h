/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The reference micro-VM: a small virtual machine on /dev/kvm for guests made with the guest kit
 * (ringside/kit.h). No devices: one port for calls, one for the trace's doorbell. It is a VMM
 * like any other to the tracing: it uses ringside/vmm.h for its own events and ringside/host.h
 * for the guest's.
 *
 *	create -> load -> trace (optional) -> boot -> call ... call -> end -> destroy
 *
 * Threads: one per vCPU, the VM's own; they run only within boot() and call(). All functions
 * but stop() and memory access are for one thread, the owner's. Nothing here prints.
 */
#ifndef RS_VM_H
#define RS_VM_H

#include <ringside/recorder.h>
#include <ringside/kit_abi.h>
#include <ringside/log.h>

#define RS_VM_VCPUS_MAX	 64u
#define RS_VM_MEMORY_MAX (UINT64_C(3) << 30) /* above are KVM's own pages, and nothing */
#define RS_VM_RING_BYTES (UINT64_C(4) << 20)
#define RS_VM_LOG_MAX	 (UINT64_C(256) << 20)

struct rs_vm;

/* A function that the guest may call. args were counted, their values are the guest's. The
 * result is for the guest. False: the arguments are invalid; the guest gets an error. */
struct rs_vm_host_function {
	const char *name;
	uint32_t n_args;
	bool (*call)(struct rs_vm *vm, uint32_t vcpu, void *ctx, const uint64_t *args,
		     uint64_t *result);
	void *ctx;
};
#define RS_VM_HOST_FUNCTIONS_MAX 32u

struct rs_vm_options {
	const char *name;      /* of the VM, in its vCPUs' threads' traces, and what other tools on
				* the host find (kvm/kvm.h); outlives it */
	uint32_t vcpus;	       /* 1 to RS_VM_VCPUS_MAX */
	uint64_t memory_bytes; /* a multiple of 2 MiB, up to RS_VM_MEMORY_MAX */
	uint64_t ring_bytes;   /* per vCPU; 0 means RS_VM_RING_BYTES */
	enum rs_kit_hand_over hand_over;
	uint32_t mask; /* trace classes of the guest; 0 means all */
	/* The board of lent rings (ringside/lend.h) into which the exit loop puts ACRN's events, a
	 * ring for each vCPU; NULL: none. Outlives the VM. */
	const char *sbuf;
	/* The guest's log: a file, or shm:NAME, that is there or is made; NULL: none. What is in it
	 * survives the VM and us: the guest's lines, and trace rings as far as nobody drained them.
	 * What an earlier run left there is recovered first, as rs_log_start() does it: into the
	 * directory, or only when no half is free (RS_FAILED) if that is NULL. left: NULL, or
	 * zeros to be filled with what was recovered. All outlive the VM. */
	const char *guest_log;
	const char *guest_log_last;
	struct rs_log_left *guest_log_left;
	/* What the guest prints: up to RS_KIT_TEXT_MAX bytes, any bytes. On the vCPU's thread. */
	void (*print)(void *ctx, uint32_t vcpu, const char *text, size_t bytes);
	void *print_ctx;
};

/* Whether this machine has KVM for us. RS_ABSENT: no, or no right to use it; the message says
 * what to do. */
struct rs_error *rs_vm_check(void);

struct rs_error *rs_vm_create(const struct rs_vm_options *options, struct rs_vm **vm);

/* Loads a static ELF64 guest. RS_DAMAGED and RS_USAGE tell what is wrong with the file. */
struct rs_error *rs_vm_load(struct rs_vm *vm, const char *path);

/* Adds to the functions that the guest may call. name must stay. */
struct rs_error *rs_vm_add_host_function(struct rs_vm *vm,
					 const struct rs_vm_host_function *function);

/* Access to the guest's memory, from any thread, until rs_vm_destroy(). */
struct rs_guest_memory rs_vm_memory(struct rs_vm *vm);

/* Collects the guest's trace with a recorder that guest is added to, by the options' hand-over.
 * After load, before boot. */
struct rs_error *rs_vm_trace(struct rs_vm *vm, struct rs_host_guest *guest,
			     struct rs_recorder *recorder);

/* How a vCPU's run ended. */
enum rs_vm_end {
	RS_VM_NOT_RUN,
	RS_VM_RETURNED, /* its result is valid */
	RS_VM_CRASHED,	/* the guest did something that it can't go on after */
	RS_VM_TIMED_OUT,
	RS_VM_STOPPED, /* by rs_vm_stop() */
	RS_VM_FAILED,  /* KVM refused something */
};
#define RS_VM_WHY_MAX 256u

/* KVM's exits to the VMM. */
struct rs_vm_counts {
	uint64_t exits; /* all */
	uint64_t halts;
	uint64_t host_calls;
	uint64_t doorbell_register; /* the trace's own ... */
	uint64_t doorbell_full;	    /* ... exits */
	uint64_t interrupted;	    /* by a signal to the VMM */
};

struct rs_vm_outcome {
	enum rs_vm_end end;
	uint64_t result;
	uint64_t rip;		 /* where it was, if it did not return */
	char why[RS_VM_WHY_MAX]; /* printable text, if it did not return */
};

/* Lets every vCPU set itself up, vCPU 0 first. outcomes: one per vCPU. timeout_ms 0: none. An
 * error means that nothing was run. */
struct rs_error *rs_vm_boot(struct rs_vm *vm, uint32_t timeout_ms, struct rs_vm_outcome *outcomes);

/* Calls an exported function on every vCPU at once, those that crashed before excepted. RS_USAGE:
 * there is no such function, or it takes another number of arguments. */
struct rs_error *rs_vm_call(struct rs_vm *vm, const char *function, const uint64_t *args,
			    uint32_t n_args, uint32_t timeout_ms, struct rs_vm_outcome *outcomes);

/* Interrupts boot() and call(): all vCPUs end with RS_VM_STOPPED. From any thread, and from
 * signal handlers. */
void rs_vm_stop(struct rs_vm *vm);

uint32_t rs_vm_vcpus(const struct rs_vm *vm);
struct rs_vm_counts rs_vm_counts(const struct rs_vm *vm, uint32_t vcpu);

/*
 * By how many cycles KVM has moved the vCPU's TSC offset since rs_vm_trace() told it: 0 but where
 * the host's kernel holds its TSC unstable, and moves it at will. Then the guest's times, which
 * rest on one offset, are off by up to that.
 */
uint64_t rs_vm_tsc_moved(const struct rs_vm *vm, uint32_t vcpu);

/* The first thing that went wrong with the guest's trace, and then NULL; the caller's. */
struct rs_error *rs_vm_take_trace_error(struct rs_vm *vm);

/* The virtual machine is no more. Its memory stays, for those who still read it. */
void rs_vm_end(struct rs_vm *vm);

void rs_vm_destroy(struct rs_vm *vm); /* NULL is nothing */

#endif
