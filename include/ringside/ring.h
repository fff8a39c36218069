/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory for rings, and rings by purpose. sbuf.h defines the ring itself, in any memory.
 *
 * A file that several processes map must belong to the user of this process or to root, and no
 * other user may have write access: another user could truncate it, and thereby kill each process
 * that maps it. A file with a second name (a hard link), a symbolic link, and a file of more than
 * RS_SBUF_SIZE_MAX bytes and a header are refused too. New files have mode 0600.
 *
 * The name "shm:NAME" stands for the file NAME in /run/ringside for root, and for other users in
 * /run/user/UID/ringside, or in /dev/shm/ringside-UID if the system has no /run/user/UID. The
 * directory is created with mode 0700 on demand; one that others can enter is refused.
 */
#ifndef RINGSIDE_RING_H
#define RINGSIDE_RING_H

#include <ringside/language.h>
#include <ringside/error.h>
#include <ringside/sbuf.h>

RS_C_BEGIN

/* Memory that two parties can map. */
struct rs_ring_memory {
	void *mem;
	size_t bytes;
	int fd;	    /* -1: anonymous */
	char *path; /* the file that its creator unlinks when it unmaps the memory, or NULL */
};

/* Maps memory that only children of this process share. */
struct rs_error *rs_ring_map_anonymous(size_t bytes, struct rs_ring_memory *memory);

/* Creates and maps a file of this size, which must not exist yet. rs_ring_unmap() removes it. */
struct rs_error *rs_ring_map_create(const char *path, size_t bytes, struct rs_ring_memory *memory);

/* Maps an existing file or device, which stays. bytes 0 means the file's size. Returns RS_FAILED if
 * others can write to it, or it is a link. */
struct rs_error *rs_ring_map_existing(const char *path, size_t bytes,
				      struct rs_ring_memory *memory);

void rs_ring_unmap(struct rs_ring_memory *memory);

/* The purposes that ACRN numbers (acrn_common.h: sbuf ids). Each has a fixed element size and
 * mode. */
struct rs_ring_purpose {
	uint32_t id;
	const char *name;
	uint32_t ele_size;
	bool per_cpu; /* if false, one per VM */
};
enum {
	RS_PURPOSE_TRACE = 0,
	RS_PURPOSE_LOG = 1,
	RS_PURPOSE_SEP = 2,
	RS_PURPOSE_SOCWATCH = 3,
	RS_PURPOSE_ASYNCIO = 64,
	RS_PURPOSE_VM_EVENT = 65,
};

/* Returns a purpose by its id, or NULL if there is no such purpose. */
const struct rs_ring_purpose *rs_ring_purpose(uint32_t id);

/* A table of rings by purpose and CPU (or VM), as in a hypervisor. It does not own the memory. */
struct rs_ring_table;
struct rs_error *rs_ring_table_create(uint32_t cpus, struct rs_ring_table **table);
void rs_ring_table_destroy(struct rs_ring_table *table);
/* Sets the ring of an entry; NULL clears it. Returns RS_USAGE if there is no such purpose or CPU,
 * or the ring's element size is not the purpose's. */
struct rs_error *rs_ring_table_set(struct rs_ring_table *table, uint32_t purpose, uint32_t cpu,
				   struct rs_sbuf *ring);
/* Returns a ring, or NULL if there is none. One acquire load, which pairs with the release in
 * set. */
struct rs_sbuf *rs_ring_table_get(const struct rs_ring_table *table, uint32_t purpose,
				  uint32_t cpu);

RS_C_END

#endif
