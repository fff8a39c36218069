/* SPDX-License-Identifier: BSD-2-Clause */
/* The messages of `ringside record`, for the recording, its flight recorder and its sources. */
#include "cli/record.h"

#include <stdarg.h>
#include <stdio.h>

void rs_record_remark(const struct rs_record_common *common, const char *format, ...)
{
	va_list args;

	if (common->quiet)
		return;
	fputs(common->shows ? "\r\033[K" : "", stderr);
	fputs("ringside record: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}
