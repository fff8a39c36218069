/* SPDX-License-Identifier: BSD-2-Clause */
/* The options of verbs that trace the running Xen, and the session that they open. */
#ifndef RS_CLI_XEN_H
#define RS_CLI_XEN_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

#include "event/query.h"
#include "live/xen_session.h"

/* Zero at first, which selects all events of all CPUs, and the session's defaults. */
struct rs_cli_xen {
	bool selected; /* --xen */
	uint32_t mask; /* --classes */
	struct rs_cpu_set cpus;
	uint32_t buffer_bytes; /* for each CPU */
	uint64_t poll_ns;
};

/* --xen, and --classes, --cpus, --buffer and --poll, which require it. The input is a struct
 * rs_cli_xen. */
extern const struct argp rs_cli_xen_argp;

/* Parses the argument of --classes. */
void rs_cli_xen_classes(const struct argp_state *state, const char *text, uint32_t *mask);

/* Refuses a poll interval that is too short for Xen's buffers. 0: none was given. */
void rs_cli_xen_check_poll(const struct argp_state *state, uint64_t poll_ns);

/* Opens the session, and prints remarks about Xen unless quiet. */
struct rs_error *rs_cli_xen_open(const struct rs_cli_xen *xen, const char *verb, bool quiet,
				 struct rs_xen_session **session);

/* Returns the poll interval for a source, or 0 for the source's default. */
uint32_t rs_cli_xen_poll_ms(const struct rs_cli_xen *xen);

#endif
