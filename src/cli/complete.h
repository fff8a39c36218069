/* SPDX-License-Identifier: BSD-2-Clause */
/* The hooks by which a verb serves `ringside complete` instead of running (cmd_complete.c). */
#ifndef RS_CLI_COMPLETE_H
#define RS_CLI_COMPLETE_H

#include <argp.h>
#include <stdbool.h>

/* Returns whether the verb was called for a completion. */
bool rs_cli_completes(void);

/* Prints the candidates for the word to complete, after the verb's words so far. argv[0] is the
 * verb, as in "report exits". */
void rs_cli_complete(const struct argp *argp, int argc, char **argv);

#endif
