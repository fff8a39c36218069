/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The host side of guest tracing, for any VMM. The VMM provides access to guest memory and, for the
 * doorbell, the registers of the OUT. A recorder (recorder.h) or a source reads the rings.
 *
 *	rs_host_guest_create(&options, &guest);
 *	rs_recorder_add_guest(recorder, guest, false);
 *	...on an exit for port RS_DOORBELL_PORT:  rs_host_doorbell(guest, vcpu, eax, rcx)
 *	...on every exit of that vCPU:            rs_recorder_drain_guest(recorder, guest, vcpu)
 *
 * Calls go one way: the VMM calls the recorder, which reads the guest's rings through this file,
 * which reads the guest's memory. Nothing here calls a recorder.
 *
 * All data from the guest is untrusted. Each field is read once, into host memory, and checked
 * there. A guest that breaks its ring, its area or its records loses its own trace from there on,
 * which is reported, and costs the host a bounded time per call. The only guest memory that is
 * written is the head of a ring, and the struct rs_guest_stack of a doorbell for a stack.
 *
 * Threads: calls for one vCPU must not overlap each other; those for different vCPUs may.
 */
#ifndef RINGSIDE_HOST_H
#define RINGSIDE_HOST_H

#include <ringside/language.h>
#include <ringside/guest_abi.h>
#include <ringside/registers.h>
#include <ringside/source.h>

RS_C_BEGIN

/* Access to a guest's memory. Both functions return false if any byte of the range is not the
 * guest's RAM. */
struct rs_guest_memory {
	void *ctx;
	bool (*read)(void *ctx, uint64_t gpa, void *to, size_t bytes);
	bool (*write)(void *ctx, uint64_t gpa, const void *from, size_t bytes);
};

struct rs_host_options {
	const char *vm;	      /* its name; copied */
	const char *provider; /* of the guest's events; NULL means "guest" */
	struct rs_guest_memory memory;
	const struct rs_clock *clock; /* the host's */
	uint32_t vcpus;		      /* 1 to RS_GUEST_VCPUS_MAX */
	void *vcpu_ctx;		      /* of the two callbacks that follow */
	/*
	 * Reads the registers of a vCPU: on that vCPU's thread at an exit, or on any thread while
	 * the vCPU is stopped. At other times a vCPU's registers are in its processor, and the
	 * values that a hypervisor returns are not all from one instruction. Returns false if it
	 * cannot read them. NULL: the VMM provides no registers.
	 */
	bool (*registers)(void *ctx, uint32_t vcpu, struct rs_x86_regs *regs);
	/*
	 * Unwinds a vCPU that rings a doorbell, which is stopped: writes up to max guest-virtual
	 * addresses, innermost first, as the event stack::sample has them, and its by_fp. Returns
	 * how many; 0 if it cannot. NULL: guests that request stacks get none.
	 */
	uint32_t (*unwind)(void *ctx, uint32_t vcpu, uint64_t *frames, uint32_t max,
			   uint64_t *by_fp);
};

struct rs_host_guest;

struct rs_error *rs_host_guest_create(const struct rs_host_options *options,
				      struct rs_host_guest **guest);
/* Destroys a guest. The recorder or source that drains it must have been destroyed before. */
void rs_host_guest_destroy(struct rs_host_guest *guest);

/* Sets a vCPU's TSC minus the host's, known to within error_cycles (KVM: the attribute
 * KVM_VCPU_TSC_OFFSET; exact). Call it before that vCPU's ring is found. */
void rs_host_set_tsc_offset(struct rs_host_guest *guest, uint32_t vcpu, int64_t offset,
			    uint64_t error_cycles);

/* Sets the guest-physical address of the area, for the shared hand-over: the address of the symbol
 * rs_guest_area in the guest. Each drain polls until the area is there. If it never is,
 * rs_recorder_remove_guest() or rs_recorder_close() returns RS_ABSENT. */
void rs_host_set_area(struct rs_host_guest *guest, uint64_t gpa);

/*
 * Serves a doorbell with the OUT's EAX and RCX. RS_DOORBELL_REGISTER finds the vCPU's ring.
 * RS_DOORBELL_FULL does nothing here: the drain at this exit makes room. RS_DOORBELL_STACK writes
 * the vCPU's stack to the guest's memory. Returns RS_DAMAGED, once, if the guest's area, ring or
 * block for stacks is invalid; the VMM may continue. Returns RS_USAGE if EAX is not a valid
 * request.
 */
struct rs_error *rs_host_doorbell(struct rs_host_guest *guest, uint32_t vcpu, uint32_t eax,
				  uint64_t rcx);

/* Reads a vCPU's registers with the VMM's callback, under the same conditions. Returns false if the
 * VMM has none, or cannot. */
bool rs_host_registers(struct rs_host_guest *guest, uint32_t vcpu, struct rs_x86_regs *regs);

/* Creates a live source of the guest's events. next() drains the rings, and is idle if they are
 * empty. The source ends after rs_host_guest_end(). A guest has one source or one recorder. */
struct rs_error *rs_host_source(struct rs_host_guest *guest, struct rs_source **source);

/* Marks the guest as ended: its rings receive no more records. */
void rs_host_guest_end(struct rs_host_guest *guest);

RS_C_END

#endif
