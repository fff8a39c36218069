/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A look at what a D program includes, before the C preprocessor opens it: opening a FIFO waits for
 * its writer, and a device may have no end. A name that a macro makes is not found; the limits of
 * the preprocessor's process remain for those.
 */
#ifndef RS_CLI_INCLUDES_H
#define RS_CLI_INCLUDES_H

#include <ringside/error.h>

#include "cli/program.h"

/*
 * name: of the program's file, for messages and to find what is beside it; text: the program, which
 * ends with a NUL; words: for cpp, an option and its value in turn; -I names a folder. RS_USAGE,
 * with file and line: an #include, also of an included file, names what is not a regular file
 * (base/given.h).
 */
struct rs_error *rs_cli_includes_check(const char *name, const char *text,
				       const struct rs_cli_words *words);

#endif
