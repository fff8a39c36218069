/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The RAM of guests whose VMM takes no part: in the memory of a process, or a file that a VMM uses
 * as RAM. Finds the trace areas (guest_abi.h) in it, and where guest-physical addresses are.
 *
 *	open -> scan: each page that is there and begins with the area's magic -> place
 *	     -> layout: which part of the memory is which part of the guest's RAM -> read, write
 *
 * All of it is read and written by system calls on descriptors that open() makes, so no access can
 * fault, and a confined process can do it.
 *
 * An area states its own guest-physical address, so its place shows where the part of RAM lies that
 * contains it. This is accepted only if that part begins where RAM of a machine begins, so that a
 * guest cannot claim memory of its VMM: in a process, at a multiple of 1 GiB at the beginning of a
 * mapping, or in QEMU's layout for PCs, in which RAM from 4 GiB on follows the RAM below 4 GiB. A
 * part that does not contain the area is accepted if exactly one way to place it leads from the
 * address of a ring to the header of a ring of that size.
 */
#ifndef RS_LIVE_GUEST_RAM_H
#define RS_LIVE_GUEST_RAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ringside/error.h>
#include <ringside/guest_abi.h>

#define RS_GUEST_RAM_PARTS_MAX 4

/* A mapping of a process, or a file. */
struct rs_guest_mapping {
	uint64_t at, bytes; /* the address in the process; 0 in a file */
};

struct rs_guest_ram {
	char *path;
	int pid;	   /* 0: a file */
	int memory;	   /* /proc/PID/mem, or the file */
	int maps, pagemap; /* of the process; else -1 */
	struct rs_guest_mapping *mappings;
	size_t n, room;
	bool ended; /* the process is gone */
};

/* Opens the memory of a process, if text is a number, or a regular file. */
struct rs_error *rs_guest_ram_open(const char *text, struct rs_guest_ram *ram);
void rs_guest_ram_close(struct rs_guest_ram *ram);

/* An area's place. */
struct rs_guest_place {
	struct rs_guest_mapping mapping;
	uint64_t at; /* in the memory */
};

/* Calls found() for each place of an area's magic. Sets ram->ended if the process has ended. A
 * scan calls found() at most RS_GUEST_PLACES_MAX times. */
#define RS_GUEST_PLACES_MAX 4096u
struct rs_error *rs_guest_ram_scan(struct rs_guest_ram *ram,
				   void (*found)(void *ctx, const struct rs_guest_place *place),
				   void *ctx);

/* Reads or writes the memory. Returns false if any byte is not there. */
bool rs_guest_ram_read(const struct rs_guest_ram *ram, uint64_t at, void *to, size_t bytes);
bool rs_guest_ram_write(const struct rs_guest_ram *ram, uint64_t at, const void *from,
			size_t bytes);

/* A guest's RAM. One thread adds parts; others may translate meanwhile. */
struct rs_guest_layout {
	struct rs_guest_part {
		uint64_t gpa, bytes, at;
	} parts[RS_GUEST_RAM_PARTS_MAX];
	uint32_t n; /* release, after the part */
};

/* Finds the part of RAM that contains an area. Returns NULL, or why that cannot be its place. */
const char *rs_guest_layout_init(const struct rs_guest_ram *ram, const struct rs_guest_place *place,
				 uint64_t self, struct rs_guest_layout *layout);

/* Adds the part of RAM that contains a ring, if it is missing and can be found. */
void rs_guest_layout_add(const struct rs_guest_ram *ram, const struct rs_guest_place *place,
			 const struct rs_guest_ring *ring, struct rs_guest_layout *layout);

/* Translates a guest-physical range. Returns false if it is not in one known part. */
bool rs_guest_layout_find(const struct rs_guest_layout *layout, uint64_t gpa, size_t bytes,
			  uint64_t *at);

#endif
