/* SPDX-License-Identifier: BSD-2-Clause */
/* The traces' region of a half (ring/survive.h), written as a trace directory. */
#ifndef RS_LOG_TRACES_H
#define RS_LOG_TRACES_H

#include <ringside/log.h>

struct rs_log_traces {
	const uint8_t *mem; /* of the region */
	uint64_t bytes;
	const struct rs_log_half *half; /* says what the stamps mean */
	uint64_t records;		/* recovered; 0: no directory was made */
	uint32_t damaged;		/* rings that are invalid, or broken before their end */
};

struct rs_error *rs_log_traces_recover(struct rs_log_traces *traces, const char *directory);

#endif
