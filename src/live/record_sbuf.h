/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rings of ACRN's layout that other programs write, traces' and logs', into a recorder: by their
 * paths, or lent out to producers that run (lend.h).
 *
 *	create -> attach -> lend -> look, now and then -> take back -> the recorder is closed
 *	-> look at what became of them -> destroy
 *
 * A path at which there is no ring yet is looked at again and again; so is one whose ring was begun
 * anew or broken: what comes there later is a stream of its own. A ring that was there when we came
 * is skipped to its end, unless `keep` says otherwise; later ones are read from their beginning.
 *
 * One thread calls. The recording must outlive the recorder, which reads its rings to the end.
 */
#ifndef RS_LIVE_RECORD_SBUF_H
#define RS_LIVE_RECORD_SBUF_H

#include "record/port.h"
#include <ringside/lend.h>

/* Rings that a path can have one after the other; a writer that begins anew more often is broken.
 */
#define RS_SBUF_RESTARTS_MAX 64u

struct rs_sbuf_options {
	const char *const *paths; /* of rings; with create one, the board's */
	uint32_t n_paths;
	uint32_t create;   /* rings to make and lend; 0: the paths' own */
	size_t ring_bytes; /* of those */
	bool keep;
};

/* What became of a path. */
struct rs_sbuf_told {
	const char *path, *name; /* name: its last part */
	bool runs;		 /* its ring was sound to the last */
	uint32_t rings;		 /* that it had, one after the other; 0: none ever */
	bool is_log;		 /* the newest of them */
	uint64_t skipped;	 /* elements that were in the first before we came */
	const char *error; /* why what is or was there can't be read (any more); NULL: sound, or
			      none yet */
};

struct rs_sbuf_recording;

struct rs_error *rs_sbuf_recording_create(const struct rs_sbuf_options *options,
					  struct rs_sbuf_recording **recording);
/* After the recorder's close. NULL is nothing. Lent rings are removed. */
void rs_sbuf_recording_destroy(struct rs_sbuf_recording *recording);

/* Rings that are there become the recorder's; host: its clock. */
struct rs_error *rs_sbuf_recording_attach(struct rs_sbuf_recording *recording,
					  struct rs_recorder *recorder,
					  const struct rs_clock *host);

/* The same with somebody else than a recorder, who drains them: take() gets each ring that comes to
 * a path, by the path's number, as a recorder would. It must outlive the recording's use. */
struct rs_sbuf_taker {
	void *ctx;
	struct rs_error *(*take)(void *ctx, uint32_t path, const struct rs_recorder_port *port);
};
struct rs_error *rs_sbuf_recording_attach_to(struct rs_sbuf_recording *recording,
					     const struct rs_sbuf_taker *taker,
					     const struct rs_clock *host);

/* Of all the rings: ACRN's events, and raw ones as they come. */
const struct rs_schema *rs_sbuf_recording_schema(const struct rs_sbuf_recording *recording);

/* Lends the rings, or takes them back; nothing where there are none to lend. */
struct rs_error *rs_sbuf_recording_gate(struct rs_sbuf_recording *recording, bool open);

/* Rings that came since. */
struct rs_error *rs_sbuf_recording_look(struct rs_sbuf_recording *recording);

/* Of all logs among them, once their recorder is closed. */
struct rs_sbuf_lines {
	uint64_t lines;
	/* Numbers between the first and the last that none of the rings had: of other CPUs' rings,
	 * or lost before they were read. */
	uint64_t missing;
	uint32_t moves; /* how often the log's clock was put right, by when lines came */
};
struct rs_sbuf_lines rs_sbuf_recording_lines(const struct rs_sbuf_recording *recording);

/* The i-th path's, in their order; false past the last. */
bool rs_sbuf_recording_told(const struct rs_sbuf_recording *recording, uint32_t i,
			    struct rs_sbuf_told *told);

#endif
