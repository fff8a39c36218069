/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * QEMU's machine protocol, QMP: JSON lines on a unix socket. A line has at most 1 MiB, each wait
 * has a timeout, and anything other than JSON or an answer is an error.
 */
#ifndef RS_REPLAY_QMP_H
#define RS_REPLAY_QMP_H

#include <stdbool.h>
#include <jansson.h>
#include <ringside/error.h>

struct rs_qmp;

/* Creates a channel on a connected socket, and owns the socket. Returns RS_FAILED if the peer does
 * not identify itself as QMP. Negotiates capabilities only with the first command, since QEMU sends
 * no events before, and each stop of a machine causes two. */
struct rs_error *rs_qmp_adopt(int fd, struct rs_qmp **qmp);
void rs_qmp_close(struct rs_qmp *qmp); /* NULL is ignored */

/* An argument of a command. One with the name NULL ends the list. */
struct rs_qmp_argument {
	const char *name, *value;
};

/* Executes a command; arguments may be NULL. The caller owns *result; result may be NULL. Skips
 * events that arrive meanwhile. Returns RS_ABSENT if QEMU has ended, or reports that it shuts down
 * and may not answer any more. */
struct rs_error *rs_qmp_execute(struct rs_qmp *qmp, const char *command,
				const struct rs_qmp_argument *arguments, json_t **result);

/* Returns whether QEMU has reported, during a command, that it shuts down. */
bool rs_qmp_ends(const struct rs_qmp *qmp);

#endif
