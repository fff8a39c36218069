/* SPDX-License-Identifier: BSD-2-Clause */
/* What the readers of other tools' files share. */
#include "import/foreign.h"

#include <stdarg.h>
#include <stdio.h>

void rs_foreign_remark(struct rs_foreign_tally *tally, const char *format, ...)
{
	va_list args;

	if (tally->n_remarks == RS_FOREIGN_REMARKS)
		return;
	va_start(args, format);
	vsnprintf(tally->remarks[tally->n_remarks++], RS_FOREIGN_REMARK_MAX, format, args);
	va_end(args);
}
