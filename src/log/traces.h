/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes the trace region of a half (ring/survive.h) as a trace directory. */
#ifndef RS_LOG_TRACES_H
#define RS_LOG_TRACES_H

#include <ringside/log.h>

struct rs_log_traces {
	const uint8_t *mem; /* bytes of the region */
	uint64_t bytes;
	const struct rs_log_half *half; /* the clock of the stamps */
	uint64_t records;		/* recovered rings; 0: no directory was created */
	uint32_t damaged;		/* rings that are invalid, or broken before their end */
};

struct rs_error *rs_log_traces_recover(struct rs_log_traces *traces, const char *directory);

#endif
