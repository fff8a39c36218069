/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A symbol's name: demangled or not, the result fits, is valid UTF-8, and has no control
 * characters.
 */
#include "fuzz.h"

#include "base/utf8.h"
#include "introspect/demangle.h"

#define SIZE_MIN 8u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	size_t room = SIZE_MIN + fuzz_u8(&in) * 4u, len;
	char *name = malloc(room), *symbol = malloc(in.left + 1);

	MUST(name && symbol);
	memcpy(symbol, in.at, in.left);
	symbol[in.left] = '\0';
	rs_demangle(symbol, name, room);
	len = strnlen(name, room);
	MUST(len < room);
	for (size_t at = 0, n; at < len; at += n) {
		n = rs_utf8_len(name + at, len - at);
		MUST(n);
	}
	free(symbol);
	free(name);
	return 0;
}
