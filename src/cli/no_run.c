/* SPDX-License-Identifier: BSD-2-Clause */
/* ringside run on machines without the micro-VM; replaces cmd_run.c. */
#include "cli/cli.h"

#include <stdio.h>

int cmd_run(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	fputs("ringside run: the reference micro-VM runs only on x86-64; the other verbs work "
	      "here\n",
	      stderr);
	return RS_EXIT_FAILED;
}
