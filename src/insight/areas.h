/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memory areas of a Linux process (VMAs), as /proc/PID/maps has them. Kernels since 6.1 keep
 * them in a maple tree (lib/maple_tree.c), those before in a list. Areas are believed if they
 * ascend, are of the process, lie where the tree says, and are as many as the process counts. What
 * the list's areas say of their own addresses, no second place confirms.
 */
#ifndef RS_INSIGHT_AREAS_H
#define RS_INSIGHT_AREAS_H

#include "insight/task.h"

#define RS_AREAS_MAX	  (1u << 20)
#define RS_AREA_NAME_MAX  4096u /* PATH_MAX */
#define RS_AREA_DEPTH_MAX 256u	/* folders of a path */

struct rs_linux_area {
	uint64_t start, end;
	uint64_t flags;	 /* vm_flags */
	uint64_t offset; /* in the file, in bytes */
	uint64_t file;	 /* the struct file; 0: none */
	uint64_t ops, private_data;
};

struct rs_linux_areas {
	struct rs_linux_area *areas; /* by address */
	uint32_t n;
	uint64_t mm, heap_from, heap_to, stack;
};

/* Reads all areas of a task. Returns RS_USAGE if it has no memory of its own, RS_DAMAGED if one is
 * not believed. */
struct rs_error *rs_linux_areas_read(struct rs_linux *kernel, const struct rs_linux_task *task,
				     struct rs_linux_areas *areas);
void rs_linux_areas_deinit(struct rs_linux_areas *areas);

/* Writes what an area is of: its file's path, with " (deleted)" behind that if it has no name any
 * more, "[heap]", "[stack]", "[vdso]"; "" of memory without a name. name has RS_AREA_NAME_MAX
 * bytes. */
struct rs_error *rs_linux_area_name(struct rs_linux *kernel, const struct rs_linux_areas *areas,
				    const struct rs_linux_area *area, char *name);

/* Writes an area's rights: "r-xp". */
void rs_linux_area_rights(const struct rs_linux_area *area, char rights[5]);

#endif
