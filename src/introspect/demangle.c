/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Demangles with libiberty. Uses only the files cp-demangle.c and rust-demangle.c of that library,
 * through calls that allocate nothing and pass the name on piece by piece.
 *
 * A mangled name refers back to parts of itself, so its length does not bound that of the name:
 * forty bytes may expand to gigabytes. libiberty has no way to stop, so the callback that receives
 * the pieces calls longjmp(). This leaks nothing, since libiberty holds only memory on the stack
 * then. One exception allocates: identifiers of Rust v0 in punycode; see bounded().
 */
#include "introspect/demangle.h"

#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <libiberty/demangle.h>

#include "base/utf8.h"

#define SYMBOL_MAX 8192u /* size limit of a mangled name; a longer one is not demangled */
#define BACK_MAX   4u	 /* back references in a name that cannot be stopped */

struct piece_by_piece {
	char *name;
	size_t used, size;
	bool cut;      /* the name was longer */
	bool may_stop; /* a longjmp() leaks nothing */
	jmp_buf full;
};

static void append(const char *bytes, size_t n, void *ctx)
{
	struct piece_by_piece *to = ctx;
	size_t left = to->size - 1 - to->used;
	size_t part = n < left ? n : left;

	if (part)
		memcpy(to->name + to->used, bytes, part);
	to->used += part;
	to->cut |= part < n;
	if (to->cut && to->may_stop)
		longjmp(to->full, 1);
}

static const char *behind(const char *at, char end)
{
	while (*at && *at != end)
		at++;
	return *at ? at + 1 : at;
}

/*
 * Scans a Rust v0 name. Finds whether it has an identifier in punycode, for which libiberty holds
 * memory while it passes the identifier on, and whether it has many back references. Walks the
 * name's tokens (Rust RFC 2603, "Syntax of mangled names"): numbers of base 62 up to their '_',
 * constants likewise, and identifiers by their lengths.
 */
static void scan_v0(const char *symbol, bool *punycode, bool *often)
{
	const char *at = symbol + 2, *end = symbol + strlen(symbol);
	uint32_t back = 0;

	*punycode = false;
	while (at < end) {
		if (*at >= '0' && *at <= '9') {
			char *bytes;
			unsigned long n = strtoul(at, &bytes, 10);

			bytes += *bytes == '_';
			at = n < (size_t)(end - bytes) ? bytes + n : end;
		} else if (*at == 's' || *at == 'B' || *at == 'L' || *at == 'G' || *at == 'K') {
			back += *at == 'B';
			at = behind(at, '_');
		} else {
			*punycode |= *at == 'u' && at[1] >= '0' && at[1] <= '9';
			at++;
		}
	}
	*often = back > BACK_MAX;
}

/* Returns whether the symbol was mangled. This is a separate function, since variables that change
 * between setjmp() and longjmp() are lost. */
static bool demangled(const char *symbol, struct piece_by_piece *to)
{
	bool rust = !strncmp(symbol, "_R", 2), punycode = false, often = false;

	if (rust)
		scan_v0(symbol, &punycode, &often);
	if (punycode && often)
		return false;
	to->may_stop = !punycode;
	if (setjmp(to->full))
		return true;
	if (rust_demangle_callback(symbol, DMGL_PARAMS | DMGL_ANSI, append, to))
		return true;
	to->used = 0;
	to->cut = false;
	return cplus_demangle_v3_callback(symbol, DMGL_PARAMS | DMGL_ANSI, append, to);
}

void rs_demangle(const char *symbol, char *name, size_t size)
{
	struct piece_by_piece to = { .name = name, .size = size };
	size_t n = strnlen(symbol, SYMBOL_MAX + 1);

	if (n > SYMBOL_MAX || symbol[0] != '_' || !demangled(symbol, &to)) {
		to.used = n < size ? n : size - 1;
		to.cut = n >= size;
		memcpy(name, symbol, to.used);
	}
	if (to.cut)
		memcpy(name + to.used - 3, "...", 3);
	rs_utf8_mend(name, to.used);
	name[to.used] = '\0';
}
