/* SPDX-License-Identifier: BSD-2-Clause */
/* The arguments of a guest's function that `ringside run` reads, and the result that it prints. */
#ifndef RS_CLI_RUN_VALUES_H
#define RS_CLI_RUN_VALUES_H

#include <stdio.h>

#include "base/json.h"
#include "vm/vm.h"

struct rs_cli_values {
	struct rs_kit_value values[RS_KIT_ARGS_MAX];
	void *data[RS_KIT_ARGS_MAX]; /* of bytes */
};

/* Reads the function's arguments, each by its type. Texts are not copied. Returns RS_USAGE if an
 * argument does not fit its type. The caller calls free, also after an error. */
struct rs_error *rs_cli_values_read(const struct rs_vm_export *function, char *const *texts,
				    struct rs_cli_values *values);
void rs_cli_values_free(struct rs_cli_values *values);

/* Prints a value as text after a blank; nothing if it is void. Control characters are not
 * printed. */
void rs_cli_value_print(FILE *to, const struct rs_kit_value *value);

/* Adds "result_type" and "result", and for an integer also "result_hex", which is exact. */
void rs_cli_value_json(struct rs_json *json, const struct rs_kit_value *value);

#endif
