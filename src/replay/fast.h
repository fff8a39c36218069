/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The fast path of a replay's stops: a library in QEMU's process (inside.c) stops the machine at an
 * instruction and returns its registers in one round trip. It needs a QEMU that exports the symbols
 * that the library uses. Otherwise rs_fast_why() names the missing one, and all stops use the GDB
 * channel.
 *
 * While the fast path holds a machine, QEMU's own threads wait, and its other channels must not be
 * used before rs_fast_hold(). Only one thread may call.
 */
#ifndef RS_REPLAY_FAST_H
#define RS_REPLAY_FAST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ringside/error.h>

struct rs_fast;

/* The place of a stop, and registers in the form of the beginning of GDB's `g` packet. */
struct rs_fast_stop {
	uint64_t icount;
	uint64_t tsc;	    /* value that the guest's RDTSC would return */
	const uint8_t *raw; /* until the next call */
	size_t bytes;
};

/* Creates a fast path for a QEMU that will be started. version is the text that QEMU prints. Always
 * sets *fast. */
struct rs_error *rs_fast_create(const char *version, struct rs_fast **fast);
void rs_fast_destroy(struct rs_fast *fast); /* NULL is ignored */

/* Lets QEMU end: the fast path no longer holds its processor at any place. */
void rs_fast_leave(struct rs_fast *fast);

/* Returns the words that precede QEMU's own (env and two variables), NULL-terminated, and the
 * descriptors that QEMU inherits. *fast owns both; both are empty without a fast path. */
char *const *rs_fast_words(const struct rs_fast *fast);
const int *rs_fast_inherits(const struct rs_fast *fast, uint32_t *n);

/* Receives the library's report, after QEMU has started, whether all symbols exist. */
void rs_fast_receive(struct rs_fast *fast);

/* Returns NULL if the fast path can be used, else the reason. */
const char *rs_fast_why(const struct rs_fast *fast);
/* Disables the fast path from now on. Copies `why`. */
void rs_fast_disable(struct rs_fast *fast, const char *why);

/* Sets a stop at `icount`, which must be ahead, while QEMU has stopped the machine. Sets *stop to
 * the present place. Returns false if `icount` is not ahead, or if the library found a mismatch,
 * which rs_fast_why() then returns. */
bool rs_fast_arm(struct rs_fast *fast, uint64_t icount, struct rs_fast_stop *stop);
/* Removes the stop, while QEMU has stopped the machine. A no-op if there is none. */
void rs_fast_disarm(struct rs_fast *fast);

/* Sets *stop to the present place, and removes the stop, while QEMU has stopped the machine.
 * Returns false without a fast path. */
bool rs_fast_poll(struct rs_fast *fast, struct rs_fast_stop *stop);

/* Returns the descriptor to poll() while the machine runs. */
int rs_fast_fd(const struct rs_fast *fast);

/* Asks for the place of a machine that runs, unless an answer is awaited. While the machine is held
 * at a stop, there is no answer. */
void rs_fast_ask(struct rs_fast *fast);
/* Returns the descriptor to poll() for the answer; -1: none is awaited. */
int rs_fast_asked_fd(const struct rs_fast *fast);
/* Receives the answer. Returns false if QEMU has ended. */
bool rs_fast_answered(struct rs_fast *fast, uint64_t *icount);
/* Reads a stop when the descriptor is readable. Returns false if QEMU has ended, which the GDB
 * channel reports, too. */
bool rs_fast_stopped(struct rs_fast *fast, struct rs_fast_stop *stop);

/* Continues a machine that the fast path holds, to `icount`, which must be ahead (UINT64_MAX:
 * without a stop). */
struct rs_error *rs_fast_continue(struct rs_fast *fast, uint64_t icount);
/* Hands a machine that the fast path holds over to QEMU, which stops it and reports that to GDB.
 * The break remains set. */
struct rs_error *rs_fast_hold(struct rs_fast *fast);

#endif
