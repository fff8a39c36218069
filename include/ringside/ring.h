/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory for rings, and rings by purpose. sbuf.h is the ring itself, in whatever memory.
 *
 * A file that several processes map must belong to the user of this process or to root, and nobody
 * else may write to it: another user could truncate it, and so kill each process that maps it. A
 * file with a second name (a hard link) and a symbolic link are refused too, and so is a file of
 * more than RS_SBUF_SIZE_MAX bytes and a header. A file that is made has mode 0600.
 *
 * The name "shm:NAME" stands for the file NAME in /run/ringside for root, and for other users in
 * /run/user/UID/ringside, or in /dev/shm/ringside-UID if the system has not made /run/user/UID. The
 * directory is made with mode 0700 when it is needed; one that others can enter is refused.
 */
#ifndef RINGSIDE_RING_H
#define RINGSIDE_RING_H

#include <ringside/error.h>
#include <ringside/sbuf.h>

/* Memory that two parties can map. */
struct rs_ring_memory {
	void *mem;
	size_t bytes;
	int fd;	    /* -1: anonymous */
	char *path; /* to unlink when unmapped by its maker, or NULL */
};

/* Shared with children of this process only. */
struct rs_error *rs_ring_map_anonymous(size_t bytes, struct rs_ring_memory *memory);

/* A file that must not exist yet, made with these bytes; removed by rs_ring_unmap(). */
struct rs_error *rs_ring_map_create(const char *path, size_t bytes, struct rs_ring_memory *memory);

/* A file or device that exists, whole; it stays. bytes 0 means the file's size. RS_FAILED: others
 * can write to it, or it is a link. */
struct rs_error *rs_ring_map_existing(const char *path, size_t bytes,
				      struct rs_ring_memory *memory);

void rs_ring_unmap(struct rs_ring_memory *memory);

/* The purposes that ACRN numbers (acrn_common.h: sbuf ids); element sizes and modes are facts of
 * each. */
struct rs_ring_purpose {
	uint32_t id;
	const char *name;
	uint32_t ele_size;
	bool per_cpu; /* else one per VM */
};
enum {
	RS_PURPOSE_TRACE = 0,
	RS_PURPOSE_LOG = 1,
	RS_PURPOSE_SEP = 2,
	RS_PURPOSE_SOCWATCH = 3,
	RS_PURPOSE_ASYNCIO = 64,
	RS_PURPOSE_VM_EVENT = 65,
};

/* NULL: no such purpose. */
const struct rs_ring_purpose *rs_ring_purpose(uint32_t id);

/* Rings by purpose and CPU (or VM), as a hypervisor keeps them. Does not own the memory. */
struct rs_ring_table;
struct rs_error *rs_ring_table_create(uint32_t cpus, struct rs_ring_table **table);
void rs_ring_table_destroy(struct rs_ring_table *table);
/* Gives a ring to a place, NULL takes it away. RS_USAGE: no such purpose or CPU, or the ring's
 * element size is not the purpose's. */
struct rs_error *rs_ring_table_set(struct rs_ring_table *table, uint32_t purpose, uint32_t cpu,
				   struct rs_sbuf *ring);
/* NULL where there is none. One acquire load; pairs with the release in set. */
struct rs_sbuf *rs_ring_table_get(const struct rs_ring_table *table, uint32_t purpose,
				  uint32_t cpu);

#endif
