/* SPDX-License-Identifier: BSD-2-Clause */
/* Lists a verb's options, and rejects options that exclude each other. */
#include "cli/options.h"

#include <ctype.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

/*
 * The first row that applies is reported.
 */
static const struct rs_cli_conflict conflicts[] = {
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

#define N_CONFLICTS (sizeof(conflicts) / sizeof(conflicts[0]))

bool rs_cli_conflict(size_t i, struct rs_cli_conflict *conflict)
{
	if (i < N_CONFLICTS)
		*conflict = conflicts[i];
	return i < N_CONFLICTS;
}

#define LONG_KEYS 0x10000 /* getopt returns this + i for the option i */

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

/* ---- the given options ---------------------------------------------------------------------- */

struct walk {
	const struct argp_option *at[RS_CLI_OPTIONS_MAX];
	size_t n;
	struct option longs[RS_CLI_OPTIONS_MAX + 4];
	char shorts[3 * RS_CLI_OPTIONS_MAX + 3];
};

static void getopt_tables(struct walk *walk)
{
	static const char *const asks_help[] = { "help", "usage", "version" }; /* argp's own */
	char *at = walk->shorts;
	size_t n = 0;

	*at++ = '-'; /* getopt returns arguments in order, as those of an option 1 */
	*at++ = ':'; /* for an option that lacks its argument it returns ':' */
	for (size_t i = 0; i < walk->n; i++) {
		const struct argp_option *option = walk->at[i],
					 *means = walk->at[rs_cli_option_of_alias(walk->at, i)];
		int has = means->arg ? means->flags & OPTION_ARG_OPTIONAL ? optional_argument
									  : required_argument
				     : no_argument;

		if (option->name)
			walk->longs[n++] =
				(struct option){ option->name, has, NULL, LONG_KEYS + (int)i };
		if (option->key <= 0 || option->key > 127 || !isprint(option->key))
			continue;
		*at++ = (char)option->key;
		for (int colons = has; colons; colons--)
			*at++ = ':';
	}
	for (size_t i = 0; i < sizeof(asks_help) / sizeof(asks_help[0]); i++)
		walk->longs[n++] = (struct option){ asks_help[i], no_argument, NULL, '?' };
}

/* Returns the option that getopt found, or NULL for an argument. */
static const struct argp_option *option_found(const struct walk *walk, int value)
{
	size_t i = value >= LONG_KEYS ? (size_t)(value - LONG_KEYS) : 0;

	while (value < LONG_KEYS && i < walk->n && walk->at[i]->key != value)
		i++;
	return i < walk->n ? walk->at[rs_cli_option_of_alias(walk->at, i)] : NULL;
}

bool rs_cli_options_walk(const struct argp *argp, int argc, char **argv,
			 void (*each)(const struct rs_cli_word *word, void *context), void *context)
{
	struct walk walk = { .n = 0 };
	const char *taken = NULL;
	bool good = true;
	int value = 0;

	walk.n = rs_cli_options(argp, walk.at);
	getopt_tables(&walk);
	optind = 0;
	opterr = 0;
	while ((value = getopt_long(argc, argv, walk.shorts, walk.longs, NULL)) != -1) {
		taken = optarg;
		if (value == '?' || value == ':')
			good = false;
		else
			each(&(struct rs_cli_word){ option_found(&walk, value), optarg }, context);
	}
	/* getopt ends after a "--". */
	if (optind > 1 && argv[optind - 1] != taken && !strcmp(argv[optind - 1], "--"))
		optind--;
	while (optind < argc)
		each(&(struct rs_cli_word){ NULL, argv[optind++] }, context);
	optind = 0;
	opterr = 1;
	return good;
}

struct given {
	const struct argp_option *options[RS_CLI_OPTIONS_MAX];
	size_t n;
};

static void given_add(const struct rs_cli_word *word, void *context)
{
	struct given *given = context;

	for (size_t i = 0; i < given->n; i++) {
		if (given->options[i] == word->option)
			return;
	}
	if (word->option && given->n < RS_CLI_OPTIONS_MAX)
		given->options[given->n++] = word->option;
}

static bool is_given(const struct given *given, const char *name, size_t len)
{
	for (size_t i = 0; i < given->n; i++) {
		const char *other = given->options[i]->name;

		if (other && !strncmp(other, name, len) && !other[len])
			return true;
	}
	return false;
}

bool rs_cli_options_agree(const struct argp *argp, const char *verb, int argc, char **argv)
{
	struct given given = { .n = 0 };

	if (!rs_cli_options_walk(argp, argc, argv, given_add, &given))
		return true;
	for (size_t i = 0; i < N_CONFLICTS; i++) {
		const struct rs_cli_conflict *row = &conflicts[i];

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
