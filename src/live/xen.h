/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads a running Xen's trace buffers as a source. Each poll is a round, which reads the records of
 * each physical CPU and processes them as those of a file's windows:
 *
 *	buffer of CPU 0 --\
 *	buffer of CPU 1 ---> blocks (checked) --> records by time --> views
 *
 * The records of a round were traced after all of the round before the last was read, so records
 * are delayed by two rounds. If a buffer's bytes are invalid, its content is discarded and reported
 * as a loss of unknown size, as are records that another reader consumed.
 */
#ifndef RS_LIVE_XEN_H
#define RS_LIVE_XEN_H

#include "import/foreign.h"
#include "live/xen_tbuf.h"

#define RS_XEN_POLL_MS	   100u
#define RS_XEN_POLL_MS_MIN 10u

struct rs_xen_names;

struct rs_xen_live_options {
	struct rs_xen_tbuf *buffers; /* the caller's; in the order of their CPUs */
	uint32_t n;
	const struct rs_clock *clock; /* of the stamps */
	struct rs_xen_names *names;   /* of domains; NULL: use their numbers */
	uint32_t poll_ms;	      /* between rounds; 0: RS_XEN_POLL_MS */
	bool svm;		      /* exit codes are AMD's */
};

/* Creates the source. The objects to which the options point must outlive it. Its tally is complete
 * once it has ended. */
struct rs_error *rs_xen_live_create(const struct rs_xen_live_options *options,
				    struct rs_foreign **live);

/* Returns the schema of all its streams. */
const struct rs_schema *rs_xen_live_schema(const struct rs_foreign *live);

/* Marks the buffers as complete: the source returns their content, and ends. */
void rs_xen_live_stop(struct rs_foreign *live);

#endif
