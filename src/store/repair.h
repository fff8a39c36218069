/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Repairs a cut or damaged trace for strict readers. A cut last packet becomes a shorter one, a
 * damaged one becomes a records-lost of its records, and what is behind an invalid header is
 * removed. Metadata and index are written again. Streams that are whole stay as they are.
 */
#ifndef RS_STORE_REPAIR_H
#define RS_STORE_REPAIR_H

#include <ringside/reader.h>

struct rs_repair_result {
	uint64_t packets, records; /* kept */
	uint64_t lost;		   /* records known to have been in the trace */
	uint64_t missing;	   /* of them, those that only the recorder's count mentions */
	uint64_t bytes_dropped;
	uint32_t streams_changed;
	/* The description is not what was written. Repair cannot mend that: readers report it. */
	uint32_t lines_dropped;	 /* invalid ones, of the description */
	uint32_t streams_unread; /* left as they are: nothing describes their contents */
	bool description_damaged;
};

/* RS_USAGE: no trace, or one that is still being recorded. */
struct rs_error *rs_trace_repair(const char *directory, struct rs_repair_result *result);

#endif
