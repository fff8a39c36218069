/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memory areas of a Linux process (VMAs), as in /proc/PID/maps. Kernels since 6.1 keep them in
 * a maple tree (lib/maple_tree.c), earlier kernels in a list. Areas are accepted if they ascend,
 * belong to the process, match their ranges in the tree, and their number is the process's count.
 * The addresses of areas in a list are not confirmed by a second place.
 */
#ifndef RS_INSIGHT_AREAS_H
#define RS_INSIGHT_AREAS_H

#include "insight/task.h"

#define RS_AREAS_MAX	  (1u << 20)
#define RS_AREA_NAME_MAX  4096u /* PATH_MAX */
#define RS_AREA_DEPTH_MAX 256u	/* limit of the folders of a path */

struct rs_linux_area {
	uint64_t address; /* address of its vm_area_struct */
	uint64_t start, end;
	uint64_t flags;	 /* vm_flags */
	uint64_t offset; /* offset in the file, in bytes */
	uint64_t file;	 /* the struct file; 0: none */
	uint64_t ops, private_data;
};

struct rs_linux_areas {
	struct rs_linux_area *areas; /* by address */
	uint32_t n;
	uint64_t mm, heap_from, heap_to, stack;
};

/* Reads all areas of a task. Returns RS_USAGE if the task has no own memory, RS_DAMAGED if an area
 * is inconsistent. */
struct rs_error *rs_linux_areas_read(struct rs_linux *kernel, const struct rs_linux_task *task,
				     struct rs_linux_areas *areas);
/* Reads the area whose vm_area_struct is at an address, and which must belong to the task. Nothing
 * confirms its range. */
struct rs_error *rs_linux_area_read(struct rs_linux *kernel, const struct rs_linux_task *task,
				    uint64_t gva, struct rs_linux_area *area);
void rs_linux_areas_deinit(struct rs_linux_areas *areas);

/* Writes an area's name: its file's path, followed by " (deleted)" if the file was removed;
 * "[heap]", "[stack]", "[vdso]"; or "" for memory without a name. '?' stands for bytes that are not
 * printable UTF-8. name has RS_AREA_NAME_MAX bytes. */
struct rs_error *rs_linux_area_name(struct rs_linux *kernel, const struct rs_linux_areas *areas,
				    const struct rs_linux_area *area, char *name);

/* Writes an area's permissions, such as "r-xp". */
void rs_linux_area_rights(const struct rs_linux_area *area, char rights[5]);

#endif
