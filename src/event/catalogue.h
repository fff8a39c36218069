/* SPDX-License-Identifier: BSD-2-Clause */
/* The catalogue's .def files as tables. Only the schema uses them. */
#ifndef RS_EVENT_CATALOGUE_H
#define RS_EVENT_CATALOGUE_H

#include <ringside/schema.h>

struct rs_catalogue_row {
	uint32_t n;
	enum rs_kind kind;
	const char *class_name, *name, *help;
	const struct rs_field *fields;
	uint16_t n_fields;
};

struct rs_catalogue {
	const char *provider; /* NULL: common to all providers */
	uint32_t number;      /* of RS_ID() */
	const struct rs_catalogue_row *rows;
	uint32_t n_rows;
	bool lodges; /* in streams of another provider, which contain the common events */
};

/* Returns a provider's catalogue, or NULL if the provider is unknown. name NULL: the common
 * events. */
const struct rs_catalogue *rs_catalogue_find(const char *provider);

/* Returns the provider of a catalogue by its number in RS_ID(), or NULL. */
const char *rs_catalogue_of(uint32_t number);

/* Returns an enumeration by its name, for readers of a trace's description, or NULL. */
const struct rs_enum *rs_catalogue_values(const char *name);

#endif
