/* SPDX-License-Identifier: BSD-2-Clause */
/* A binary's identity: its hash and its GNU build-id. */
#ifndef RS_STORE_HASH_H
#define RS_STORE_HASH_H

#include <stdbool.h>
#include <ringside/error.h>

#define RS_HASH_TEXT_BYTES 65

/* BLAKE3 or SHA-256, as rs_hash_name() says; 64 hex digits. */
extern const char *const rs_hash_name;
struct rs_error *rs_hash_file(const char *path, char hex[RS_HASH_TEXT_BYTES]);

/* The build-id of an ELF file, in hex; an empty text where it has none. */
void rs_build_id(const char *path, char hex[RS_HASH_TEXT_BYTES]);

#endif
