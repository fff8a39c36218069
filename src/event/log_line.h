/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A line of a hypervisor's log, taken apart: ACRN's form, with the thread's name or, as before
 * 2019, without, and [cut] for ours.
 *
 *	[1234us][cpu=0][vm0:vcpu0 thread][sev=5][seq=17]:the message
 *
 * Texts point into what was given, which anybody may have written: nothing but their bounds is
 * promised.
 */
#ifndef RS_EVENT_LOG_LINE_H
#define RS_EVENT_LOG_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rs_log_line {
	uint64_t us, seq;
	uint32_t cpu, level;
	const char *thread, *message; /* not NUL-terminated; thread NULL: the old form */
	uint32_t thread_bytes, message_bytes;
	bool cut;
};

/* False: it is none. */
bool rs_log_line_parse(const char *text, size_t bytes, struct rs_log_line *line);

/* "error" of 3; "?" of what is no level. */
const char *rs_log_level_name(uint32_t level);

/* A level by its number or name; 0 ("off") too. False: it is none. */
bool rs_log_level_parse(const char *text, uint32_t *level);

#endif
