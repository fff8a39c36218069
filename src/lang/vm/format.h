/* SPDX-License-Identifier: BSD-2-Clause */
/* Growing text, and values as text: by a format, or in the form of trace() and tracemem(). */
#ifndef RS_LANG_VM_FORMAT_H
#define RS_LANG_VM_FORMAT_H

#include "lang/vm/builtin.h"
#include "lang/vm/program.h"

struct text {
	char *at;
	size_t len, room, most;
	bool full; /* something did not fit; no more is added */
};

void rs_lang_text_add(struct text *text, const char *bytes, size_t len);
void rs_lang_text_print(struct text *text, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void rs_lang_text_deinit(struct text *text);

struct rs_error *rs_lang_format_parse(struct rs_script *script, struct place at, const char *text,
				      size_t len, struct format **format);

/* Prints a value by one conversion. */
void rs_lang_format_value(struct text *text, const struct conversion *conversion, struct type type,
			  const struct value *value, int width, int precision);
void rs_lang_format_values(struct text *text, const struct format *format, const struct type *types,
			   const struct value *values);
/* Prints bytes in hexadecimal and as characters, as tracemem() does. */
void rs_lang_format_bytes(struct text *text, const char *bytes, uint64_t n);
/* Prints a value as trace() does; quiet: without padding. */
void rs_lang_format_trace(struct text *text, struct type type, const struct value *value,
			  bool quiet);

#endif
