/* SPDX-License-Identifier: BSD-2-Clause */
/* A binary's identity: its hash and its GNU build-id. */
#ifndef RS_INTROSPECT_BINARY_H
#define RS_INTROSPECT_BINARY_H

#include <ringside/reader.h>

#define RS_HASH_TEXT_BYTES 65

struct rs_binary {
	struct rs_trace_binary trace; /* as a trace has it; its texts are the caller's and below */
	char hash[RS_HASH_TEXT_BYTES], build_id[RS_HASH_TEXT_BYTES];
};

/*
 * Reads the file at path: its hash, by BLAKE3 where its C library was there to build with, else by
 * SHA-256, and the build-id if it is an ELF file that has one. Keeps role and path, which are the
 * caller's; binary must not move afterwards.
 */
struct rs_error *rs_binary_read(struct rs_binary *binary, const char *role, const char *path);

#endif
