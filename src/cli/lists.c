/* SPDX-License-Identifier: BSD-2-Clause */
/* The tables of `ringside list --table`. They are the tables that the program uses. */
#include "cli/lists.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyze/exits.h"
#include "cli/options.h"
#include "lang/lang.h"

#define TEXT_MAX  192
#define VALUE_MAX 24

struct visit {
	struct rs_error *(*each)(const struct rs_cli_list_row *row, void *context);
	void *context;
};

static struct rs_error *each_conflict(const struct visit *visit)
{
	struct rs_cli_conflict conflict;
	struct rs_error *err = NULL;

	for (size_t i = 0; !err && rs_cli_conflict(i, &conflict); i++) {
		const char *verb = conflict.verb ? conflict.verb : "";
		char text[TEXT_MAX];

		snprintf(text, sizeof(text), "%s%s--%s excludes: %s", verb, *verb ? " " : "",
			 conflict.one, conflict.others);
		err = visit->each(
			&(struct rs_cli_list_row){
				.name = conflict.one,
				.text = text,
				.help = "",
				.more = { { "verb", verb }, { "excludes", conflict.others } } },
			visit->context);
	}
	return err;
}

static struct rs_error *each_cause(const struct visit *visit)
{
	struct rs_cause_name cause;
	struct rs_error *err = NULL;

	for (size_t i = 0; !err && rs_cause_name_at(i, &cause); i++) {
		char text[TEXT_MAX], first[VALUE_MAX], last[VALUE_MAX];

		snprintf(first, sizeof(first), "0x%" PRIx64, cause.first);
		snprintf(last, sizeof(last), "0x%" PRIx64, cause.last);
		snprintf(text, sizeof(text), "%s %s%s%s: %s", cause.table, first,
			 cause.last == cause.first ? "" : "-",
			 cause.last == cause.first ? "" : last, cause.name);
		err = visit->each(&(struct rs_cli_list_row){ .name = cause.name,
							     .text = text,
							     .help = "",
							     .more = { { "kind", cause.table },
								       { "first", first },
								       { "last", last } } },
				  visit->context);
	}
	return err;
}

static struct rs_error *each_exit(const struct visit *visit)
{
	struct rs_exit_row exit;
	struct rs_error *err = NULL;

	for (size_t i = 0; !err && rs_exit_row(i, &exit); i++) {
		char text[TEXT_MAX], number[VALUE_MAX];

		snprintf(number, sizeof(number), "0x%x", exit.code);
		snprintf(text, sizeof(text), "%s %s %s", rs_isa_name(exit.isa), number, exit.name);
		err = visit->each(
			&(struct rs_cli_list_row){ .name = exit.name,
						   .text = text,
						   .help = "",
						   .more = { { "isa", rs_isa_name(exit.isa) },
							     { "number", number },
							     { "kernel", exit.kernel } } },
			visit->context);
	}
	return err;
}

static const struct {
	struct rs_cli_row row;
	struct rs_error *(*each)(const struct visit *visit);
} tables[] = {
	{ { "exits", NULL, "Exit reasons: the instruction set, the number, the name" }, each_exit },
	{ { "causes", NULL, "Causes of exits: the names of ports, MSRs, hypercalls, ..." },
	  each_cause },
	{ { "conflicts", NULL, "The options of this command that exclude each other" },
	  each_conflict },
};
#define N_TABLES (sizeof(tables) / sizeof(tables[0]))

bool rs_cli_list_table(size_t i, struct rs_cli_row *row)
{
	*row = (struct rs_cli_row){ 0 };
	if (i < N_TABLES)
		*row = tables[i].row;
	else
		row->name = rs_lang_list((uint32_t)(i - N_TABLES), &row->help);
	return row->name;
}

static struct rs_error *each_word(uint32_t list, const struct visit *visit)
{
	struct rs_lang_word word;
	struct rs_error *err = NULL;

	for (uint32_t i = 0; !err && rs_lang_list_word(list, i, &word); i++)
		err = visit->each(&(struct rs_cli_list_row){ .name = word.name,
							     .text = word.text,
							     .help = word.help,
							     .more = { { "text", word.text } } },
				  visit->context);
	return err;
}

static struct rs_error *unknown(const char *table)
{
	char names[512] = "";
	struct rs_cli_row row;
	size_t used = 0;

	for (size_t i = 0; rs_cli_list_table(i, &row) && used < sizeof(names); i++)
		used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", i ? ", " : "",
					 row.name);
	return rs_error_create(RS_USAGE, "there is no table '%s': the tables are %s", table, names);
}

struct rs_error *rs_cli_list_each(const char *table,
				  struct rs_error *(*each)(const struct rs_cli_list_row *row,
							   void *context),
				  void *context)
{
	const struct visit visit = { each, context };
	struct rs_cli_row row;

	for (size_t i = 0; rs_cli_list_table(i, &row); i++) {
		if (strcmp(row.name, table) == 0)
			return i < N_TABLES ? tables[i].each(&visit)
					    : each_word((uint32_t)(i - N_TABLES), &visit);
	}
	return unknown(table);
}
