/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether a sink is given any event: a verb that shows none says why. */
#ifndef RS_CLI_SEEN_H
#define RS_CLI_SEEN_H

#include <stdbool.h>

#include "event/query.h"

/* Stands before a sink, and gives it all that it is given. */
struct rs_cli_seen {
	struct rs_sink sink;
	struct rs_sink *to;
	const struct rs_query *query;
	bool any; /* an event that the query selects, or a source's counts */
};

/* A loss is given whatever probes the query names; it counts where one of them matches it. */
void rs_cli_seen_init(struct rs_cli_seen *seen, struct rs_sink *to, const struct rs_query *query);

#endif
