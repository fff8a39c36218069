/* SPDX-License-Identifier: BSD-2-Clause */
/* Which probes there are: the catalogue's, or those of traces. */
#ifndef RS_CLI_PROBES_H
#define RS_CLI_PROBES_H

#include <ringside/schema.h>

/* Gets each probe; an error ends the walk. */
typedef struct rs_error *rs_cli_probe_fn(const struct rs_event *event, void *context);

struct rs_error *rs_cli_probes_of_catalogue(rs_cli_probe_fn *each, void *context);

/*
 * The probes of n traces, directories or other tools' files. If several streams have a probe with
 * the same arguments, it is given once. Of a damaged file, the probes before the damage come before
 * the error. A file of Xen's is read to its end.
 */
struct rs_error *rs_cli_probes_of_traces(const char *const *paths, uint32_t n,
					 rs_cli_probe_fn *each, void *context);

/* The probes of a trace directory, by its description alone. */
struct rs_error *rs_cli_probes_of_trace(const char *path, rs_cli_probe_fn *each, void *context);

#endif
