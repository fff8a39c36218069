/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Evaluates clauses without the machine. Comparisons of arguments with numbers at the start of a
 * predicate read the payload; an aggregation whose keys depend only on the probe, the stream and
 * the CPU adds to the row of the last such event. It is prepared when an event is bound, because
 * then the positions of the arguments are known. The tests compare the result with that of the
 * machine.
 */
#include "lang/vm/runtime.h"

#include <string.h>

/* ---- predicates --------------------------------------------------------------------------- */

/* Returns rs_field_value(), without a call for the most common types. */
static uint64_t load(const struct fast_test *test, const uint8_t *payload)
{
	const uint8_t *at = payload + test->offset;
	uint64_t wide;
	uint32_t narrow;

	if (test->type == RS_TYPE_U64) {
		memcpy(&wide, at, sizeof(wide));
		return wide;
	}
	if (test->type == RS_TYPE_U32) {
		memcpy(&narrow, at, sizeof(narrow));
		return narrow;
	}
	return rs_field_value(&(struct rs_field){ .type = test->type, .offset = test->offset },
			      payload);
}

static bool holds(const struct fast_test *test, const uint8_t *payload)
{
	uint64_t a = load(test, payload), b = test->value;
	int64_t x = (int64_t)a, y = (int64_t)b;

	switch (test->op) {
	case I_EQ:
		return a == b;
	case I_NE:
		return a != b;
	case I_LTS:
		return x < y;
	case I_LES:
		return x <= y;
	case I_GTS:
		return x > y;
	case I_GES:
		return x >= y;
	case I_LTU:
		return a < b;
	case I_LEU:
		return a <= b;
	case I_GTU:
		return a > b;
	default:
		return a >= b;
	}
}

bool rs_lang_fast_rejects(const struct fast *fast, const struct rs_view *view)
{
	for (uint8_t i = 0; i < fast->n_tests; i++) {
		if (!holds(&fast->tests[i], view->payload))
			return true;
	}
	return false;
}

/* ---- aggregations ------------------------------------------------------------------------- */

bool rs_lang_fast_adds(struct fast *fast, const struct rs_view *view, const struct agg_table *table)
{
	int64_t value = 0;

	if (fast->stream != view->stream || fast->cpu != view->cpu ||
	    fast->generation != table->generation)
		return false;
	if (fast->value)
		value = (int64_t)rs_lang_type_cut(fast->value_type,
						  rs_field_value(fast->value, view->payload));
	rs_agg_update(fast->row, value);
	return true;
}

void rs_lang_fast_keep(struct fast *fast, const struct rs_view *view, const struct agg_table *table)
{
	fast->stream = view->stream->machine ? NULL : view->stream; /* the thread changes */
	fast->cpu = view->cpu;
	fast->generation = table->generation;
	fast->row = table->last_row;
}

/* Returns the event's field for an argument, or NULL if it is not a plain number. */
static const struct rs_field *number_field(const struct binding *binding, uint32_t arg)
{
	const struct rs_field *field = binding->fields[arg];

	return field && !rs_type_is_tail(field->type) && field->show != RS_SHOW_TSC ? field : NULL;
}

/* Binds the tests, up to the first that the event cannot evaluate. Returns whether these are the
 * whole predicate. */
static bool tests_bind(const struct shortcut *shortcut, const struct binding *binding,
		       struct fast *fast)
{
	for (uint8_t i = 0; i < shortcut->n_tests; i++) {
		const struct shortcut_test *test = &shortcut->tests[i];
		const struct rs_field *field = number_field(binding, test->arg);

		if (!field)
			return false;
		fast->tests[fast->n_tests++] = (struct fast_test){
			.op = test->op,
			.type = field->type,
			.offset = field->offset,
			.value = test->is_enum ? binding->enums[test->value] : test->value,
		};
	}
	return shortcut->whole;
}

struct rs_error *rs_lang_fast_make(struct rs_script *script, const struct binding *binding,
				   const struct clause *clause, struct fast **out)
{
	const struct shortcut *shortcut = &clause->shortcut;
	struct fast fast = { .value_type = shortcut->type };

	*out = NULL;
	fast.whole = tests_bind(shortcut, binding, &fast);
	fast.adds = fast.whole && shortcut->adds;
	if (fast.adds && shortcut->has_value) {
		fast.value = number_field(binding, shortcut->value);
		fast.adds = fast.value;
	}
	if (!fast.n_tests && !fast.adds)
		return NULL;
	*out = rs_arena_alloc(&script->arena, sizeof(fast));
	if (!*out)
		return rs_error_no_memory();
	**out = fast;
	return NULL;
}
