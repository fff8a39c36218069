/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes empty disks in QEMU's format qcow2 (QEMU's docs/interop/qcow2.txt), and checks the headers
 * of disks from other sources before QEMU opens them. A header can name further files, a backing
 * file and a data file, by any path or network address; the check rejects such a header.
 */
#ifndef RS_REPLAY_QCOW2_H
#define RS_REPLAY_QCOW2_H

#include <stddef.h>
#include <stdint.h>
#include <ringside/error.h>

#define RS_QCOW2_CLUSTER UINT64_C(65536) /* cluster size of the disks written here */
/* number of bytes at the start of a file that a check reads */
#define RS_QCOW2_HEADER 4096u

/* Writes an empty disk of `bytes` to an empty file. */
struct rs_error *rs_qcow2_write(int fd, uint64_t bytes, const char *name);

/* Checks the start of a file of file_bytes bytes: `bytes` of it, which is all or at least
 * RS_QCOW2_HEADER. Returns RS_DAMAGED, with the reason, if QEMU must not open it. The error does
 * not name the file. */
struct rs_error *rs_qcow2_check_header(const uint8_t *start, size_t bytes, uint64_t file_bytes);
/* Checks a file. */
struct rs_error *rs_qcow2_check(int fd, const char *name);

#endif
