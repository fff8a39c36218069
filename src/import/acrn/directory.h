/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A directory with ACRN's raw traces, and beside them its log's text files: one trace. The log's
 * microseconds are the TSC's, by its frequency, which neither says: without it the lines are left
 * out, and a remark tells. So does one where no line is of the time of the traces.
 */
#ifndef RS_IMPORT_ACRN_DIRECTORY_H
#define RS_IMPORT_ACRN_DIRECTORY_H

#include "import/foreign.h"

/* One that rs_acrn_is_directory() is true of. */
struct rs_error *rs_acrn_directory_open(const char *path, const struct rs_foreign_options *options,
					struct rs_foreign **foreign);

#endif
