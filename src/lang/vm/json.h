/* SPDX-License-Identifier: BSD-2-Clause */
/* The output of a program as JSON, one line for each firing. */
#ifndef RS_LANG_VM_JSON_H
#define RS_LANG_VM_JSON_H

#include "base/json.h"
#include "lang/vm/runtime.h"

/* Makes the output of the JSON writer a text. */
struct rs_error *rs_lang_json_init(struct rs_out *out);

void rs_lang_json_trace(struct firing *firing, const char *name, const struct type *type,
			const struct value *value);
void rs_lang_json_wrap(struct firing *firing, const char *name, size_t from);
void rs_lang_json_clause(const struct firing *firing, const struct text *printed,
			 struct text *line);
void rs_lang_json_bundles(struct runtime *rt, struct text *text, struct aggregation *const *aggs,
			  uint32_t n, const struct bundle *bundles, size_t n_bundles);

#endif
