/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * QEMU's machine protocol, QMP: JSON lines on a unix socket. A line is at most 1 MiB, each wait has
 * an end, and what is no JSON or no answer is an error.
 */
#ifndef RS_REPLAY_QMP_H
#define RS_REPLAY_QMP_H

#include <stdbool.h>
#include <jansson.h>
#include <ringside/error.h>

struct rs_qmp;

/* On a socket that is connected, which it takes over; RS_FAILED: it does not say that it is QMP.
 * Capabilities are negotiated with the first command only: until then QEMU sends no events, of
 * which each stop of a machine makes two. */
struct rs_error *rs_qmp_adopt(int fd, struct rs_qmp **qmp);
void rs_qmp_close(struct rs_qmp *qmp); /* NULL is nothing */

/* Executes a command; takes over arguments (NULL: none). *result is the caller's; NULL: not wanted.
 * Events that come meanwhile are skipped. RS_ABSENT: QEMU has gone, or says that it shuts down, and
 * may not answer any more. */
struct rs_error *rs_qmp_execute(struct rs_qmp *qmp, const char *command, json_t *arguments,
				json_t **result);

/* Whether it has said, while a command was executed, that it shuts down. */
bool rs_qmp_ends(const struct rs_qmp *qmp);

#endif
