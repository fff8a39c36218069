/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What `ringside record` records: kinds of live sources.
 *
 * A kind is one file, record_<name>.c, with a struct rs_record_kind, and one row of the table in
 * cmd_record.c. Its file has all of it: the option that asks for it (--<name>), options that are
 * its own, what these come to, and the operations below. Options that several kinds have a use for
 * are common; a kind says which of them it uses, and those that no chosen kind uses are refused.
 * Beside it: doc/man/ringside-record.1.
 *
 * The operations, in the order in which they are called; all from one thread. NULL where optional:
 * nothing to do.
 *
 *	argp	its options
 *	check	what goes with what, whether or not it was asked for
 *	open	rights, and what the machine has: before anything is made
 *	attach	its rings become the recorder's
 *	gate	recording begins; and ends, after which nothing more comes
 *	poll	now and then, while it is open
 *	sum	what is said of it when the recorder is closed,
 *	report	and what else it was asked for
 *	close	its memory goes
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

/* Common options that a kind may have a use for. */
#define RS_RECORD_BUFFER (1u << 0)
#define RS_RECORD_POLL	 (1u << 1)
#define RS_RECORD_CPUS	 (1u << 2)

/* The options that all kinds share. */
struct rs_record_common {
	const char *directory;
	uint64_t duration_ns;	/* 0: until it is stopped */
	uint32_t buffer_bytes;	/* --buffer, each ring; 0: the kind's default */
	uint64_t poll_ns;	/* --poll, the interval at which rings are polled; 0: the default */
	struct rs_cpu_set cpus; /* --cpus; all of them where `some` is false */
	bool quiet, json;
	bool shows; /* the recording's progress, on a terminal */
	/* The flight recorder; 0: none. */
	uint64_t flight_ns, memory_bytes;
	bool once;
};

struct rs_record_kind {
	const char *name; /* without the dashes */
	/* Its arguments and what it records with, zero at first: the input of argp, and what each
	 * operation gets. A command records once. */
	void *state;
	const struct argp *argp;
	uint32_t uses; /* RS_RECORD_BUFFER, ... */
	bool urgent;   /* who fills its rings neither waits nor counts what it drops */
	bool (*is_wanted)(const void *state);
	/* Reports a usage error, and exits. Optional. */
	void (*check)(const void *state, const struct argp_state *argp,
		      const struct rs_record_common *common);
	/* What failed has left nothing behind; the others are called after it has succeeded. */
	struct rs_error *(*open)(void *state, const struct rs_record_common *common);
	struct rs_error *(*attach)(void *state, struct rs_recorder *recorder,
				   const struct rs_clock *host);
	struct rs_error *(*gate)(void *state, bool open);
	struct rs_error *(*poll)(void *state); /* optional */
	/* For a flight recorder, optional. triggered() returns whether the kind asks for memory to
	 * be written, and why. describe() gives the recorder what describes the events so far.
	 * rearm() allows the next trigger. */
	bool (*triggered)(void *state, char why[RS_RECORD_WHY_MAX]);
	struct rs_error *(*describe)(void *state);
	void (*rearm)(void *state);
	/* "4 vCPU threads", as in "records of 4 vCPU threads"; and the kind's members of the
	 * summary's object. After attach, whether or not the gate was opened. */
	void (*sum)(const void *state, char text[RS_RECORD_WHY_MAX]);
	void (*sum_json)(const void *state, struct rs_json *json);
	/* True in *partial: not all that happened was seen. Optional. */
	struct rs_error *(*report)(void *state, bool *partial);
	/* Whether close() takes seconds, and why: it is said before. Optional. */
	bool (*closes_slowly)(const void *state, char why[RS_RECORD_WHY_MAX]);
	void (*close)(void *state);
};

/* Writes "ringside record: ", the text and a newline to standard error, unless --quiet. */
__attribute__((format(printf, 2, 3))) void rs_record_remark(const struct rs_record_common *common,
							    const char *format, ...);

extern const struct rs_record_kind rs_record_kvm;
extern const struct rs_record_kind rs_record_tracepoint;
extern const struct rs_record_kind rs_record_sbuf;
extern const struct rs_record_kind rs_record_xen;

#endif
