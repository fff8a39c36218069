/* SPDX-License-Identifier: BSD-2-Clause */
/* Lists probes: those of the catalogue, or of traces. */
#ifndef RS_CLI_PROBES_H
#define RS_CLI_PROBES_H

#include <ringside/schema.h>

/* Receives each probe. An error ends the iteration. */
typedef struct rs_error *rs_cli_probe_fn(const struct rs_event *event, void *context);

struct rs_error *rs_cli_probes_of_catalogue(rs_cli_probe_fn *each, void *context);

/*
 * Lists the probes of n traces, which are directories or other tools' files. A probe that several
 * streams have with the same arguments is listed once. For a damaged file, the probes before the
 * damage are listed before the error is returned. Xen's files are read to their end.
 */
struct rs_error *rs_cli_probes_of_traces(const char *const *paths, uint32_t n,
					 rs_cli_probe_fn *each, void *context);

/* Lists the probes of a trace directory from its description, without reading events. */
struct rs_error *rs_cli_probes_of_trace(const char *path, rs_cli_probe_fn *each, void *context);

#endif
