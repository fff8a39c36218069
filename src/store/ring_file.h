/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads a recorder's file of rings (ring/survive.h, which trace/file.c makes). The file is not
 * trusted: each part is copied once, and checked in the copy. One thread.
 */
#ifndef RS_STORE_RING_FILE_H
#define RS_STORE_RING_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "ring/survive.h"
#include <ringside/error.h>

struct rs_ring_file {
	int fd;
	uint64_t bytes; /* of the file */
	struct rs_survive_head head;
};

/* Takes the descriptor. Returns false if the head is invalid; it is to be closed in any case. */
bool rs_ring_file_open(int fd, struct rs_ring_file *file);
void rs_ring_file_close(struct rs_ring_file *file);

bool rs_ring_file_read(const struct rs_ring_file *file, uint64_t at, void *to, size_t bytes);

/* Copies the path of the trace's directory. Returns false if the file does not have it. */
bool rs_ring_file_trace(const struct rs_ring_file *file, char path[PATH_MAX]);

/* Reads a place, and how far the recorder was. Returns false if no ring is in it. */
bool rs_ring_file_place(const struct rs_ring_file *file, uint32_t i, struct rs_survive_place *place,
			struct rs_survive_progress *progress);

/* A ring with its progress, in private memory, which the caller frees. */
struct rs_ring_copy {
	uint8_t *mem;
	size_t bytes;
	uint32_t size, tail;
	struct rs_survive_progress progress;
	struct rs_survive_mark now;
	uint64_t end; /* position of the tail */
};

/* Copies the ring of a place. Returns false if the ring is invalid. Sets *err if there is no
 * memory. */
bool rs_ring_file_copy(const struct rs_ring_file *file, uint32_t i, struct rs_ring_copy *ring,
		       struct rs_error **err);

/*
 * Finds the mark at which the rest begins: the last one whose records and losses the stream has;
 * where the ring has lost that, the first one after it.
 */
struct rs_survive_mark rs_ring_copy_start(const struct rs_ring_copy *ring, uint64_t accounted);

/* Counts the records that no finished packet has, as the slots give them. */
uint64_t rs_ring_copy_waiting(const struct rs_ring_copy *ring);

#endif
