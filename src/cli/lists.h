/* SPDX-License-Identifier: BSD-2-Clause */
/* The tables that `ringside list --table` prints: the words of D, exit reasons, and the like. */
#ifndef RS_CLI_LISTS_H
#define RS_CLI_LISTS_H

#include <stddef.h>

#include "cli/cli.h"

#define RS_CLI_LIST_MORE 3

struct rs_cli_list_row {
	const char *name; /* what a glob selects by */
	const char *text; /* the row in a line */
	const char *help; /* "": none */
	struct {
		const char *key, *value;
	} more[RS_CLI_LIST_MORE]; /* what else JSON has, as texts; key NULL: unused */
};

/* Calls `each` for the rows of a table until it returns an error. RS_USAGE: there is no such table;
 * the message names those that there are. */
struct rs_error *rs_cli_list_each(const char *table,
				  struct rs_error *(*each)(const struct rs_cli_list_row *row,
							   void *context),
				  void *context);

/* The tables' names and what they are. */
bool rs_cli_list_table(size_t i, struct rs_cli_row *row);

#endif
