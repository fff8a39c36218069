/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a recorder asks of a guest's host side (host.h): the rings of its vCPUs, as they are found.
 */
#ifndef RS_HOST_GUEST_H
#define RS_HOST_GUEST_H

#include "event/drain.h"
#include <ringside/host.h>

/* Claims a guest for one recorder or source, for good: a second one would lack the beginning.
 * RS_USAGE: it has one. */
struct rs_error *rs_host_guest_claim(struct rs_host_guest *guest);

/* A vCPU's ring. Its parts stay the guest's, and live as long as the guest. */
struct rs_host_ring {
	struct rs_drain *drain; /* NULL: no ring yet, or an invalid one */
	const struct rs_stream *stream;
	struct rs_schema *schema;
};

/* Returns a vCPU's ring in *ring, and searches for one that is not known yet where a doorbell or
 * rs_host_set_area() says. RS_DAMAGED: the area or ring is invalid; returned once. Any thread. */
struct rs_error *rs_host_ring_poll(struct rs_host_guest *guest, uint32_t vcpu,
				   struct rs_host_ring *ring);

uint32_t rs_host_guest_vcpus(const struct rs_host_guest *guest);

#endif
