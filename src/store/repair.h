/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Repairs a cut or damaged trace for strict readers. A cut last packet becomes a shorter one, a
 * damaged one becomes a records-lost event that counts its records, and everything behind an
 * invalid header is removed. Metadata and index are written again. Intact streams do not change.
 */
#ifndef RS_STORE_REPAIR_H
#define RS_STORE_REPAIR_H

#include <ringside/reader.h>

struct rs_repair_result {
	uint64_t packets, records; /* kept */
	uint64_t lost;		   /* records known to have been in the trace */
	uint64_t missing;	   /* of these, records that only the recorder's count reports */
	/* records recovered from the rings of the killed program's threads */
	uint64_t recovered;
	uint64_t bytes_dropped;
	uint32_t streams_changed;
	/* The description differs from its check. Repair cannot restore it, and readers report
	 * it. */
	uint32_t lines_dropped;	 /* number of invalid lines of the description */
	uint32_t streams_unread; /* streams left unchanged, since nothing describes their content */
	bool description_damaged;
};

/* Returns RS_USAGE if the directory is not a trace, or is still being recorded. */
struct rs_error *rs_trace_repair(const char *directory, struct rs_repair_result *result);

#endif
