/* SPDX-License-Identifier: BSD-2-Clause */
/* As lang/vm/word.h, for the compiler's tables. */
#ifndef RS_LANG_FRONT_WORDS_H
#define RS_LANG_FRONT_WORDS_H

#include "lang/vm/word.h"

bool rs_lang_operator_word(uint32_t index, struct rs_lang_word *word);
bool rs_lang_macro_word(uint32_t index, struct rs_lang_word *word);
bool rs_lang_action_word(uint32_t index, struct rs_lang_word *word);

#endif
