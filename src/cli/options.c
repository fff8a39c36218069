/* SPDX-License-Identifier: BSD-2-Clause */
/* Lists a verb's options, and rejects options that exclude each other. */
#include "cli/options.h"

#include <ctype.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Options that exclude each other, by their long names: `one` and each of `others`. The first row
 * that applies is reported. A verb without a name stands for each that has both options.
 */
static const struct conflict {
	const char *verb, *one, *others;
} conflicts[] = {
	{ NULL, "freq", "xen-log" },
	{ NULL, "json", "csv" },
	{ NULL, "no-jitter", "seed" },
	{ "print", "tree", "json acrn count" },
	{ "print", "acrn", "json count wall tsc" },
	{ "print", "wall", "tsc" },
	{ "print", "count", "wall tsc limit" },
	{ "exits", "csv", "than" },
	{ "exits", "user", "latency hist detail time than" },
	{ "exits", "pid", "tid tids" },
	{ "exits", "tid", "tids" },
	{ "exits", "vcpu", "alltids" },
	{ "report exits", "csv", "than" },
	{ "report exits", "user", "latency hist detail time than" },
	{ "report exits", "pid", "tid tids" },
	{ "report exits", "tid", "tids" },
	{ "report exits", "vcpu", "alltids" },
	{ "report exits", "by",
	  "pid vcpu alltids tid tids vm latency hist detail time top than user interval" },
	{ "report exits", "interval",
	  "pid vcpu alltids tid tids vm latency hist detail time top than user" },
	{ "report interrupts", "by", "interval" },
	{ "record", "vm", "pid tid tids" },
	{ "record", "force", "flight" },
	{ "script", "list", "compile disassemble json output" },
	{ "script", "on", "kvm tracepoint xen sbuf" },
	{ "replay run", "list", "json output" },
	{ "replay record", "initrd", "guest-dir" },
	{ "replay record", "snapshot", "kernel initrd append guest-dir exec disk memory shift" },
	{ "replay snapshot", "initrd", "guest-dir" },
	{ "replay diff", "logs", "binary" },
	{ "log", "last", "follow level cpus json" },
};

#define LONG_KEYS 0x10000 /* getopt's value of the option i is this + i */

static void options_add(const struct argp *argp, const struct argp_option *at[], size_t *n)
{
	const struct argp_option *option = argp->options;
	const struct argp_child *child = argp->children;

	for (; option && (option->name || option->key || option->doc || option->group); option++) {
		if ((option->name || option->key) && *n < RS_CLI_OPTIONS_MAX)
			at[(*n)++] = option;
	}
	for (; child && child->argp; child++)
		options_add(child->argp, at, n);
}

size_t rs_cli_options(const struct argp *argp,
		      const struct argp_option *at[static RS_CLI_OPTIONS_MAX])
{
	size_t n = 0;

	options_add(argp, at, &n);
	return n;
}

size_t rs_cli_option_of_alias(const struct argp_option *const at[], size_t i)
{
	while (i && at[i]->flags & OPTION_ALIAS)
		i--;
	return i;
}

/* ---- which are given ------------------------------------------------------------------------ */

struct given {
	const struct argp_option *at[RS_CLI_OPTIONS_MAX];
	bool is[RS_CLI_OPTIONS_MAX];
	size_t n;
	struct option longs[RS_CLI_OPTIONS_MAX + 4];
	char shorts[3 * RS_CLI_OPTIONS_MAX + 1];
};

static void getopt_tables(struct given *given)
{
	static const char *const asks_help[] = { "help", "usage", "version" }; /* argp's own */
	char *at = given->shorts;
	size_t n = 0;

	for (size_t i = 0; i < given->n; i++) {
		const struct argp_option *option = given->at[i],
					 *means = given->at[rs_cli_option_of_alias(given->at, i)];
		int has = means->arg ? means->flags & OPTION_ARG_OPTIONAL ? optional_argument
									  : required_argument
				     : no_argument;

		if (option->name)
			given->longs[n++] =
				(struct option){ option->name, has, NULL, LONG_KEYS + (int)i };
		if (option->key <= 0 || option->key > 127 || !isprint(option->key))
			continue;
		*at++ = (char)option->key;
		for (int colons = has; colons; colons--)
			*at++ = ':';
	}
	for (size_t i = 0; i < sizeof(asks_help) / sizeof(asks_help[0]); i++)
		given->longs[n++] = (struct option){ asks_help[i], no_argument, NULL, '?' };
}

/* Notes the option that getopt found. */
static void given_add(struct given *given, int value)
{
	size_t i = value >= LONG_KEYS ? (size_t)(value - LONG_KEYS) : 0;

	while (value < LONG_KEYS && i < given->n && given->at[i]->key != value)
		i++;
	if (i < given->n)
		given->is[rs_cli_option_of_alias(given->at, i)] = true;
}

/* False: something is wrong with the options, or help is asked for. */
static bool given_find(struct given *given, int argc, char **argv)
{
	char **copy = calloc((size_t)argc + 1, sizeof(*copy)); /* getopt changes the order */
	int value = 0;

	if (!copy)
		return false;
	memcpy(copy, argv, (size_t)argc * sizeof(*copy));
	getopt_tables(given);
	optind = 0;
	opterr = 0;
	while ((value = getopt_long(argc, copy, given->shorts, given->longs, NULL)) != -1 &&
	       value != '?')
		given_add(given, value);
	optind = 0;
	opterr = 1;
	free(copy);
	return value == -1;
}

static bool is_given(const struct given *given, const char *name, size_t len)
{
	for (size_t i = 0; i < given->n; i++) {
		if (given->is[i] && given->at[i]->name && !strncmp(given->at[i]->name, name, len) &&
		    !given->at[i]->name[len])
			return true;
	}
	return false;
}

bool rs_cli_options_agree(const struct argp *argp, const char *verb, int argc, char **argv)
{
	struct given given = { .n = 0 };

	given.n = rs_cli_options(argp, given.at);
	if (!given_find(&given, argc, argv))
		return true;
	for (size_t i = 0; i < sizeof(conflicts) / sizeof(conflicts[0]); i++) {
		const struct conflict *row = &conflicts[i];

		if ((row->verb && strcmp(row->verb, verb) != 0) ||
		    !is_given(&given, row->one, strlen(row->one)))
			continue;
		for (const char *other = row->others; *other; other += strspn(other, " ")) {
			size_t len = strcspn(other, " ");

			if (is_given(&given, other, len)) {
				fprintf(stderr,
					"ringside %s: --%s and --%.*s exclude each other: leave "
					"one of them out\n",
					verb, row->one, (int)len, other);
				return false;
			}
			other += len;
		}
	}
	return true;
}
