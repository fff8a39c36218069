/* SPDX-License-Identifier: BSD-2-Clause */
/* Compares schemas, event by event and name by name, in the order in which they were added. */
#include "event/same.h"

#include <string.h>

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
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

static bool same_event(const struct rs_event *a, const struct rs_event *b)
{
	if (a->id != b->id || a->kind != b->kind || a->n_fields != b->n_fields ||
	    a->lead_bytes != b->lead_bytes || a->n_tails != b->n_tails ||
	    !same_text(a->provider, b->provider) || !same_text(a->probe, b->probe) ||
	    !same_text(a->help, b->help))
		return false;
	for (uint32_t i = 0; i < a->n_fields; i++) {
		const struct rs_field *f = &a->fields[i], *g = &b->fields[i];

		if (f->type != g->type || f->show != g->show || f->offset != g->offset ||
		    !same_text(f->name, g->name) || !same_text(f->unit, g->unit) ||
		    !same_text(f->values_name, g->values_name) ||
		    !same_values(f->values, g->values))
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
		if (!same_event(rs_schema_event(a, i), rs_schema_event(b, i)))
			return false;
	}
	return true;
}
