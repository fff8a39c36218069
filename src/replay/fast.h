/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The fast path of a replay's stops: a library of ours in QEMU's process (inside.c) stops the
 * machine at an instruction and gives its registers in one round trip. It needs a QEMU that exports
 * what the library uses; where it does not, rs_fast_why() says what is missing, and the GDB channel
 * does it all.
 *
 * While a machine stands by the fast path QEMU's own threads wait: nothing may be asked on its
 * other channels before rs_fast_hold(). One thread.
 */
#ifndef RS_REPLAY_FAST_H
#define RS_REPLAY_FAST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ringside/error.h>

struct rs_fast;

/* Where it stands, registers as GDB's `g` packet begins. */
struct rs_fast_stop {
	uint64_t icount;
	const uint8_t *raw; /* until the next call */
	size_t bytes;
};

/* For the QEMU that is to be started: version as it says it. *fast is made in any case. */
struct rs_error *rs_fast_create(const char *version, struct rs_fast **fast);
void rs_fast_destroy(struct rs_fast *fast); /* NULL is nothing */

/* QEMU is ending: whatever its processor comes to, it is not held. */
void rs_fast_leave(struct rs_fast *fast);

/* What QEMU is started by: words before its own (env and two variables), NULL-ended, and
 * descriptors that it inherits. Both are fast's; none where there is no fast path. */
char *const *rs_fast_words(const struct rs_fast *fast);
const int *rs_fast_inherits(const struct rs_fast *fast, uint32_t *n);

/* QEMU was started: hears whether all that is needed is there. */
void rs_fast_meet(struct rs_fast *fast);

/* NULL: it can be used. Otherwise why not, in words. */
const char *rs_fast_why(const struct rs_fast *fast);
/* It can't be used from now on; why is copied. */
void rs_fast_give_up(struct rs_fast *fast, const char *why);

/* The machine stands in QEMU's sense: it is to stop at `icount`, which is ahead. *stop: where it
 * stands now. False: it is not ahead; or, if rs_fast_why() says so, something is not as it was
 * thought. */
bool rs_fast_arm(struct rs_fast *fast, uint64_t icount, struct rs_fast_stop *stop);
/* In the same case: no stop any more. Nothing to do where none was armed. */
void rs_fast_disarm(struct rs_fast *fast);

/* What to poll() for while it runs. */
int rs_fast_fd(const struct rs_fast *fast);
/* It can be read: *stop. False: QEMU has gone, as the GDB channel says, too. */
bool rs_fast_stopped(struct rs_fast *fast, struct rs_fast_stop *stop);

/* It stands by the fast path: on to `icount`, which is ahead (UINT64_MAX: to no stop). */
struct rs_error *rs_fast_go(struct rs_fast *fast, uint64_t icount);
/* And: to stop the machine in QEMU's sense, which GDB sees; the break is still set then. */
struct rs_error *rs_fast_hold(struct rs_fast *fast);

#endif
