/* SPDX-License-Identifier: BSD-2-Clause */
/* ringside run where there is no micro-VM: instead of cmd_run.c. */
#include "cli/cli.h"

#include <stdio.h>

int cmd_run(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	fputs("ringside run: the reference micro-VM runs on x86-64 alone; "
	      "the other verbs work here\n",
	      stderr);
	return RS_EXIT_FAILED;
}
