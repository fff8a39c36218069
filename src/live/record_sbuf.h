/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records rings of ACRN's layout that other programs write, of traces and of logs. They are opened
 * by their paths, or lent to running producers (lend.h).
 *
 *	create -> attach -> lend -> poll at intervals -> reclaim -> the recorder is closed
 *	-> read each path's result -> destroy
 *
 * Each poll checks again the paths that have no ring yet, and those whose ring was restarted or
 * broken. A later ring of the same path is a separate stream. A ring that exists at the start is
 * skipped to its end, unless `keep` is set; later rings are read from their beginning.
 *
 * All calls come from one thread. The recording must outlive the recorder, which reads the rings
 * until it is closed.
 */
#ifndef RS_LIVE_RECORD_SBUF_H
#define RS_LIVE_RECORD_SBUF_H

#include "record/port.h"
#include <ringside/lend.h>

/* The most rings that a path can have in sequence; a writer that restarts more often is broken. */
#define RS_SBUF_RESTARTS_MAX 64u

struct rs_sbuf_options {
	const char *const *paths; /* paths of rings; with create, one path, the board's */
	uint32_t n_paths;
	/* number of rings to create and lend; 0: the paths are of existing rings */
	uint32_t create;
	size_t ring_bytes; /* size of each lent ring */
	bool keep;
};

/* The result of a path. */
struct rs_sbuf_result {
	const char *path, *name; /* name: its last part */
	bool runs;		 /* its ring was valid until the end */
	uint32_t rings;		 /* number of its rings, in sequence; 0: none */
	bool is_log;		 /* the number of the newest ring */
	uint64_t skipped;	 /* elements of the first ring before the recording began */
	const char *error;	 /* why the ring cannot be read; NULL: it is valid, or absent */
};

struct rs_sbuf_recording;

struct rs_error *rs_sbuf_recording_create(const struct rs_sbuf_options *options,
					  struct rs_sbuf_recording **recording);
/* Removes lent rings. Call it after the recorder is closed. NULL is ignored. */
void rs_sbuf_recording_destroy(struct rs_sbuf_recording *recording);

/* Adds the existing rings to the recorder. host: the recorder's clock. */
struct rs_error *rs_sbuf_recording_attach(struct rs_sbuf_recording *recording,
					  struct rs_recorder *recorder,
					  const struct rs_clock *host);

/* Attaches a receiver instead of a recorder. receive() gets each new ring, with the number of its
 * path. The receiver must outlive the recording. */
struct rs_sbuf_receiver {
	void *ctx;
	struct rs_error *(*receive)(void *ctx, uint32_t path, const struct rs_recorder_port *port);
};
struct rs_error *rs_sbuf_recording_attach_to(struct rs_sbuf_recording *recording,
					     const struct rs_sbuf_receiver *receiver,
					     const struct rs_clock *host);

/* Returns the schema of all the rings: ACRN's events, and raw events as they appear. */
const struct rs_schema *rs_sbuf_recording_schema(const struct rs_sbuf_recording *recording);

/* Lends the rings, or reclaims them and adds the rings that appeared since the last poll. */
struct rs_error *rs_sbuf_recording_gate(struct rs_sbuf_recording *recording, bool open);

/* Adds the rings that appeared since the last call. */
struct rs_error *rs_sbuf_recording_poll(struct rs_sbuf_recording *recording);

/* The totals of all logs, valid once the recorder is closed. */
struct rs_sbuf_lines {
	uint64_t lines;
	/* Line numbers between the first and the last that are not in any of the rings: they are in
	 * other CPUs' rings, or were lost before they were read. */
	uint64_t missing;
	uint32_t moves; /* corrections of the log's clock by the lines' time of arrival */
};
struct rs_sbuf_lines rs_sbuf_recording_lines(const struct rs_sbuf_recording *recording);

/* Returns the result of the i-th path, or false if i is past the last. */
bool rs_sbuf_recording_result(const struct rs_sbuf_recording *recording, uint32_t i,
			      struct rs_sbuf_result *result);

#endif
