/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kinds of live sources of `ringside record`.
 *
 * A kind is one file, record_<name>.c, with a struct rs_record_kind, and one row of the table in
 * cmd_record.c. The file has the option that selects the kind (--<name>), the kind's options, and
 * the operations below. Options that several kinds use are common: a kind lists those that it uses,
 * and the verb refuses a common option that no selected kind uses. doc/man/ringside-record.1
 * describes the options.
 *
 * One thread calls the operations, in this order. An optional operation may be NULL.
 *
 *	argp	parses the options
 *	check	refuses inconsistent options, also of a kind that is not selected
 *	open	checks rights and the machine, before the recorder creates anything
 *	attach	adds the rings to the recorder
 *	gate	begins recording, or ends it; no record follows the end
 *	poll	runs at intervals while the gate is open
 *	has_ended	returns whether the sources are gone
 *	sum	describes the sources, for the summary
 *	report	reports losses, and prints other requested output
 *	close	frees the memory
 */
#ifndef RS_CLI_RECORD_H
#define RS_CLI_RECORD_H

#include <argp.h>
#include <stdbool.h>

#include "base/json.h"
#include "event/query.h"
#include <ringside/recorder.h>

#define RS_RECORD_KINDS_MAX 8
#define RS_RECORD_WHY_MAX   256

/* Common options that a kind may use. */
#define RS_RECORD_BUFFER (1u << 0)
#define RS_RECORD_POLL	 (1u << 1)
#define RS_RECORD_CPUS	 (1u << 2)

/* The options that all kinds share. */
struct rs_record_common {
	const char *directory;
	uint64_t duration_ns;	/* 0: until a signal stops it */
	uint32_t buffer_bytes;	/* --buffer, each ring; 0: the kind's default */
	uint64_t poll_ns;	/* --poll, the interval at which rings are polled; 0: the default */
	struct rs_cpu_set cpus; /* --cpus; all if `some` is false */
	bool quiet, json;
	bool shows; /* the recording's progress, on a terminal */
	/* The flight recorder; 0: none. */
	uint64_t flight_ns, memory_bytes;
	bool once;
};

struct rs_record_kind {
	const char *name; /* without the dashes */
	/* The kind's options and session, zero at first: the input of argp, and the argument of
	 * each operation. A process records once. */
	void *state;
	const struct argp *argp;
	uint32_t uses; /* RS_RECORD_BUFFER, ... */
	bool urgent;   /* the producer of its rings drops records without waiting or counting */
	bool (*is_selected)(const void *state);
	/* Reports a usage error and exits. Optional. */
	void (*check)(const void *state, const struct argp_state *argp,
		      const struct rs_record_common *common);
	/* A failed open leaves nothing to close. The operations below run only after a success. */
	struct rs_error *(*open)(void *state, const struct rs_record_common *common);
	struct rs_error *(*attach)(void *state, struct rs_recorder *recorder,
				   const struct rs_clock *host);
	struct rs_error *(*gate)(void *state, bool open);
	struct rs_error *(*poll)(void *state); /* optional */
	/* Returns whether no more records can arrive. A recording ends when all of its kinds have
	 * ended. Optional. */
	bool (*has_ended)(const void *state);
	/* For a flight recorder; optional. triggered() returns whether the kind requests that the
	 * memory be written, and why. describe() passes the descriptions of the events so far to
	 * the recorder. rearm() allows the next trigger. */
	bool (*triggered)(void *state, char why[RS_RECORD_WHY_MAX]);
	struct rs_error *(*describe)(void *state);
	void (*rearm)(void *state);
	/* Writes "4 vCPU threads", as in "records of 4 vCPU threads", and the kind's members of the
	 * summary's JSON object. Called after attach, even if the gate was never opened. */
	void (*sum)(const void *state, char text[RS_RECORD_WHY_MAX]);
	void (*sum_json)(const void *state, struct rs_json *json);
	/* Sets *partial if events were missed. Optional. */
	struct rs_error *(*report)(void *state, bool *partial);
	/* Returns whether close() takes seconds, and why, for a message before the call.
	 * Optional. */
	bool (*closes_slowly)(const void *state, char why[RS_RECORD_WHY_MAX]);
	void (*close)(void *state);
};

/* Writes "ringside record: ", the text and a newline to standard error, unless --quiet. */
__attribute__((format(printf, 2, 3))) void rs_record_remark(const struct rs_record_common *common,
							    const char *format, ...);

extern const struct rs_record_kind rs_record_kvm;
extern const struct rs_record_kind rs_record_tracepoint;
extern const struct rs_record_kind rs_record_sbuf;
extern const struct rs_record_kind rs_record_memory;
extern const struct rs_record_kind rs_record_xen;

#endif
