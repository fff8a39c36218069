/* SPDX-License-Identifier: BSD-2-Clause */
/* Demangles names of C++ and Rust functions. */
#ifndef RS_INTROSPECT_DEMANGLE_H
#define RS_INTROSPECT_DEMANGLE_H

#include <stddef.h>

#define RS_FUNCTION_NAME_MAX 4096u /* size of a name with its NUL; a longer one ends with "..." */

/*
 * Writes the name of a symbol: demangled if it is a C++ or Rust name (legacy or v0), else
 * unchanged. The name is untrusted. The output is valid UTF-8 without control characters, at most
 * size - 1 bytes (size is at least 8) and a NUL.
 */
void rs_demangle(const char *symbol, char *name, size_t size);

#endif
