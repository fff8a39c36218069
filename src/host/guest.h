/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a recorder asks of a guest's host side (host.h): to be told of rings as they are found,
 * and to be called to drain them.
 */
#ifndef RS_HOST_GUEST_H
#define RS_HOST_GUEST_H

#include "event/drain.h"
#include <ringside/host.h>

struct rs_guest_taker {
	void *ctx;
	/* A vCPU's ring was found. drain and stream stay the guest's; they live as long as it. */
	struct rs_error *(*found)(void *ctx, uint32_t vcpu, struct rs_drain *drain,
				  const struct rs_stream *stream, struct rs_schema *schema);
	/* The error says which guest and vCPU. */
	struct rs_error *(*drain)(void *ctx, uint32_t vcpu);
};

/* RS_USAGE: it has a taker already. */
struct rs_error *rs_host_guest_take(struct rs_host_guest *guest,
				    const struct rs_guest_taker *taker);

/* The taker is going: nothing more is handed to it. Not while a call to it is under way. */
void rs_host_guest_let_go(struct rs_host_guest *guest);

/* Shared hand-over: looks for the area and for rings that are not known yet. Any thread. */
struct rs_error *rs_host_guest_look(struct rs_host_guest *guest);

uint32_t rs_host_guest_vcpus(const struct rs_host_guest *guest);
const char *rs_host_guest_vm(const struct rs_host_guest *guest);
bool rs_host_guest_ended(const struct rs_host_guest *guest);

#endif
