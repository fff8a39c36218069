/* SPDX-License-Identifier: BSD-2-Clause */
/* Values of the guest kit's types as text: on the command line, as a result, in JSON. */
#include "cli/run_values.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/given.h"
#include "base/hex.h"
#include "cli/cli.h"
#include "cli/numbers.h"

#define DATA_MAX (RS_KIT_BUFFER_BYTES - (uint32_t)sizeof(struct rs_kit_message))

static double float_of(const struct rs_kit_value *value)
{
	double number;

	memcpy(&number, &value->v, sizeof(number));
	return number;
}

/* ---- arguments ---------------------------------------------------------------------------- */

static bool read_bool(const char *text, struct rs_kit_value *value)
{
	value->v = !strcmp(text, "true") || !strcmp(text, "1");
	return value->v || !strcmp(text, "false") || !strcmp(text, "0");
}

static bool read_float(const char *text, struct rs_kit_value *value)
{
	char *end;
	double number = strtod(text, &end);

	memcpy(&value->v, &number, sizeof(number));
	return *text && !*end;
}

static int digit_of(char c)
{
	const char *digits = "0123456789abcdef", *at = c ? strchr(digits, c | 0x20) : NULL;

	return at ? (int)(at - digits) : -1;
}

static bool read_hex(const char *text, uint8_t *to, uint32_t *bytes)
{
	size_t n = strlen(text) / 2;

	if (strlen(text) % 2 || n > DATA_MAX)
		return false;
	for (size_t i = 0; i < n; i++) {
		int high = digit_of(text[2 * i]), low = digit_of(text[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		to[i] = (uint8_t)(high << 4 | low);
	}
	*bytes = (uint32_t)n;
	return true;
}

static struct rs_error *read_file(const char *path, uint8_t *to, uint32_t *bytes)
{
	FILE *file;
	struct rs_error *err = rs_given_file(path, RS_GIVEN_FILE_OR_PIPE, &file);
	size_t n;

	if (err)
		return err;
	n = fread(to, 1, DATA_MAX, file);
	if (ferror(file))
		err = rs_error_create(RS_FAILED, "%s: cannot be read", path);
	else if (n == DATA_MAX && fgetc(file) != EOF)
		err = rs_error_create(RS_USAGE, "%s: longer than the %u bytes of an argument", path,
				      DATA_MAX);
	fclose(file);
	*bytes = (uint32_t)n;
	return err;
}

/* The form of an argument of each type, for messages. */
static const char *const expected[] = {
	[RS_KIT_INT] = "a number of 64 bits, as in 10 or 0xa",
	[RS_KIT_BOOL] = "true or false",
	[RS_KIT_FLOAT] = "a number, as in 0.5 or 1e-3",
	[RS_KIT_BYTES] = "pairs of hexadecimal digits, or @FILE",
};

static struct rs_error *value_read(const char *text, struct rs_kit_value *value, void **data)
{
	bool good = true;

	switch (value->type) {
	case RS_KIT_INT:
		good = rs_cli_read_number(text, 0, UINT64_MAX, &value->v);
		break;
	case RS_KIT_BOOL:
		good = read_bool(text, value);
		break;
	case RS_KIT_FLOAT:
		good = read_float(text, value);
		break;
	case RS_KIT_TEXT:
		value->v = (uintptr_t)text;
		value->bytes = (uint32_t)strnlen(text, RS_KIT_BUFFER_BYTES);
		break;
	default:
		*data = malloc(DATA_MAX);
		if (!*data)
			return rs_error_no_memory();
		value->v = (uintptr_t)*data;
		if (*text == '@')
			return read_file(text + 1, *data, &value->bytes);
		good = read_hex(text, *data, &value->bytes);
	}
	if (!good)
		return rs_error_create(RS_USAGE, "'%s': expected %s", text, expected[value->type]);
	return NULL;
}

struct rs_error *rs_cli_values_read(const struct rs_vm_export *function, char *const *texts,
				    struct rs_cli_values *values)
{
	for (uint32_t i = 0; i < function->n_args; i++) {
		struct rs_error *err;

		values->values[i].type = function->params[i];
		err = value_read(texts[i], &values->values[i], &values->data[i]);
		if (err)
			return rs_error_wrap(err, "%s: argument %u", function->name, i + 1);
	}
	return NULL;
}

void rs_cli_values_free(struct rs_cli_values *values)
{
	for (uint32_t i = 0; i < RS_KIT_ARGS_MAX; i++)
		free(values->data[i]);
}

/* ---- results ------------------------------------------------------------------------------ */

void rs_cli_value_print(FILE *to, const struct rs_kit_value *value)
{
	const uint8_t *data = (const uint8_t *)(uintptr_t)value->v;

	switch (value->type) {
	case RS_KIT_INT:
		fprintf(to, " %llu", (unsigned long long)value->v);
		break;
	case RS_KIT_BOOL:
		fputs(value->v ? " true" : " false", to);
		break;
	case RS_KIT_FLOAT:
		fprintf(to, " %.17g", float_of(value));
		break;
	case RS_KIT_TEXT:
		fputs(" \"", to);
		rs_cli_put(to, (const char *)data, value->bytes);
		fputc('"', to);
		break;
	case RS_KIT_BYTES:
		fputc(' ', to);
		for (uint32_t i = 0; i < value->bytes; i++)
			fprintf(to, "%02x", data[i]);
		break;
	default:
		break;
	}
}

/* JSON has no infinities and no NaN. */
static void json_float(struct rs_json *json, double value)
{
	char text[32];

	snprintf(text, sizeof(text), "%.17g", value);
	if (isfinite(value))
		rs_json_raw(json, text);
	else
		rs_json_text(json, text);
}

void rs_cli_value_json(struct rs_json *json, const struct rs_kit_value *value)
{
	char hex[2 * RS_KIT_BUFFER_BYTES + 1];

	rs_json_text(rs_json_key(json, "result_type"), rs_vm_type_name(value->type));
	rs_json_key(json, "result");
	switch (value->type) {
	case RS_KIT_INT:
		rs_json_unsigned(json, value->v);
		rs_json_hex(rs_json_key(json, "result_hex"), value->v);
		break;
	case RS_KIT_BOOL:
		rs_json_bool(json, value->v);
		break;
	case RS_KIT_FLOAT:
		json_float(json, float_of(value));
		break;
	case RS_KIT_TEXT:
		rs_json_bytes(json, (const char *)(uintptr_t)value->v, value->bytes);
		break;
	case RS_KIT_BYTES:
		rs_hex_write(hex, (const void *)(uintptr_t)value->v, value->bytes);
		rs_json_text(json, hex);
		break;
	default:
		rs_json_null(json);
	}
}
