/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of C++ and Rust functions as their source has them. */
#ifndef RS_INTROSPECT_DEMANGLE_H
#define RS_INTROSPECT_DEMANGLE_H

#include <stddef.h>

#define RS_FUNCTION_NAME_MAX 4096u /* bytes of a name with its NUL; a longer one ends with "..." */

/*
 * Writes the name of a symbol: demangled if it is one of C++ or of Rust (legacy or v0), else as it
 * is. The name is untrusted. What is written is valid UTF-8 without control characters, at most
 * size - 1 bytes (size is 8 at least) and a NUL.
 */
void rs_demangle(const char *symbol, char *name, size_t size);

#endif
