/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What `ringside record` records: live sources, each a row of a table in cmd_record.c and a file
 * record_<name>.c. In the order in which they are called:
 *
 *	open	rights, and what the machine has: before anything is made
 *	attach	its rings become the recorder's
 *	gate	recording begins; and ends, after which nothing more comes
 *	look	now and then, while it is open
 *	report	after the recorder is closed: what else it was asked for
 *	close	its memory goes
 */
#ifndef RS_CLI_RECORD_H
#define RS_CLI_RECORD_H

#include <jansson.h>

#include "record/when.h"
#include <ringside/recorder.h>

#define RS_RECORD_TIDS_MAX 4096u
#define RS_RECORD_WHY_MAX  256

struct rs_record_arguments {
	const char *directory;
	uint64_t duration_ns; /* 0: until it is stopped */
	uint32_t buffer_bytes;
	bool quiet, json;
	/* kvm */
	bool kvm, exits;
	int pid;
	int tids[RS_RECORD_TIDS_MAX];
	uint32_t n_tids;
	const char *vm; /* glob */
	/* The flight recorder; 0: none. */
	uint64_t flight_ns, memory_bytes;
	const char *when_text;
	struct rs_when when;
	bool once;
};

struct rs_record_kind {
	const char *name;
	bool (*is_wanted)(const struct rs_record_arguments *arguments);
	struct rs_error *(*open)(const struct rs_record_arguments *arguments, void **state);
	struct rs_error *(*attach)(void *state, struct rs_recorder *recorder,
				   const struct rs_clock *host);
	struct rs_error *(*gate)(void *state, bool open);
	struct rs_error *(*look)(void *state);
	/* Of a flight recorder: whether it was triggered, and why; before memory is written; and
	 * from now on again. */
	bool (*triggered)(void *state, char why[RS_RECORD_WHY_MAX]);
	struct rs_error *(*tell)(void *state);
	void (*rearm)(void *state);
	/* What the summary says of it, before the rest; or its members of the summary's object. */
	void (*sum)(const void *state, char text[RS_RECORD_WHY_MAX], json_t *json);
	/* True in *partial: not all that happened was seen. */
	struct rs_error *(*report)(void *state, bool *partial);
	void (*close)(void *state);
};

extern const struct rs_record_kind rs_record_kvm;

#endif
