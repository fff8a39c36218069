/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions that the readers of other tools' files share. */
#include "import/foreign.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/count.h"

void rs_foreign_remark(struct rs_foreign_tally *tally, const char *format, ...)
{
	va_list args;

	if (tally->n_remarks == RS_FOREIGN_REMARKS)
		return;
	va_start(args, format);
	vsnprintf(tally->remarks[tally->n_remarks++], RS_FOREIGN_REMARK_MAX, format, args);
	va_end(args);
}

void rs_foreign_remark_counts(struct rs_foreign_tally *tally, const struct rs_foreign_count *counts,
			      size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (counts[i].n)
			rs_foreign_remark(tally, "%s %s", RS_COUNT_OF(counts[i].n, counts[i].noun),
					  counts[i].what);
	}
}
