/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checks what a D program includes, before the C preprocessor opens it, because opening a FIFO
 * waits for its writer, and a device may have no end. Names that a macro builds are not found; for
 * those, only the limits of the preprocessor's process apply.
 */
#ifndef RS_CLI_INCLUDES_H
#define RS_CLI_INCLUDES_H

#include <ringside/error.h>

#include "cli/program.h"

/*
 * name: the program's file, for messages and to find files beside it. text: the program,
 * NUL-terminated. words: cpp's options, each followed by its value; -I names a folder. Returns
 * RS_USAGE, with file and line, if an #include in the program or in an included file names anything
 * but a regular file (base/given.h).
 */
struct rs_error *rs_cli_includes_check(const char *name, const char *text,
				       const struct rs_cli_words *words);

#endif
