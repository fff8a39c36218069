/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Making a cut or damaged trace whole for readers that forgive nothing: a last packet that is
 * cut becomes a shorter one, a damaged one a records-lost of its records, what stands behind a
 * header that makes no sense goes; metadata and index are written anew. Streams that are whole
 * are left as they are.
 */
#ifndef RS_STORE_REPAIR_H
#define RS_STORE_REPAIR_H

#include <ringside/reader.h>

struct rs_repair_result {
	uint64_t packets, records; /* kept */
	uint64_t lost;		   /* records that were there, by what is left to tell of them */
	uint64_t missing;	   /* of them, those that only the recorder's count mentions */
	uint64_t bytes_dropped;
	uint32_t streams_changed;
	/* The description is not what was written. That can't be mended: readers go on telling. */
	uint32_t lines_dropped;	 /* of the description: they make no sense */
	uint32_t streams_unread; /* left as they are: nothing says what is in them */
	bool description_damaged;
};

/* RS_USAGE: no trace, or one that is still being recorded. */
struct rs_error *rs_trace_repair(const char *directory, struct rs_repair_result *result);

#endif
