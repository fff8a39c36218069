/* SPDX-License-Identifier: BSD-2-Clause */
/* A binary's identity: its hash and its GNU build-id. */
#ifndef RS_INTROSPECT_BINARY_H
#define RS_INTROSPECT_BINARY_H

#include <stdio.h>
#include <ringside/reader.h>

#define RS_HASH_TEXT_BYTES 65

struct rs_binary {
	/* as written in a trace; points to the caller's texts and to those below */
	struct rs_trace_binary trace;
	char hash[RS_HASH_TEXT_BYTES], build_id[RS_HASH_TEXT_BYTES];
};

/*
 * Reads the file at path. Computes its hash (BLAKE3 if the build found its C library, else
 * SHA-256), and the build-id if it is an ELF file that has one. *binary keeps pointers to the
 * caller's role and path, and must not move afterwards.
 */
struct rs_error *rs_binary_read(struct rs_binary *binary, const char *role, const char *path);

/* Returns the algorithm of the hashes: "blake3" or "sha256". */
const char *rs_binary_hash_name(void);

/* Opens a program's file. Rejects a FIFO or a device, which may have no end. */
struct rs_error *rs_binary_open(const char *path, FILE **file);

#endif
