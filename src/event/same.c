/* SPDX-License-Identifier: BSD-2-Clause */
/* Compares schemas, event by event and name by name, in the order in which they were added. */
#include "event/same.h"

#include <string.h>

/* NULL equals an empty text. */
static bool same_text(const char *a, const char *b)
{
	return !strcmp(a ? a : "", b ? b : "");
}

static bool same_values(const struct rs_enum *a, const struct rs_enum *b)
{
	if (!a || !b || a == b)
		return a == b;
	for (; a->name && b->name; a++, b++) {
		if (a->value != b->value || strcmp(a->name, b->name) != 0)
			return false;
	}
	return a->name == b->name;
}

bool rs_event_same(const struct rs_event *a, const struct rs_event *b)
{
	if (a->kind != b->kind || a->n_fields != b->n_fields ||
	    !same_text(a->class_name, b->class_name) || !same_text(a->function, b->function) ||
	    !same_text(a->name, b->name))
		return false;
	for (uint32_t i = 0; i < a->n_fields; i++) {
		const struct rs_field *f = &a->fields[i], *g = &b->fields[i];

		if (f->type != g->type || f->show != g->show || !same_text(f->name, g->name) ||
		    !same_text(f->unit, g->unit))
			return false;
	}
	return true;
}

/* Returns whether two events have the same description in a trace. */
static bool same_description(const struct rs_event *a, const struct rs_event *b)
{
	if (a->id != b->id || a->lead_bytes != b->lead_bytes ||
	    !same_text(a->provider, b->provider) || !same_text(a->help, b->help) ||
	    !rs_event_same(a, b))
		return false;
	for (uint32_t i = 0; i < a->n_fields; i++) {
		if (!same_text(a->fields[i].values_name, b->fields[i].values_name) ||
		    !same_values(a->fields[i].values, b->fields[i].values))
			return false;
	}
	return true;
}

bool rs_schema_same(const struct rs_schema *a, const struct rs_schema *b)
{
	uint32_t events = rs_schema_count(a), names = rs_schema_name_count(a), id, other;

	if (!same_text(rs_schema_provider(a), rs_schema_provider(b)) ||
	    events != rs_schema_count(b) || names != rs_schema_name_count(b))
		return false;
	for (uint32_t i = 0; i < names; i++) {
		if (!same_text(rs_schema_name_at(a, i, &id), rs_schema_name_at(b, i, &other)) ||
		    id != other)
			return false;
	}
	for (uint32_t i = 0; i < events; i++) {
		if (!same_description(rs_schema_event(a, i), rs_schema_event(b, i)))
			return false;
	}
	return true;
}
