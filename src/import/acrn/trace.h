/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads ACRN's raw traces as a source: acrntrace writes a file for each physical CPU, with records
 * of 32 bytes and no header (record.h). The input is one file, or a directory of files whose names
 * are numbers. These are merged by stamp, since the CPUs of one machine have one TSC.
 *
 *	- An invalid record is left out and counted; a records-lost (damaged) precedes the next
 *	  valid one. The error at the end has the offset of the first invalid record, or of a
 *	  record that the end of its file cuts.
 *	- A stamp before its predecessor's becomes its predecessor's, after a clock-back.
 *	- An id that the catalogue lacks becomes an event acrn:raw::id-N, by its n_data.
 *	- Records that the hypervisor dropped because its ring was full are in no file, and unknown.
 *
 * The files do not contain the TSC's frequency. If it is not given, the clock's freq_from is
 * RS_ACRN_FREQ_UNKNOWN, and a "nanosecond" of the timeline is a cycle.
 */
#ifndef RS_IMPORT_ACRN_TRACE_H
#define RS_IMPORT_ACRN_TRACE_H

#include "import/foreign.h"

#define RS_ACRN_FREQ_UNKNOWN "unknown"

/* rs_acrn_is_file() returns whether a file begins with an event of the catalogue that has the right
 * n_data; rs_acrn_is_directory() returns whether all files of a directory do. */
bool rs_acrn_is_file(const uint8_t *head, size_t bytes);
bool rs_acrn_is_directory(const char *path);

/* Opens a file or a directory. options: NULL for none. Takes ownership of fd, also after an error.
 * head: the bytes that were read from fd already, at most RS_ACRN_HEAD_MAX. */
#define RS_ACRN_HEAD_MAX 32
struct rs_error *rs_acrn_open_fd(int fd, const char *path, const void *head, size_t bytes,
				 const struct rs_foreign_options *options,
				 struct rs_foreign **foreign);
struct rs_error *rs_acrn_open_directory(const char *path, const struct rs_foreign_options *options,
					struct rs_foreign **foreign);

/* Returns whether a record of ACRN's can have this header word. */
bool rs_acrn_is_record(uint64_t head);

/* Declares raw::id-N for the id of a record that the catalogue lacks. Returns NULL if the schema
 * refuses it. */
#define RS_ACRN_RAW_MAX 256u /* such ids in a trace; the records of further ids count as damaged */
const struct rs_event *rs_acrn_declare_raw(struct rs_schema *schema, uint64_t head);

/* Returns the n_data of an event of the catalogue, by acrn.def. */
uint32_t rs_acrn_n_data(const struct rs_event *event);

#endif
