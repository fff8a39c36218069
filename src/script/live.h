/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs a program on live sources. Each kind of source is a row of the table in live.c; the sources
 * are merged by time. --tee writes a trace of the events that the program received.
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

/* All zero at first. The caller fills in the options. */
struct rs_script_live {
	/* The options. */
	bool kvm, xen;
	uint32_t xen_mask; /* classes of Xen's events; 0: all */
	const char *globs[RS_TRACEPOINT_GLOBS_MAX];
	/* descriptions of the clauses that use copyinstr() */
	const char *reads[RS_TRACEPOINT_GLOBS_MAX];
	uint32_t n_reads;
	/* n_own: number of the last ones, allocated for the program's probes */
	uint32_t n_globs, n_own;
	const char *rings[RS_SCRIPT_SBUF_MAX];
	/* lend: number of rings to create and lend; 0: use the rings of other programs */
	uint32_t n_rings, lend;
	bool keep;
	uint64_t duration_ns; /* 0: until a signal */
	uint32_t buffer_bytes;
	const char *tee;
	/* set by a signal handler: the gates shut, and the program handles the remaining events */
	volatile bool *stop;
	struct rs_script_remarks remarks;
	/* The sources. */
	struct rs_clock clock, monotonic;
	struct rs_kvm_session *session;
	struct rs_tracepoints *tracepoints;
	struct rs_xen_session *xen_session;
	struct rs_xen_recording *xen_recording;
	/* only its schema is used; a domain's streams are created as they appear */
	struct rs_stream xen_stream;
	struct rs_sbuf_reading *sbuf;
	/* by kind; the merge owns them once it exists */
	struct rs_source *sources[RS_SCRIPT_LIVE_MAX];
	struct rs_source *merge;
	struct rs_tee *teed;
	struct rs_sink *store;
};

/* A kind of sources. */
struct rs_script_kind {
	bool (*wanted)(const struct rs_script_live *live);
	struct rs_error *(*open)(struct rs_script_live *live, struct rs_source **source);
	struct rs_error *(*gate)(struct rs_script_live *live, bool open);
	/* Pushes parts of the program down to the source, before the gate opens. If `load` is
	 * false, only determines these parts. NULL if the kind has no push-down. */
	struct rs_error *(*push)(struct rs_script_live *live, struct rs_source *source,
				 struct rs_script *script, bool load);
	/* Returns the index-th known stream, in the order of events of equal time; NULL past the
	 * last. */
	const struct rs_stream *(*stream)(const struct rs_script_live *live,
					  const struct rs_source *source, uint32_t index);
	/* Reports incomplete data at the end. Returns whether some is missing. Optional. */
	bool (*report)(const struct rs_script_live *live);
	void (*close)(struct rs_script_live *live);
};

/* xen.c, sbuf.c */
extern const struct rs_script_kind rs_script_xen, rs_script_sbuf;

bool rs_script_live_wanted(const struct rs_script_live *live);

/* Adds the tracepoints that a probe description of the program names, such as
 * "ftrace:sched::sched_switch" and "ftrace:block::*", to those of --tracepoint. copies: also read
 * the texts that the arguments point to. ctx: a struct rs_script_live. Is the `make` of struct
 * rs_script_config; does not change *event. */
struct rs_error *rs_script_live_name(void *ctx, const char *description, bool copies,
				     const struct rs_event **event);

struct rs_error *rs_script_live_open(struct rs_script_live *live);
void rs_script_live_close(struct rs_script_live *live);

/* Returns the index-th known stream, with its schema; NULL past the last. */
const struct rs_stream *rs_script_live_stream(const struct rs_script_live *live, uint32_t index);

/* Creates the trace of --tee, before the program begins. command: for the trace's description. */
struct rs_error *rs_script_live_prepare(struct rs_script_live *live, const char *command);

/* Pushes parts of the program down to the sources. If `load` is false, only determines these parts,
 * for rs_script_push_explain(). rs_script_live_run() calls this function with `load`. */
struct rs_error *rs_script_live_push(struct rs_script_live *live, struct rs_script *script,
				     bool load);

/* Runs the program to its end. sink: the program's sink, after its BEGIN. */
struct rs_error *rs_script_live_run(struct rs_script_live *live, struct rs_script *script,
				    struct rs_sink *sink, struct rs_out *out);

/* Reports incomplete data of the sources. Returns whether some is missing. */
bool rs_script_live_report(const struct rs_script_live *live);

/* Adds those of the program's first arguments that are paths of rings: the shell expands a glob
 * after --sbuf to them. Returns their number. */
uint32_t rs_script_live_rings(struct rs_script_live *live, const char *const *args, uint32_t n);

#endif
