/* SPDX-License-Identifier: BSD-2-Clause */
/* The tables that `ringside list --table` prints, such as the words of D and exit reasons. */
#ifndef RS_CLI_LISTS_H
#define RS_CLI_LISTS_H

#include <stddef.h>

#include "cli/cli.h"

#define RS_CLI_LIST_MORE 3

struct rs_cli_list_row {
	const char *name; /* the text that globs match */
	const char *text; /* the row as a line of text */
	const char *help; /* "": none */
	struct {
		const char *key, *value;
	} more[RS_CLI_LIST_MORE]; /* further members in JSON, as texts; key NULL: unused */
};

/* Calls `each` for the rows of a table until it returns an error. Returns RS_USAGE if there is no
 * such table; the message lists the tables. */
struct rs_error *rs_cli_list_each(const char *table,
				  struct rs_error *(*each)(const struct rs_cli_list_row *row,
							   void *context),
				  void *context);

/* The tables' names and descriptions. */
bool rs_cli_list_table(size_t i, struct rs_cli_row *row);

#endif
