/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the named members of a JSON object, without the hash table of json_unpack(). */
#include "store/json_fields.h"

#include <limits.h>

/* Stores the value of one member. Returns whether it has the expected type. */
static bool field_read(const struct rs_json_field *field, const json_t *value)
{
	json_int_t number = json_integer_value(value);

	if (field->text) {
		*field->text = json_string_value(value);
		return *field->text != NULL;
	}
	if (field->flag) {
		*field->flag = json_is_true(value);
		return json_is_boolean(value);
	}
	if (!json_is_integer(value))
		return false;
	if (field->wide) {
		*field->wide = number;
		return true;
	}
	*field->number = (int)number;
	return number >= INT_MIN && number <= INT_MAX;
}

bool rs_json_fields(const json_t *json, const struct rs_json_field *fields, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!field_read(&fields[i], json_object_get(json, fields[i].name)))
			return false;
	}
	return true;
}
