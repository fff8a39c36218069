/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel's own description of its tracepoints: tracefs, wherever it is mounted.
 */
#ifndef RS_LIVE_TRACEFS_H
#define RS_LIVE_TRACEFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include <ringside/error.h>

struct rs_tracefs_event {
	const char *system, *name;
	/* a glob without wildcards names it */
	bool named;
};

struct rs_tracefs_list {
	struct rs_arena arena;
	struct rs_tracefs_event *events; /* by system and name */
	uint32_t n, room;
};

/* Returns the folder in which tracefs is mounted, or RS_ABSENT if it is not mounted, or not
 * readable for this user. The message contains the remedy. */
struct rs_error *rs_tracefs_find(const char **folder);

/*
 * Adds the tracepoints that match a glob, "SYSTEM:EVENT" with * ? [] in both parts, each once, to a
 * list that several globs may fill. Returns RS_USAGE if the glob has another form, and RS_ABSENT if
 * no tracepoint matches.
 */
struct rs_error *rs_tracefs_match(const char *glob, struct rs_tracefs_list *list);
void rs_tracefs_list_deinit(struct rs_tracefs_list *list); /* a zeroed list is empty */

/* Reads an event's format. The caller frees *text. */
struct rs_error *rs_tracefs_format(const struct rs_tracefs_event *event, char **text, size_t *len);

#endif
