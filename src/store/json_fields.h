/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the named members of a JSON object into variables. Replaces json_unpack() for flat objects,
 * and allocates nothing: json_unpack() builds a hash table of the keys that it has read, which
 * costs more than the lookups.
 */
#ifndef RS_STORE_JSON_FIELDS_H
#define RS_STORE_JSON_FIELDS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* A member that the object must have, and the variable for its value. Exactly one pointer is set;
 * its member selects the type that the value must have. */
struct rs_json_field {
	const char *name;
	json_int_t *wide;
	int *number; /* a value beyond the range of int is rejected */
	bool *flag;
	const char **text; /* belongs to the object, and is valid until the object is freed */
};

/* Returns whether the object has all n members, each of the expected type. Members that are not
 * named are ignored. If it returns false, some variables may be set. */
bool rs_json_fields(const json_t *json, const struct rs_json_field *fields, size_t n);

/* The same with a list of fields: RS_JSON_FIELDS(json, { "index", .wide = &index }). */
#define RS_JSON_FIELDS(json, ...)                                                                  \
	rs_json_fields(json, (const struct rs_json_field[]){ __VA_ARGS__ },                        \
		       sizeof((const struct rs_json_field[]){ __VA_ARGS__ }) /                     \
			       sizeof(struct rs_json_field))

#endif
