/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parses a line of a hypervisor's log: ACRN's two forms, and Ringside's, which may end in [cut].
 * Also parses the line that Ringside writes for a gap in a log.
 *
 *	[1234us][cpu=0][vm0:vcpu0][sev=5][seq=17]:the message
 *	[1234us][cpu=0][sev=5][seq=17]:the message
 *	[gap: 17 lines are missing, seq 101 to 117, cpu 0 3, between 1200us and 1500us]
 *
 * The formats are those of ACRN's hypervisor/debug/logmsg.c. Since commit 47139bd78 (2019), a line
 * is "[%luus][cpu=%hu][%s][sev=%u][seq=%u]:", where %s is the name of the running thread
 * (arch/x86/guest/vcpu.c: "vm%hu:vcpu%hu"; common/hv_main.c: "idle%hu"); Before, it had no "[%s]".
 *
 * Texts point into the caller's line, which is untrusted: only their bounds are checked.
 */
#ifndef RS_EVENT_LOG_LINE_H
#define RS_EVENT_LOG_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ringside/log_ring.h>

#define RS_LOG_TEXT_MAX 480u /* bytes of a line of ACRN's (acrnlog.c: LOG_MSG_SIZE) */

struct rs_log_line {
	uint64_t us, seq;
	uint32_t cpu, level;
	const char *thread, *message; /* not NUL-terminated; thread NULL: the form before 2019 */
	uint32_t thread_bytes, message_bytes;
	bool cut;
};

/* Missing lines between two lines. */
struct rs_log_gap {
	uint64_t first, last;	 /* sequence numbers */
	uint64_t from_us, to_us; /* times of the lines before and after; UINT64_MAX: none */
	/* CPUs that are known to have lost lines in the gap; empty: unknown. */
	uint64_t cpus[RS_LOG_LANES_MAX / 64];
};

/* Parses a line. Returns false if the text is not a line. */
bool rs_log_line_parse(const char *text, size_t bytes, struct rs_log_line *line);

/* Parses a gap's line. Returns false if the text is not a gap's line, or contradicts itself. */
bool rs_log_gap_parse(const char *text, size_t bytes, struct rs_log_gap *gap);

/* Returns a level's name, such as "error" for 3, or "?" if the number is not a level. */
const char *rs_log_level_name(uint32_t level);

/* Parses a level's number or name, including 0 ("off"). Returns false if the text is not a
 * level. */
bool rs_log_level_parse(const char *text, uint32_t *level);

#endif
