/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The RAM of guests whose VMM does not support Ringside: in the memory of a process, or in a file
 * that a VMM uses as RAM. Finds the trace areas (guest_abi.h) in it, and the places of
 * guest-physical addresses.
 *
 *	open -> scan: each present page that begins with the area's magic -> place
 *	     -> layout: maps parts of the memory to parts of the guest's RAM -> read, write
 *
 * The memory is read and written by system calls on descriptors that open() creates, so no access
 * can fault, and a confined process can do it.
 *
 * Under KVM the memory slots map each guest-physical address to the VMM's memory. A caller that can
 * read the slots sets them by rs_guest_ram_set_vms(). Then a scan searches only the RAM in them.
 * The next paragraph applies to memories without slots: emulated guests, and files.
 *
 * An area states its own guest-physical address, so its place shows the address of the part of RAM
 * that contains it. This is accepted only if that part begins where RAM of a machine begins, so
 * that a guest cannot claim memory of its VMM: in a process, at a multiple of 1 GiB at the
 * beginning of a mapping, or in QEMU's layout for PCs, in which RAM from 4 GiB on follows the RAM
 * below 4 GiB. A part that does not contain the area is accepted if exactly one way to place it
 * leads from the address of a ring to the header of a ring of that size.
 */
#ifndef RS_HOST_GUEST_RAM_H
#define RS_HOST_GUEST_RAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ringside/error.h>
#include <ringside/guest_abi.h>

/* A part of a guest's RAM. */
struct rs_guest_part {
	uint64_t gpa, bytes;
	uint64_t at; /* in the memory */
	bool read_only;
};

/* A VM of a process, by its memory slots. */
struct rs_guest_vm {
	uint64_t id; /* not 0 */
	struct rs_guest_part *parts;
	uint32_t n;
};

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
	struct rs_guest_vm *vms;
	uint32_t n_vms; /* 0: mappings are searched */
	bool ended;	/* the process has ended */
};

/* Opens the memory of a process, if text is a number, or a regular file. */
struct rs_error *rs_guest_ram_open(const char *text, struct rs_guest_ram *ram);
/* Uses a copy of the descriptor of a regular file. */
struct rs_error *rs_guest_ram_open_fd(int fd, const char *name, struct rs_guest_ram *ram);
void rs_guest_ram_close(struct rs_guest_ram *ram);

/* Sets the process's VMs, for the scans that follow. They are copied, with neighbouring parts
 * joined. */
struct rs_error *rs_guest_ram_set_vms(struct rs_guest_ram *ram, const struct rs_guest_vm *vms,
				      uint32_t n);

/* An area's place. */
struct rs_guest_place {
	struct rs_guest_mapping mapping;
	uint64_t at;  /* in the memory */
	uint64_t vm;  /* the id of the VM whose RAM it is in; 0: a mapping or a file was searched */
	uint64_t gpa; /* of a place in a VM's RAM */
};

/* Calls found() for each place of an area's magic. Sets ram->ended if the process has ended. A
 * scan calls found() at most RS_GUEST_PLACES_MAX times. */
#define RS_GUEST_PLACES_MAX 4096u
struct rs_error *rs_guest_ram_scan(struct rs_guest_ram *ram,
				   void (*found)(void *ctx, const struct rs_guest_place *place),
				   void *ctx);

/* Reads or writes the memory. Returns false if any byte is inaccessible. */
bool rs_guest_ram_read(const struct rs_guest_ram *ram, uint64_t at, void *to, size_t bytes);
bool rs_guest_ram_write(const struct rs_guest_ram *ram, uint64_t at, const void *from,
			size_t bytes);

/* A guest's RAM. Calls for one layout must not overlap, except reads and writes with each other. */
struct rs_guest_layout {
	struct rs_guest_part *parts;
	uint32_t n;
	size_t room;
};

/* Initializes a layout by the part of RAM that contains an area, which states `self` as its own
 * address (0: it states none), or by the slots of its VM. Sets *gpa, the area's address. Returns
 * NULL, or why that cannot be its place. */
const char *rs_guest_layout_init(const struct rs_guest_ram *ram, const struct rs_guest_place *place,
				 uint64_t self, struct rs_guest_layout *layout, uint64_t *gpa);
void rs_guest_layout_deinit(struct rs_guest_layout *layout);

/* Adds the part of RAM that contains a ring, if it is missing and can be found. Returns whether the
 * layout has it. */
bool rs_guest_layout_add(const struct rs_guest_ram *ram, const struct rs_guest_place *place,
			 const struct rs_guest_ring *ring, struct rs_guest_layout *layout);

/* Replaces a layout by the present slots of its VM, if it has any. */
void rs_guest_layout_update(const struct rs_guest_ram *ram, const struct rs_guest_place *place,
			    struct rs_guest_layout *layout);

/* Returns whether a guest-physical range is in the layout. */
bool rs_guest_layout_has(const struct rs_guest_layout *layout, uint64_t gpa, uint64_t bytes);

/* Reads or writes guest-physical memory. Returns false if any byte is not there; a write of several
 * parts may have been done in part then. */
bool rs_guest_layout_read(const struct rs_guest_ram *ram, const struct rs_guest_layout *layout,
			  uint64_t gpa, void *to, size_t bytes);
bool rs_guest_layout_write(const struct rs_guest_ram *ram, const struct rs_guest_layout *layout,
			   uint64_t gpa, const void *from, size_t bytes);

#endif
