/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program on live sources: kinds, each a row of the table in live.c, merged by time; and a tee, a
 * trace of the events that the program received.
 *
 *	open: sources, time zero --> the program is compiled with their schemas --> BEGIN
 *	--> gates opened --> events and ticks --> gates shut --> remaining events --> END
 */
#ifndef RS_SCRIPT_LIVE_H
#define RS_SCRIPT_LIVE_H

#include "base/out.h"
#include "lang/lang.h"
#include "live/tracepoint.h"
#include "script/remark.h"

#define RS_SCRIPT_LIVE_MAX 4 /* kinds */

#define RS_SCRIPT_SBUF_MAX 256u /* rings */

struct rs_kvm_session;
struct rs_xen_recording;
struct rs_sbuf_reading;

/* Zero at first; the caller fills in the options. */
struct rs_script_live {
	/* The options. */
	bool kvm, xen;
	uint32_t xen_mask; /* classes of Xen's events; 0: all */
	const char *globs[RS_TRACEPOINT_GLOBS_MAX];
	const char *reads[RS_TRACEPOINT_GLOBS_MAX]; /* descriptions of clauses with copyinstr() */
	uint32_t n_reads;
	uint32_t n_globs, n_own; /* own: the last ones, which are the program's, and allocated */
	const char *rings[RS_SCRIPT_SBUF_MAX];
	uint32_t n_rings, lend; /* lend: how many to make and lend; 0: the rings' own */
	bool keep;
	uint64_t duration_ns; /* 0: until it is stopped */
	uint32_t buffer_bytes;
	const char *tee;
	volatile bool *stop; /* set by a signal: the gates shut, and the program handles the rest */
	struct rs_script_remarks remarks;
	/* The sources. */
	struct rs_clock clock, monotonic;
	struct rs_kvm_session *session;
	struct rs_tracepoints *tracepoints;
	struct rs_xen_session *xen_session;
	struct rs_xen_recording *xen_recording;
	struct rs_stream xen_stream; /* for its schema: a domain's are made as they come */
	struct rs_sbuf_reading *sbuf;
	struct rs_source *sources[RS_SCRIPT_LIVE_MAX]; /* by kind; the merge's once that is there */
	struct rs_source *merge;
	struct rs_tee *teed;
	struct rs_sink *store;
};

/* A kind of sources. */
struct rs_script_kind {
	bool (*wanted)(const struct rs_script_live *live);
	struct rs_error *(*open)(struct rs_script_live *live, struct rs_source **source);
	struct rs_error *(*gate)(struct rs_script_live *live, bool open);
	/* Pushes parts of the program down to the source, before the gate opens; without `load` it
	 * only works out which. NULL: there are none. */
	struct rs_error *(*push)(struct rs_script_live *live, struct rs_source *source,
				 struct rs_script *script, bool load);
	/* Returns a known stream, in the order of events of equal time; NULL past the last. */
	const struct rs_stream *(*stream)(const struct rs_script_live *live,
					  const struct rs_source *source, uint32_t index);
	/* Reports what is missing at the end. Returns whether something is. Optional. */
	bool (*report)(const struct rs_script_live *live);
	void (*close)(struct rs_script_live *live);
};

/* xen.c, sbuf.c */
extern const struct rs_script_kind rs_script_xen, rs_script_sbuf;

bool rs_script_live_wanted(const struct rs_script_live *live);

/* Adds the tracepoints that a description of the program names, as "ftrace:sched::sched_switch"
 * and "ftrace:block::*": --tracepoint asks for others. copies: the texts that its
 * arguments point to are read. ctx: a struct rs_script_live. It is a
 * config.make of lang.h; *event stays NULL. */
struct rs_error *rs_script_live_name(void *ctx, const char *description, bool copies,
				     const struct rs_event **event);

struct rs_error *rs_script_live_open(struct rs_script_live *live);
void rs_script_live_close(struct rs_script_live *live);

/* Returns the index-th of the known streams, with its schema; NULL past the last. */
const struct rs_stream *rs_script_live_stream(const struct rs_script_live *live, uint32_t index);

/* Creates the trace of --tee, before the program begins. command: for the trace's description. */
struct rs_error *rs_script_live_prepare(struct rs_script_live *live, const char *command);

/* Pushes parts of the program down to the sources; without `load` it only works out which, for
 * rs_script_push_explain(). rs_script_live_run() calls it with `load`. */
struct rs_error *rs_script_live_push(struct rs_script_live *live, struct rs_script *script,
				     bool load);

/* Runs the program to its end. sink: the program's, after its BEGIN. */
struct rs_error *rs_script_live_run(struct rs_script_live *live, struct rs_script *script,
				    struct rs_sink *sink, struct rs_out *out);

/* Reports what the sources could not give. Returns whether something is missing. */
bool rs_script_live_report(const struct rs_script_live *live);

/* Adds a program's first arguments that are paths of rings: a shell makes them of a glob behind
 * --sbuf. Returns how many there are. */
uint32_t rs_script_live_rings(struct rs_script_live *live, const char *const *args, uint32_t n);

#endif
