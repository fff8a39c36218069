/* SPDX-License-Identifier: BSD-2-Clause */
/* D's own variables (builtin.c) and functions (function.c), a row each, with the prototypes. */
#ifndef RS_LANG_VM_BUILTIN_H
#define RS_LANG_VM_BUILTIN_H

#include <string.h>
#include "lang/vm/type.h"

struct firing;
struct value {
	union {
		uint64_t i;
		const char *s;
	};
	uint32_t len; /* of a string */
};

static inline struct value value_text(const char *text)
{
	return (struct value){ .s = text, .len = (uint32_t)strlen(text) };
}

struct builtin {
	const char *prototype; /* in D: "uint64_t timestamp" */
	const char *help;
	struct value (*get)(const struct firing *firing);
	bool pure;   /* depends on the event alone */
	bool varies; /* may differ between events of the same probe, stream and CPU */
	/* Returns whether the source knows it for this event. NULL: always. */
	bool (*known)(const struct firing *firing);
	bool thread; /* of the event's thread, which a guest's kernel must be found for */
};
extern const struct builtin rs_lang_builtins[];
extern const uint32_t rs_lang_n_builtins;

/* The name and types of a prototype, which is written in D. */
#define PROTOTYPE_ARGS_MAX 4
struct prototype {
	char name[32];
	struct type result;
	struct type args[PROTOTYPE_ARGS_MAX];
	uint8_t n_args, n_needed;
};
void rs_lang_prototype_read(const char *text, struct prototype *prototype);
/* Returns whether a prototype is of that name. */
bool rs_lang_prototype_is(const char *text, const char *name);

struct function {
	const char *prototype; /* "string substr(string s, int at [, int len])" */
	const char *help;
	/* Returns false with the firing's fault set. */
	bool (*call)(struct firing *firing, const struct value *args, uint32_t n,
		     struct value *result);
	bool hex; /* see struct type */
};
extern const struct function rs_lang_functions[];
extern const uint32_t rs_lang_n_functions;

#endif
