/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The interface between a recorder and the host side of a guest (host.h): the rings of its vCPUs,
 * as they are found.
 */
#ifndef RS_HOST_GUEST_H
#define RS_HOST_GUEST_H

#include "event/drain.h"
#include <ringside/host.h>

/* Claims a guest for one recorder or source, permanently: a second one would lack the beginning.
 * owner belongs to the claimer. Returns RS_USAGE if the guest has been claimed. */
struct rs_error *rs_host_guest_claim(struct rs_host_guest *guest, void *owner);

/* Returns the claimer's owner, or NULL if the guest is not claimed. rs_host_guest_set_owner()
 * replaces it. Any thread may call them. */
void *rs_host_guest_owner(const struct rs_host_guest *guest);
void rs_host_guest_set_owner(struct rs_host_guest *guest, void *owner);

/* Transfers the guest's schema to the caller. The guest can then only be destroyed. */
struct rs_schema *rs_host_guest_take_schema(struct rs_host_guest *guest);

/* A vCPU's ring. The guest owns its parts, which live as long as the guest. */
struct rs_host_ring {
	struct rs_drain *drain; /* NULL if there is no ring yet, or the ring is invalid */
	const struct rs_stream *stream;
	struct rs_schema *schema;
};

/* Sets *ring to a vCPU's ring. If the ring is unknown, searches for it at the address that a
 * doorbell or rs_host_set_area() announced. Returns RS_DAMAGED, once, if the area or ring is
 * invalid. Any thread may call it. */
struct rs_error *rs_host_ring_poll(struct rs_host_guest *guest, uint32_t vcpu,
				   struct rs_host_ring *ring);

/* Reads the area that rs_host_set_area() announced. The schema of the streams is then complete.
 * Sets *there to false if the guest has not set up the area. Returns RS_DAMAGED if the area is
 * invalid. */
struct rs_error *rs_host_guest_read_area(struct rs_host_guest *guest, bool *there);

/* Returns a vCPU's stream, with or without a ring. The guest owns it. */
const struct rs_stream *rs_host_guest_stream(const struct rs_host_guest *guest, uint32_t vcpu);

/* Returns whether a ring of any vCPU was found, valid or not. */
bool rs_host_guest_found(const struct rs_host_guest *guest);

/* Returns RS_ABSENT, with the reason, if the area that rs_host_set_area() announced, or all of its
 * rings, were missing. Reads no guest memory. */
struct rs_error *rs_host_guest_check(struct rs_host_guest *guest);

/*
 * Declares, before any ring is found, that the guest's VMM does not support Ringside
 * (host/foreign.h): the guest's memory is read while it runs, may be written byte by byte, and may
 * vanish, and the offsets of its TSCs are estimated. since: the host's stamp before which the guest
 * recorded nothing.
 */
void rs_host_guest_set_foreign(struct rs_host_guest *guest, uint64_t since);

/* Makes polls search again for the rings of a foreign guest's vCPUs that had none, because its area
 * has changed. Otherwise polls do not search for them. Any thread may call it. */
void rs_host_guest_search(struct rs_host_guest *guest);

/* Returns whether a foreign guest's rings were restarted, or vanished. Nothing more is read
 * then. */
bool rs_host_guest_has_left(const struct rs_host_guest *guest);

/* Returns the present estimate of a foreign guest's clock, relative to the host's. */
void rs_host_guest_clock(struct rs_host_guest *guest, const struct rs_clock *host,
			 struct rs_clock *clock);

uint32_t rs_host_guest_vcpus(const struct rs_host_guest *guest);

#endif
