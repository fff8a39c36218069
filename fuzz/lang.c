/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The probe language: the input is a program, which is compiled, and run over some of every event
 * in the schema. It must end, within the memory that its options allow. Code that the verifier
 * accepts must access only its own memory.
 */
#include "lang_run.h"

#define PROGRAM_MAX 8192u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct rs_schema *schema;
	static struct rs_out out;
	struct rs_script *script;
	char *exact;

	if (!schema) {
		schema = fuzz_schema();
		fuzz_drop(rs_out_init(&out, open("/dev/null", O_WRONLY | O_CLOEXEC)));
	}
	if (size > PROGRAM_MAX)
		return 0;
	exact = malloc(size ? size : 1); /* no readable byte after it */
	MUST(exact);
	memcpy(exact, data, size);
	script = lang_compile(exact, size, schema);
	if (script) {
		rs_script_disassemble(script, &out);
		lang_run(script, schema, &out);
		rs_script_destroy(script);
	}
	free(exact);
	return 0;
}
