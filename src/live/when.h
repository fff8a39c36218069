/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What makes a flight recorder write: "exit > 1ms", "exit HLT > 5ms". The reason is one of this
 * host's, by name or number; the duration is from the exit to the next entry.
 */
#ifndef RS_LIVE_WHEN_H
#define RS_LIVE_WHEN_H

#include <ringside/error.h>
#include <stdint.h>

struct rs_when {
	uint32_t isa, code; /* isa 0: any exit */
	uint64_t than_ns;
};

/* isa: of this host, RS_ISA_UNKNOWN if that is not known. RS_USAGE says what is invalid. */
struct rs_error *rs_when_parse(const char *text, uint32_t isa, struct rs_when *when);

/* The one that this host's KVM has: enum rs_isa. */
uint32_t rs_when_host_isa(void);

#endif
