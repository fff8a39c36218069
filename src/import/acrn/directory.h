/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads a directory with ACRN's raw traces and the text files of its log as one trace. The log's
 * microseconds are the TSC divided by its frequency, which no file contains. Without --freq, and if
 * no line falls into the time of the traces, the lines are left out, with a remark. */
#ifndef RS_IMPORT_ACRN_DIRECTORY_H
#define RS_IMPORT_ACRN_DIRECTORY_H

#include "import/foreign.h"

/* Opens a directory for which rs_acrn_is_directory() is true. */
struct rs_error *rs_acrn_directory_open(const char *path, const struct rs_foreign_options *options,
					struct rs_foreign **foreign);

#endif
