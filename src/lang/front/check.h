/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the parts of the checker: expressions (check.c), objects in memory (check_object.c),
 * enumerations (check_enum.c), statements (check_action.c, check_clause.c). */
#ifndef RS_LANG_FRONT_CHECK_H
#define RS_LANG_FRONT_CHECK_H

#include "lang/front/tree.h"

#define INLINES_MAX 10000 /* expansions of inlines */
#define XLATES_MAX  32	  /* nested translators */

struct checker {
	struct rs_script *script;
	struct clause *clause;
	struct rs_error *err;
	bool speculates, commits;
	uint32_t xlates; /* nested translators */
	uint64_t steps;	 /* product of the steps of the enclosing walks */
	const struct node *addressed; /* a of the last &a */
};

#define FAIL(c, at, ...)                                                                           \
	do {                                                                                       \
		if (!(c)->err)                                                                     \
			(c)->err = rs_lang_error((c)->script, at, __VA_ARGS__);                    \
	} while (0)

void rs_lang_check_node(struct checker *c, struct node *node);
void rs_lang_check_call(struct checker *c, struct node *call);
bool rs_lang_check_action(struct checker *c, struct node *call);
void rs_lang_check_aggregate(struct checker *c, struct node *node);
uint8_t rs_lang_check_keys(struct checker *c, struct node *args, struct type *keys);
void rs_lang_check_same_keys(struct checker *c, const struct node *node, const struct type *have,
			     uint8_t n_have, const struct type *expected, uint8_t n_expected);

/* Objects in memory (check_object.c). */
struct node *rs_lang_node_clone(struct checker *c, const struct node *from);
void rs_lang_check_object_member(struct checker *c, struct node *node);
void rs_lang_check_element(struct checker *c, struct node *node);
void rs_lang_check_deref(struct checker *c, struct node *node);
void rs_lang_check_address(struct checker *c, struct node *node);
void rs_lang_check_text(struct checker *c, struct node *node);
void rs_lang_check_guest(struct checker *c, struct node *node);
void rs_lang_check_offsetof(struct checker *c, struct node *node);
void rs_lang_check_xlate(struct checker *c, struct node *node);
/* Create a this-> variable for the compiler, and make a name refer to such a variable. */
const char *rs_lang_check_hidden(struct checker *c, struct type type);
void rs_lang_check_put(struct node *node, const char *name, const char *variable);

/* Creates a variable and places it (variable.c). Returns NULL if out of memory. */
struct variable *rs_lang_variable_make(struct checker *c, const char *name, enum scope scope,
				       struct type type, bool is_array);

/* Enumerations (check_enum.c). */
/* Replaces a name with its number: of an enum of the program, a register, an enumeration of the
 * matched events. Returns false if it is not such a name. */
bool rs_lang_check_enumerator(struct checker *c, struct node *node);
/* args.reason == HLT: looks the name up in the argument's own enumeration. */
void rs_lang_check_enum_operand(struct checker *c, const struct node *arg, struct node *name);
/* args.reason == "HLT": compares the name of the argument's value with a string. */
void rs_lang_check_named_text(struct checker *c, struct node *node);
/* @[args.reason]: replaces the key with the name of its value. */
void rs_lang_check_named_key(struct checker *c, struct node *key, struct type *type);

#endif
