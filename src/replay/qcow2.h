/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Disks in QEMU's format qcow2 (QEMU's docs/interop/qcow2.txt): writes an empty one, and checks the
 * header of one that others made before QEMU opens it. A header can name further files, a backing
 * file and a data file, which may be any path or a network address; none that is checked may.
 */
#ifndef RS_REPLAY_QCOW2_H
#define RS_REPLAY_QCOW2_H

#include <stddef.h>
#include <stdint.h>
#include <ringside/error.h>

#define RS_QCOW2_CLUSTER UINT64_C(65536) /* bytes of a cluster of the disks written here */
#define RS_QCOW2_HEADER	 4096u		 /* bytes of the start of a file that a check reads */

/* Writes an empty disk of `bytes` to an empty file. */
struct rs_error *rs_qcow2_write(int fd, uint64_t bytes, const char *name);

/* Checks the start of a file of file_bytes: `bytes` of it, which is all or at least
 * RS_QCOW2_HEADER. Returns RS_DAMAGED, with what QEMU must not open; the error does not name the
 * file. */
struct rs_error *rs_qcow2_check_header(const uint8_t *start, size_t bytes, uint64_t file_bytes);
/* Checks a file. */
struct rs_error *rs_qcow2_check(int fd, const char *name);

#endif
