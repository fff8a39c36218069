/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads Hyperlight's .trace files as a source: the files that its host writes with the features
 * trace_guest, unwind_guest and mem_profile (hyperlight-dev/hyperlight, PR #695 and later;
 * src/trace_dump reads them). A file consists of frames without a file header, in the byte order of
 * the host, which must be little endian:
 *
 *	u128 time in us, u64 frame, and by frame:
 *	0  32 bytes: BLAKE3 of the guest's binary
 *	1  u64 n, n * u64			a stack that the guest requested
 *	2  u64 address, u64 bytes, u64 n, n * u64	an allocation and its stack
 *	3  u64 address, u64 n, n * u64		a free and its stack
 *	4  u64 n, n bytes			a message
 *
 * Addresses in stacks are relative to where the guest's code was loaded, so they are those of its
 * binary. Messages "> NAME" and "< NAME", "+ NAME" and "- NAME" begin and end spans; others are the
 * event trace::message. The guest's halt ends its spans.
 *
 * Returns RS_DAMAGED with the offset if the file is cut, or a frame is invalid; nothing after it
 * can be read.
 */
#ifndef RS_IMPORT_HYPERLIGHT_TRACE_H
#define RS_IMPORT_HYPERLIGHT_TRACE_H

#include "import/foreign.h"

#define RS_HYPERLIGHT_HEAD_MAX 32

/* Returns whether a file begins with a frame: the format has no magic. */
bool rs_hyperlight_is_file(const uint8_t *head, size_t bytes);

/* Takes ownership of fd, from which the bytes at head, at most RS_HYPERLIGHT_HEAD_MAX, were already
 * read. */
struct rs_error *rs_hyperlight_open_fd(int fd, const char *path, const void *head, size_t bytes,
				       const struct rs_foreign_options *options,
				       struct rs_foreign **foreign);

#endif
