/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A running Xen's trace buffers as a source: in rounds, every poll, each physical CPU's records are
 * taken out and go the way of those of a file's windows.
 *
 *	buffer of CPU 0 --\
 *	buffer of CPU 1 ---> blocks (checked) --> records by time --> views
 *
 * What is in a round was traced after all of the round before the last was read, so records come
 *out two rounds late. A buffer whose bytes are invalid loses what is in it, which is reported as a
 *loss of unknown size; so is what another reader took.
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
	struct rs_xen_names *names;   /* of domains; NULL: their numbers */
	uint32_t poll_ms;	      /* between rounds; 0: RS_XEN_POLL_MS */
	bool svm;		      /* exit codes are AMD's */
};

/* What is pointed to must outlive it. Its tally is whole once it has ended. */
struct rs_error *rs_xen_live_create(const struct rs_xen_live_options *options,
				    struct rs_foreign **live);

/* Of all its streams. */
const struct rs_schema *rs_xen_live_schema(const struct rs_foreign *live);

/* Nothing more comes into the buffers: what is there is given, and then it ends. */
void rs_xen_live_stop(struct rs_foreign *live);

#endif
