/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Evaluates the assertions of a guest's program during a replay: a sink between the source and the
 * D program. An assertion that holds is counted, but not passed on.
 */
#ifndef RS_SCRIPT_ASSERTS_H
#define RS_SCRIPT_ASSERTS_H

#include <ringside/source.h>

#include "script/remark.h"

struct rs_script_asserts;

/* Creates the assertions of a stream's events guest:assert::, if it has any. An expression is
 * compiled when its first event arrives; if it is not valid D, or uses a name that is not among its
 * values, the sink returns RS_USAGE. `remarks` must outlive the assertions. */
struct rs_error *rs_script_asserts_create(const struct rs_stream *stream,
					  const struct rs_script_remarks *remarks,
					  struct rs_script_asserts **asserts);
void rs_script_asserts_destroy(struct rs_script_asserts *asserts); /* NULL is ignored */

/* Returns a sink that passes on to `to`. The caller ends `to`. */
struct rs_sink *rs_script_asserts_sink(struct rs_script_asserts *asserts, struct rs_sink *to);

/* Returns the number of places with assertions. */
uint32_t rs_script_asserts_count(const struct rs_script_asserts *asserts);
/* Reports how many times assertions held. Returns how many times an assertion failed or could not
 * be evaluated. */
uint64_t rs_script_asserts_report(const struct rs_script_asserts *asserts);

#endif
