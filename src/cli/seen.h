/* SPDX-License-Identifier: BSD-2-Clause */
/* Observes whether a sink receives any event, so that a verb without output can report why. */
#ifndef RS_CLI_SEEN_H
#define RS_CLI_SEEN_H

#include <stdbool.h>

#include "event/query.h"

/* A sink that passes all input to another sink. */
struct rs_cli_seen {
	struct rs_sink sink;
	struct rs_sink *to;
	const struct rs_query *query;
	bool any; /* an event that the query selects, or a source's counts */
};

/* Sources pass losses regardless of the query's probes. A loss counts if one of the probes matches
 * it. */
void rs_cli_seen_init(struct rs_cli_seen *seen, struct rs_sink *to, const struct rs_query *query);

#endif
