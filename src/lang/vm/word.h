/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The words of the language's tables (rs_lang_list_word()). The file of each table has a function
 * that fills in its index-th word, or returns false if there are no more.
 */
#ifndef RS_LANG_VM_WORD_H
#define RS_LANG_VM_WORD_H

#include <stdio.h>
#include <string.h>

#include "lang/lang.h"

/* Fills in a word. Returns false if name is NULL, which means that there are no more words. */
static inline bool rs_lang_word_set(struct rs_lang_word *word, const char *name, const char *args,
				    const char *help)
{
	if (!name)
		return false;
	snprintf(word->name, sizeof(word->name), "%s", name);
	snprintf(word->text, sizeof(word->text), "%s%s", name, args);
	word->help = help;
	return true;
}

bool rs_lang_type_word(uint32_t index, struct rs_lang_word *word);
bool rs_lang_tick_word(uint32_t index, struct rs_lang_word *word); /* units of tick- probes */
bool rs_lang_option_word(uint32_t index, struct rs_lang_word *word);
bool rs_lang_fault_word(uint32_t index, struct rs_lang_word *word);

#endif
