/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What `ringside script` runs on live: kinds of sources, each a row of the table in script_live.c,
 * merged by time; and --tee, a trace of what the program saw.
 *
 *	open: sources, time zero --> the program is compiled with their schemas --> BEGIN
 *	--> gates opened --> events and ticks --> gates shut --> what is left --> END
 */
#ifndef RS_CLI_SCRIPT_LIVE_H
#define RS_CLI_SCRIPT_LIVE_H

#include <argp.h>

#include "base/out.h"
#include "lang/lang.h"
#include "source/tracepoint.h"

#define RS_SCRIPT_LIVE_MAX 4 /* kinds */

struct rs_kvm_session;

/* Zero before parsing. */
struct rs_script_live {
	/* What was asked for. */
	bool kvm;
	const char *globs[RS_TRACEPOINT_GLOBS_MAX];
	uint32_t n_globs;
	uint64_t duration_ns; /* 0: until it is stopped */
	uint32_t buffer_bytes;
	const char *tee;
	/* What it runs on. */
	struct rs_clock clock, monotonic;
	struct rs_kvm_session *session;
	struct rs_tracepoints *tracepoints;
	struct rs_source *sources[RS_SCRIPT_LIVE_MAX]; /* by kind; the merge's once that is there */
	struct rs_source *merge;
	struct rs_tee *teed;
	struct rs_sink *store;
};

/* Child of the verb's argp; its input is a struct rs_script_live. */
extern const struct argp rs_script_live_argp;

bool rs_script_live_wanted(const struct rs_script_live *live);
struct rs_error *rs_script_live_open(struct rs_script_live *live);
void rs_script_live_close(struct rs_script_live *live);

/* The streams that are known, with their schemas; NULL past the last. */
const struct rs_stream *rs_script_live_stream(const struct rs_script_live *live, uint32_t index);

/* Runs it to its end. sink: the program's, which began; command: for the trace's description. */
struct rs_error *rs_script_live_run(struct rs_script_live *live, struct rs_script *script,
				    struct rs_sink *sink, struct rs_out *out, const char *command);

#endif
