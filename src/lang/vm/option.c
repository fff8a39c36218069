/* SPDX-License-Identifier: BSD-2-Clause */
/* The options of a program, from the command line, #pragma D option and setopt(). */
#include "lang/vm/program.h"
#include "lang/vm/word.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct option_row {
	const char *name, *help;
	uint64_t least, most, standard;
	uint64_t cap; /* the maximum that the program may set; 0: `most` */
} option_rows[OPT_COUNT] = {
	[OPT_AGGSIZE] = { "aggsize", "Bytes of all aggregations", 4096, UINT64_C(1) << 40,
			  UINT64_C(256) << 20, UINT64_C(1) << 30 },
	[OPT_AGGSORTKEY] = { "aggsortkey", "Sort aggregations by key instead of by value", 0, 1,
			     0 },
	[OPT_AGGSORTKEYPOS] = { "aggsortkeypos", "The key to sort by, from 0", 0, LANG_KEYS_MAX - 1,
				0 },
	[OPT_AGGSORTPOS] = { "aggsortpos", "The aggregation of printa() to sort by, from 0", 0,
			     LANG_ARGS_MAX - 1, 0 },
	[OPT_AGGSORTREV] = { "aggsortrev", "Sort aggregations in reverse order", 0, 1, 0 },
	[OPT_DEFAULTARGS] = { "defaultargs",
			      "Missing arguments of the program are 0 and the empty string", 0, 1,
			      0 },
	[OPT_DYNVARSIZE] = { "dynvarsize", "Bytes of all dynamic variables", 256, UINT64_C(1) << 40,
			     UINT64_C(64) << 20, UINT64_C(256) << 20 },
	[OPT_JSON] = { "json", "Print JSON Lines", 0, 1, 0 },
	[OPT_NOPUSHDOWN] = { "nopushdown",
			     "Live on KVM, send all events to the program instead of evaluating it "
			     "in BPF",
			     0, 1, 0 },
	[OPT_NSPEC] = { "nspec", "The number of concurrent speculations", 0, 4096, 1, 64 },
	[OPT_QUIET] = { "quiet", "Print only the program's output", 0, 1, 0 },
	[OPT_SPECSIZE] = { "specsize", "Bytes of a speculation", 64, UINT64_C(1) << 32,
			   UINT64_C(1) << 20, UINT64_C(16) << 20 },
	[OPT_STRSIZE] = { "strsize", "Bytes of a string", 8, 4096, 256 },
	[OPT_TARGET] = { "target", "The value of $target", 1, INT32_MAX, 0 },
	[OPT_ZDEFS] = { "zdefs", "A description that matches no probe is not an error", 0, 1, 0 },
};

bool rs_lang_option_word(uint32_t index, struct rs_lang_word *word)
{
	return index < OPT_COUNT &&
	       rs_lang_word_set(word, option_rows[index].name, "", option_rows[index].help);
}

/* These options concern DTrace's kernel buffers or stacks, which do not exist here. */
static const char no_effect[] = " bufsize bufpolicy bufresize aggrate switchrate statusrate "
				"cleanrate bufhost destructive stackframes ustackframes "
				"jstackframes jstackstrsize stackindent ";

/* Reads a number with a suffix k, m, g or t. No option here is a time. */
static bool option_value(const char *text, uint64_t *value)
{
	static const char units[] = "kmgt";
	const char *unit;
	char *end;

	*value = strtoull(text, &end, 0);
	if (end == text || *text == '-')
		return !strcmp(text, "true") || !strcmp(text, "on")	? (*value = 1, true)
		       : !strcmp(text, "false") || !strcmp(text, "off") ? (*value = 0, true)
									: false;
	if (!*end)
		return true;
	unit = strchr(units, tolower((unsigned char)*end));
	if (!unit || end[1] || *value >> 24)
		return false;
	*value <<= 10 * (unit - units + 1);
	return true;
}

struct rs_error *rs_lang_option_set(struct rs_script *script, struct place at, const char *text,
				    bool outside)
{
	size_t len = strcspn(text, "=");
	uint64_t value = 1;
	char name[32] = " ";
	struct nearest nearest = { .written = name + 1 };

	if (len && len < sizeof(name) - 2) {
		memcpy(name + 1, text, len);
		memcpy(name + 1 + len, " ", 2);
		if (strstr(no_effect, name))
			return NULL;
		name[1 + len] = '\0';
	}
	for (uint32_t i = 0; i < OPT_COUNT; i++) {
		const struct option_row *row = &option_rows[i];

		if (strcmp(row->name, name + 1))
			continue;
		if ((text[len] && !option_value(text + len + 1, &value)) || value < row->least ||
		    value > row->most)
			return rs_lang_error(script, at, "D_PRAGMA_OPTSET",
					     "option %s takes a number from %llu to %llu",
					     row->name, (unsigned long long)row->least,
					     (unsigned long long)row->most);
		if (!outside && script->options_fixed >> i & 1)
			return NULL; /* the command line overrides the program */
		if (!outside && row->cap && value > row->cap)
			return rs_lang_error(
				script, at, "D_PRAGMA_OPTSET",
				"a program may set option %s to at most %llu; -x %s=%s on "
				"the command line may exceed that",
				row->name, (unsigned long long)row->cap, row->name, text + len + 1);
		if (outside)
			script->options_fixed |= 1u << i;
		script->options[i] = value;
		return NULL;
	}
	for (uint32_t i = 0; i < OPT_COUNT; i++)
		rs_lang_nearest_try(&nearest, option_rows[i].name, NULL);
	return rs_lang_error(script, at, "D_PRAGMA_OPTSET", "there is no option '%.64s'%s", text,
			     rs_lang_nearest_text(&nearest));
}

bool rs_lang_option_at_run(const char *name)
{
	static const char names[] = " quiet aggsortkey aggsortkeypos aggsortpos aggsortrev ";
	char word[32];
	size_t len = strcspn(name, "=");

	if (!len || len + 3 > sizeof(word))
		return false;
	snprintf(word, sizeof(word), " %.*s ", (int)len, name);
	return strstr(names, word) || strstr(no_effect, word);
}

struct rs_error *rs_lang_options_init(struct rs_script *script)
{
	struct rs_error *err = NULL;

	for (uint32_t i = 0; i < OPT_COUNT; i++)
		script->options[i] = option_rows[i].standard;
	for (uint32_t i = 0; i < script->config.n_options && !err; i++)
		err = rs_lang_option_set(script, (struct place){ 1, 1 }, script->config.options[i],
					 true);
	return err;
}

bool rs_script_is_quiet(const struct rs_script *script)
{
	return script->options[OPT_QUIET];
}
