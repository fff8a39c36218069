/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ringside complete WORD...: prints the candidates for the last word, for shell completion.
 *
 * The words are those of a command line after "ringside". The last is the one to complete, and may
 * be empty. Each line of output is a whole candidate, a tab, and a description. The last line is
 * ":file", ":directory" or ":none" and says whether the word can also be the path of one. A tab and
 * the part of the word before that path, as in "--output=", follow. ":unmarked" is a defect: the
 * argument has no row in arguments.c.
 *
 * The verb's function runs with the words before the last one, up to rs_cli_parse(), which calls
 * rs_cli_complete() instead of argp. So the options are those of the verb's own tables, and no
 * shell has a copy of them. Nothing is written to standard error. Names of VMs and traces are
 * untrusted: those that are not printable, or that a shell would read as the last line, are
 * skipped.
 */
#include "cli/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "cli/arguments.h"
#include "cli/complete.h"
#include "cli/options.h"

/* The verb's arguments that may be traces. */
#define TRACES_MAX 16

static const char *completed; /* the word to complete; NULL: a verb runs */

struct completion {
	const char *verb;
	const struct argp *argp;
	size_t kept; /* bytes of the word that stay unchanged: "--output=", "vm," */
	struct rs_cli_word last;
	bool ended;			/* "--" was before the word: options have ended */
	uint32_t n_arguments;		/* the verb's arguments, with the word */
	const struct argp_option *more; /* the repeatable arguments of the verb */
	const char *traces[TRACES_MAX];
	uint32_t n_traces;
	enum rs_cli_files files;
	bool unmarked;
};

bool rs_cli_completes(void)
{
	return completed;
}

/* ---- output --------------------------------------------------------------------------------- */

static bool is_printable(const char *text)
{
	size_t left = strlen(text), len = 1;

	for (; left && len; text += len, left -= len)
		len = rs_utf8_len(text, left);
	return !left;
}

/* Prints a candidate if it begins like the word to complete. The context is a size_t, the number of
 * bytes of the word that stay. */
static void offer(const char *word, const char *help, void *context)
{
	const size_t *kept = context;
	const char *begins = completed + *kept;

	if (strncmp(word, begins, strlen(begins)) != 0 || !is_printable(word) ||
	    (word[0] == ':' && !*kept))
		return;
	printf("%.*s%s", (int)*kept, completed, word);
	if (help && *help && is_printable(help))
		printf("\t%s", help);
	putchar('\n');
}

static void end(const struct completion *c)
{
	static const char *const files[] = { ":none", ":file", ":directory" };

	printf("%s\t%.*s\n", c->unmarked ? ":unmarked" : files[c->files], (int)c->kept, completed);
}

/* ---- kinds of words ------------------------------------------------------------------------- */

/* Returns whether a word's value is the word to complete or a part of it. */
static bool is_completed(const struct rs_cli_word *word)
{
	return word->value >= completed && word->value <= completed + strlen(completed);
}

static void add_word(const struct rs_cli_word *word, void *context)
{
	struct completion *c = context;
	const struct argp_option *option = word->option;
	size_t len = option && option->arg ? strlen(option->arg) : 0;

	if (!option && !c->ended && !is_completed(word) && !strcmp(word->value, "--")) {
		c->ended = true;
		return;
	}
	c->last = *word;
	c->n_arguments += !option;
	if (len > 4 && !strcmp(option->arg + len - 3, "...") && option->arg[len - 4] != ',')
		c->more = option;
	if (word->value && !is_completed(word) && c->n_traces < TRACES_MAX &&
	    (!option || !strcmp(option->name, "on") || !strcmp(option->name, "trace")))
		c->traces[c->n_traces++] = word->value;
}

static void complete_options(const struct completion *c)
{
	const struct argp_option *at[RS_CLI_OPTIONS_MAX];
	size_t n = rs_cli_options(c->argp, at), kept = 0;

	for (size_t i = 0; i < n; i++) {
		char word[80];

		if (!at[i]->name || at[i]->flags & OPTION_HIDDEN)
			continue;
		snprintf(word, sizeof(word), "--%s", at[i]->name);
		offer(word, at[rs_cli_option_of_alias(at, i)]->doc, &kept);
	}
	offer("--help", "Print help on this verb", &kept);
}

/* Offers the candidates for an argument of an option, or of the verb if the option is NULL. */
static void complete_argument(struct completion *c, const struct argp_option *option,
			      const char *arg)
{
	const struct rs_cli_argument *row =
		rs_cli_argument_find(c->verb, option ? option->name : NULL, arg);
	const char *comma = strrchr(completed + c->kept, ',');

	if (!row) {
		c->unmarked = true;
		return;
	}
	if (row->list && comma)
		c->kept = (size_t)(comma + 1 - completed);
	if (row->files)
		c->files = row->files;
	if (row->source)
		row->source(&(struct rs_cli_wish){ .argp = c->argp,
						   .words = row->words,
						   .begins = completed + c->kept,
						   .traces = c->traces,
						   .n_traces = c->n_traces,
						   .offer = offer,
						   .context = &c->kept });
}

/* Reads the next argument's name from a verb's usage, as in "TRACE... -o FILE". Skips options,
 * which begin with a dash, and their arguments. Returns false at the end. */
static bool usage_next(const char **usage, char *name, size_t room)
{
	bool of_option = false;

	for (;;) {
		const char *at = *usage + strspn(*usage, " ");
		size_t len = strcspn(at, " \n");
		bool option = at[0] == '-', dots = len == 3 && !strncmp(at, "...", len);

		if (!len || len >= room)
			return false;
		*usage = at + len;
		if (!of_option && !option && !dots) {
			memcpy(name, at, len);
			name[len] = '\0';
			return true;
		}
		of_option = option && at[1] != '-';
	}
}

/* Removes the brackets around the name of an optional argument, but not those within it. Returns
 * whether only this argument is optional. */
static bool usage_bare(char *name)
{
	size_t len = strlen(name);
	bool opens = name[0] == '[', closes = len && name[len - 1] == ']' && !strchr(name + 1, '[');

	if (closes)
		name[len - 1] = '\0';
	if (opens)
		memmove(name, name + 1, strlen(name));
	return opens && closes;
}

/* Offers the candidates for the verb's argument of this number, counted from 0: those of this
 * position, of a repeatable argument before it, and of the arguments after optional ones. */
static void complete_positional(struct completion *c, uint32_t number)
{
	const char *usage = c->argp->args_doc ? c->argp->args_doc : "";
	bool also = false, any = false;
	char name[64];

	for (const struct argp_child *child = c->argp->children; !*usage && child && child->argp;
	     child++)
		usage = child->argp->args_doc ? child->argp->args_doc : "";
	for (uint32_t i = 0; usage_next(&usage, name, sizeof(name)); i++) {
		bool optional = usage_bare(name);

		if (i != number && !also && !(i < number && strstr(name, "...")))
			continue;
		also = optional;
		any = true;
		complete_argument(c, NULL, name);
	}
	if (!any && c->more)
		complete_argument(c, c->more, c->more->arg);
}

void rs_cli_complete(const struct argp *argp, int argc, char **argv)
{
	struct completion c = { .verb = argv[0], .argp = argp };
	char **words = calloc((size_t)argc + 2, sizeof(*words));
	bool argument;

	if (!words)
		return;
	memcpy(words, argv, (size_t)argc * sizeof(*words));
	words[argc] = (char *)completed;
	rs_cli_options_walk(argp, argc + 1, words, add_word, &c);
	free(words);
	argument = c.last.value && is_completed(&c.last);
	if (argument && c.last.option) {
		c.kept = (size_t)(c.last.value - completed);
		complete_argument(&c, c.last.option, c.last.option->arg);
	} else if (completed[0] == '-' && !c.ended) {
		complete_options(&c);
	} else if (argument) {
		complete_positional(&c, c.n_arguments - 1);
	}
	end(&c);
}

/* ---- the verb ------------------------------------------------------------------------------- */

static void complete_verb(bool help)
{
	const char *name;
	size_t kept = 0;

	for (size_t i = 0; (name = rs_cli_verb(i)); i++)
		offer(name, rs_cli_verb_help(i), &kept);
	if (!help) {
		offer("help", "help on a verb", &kept);
		offer("--help", "the verbs", &kept);
		offer("--version", "the version", &kept);
	}
	end(&(struct completion){ .kept = 0 });
}

int cmd_complete(int argc, char **argv)
{
	int (*run)(int argc, char **argv) = argc > 2 ? rs_cli_verb_find(argv[1]) : NULL;
	bool help = argc == 3 && !strcmp(argv[1], "help");

	if (!freopen("/dev/null", "w", stderr))
		return RS_EXIT_FAILED;
	completed = argc > 1 ? argv[argc - 1] : "";
	if (argc < 3 || help)
		complete_verb(help);
	else if (run && run != cmd_complete)
		run(argc - 2, argv + 1);
	return RS_EXIT_OK;
}
