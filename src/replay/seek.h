/* SPDX-License-Identifier: BSD-2-Clause */
/* Replays to a place of a recording: a time, or the place where a probe last fired before it. */
#ifndef RS_REPLAY_SEEK_H
#define RS_REPLAY_SEEK_H

#include <stdbool.h>
#include <stdint.h>
#include <ringside/error.h>

#include "introspect/symbols.h"
#include "replay/debugger.h"
#include "replay/moment.h"
#include "replay/probe.h"
#include "replay/program.h"
#include "replay/recording.h"
#include "replay/session.h"

struct rs_seek_options {
	const char *directory;
	struct rs_moment to; /* ns UINT64_MAX: the recording's end */
	const char *back;    /* the probe to go back to; or NULL */
	const char *gdb;     /* the address to bind for a debugger; or NULL */
	const char *binary;  /* the program whose functions are named; or NULL */
	const volatile bool *stop;
	/* Reports the time to which the replay goes, or from which it goes back; or NULL. */
	void (*progress)(void *ctx, bool back, uint64_t guest_ns);
	void *ctx;
};

struct rs_seek {
	const struct rs_seek_options *o;
	struct rs_recording recording;
	struct rs_session *session;
	struct rs_replay_probe probe; /* of `back` */
	struct rs_program program;    /* of `binary`, with its symbols; or all zero */
	struct rs_symbols *symbols;
	struct rs_debugger debugger;
	uint64_t to;
	/* The machine's position after rs_seek_run(). */
	uint64_t icount;
	struct rs_x86_regs regs;
	char symbol[RS_SYMBOL_TEXT_MAX]; /* its function, or "" */
	bool found;			 /* the probe of `back` fired before that time */
};
#define RS_SEEK_NONE                                                                               \
	{                                                                                          \
		.debugger = RS_DEBUGGER_NONE                                                       \
	}

/* Reads and checks the recording, the probe and the program, and binds the debugger's address.
 * *seek must be RS_SEEK_NONE. The caller frees it with rs_seek_close(), also after an error. The
 * options must outlive it. */
struct rs_error *rs_seek_open(const struct rs_seek_options *options, struct rs_seek *seek);

/* Replays to the place, and reads the state there. The machine remains stopped. */
struct rs_error *rs_seek_run(struct rs_seek *seek);
void rs_seek_close(struct rs_seek *seek);

/* Returns the guest's time of an instruction. */
uint64_t rs_seek_guest_ns(const struct rs_seek *seek, uint64_t icount);

#endif
