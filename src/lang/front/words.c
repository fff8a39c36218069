/* SPDX-License-Identifier: BSD-2-Clause */
/* The words of the language as lists. Each list is read from the table that the compiler uses. */
#include "lang/front/words.h"

#include <string.h>

#include "lang/vm/aggregate.h"
#include "lang/vm/builtin.h"
#include "lang/vm/code.h"

static bool prototype_word(struct rs_lang_word *word, const char *text, const char *help)
{
	struct prototype prototype;

	rs_lang_prototype_read(text, &prototype);
	rs_lang_word_set(word, text, "", help);
	memcpy(word->name, prototype.name, sizeof(word->name));
	return true;
}
_Static_assert(sizeof(((struct prototype *)0)->name) == sizeof(((struct rs_lang_word *)0)->name),
	       "a name fits");

static bool variable_word(uint32_t index, struct rs_lang_word *word)
{
	return index < rs_lang_n_builtins && prototype_word(word, rs_lang_builtins[index].prototype,
							    rs_lang_builtins[index].help);
}

static bool function_word(uint32_t index, struct rs_lang_word *word)
{
	return index < rs_lang_n_functions &&
	       prototype_word(word, rs_lang_functions[index].prototype,
			      rs_lang_functions[index].help);
}

static bool aggregation_word(uint32_t index, struct rs_lang_word *word)
{
	const struct agg_function_row *row = &rs_agg_functions[index];

	return index < N_AGG_FUNCTIONS && rs_lang_word_set(word, row->name, row->args, row->help);
}

static bool conversion_word(uint32_t index, struct rs_lang_word *word)
{
	static const char letters[] = CONVERSIONS_OF_TEXT CONVERSIONS_OF_NUMBERS;
	const char text[] = { '%', letters[index < sizeof(letters) ? index : 0], '\0' };

	return index < sizeof(letters) - 1 && rs_lang_word_set(word, text, "", "");
}

static bool instruction_word(uint32_t index, struct rs_lang_word *word)
{
	static const struct {
		const char *name, *help;
	} ops[] = {
#define OP(name, takes, gives, help) { #name, help },
#include "lang/vm/ops.def"
#undef OP
	};

	return index < I_COUNT && rs_lang_word_set(word, ops[index].name, "", ops[index].help);
}

static const struct {
	const char *name, *help;
	bool (*word)(uint32_t index, struct rs_lang_word *word);
} lists[] = {
	{ "variables", "D's variables", variable_word },
	{ "functions", "D's functions", function_word },
	{ "actions", "D's actions", rs_lang_action_word },
	{ "aggregations", "D's aggregating functions", aggregation_word },
	{ "types", "D's names of integer types", rs_lang_type_word },
	{ "operators", "D's operators and punctuation", rs_lang_operator_word },
	{ "macros", "D's macros, which a program writes with a $", rs_lang_macro_word },
	{ "ticks", "The units of tick- and profile- probes", rs_lang_tick_word },
	{ "conversions", "The conversions of printf() and printa()", conversion_word },
	{ "options", "The options of a D program", rs_lang_option_word },
	{ "faults", "The faults that ERROR reports", rs_lang_fault_word },
	{ "instructions", "The instructions of compiled programs", instruction_word },
};
#define N_LISTS (sizeof(lists) / sizeof(lists[0]))

const char *rs_lang_list(uint32_t index, const char **help)
{
	if (index >= N_LISTS)
		return NULL;
	*help = lists[index].help;
	return lists[index].name;
}

bool rs_lang_list_word(uint32_t list, uint32_t index, struct rs_lang_word *word)
{
	return list < N_LISTS && lists[list].word(index, word);
}
