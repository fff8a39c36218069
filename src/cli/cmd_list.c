/* SPDX-License-Identifier: BSD-2-Clause */
/* ringside list: lists the probes of the catalogue or of traces, with their typed arguments, or a
 * table of the program. */
#include "cli/input.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "cli/cli.h"
#include "cli/lists.h"
#include "cli/probes.h"
#include "cli/shared.h"
#include "replay/source.h"
#include "view/view.h"
#include <ringside/schema.h>

struct arguments {
	const char *glob, *table;
	struct rs_cli_input traces;
	char *padded; /* the glob, padded with its missing last fields: a suggestion */
	bool json, any, any_padded;
};

static const struct argp_option options[] = {
	{ "json", 'j', NULL, RS_CLI_FLAG(struct arguments, json),
	  "Print JSON Lines, one object per probe or row", 0 },
	{ "table", 'T', "TABLE", RS_CLI_TEXT(struct arguments, table),
	  "List the rows of this table instead of probes", 0 },
	{ "trace", 't', "TRACE", 0, "List the probes of this trace instead of the catalogue's", 0 },
	{ 0 },
};

static const char doc[] =
	"List probes with their typed arguments, or a table: D's functions, exit reasons.\v"
	"A probe is PROVIDER:CLASS:FUNCTION:NAME. A GLOB with fewer fields names the last ones; an "
	"empty field matches all, and * ? [] are wildcards. Events common to all providers are "
	"listed with each provider. A probe of several traces is listed once. With --table, GLOB "
	"selects rows by name.\n\n"
	"Examples:\n"
	"  ringside list\n"
	"  ringside list 'vmm:vcpu::*'\n"
	"  ringside list build/demo/trace 'guest:::'\n"
	"  ringside list trace.dat\n"
	"  ringside list --table functions 'str*'\n";

static void add_trace(struct arguments *a, const struct argp_state *state, const char *path)
{
	if (!rs_cli_input_add(&a->traces, rs_cli_path(path)))
		argp_error(state, "more than %u traces", RS_INPUTS_MAX);
}

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case 't':
		add_trace(a, state, text);
		break;
	case ARGP_KEY_ARG:
		if (rs_input_is(text))
			add_trace(a, state, text);
		else if (a->glob)
			argp_error(state, "only one GLOB is allowed, got '%s' and '%s'", a->glob,
				   text);
		else
			a->glob = text;
		break;
	case ARGP_KEY_END:
		if (a->table && a->traces.n)
			argp_error(state, "--table lists no trace: leave %s out",
				   a->traces.paths[0]);
		break;
	default:
		return rs_cli_store(options, key, text, state);
	}
	return 0;
}

static void put_probe(struct rs_json *json, const void *about)
{
	const struct rs_event *event = about;

	rs_json_text(rs_json_key(json, "probe"), event->probe);
	rs_json_open(rs_json_key(json, "args"), '[');
	for (uint16_t i = 0; i < event->n_fields; i++) {
		const struct rs_field *field = &event->fields[i];

		rs_json_open(json, '{');
		rs_json_text(rs_json_key(json, "name"), field->name);
		rs_json_text(rs_json_key(json, "type"), rs_field_type_text(field));
		rs_json_text(rs_json_key(json, "unit"), field->unit);
		rs_json_text(rs_json_key(json, "json"), rs_json_type(field));
		rs_json_close(json, '}');
	}
	rs_json_close(json, ']');
	rs_json_text(rs_json_key(json, "help"), event->help);
}

static void print_text(const struct rs_event *event)
{
	printf("%s(", event->probe);
	for (uint16_t i = 0; i < event->n_fields; i++) {
		const struct rs_field *field = &event->fields[i];

		printf("%s%s %s%s%s", i ? ", " : "", rs_field_type_text(field), field->name,
		       field->unit[0] ? ":" : "", field->unit);
	}
	puts(")");
	if (event->help[0])
		printf("\t%s\n", event->help);
}

static struct rs_error *print_probe(const struct rs_event *event, void *context)
{
	struct arguments *a = context;

	if (a->padded && rs_probe_match(a->padded, event))
		a->any_padded = true;
	if (a->glob && !rs_probe_match(a->glob, event))
		return NULL;
	a->any = true;
	if (a->json)
		return rs_cli_json_print(put_probe, event);
	print_text(event);
	return NULL;
}

#define TEMPLATE_PROBE_MAX (4 * RS_WORD_MAX)

static void template_probe(const struct rs_replay_template *row, char probe[TEMPLATE_PROBE_MAX])
{
	snprintf(probe, TEMPLATE_PROBE_MAX, "guest:%s:%s:%s", row->class_name, row->function,
		 row->name);
}

static void put_template(struct rs_json *json, const void *about)
{
	const struct rs_replay_template *row = about;
	char probe[TEMPLATE_PROBE_MAX];

	template_probe(row, probe);
	rs_json_text(rs_json_key(json, "template"), probe);
	rs_json_text(rs_json_key(json, "args"), row->args);
	rs_json_text(rs_json_key(json, "help"), row->help);
}

/* Probes that a replay creates when a program names them; N and ADDR stand for a number. */
static struct rs_error *list_templates(struct arguments *a)
{
	const struct rs_replay_template *row;
	struct rs_error *err = NULL;

	for (uint32_t i = 0; !err && (row = rs_replay_template(i)); i++) {
		const struct rs_event event = { .provider = "guest",
						.class_name = row->class_name,
						.function = row->function,
						.name = row->name };
		char probe[TEMPLATE_PROBE_MAX];

		if (a->glob && !rs_probe_match(a->glob, &event))
			continue;
		a->any = true;
		template_probe(row, probe);
		if (a->json)
			err = rs_cli_json_print(put_template, row);
		else
			printf("%s%s\n\t%s\n", probe, row->args, row->help);
	}
	return err;
}

static struct rs_error *list_traces(struct arguments *a)
{
	struct rs_error *err = rs_cli_confine(RS_CONFINE_READER);

	return err ? err : rs_cli_probes_of_traces(a->traces.paths, a->traces.n, print_probe, a);
}

static void put_row(struct rs_json *json, const void *about)
{
	const struct rs_cli_list_row *row = about;

	rs_json_text(rs_json_key(json, "name"), row->name);
	for (size_t i = 0; i < RS_CLI_LIST_MORE && row->more[i].key; i++)
		rs_json_text(rs_json_key(json, row->more[i].key), row->more[i].value);
	rs_json_text(rs_json_key(json, "help"), row->help);
}

static struct rs_error *print_row(const struct rs_cli_list_row *row, void *context)
{
	struct arguments *a = context;

	if (a->glob && fnmatch(a->glob, row->name, 0) != 0)
		return NULL;
	a->any = true;
	if (a->json)
		return rs_cli_json_print(put_row, row);
	puts(row->text);
	if (row->help[0])
		printf("\t%s\n", row->help);
	return NULL;
}

/* Reads `kvm:*` as `kvm:*::`, because a glob that begins with a provider's name selects the
 * provider. */
static struct rs_error *pad(struct arguments *a)
{
	size_t colons = 0;

	for (const char *c = a->glob; c && *c; c++)
		colons += *c == ':';
	if (!a->glob || colons >= 3)
		return NULL;
	if (asprintf(&a->padded, "%s%s", a->glob, &":::"[colons]) >= 0)
		return NULL;
	a->padded = NULL;
	return rs_error_no_memory();
}

static struct rs_error *no_match(const struct arguments *a)
{
	if (a->table)
		return rs_error_create(RS_FAILED, "no row of %s has a name that matches '%s'",
				       a->table, a->glob);
	if (!a->any_padded)
		return rs_error_create(RS_FAILED, "no probe matches '%s'", a->glob);
	return rs_error_create(RS_FAILED,
			       "no probe matches '%s', whose last field is a NAME; '%s' matches "
			       "some",
			       a->glob, a->padded);
}

static struct rs_error *list(struct arguments *a)
{
	struct rs_error *err;

	if (a->table)
		return rs_cli_list_each(a->table, print_row, a);
	err = pad(a);
	if (!err)
		err = a->traces.n ? list_traces(a) : rs_cli_probes_of_catalogue(print_probe, a);
	if (!err && !a->traces.n)
		err = list_templates(a);
	return err;
}

static char *list_tables(int key, const char *text, void *input)
{
	(void)input;
	return rs_cli_list_rows(key, text, "Tables", rs_cli_list_table);
}

int cmd_list(int argc, char **argv)
{
	static const struct argp argp = { options,     parse, "[TRACE...] [GLOB]", doc, NULL,
					  list_tables, NULL };
	struct arguments a = { 0 };
	struct rs_error *err;

	if (rs_cli_parse(&argp, argc, argv, &a))
		return RS_EXIT_USAGE;
	err = list(&a);
	if (!err && !a.any && a.glob)
		err = no_match(&a);
	if (!err && (fflush(stdout) || ferror(stdout)))
		err = rs_error_errno(errno, "writing");
	free(a.padded);
	return rs_cli_fail("list", err);
}
