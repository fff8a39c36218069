/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The functions that each architecture provides for the guest runtime, beyond ringside/arch.h. One
 * folder under arch/ implements them. They may neither allocate nor call code outside the runtime.
 */
#ifndef RS_GUEST_ARCH_H
#define RS_GUEST_ARCH_H

#include <ringside/guest.h>

/* Holds a vCPU's current producer. RS_GUEST_THIS() reads it. The address stays valid; `self` is the
 * first member so that %gs:0 reads it. */
struct rs_guest_self {
	struct rs_sbuf_producer *self;
};

void rs_guest_arch_set_this(struct rs_guest_self *self);

/* Rings the doorbell (guest_abi.h). Returns when the host has served the request. */
void rs_guest_arch_doorbell(uint32_t request, uint64_t area_gpa);

#endif
