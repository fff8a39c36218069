/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ACRN's raw traces as a source: what acrntrace writes, a file for each physical CPU, records of
 * 32 bytes and no header (record.h). A file, or a directory of those whose names are numbers, which
 * are merged by stamp: the CPUs of one machine have one TSC.
 *
 *	- An invalid record is left out and counted; before the next good one stands a
 *	  records-lost (damaged). The first one's offset is in the error at the end, as is that of a
 *	  record which the end of its file cuts.
 *	- A stamp before its predecessor's becomes its predecessor's, after a clock-back.
 *	- An id that the catalogue lacks becomes an event acrn:raw::id-N, by its n_data.
 *	- What the hypervisor dropped when its ring was full is in no file, and not known.
 *
 * The frequency is not in them: without one the clock's freq_from is RS_ACRN_FREQ_UNKNOWN, and a
 * "nanosecond" of the timeline is a cycle.
 */
#ifndef RS_IMPORT_ACRN_TRACE_H
#define RS_IMPORT_ACRN_TRACE_H

#include "import/foreign.h"

#define RS_ACRN_FREQ_UNKNOWN "unknown"

/* Whether a file begins, or all files of a directory begin, with an event of the catalogue, of the
 * right n_data. */
bool rs_acrn_is_file(const uint8_t *head, size_t bytes);
bool rs_acrn_is_directory(const char *path);

/* options: NULL for none. fd is taken over; head: what was read of it already, at most
 * RS_ACRN_HEAD_MAX bytes. */
#define RS_ACRN_HEAD_MAX 32
struct rs_error *rs_acrn_open_fd(int fd, const char *path, const void *head, size_t bytes,
				 const struct rs_foreign_options *options,
				 struct rs_foreign **foreign);
struct rs_error *rs_acrn_open_directory(const char *path, const struct rs_foreign_options *options,
					struct rs_foreign **foreign);

/* Whether a record with this header word can be ACRN's at all. */
bool rs_acrn_is_record(uint64_t head);

/* Declares raw::id-N for an id that the catalogue lacks, of such a record; NULL: it can't be. */
#define RS_ACRN_RAW_MAX 256u /* such ids in a trace; more are taken for damage */
const struct rs_event *rs_acrn_declare_raw(struct rs_schema *schema, uint64_t head);

/* n_data of an event of the catalogue's, as acrn.def says. */
uint32_t rs_acrn_n_data(const struct rs_event *event);

#endif
