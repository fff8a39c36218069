/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Locks on files that tell others that this process lives. A flock() belongs to the open file,
 * which forked children share: without these functions a child would keep the lock after the
 * process was killed. Any thread; not in signal handlers.
 */
#ifndef RS_BASE_HOLD_H
#define RS_BASE_HOLD_H

/* Locks the file exclusively until this process ends, or closes it with rs_release(). In a forked
 * child the descriptor becomes /dev/null. Nothing may be mapped from this open file. */
void rs_hold(int fd);

/* Closes such a descriptor. */
void rs_release(int fd);

#endif
