/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the guest runtime needs of each architecture beyond ringside/arch.h. One folder under
 * arch/ implements it; nothing here may allocate, or call anything outside the runtime.
 */
#ifndef RS_GUEST_ARCH_H
#define RS_GUEST_ARCH_H

#include <ringside/guest.h>

/* Where a vCPU's current producer is found: what RS_GUEST_THIS() goes through. The address stays
 * valid; `self` is the first member so that %gs:0 reads it. */
struct rs_guest_self {
	struct rs_sbuf_producer *self;
};

void rs_guest_arch_set_this(struct rs_guest_self *self);

/* Rings the host: guest_abi.h. Returns when the host has served it. */
void rs_guest_arch_doorbell(uint32_t request, uint64_t area_gpa);

#endif
