/* SPDX-License-Identifier: BSD-2-Clause */
/* D's variables (builtin.c) and functions (function.c), one row each, with their prototypes. */
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
	bool pure;   /* depends only on the event */
	bool varies; /* may differ between events of the same probe, stream and CPU */
	/* Returns whether the source has the value for this event. NULL: always. */
	bool (*known)(const struct firing *firing);
	bool thread; /* of the event's thread; requires the guest's kernel */
};
extern const struct builtin rs_lang_builtins[];
extern const uint32_t rs_lang_n_builtins;

/* The name and types of a prototype, which is in D. */
#define PROTOTYPE_ARGS_MAX 4
struct prototype {
	char name[32];
	struct type result;
	struct type args[PROTOTYPE_ARGS_MAX];
	uint8_t n_args, n_needed;
};
void rs_lang_prototype_read(const char *text, struct prototype *prototype);
/* Returns whether a prototype has this name. */
bool rs_lang_prototype_is(const char *text, const char *name);

struct function {
	const char *prototype; /* "string substr(string s, int at [, int len])" */
	const char *help;
	/* Returns false with the firing's fault set. */
	bool (*call)(struct firing *firing, const struct value *args, uint32_t n,
		     struct value *result);
	bool hex;   /* see struct type */
	bool guest; /* reads the guest's thread, which requires its kernel */
};
extern const struct function rs_lang_functions[];
extern const uint32_t rs_lang_n_functions;

#endif
