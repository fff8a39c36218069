/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages for the user about a program's input. */
#include "script/remark.h"

#include <stdarg.h>
#include <stdio.h>

void rs_script_remark(const struct rs_script_remarks *to, const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	to->report(to->ctx, text);
}
