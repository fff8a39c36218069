/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Evaluates the assertions of a guest's program during a replay: a sink between the source and the
 * D program. An assertion that holds is counted, and is not passed on.
 */
#ifndef RS_CLI_REPLAY_ASSERTS_H
#define RS_CLI_REPLAY_ASSERTS_H

#include <ringside/source.h>

struct rs_replay_asserts;

/* Of the events guest:assert:: of a stream; none is no error. RS_USAGE: an expression is none of D,
 * or names what is not among its values. */
struct rs_error *rs_replay_asserts_create(const struct rs_stream *stream, const char *verb,
					  struct rs_replay_asserts **asserts);
void rs_replay_asserts_destroy(struct rs_replay_asserts *asserts); /* NULL is nothing */

/* Returns the sink before another one, which the caller ends. */
struct rs_sink *rs_replay_asserts_sink(struct rs_replay_asserts *asserts, struct rs_sink *to);

/* How many there are; says how they went, on standard error; how many times one did not hold, or
 * could not be told. */
uint32_t rs_replay_asserts_count(const struct rs_replay_asserts *asserts);
uint64_t rs_replay_asserts_report(const struct rs_replay_asserts *asserts);

#endif
