/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The trigger of a flight recorder: "exit > 1ms", "exit HLT > 5ms". The reason is one of this
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

/* Parses a trigger. isa is that of this host, or RS_ISA_UNKNOWN. Returns RS_USAGE, whose message
 * names the invalid part. */
struct rs_error *rs_when_parse(const char *text, uint32_t isa, struct rs_when *when);

/* Returns the enum rs_isa of this host's KVM. */
uint32_t rs_when_host_isa(void);

#endif
