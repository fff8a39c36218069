/* SPDX-License-Identifier: BSD-2-Clause */
/* The output of a program as JSON, a line each firing. */
#ifndef RS_LANG_VM_JSON_H
#define RS_LANG_VM_JSON_H

#include "lang/vm/runtime.h"

void rs_lang_json_text(struct text *text, const char *bytes, size_t len);
void rs_lang_json_number(struct text *text, struct type type, uint64_t value);
void rs_lang_json_trace(struct firing *firing, const char *name, const struct type *type,
			const struct value *value);
void rs_lang_json_wrap(struct firing *firing, const char *name, size_t from);
void rs_lang_json_clause(const struct firing *firing, const struct text *said, struct text *line);
void rs_lang_json_bundles(struct text *text, struct aggregation *const *aggs, uint32_t n,
			  const struct bundle *bundles, size_t n_bundles);

#endif
