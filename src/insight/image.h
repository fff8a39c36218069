/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A copy of the memory that a guest's page tables map at the kernel addresses of Linux for x86-64:
 * the last 2 GiB except the modules, __START_KERNEL_map and KERNEL_IMAGE_SIZE
 * (arch/x86/include/asm/page_64_types.h).
 *
 * Adjacent pages form a run. Each byte is copied once, so that the checked bytes are the used
 * bytes. The tables come from the guest and are not trusted: at most RS_IMAGE_BYTES_MAX bytes in
 * RS_IMAGE_RUNS_MAX runs are copied.
 */
#ifndef RS_INSIGHT_IMAGE_H
#define RS_INSIGHT_IMAGE_H

#include <stdbool.h>
#include <ringside/error.h>

#include "introspect/memory.h"

#define RS_IMAGE_FROM	   UINT64_C(0xffffffff80000000)
#define RS_IMAGE_TO	   UINT64_C(0xffffffffc0000000)
#define RS_IMAGE_BYTES_MAX (UINT64_C(128) << 20)
#define RS_IMAGE_RUNS_MAX  64u
#define RS_IMAGE_ROOTS_MAX 8u

struct rs_image_run {
	uint64_t gva, bytes, offset; /* offset in the copy */
};

struct rs_image {
	uint8_t *data;
	uint64_t bytes;
	struct rs_image_run runs[RS_IMAGE_RUNS_MAX];
	uint32_t n_runs;
	bool is_cut; /* the tables map more than the limits */
};

/* Copies the pages that the paging of `memory` maps there, up to the limits: the kernel's own image
 * comes first, and without CONFIG_RANDOMIZE_BASE modules follow it from 0xffffffffa0000000
 * (Documentation/arch/x86/x86_64/mm.rst). Returns RS_USAGE if the processor is not in long mode, or
 * if the tables map no such page. */
struct rs_error *rs_image_copy(struct rs_memory *memory, struct rs_image *image);
void rs_image_deinit(struct rs_image *image);

/*
 * Searches RAM from one address to another for page tables of a kernel: such a root has no entry
 * for user memory, and leads to a table for the kernel's addresses. Of the roots that lead to the
 * same table, only the first is stored. Stores at most `max`, and returns their number. The paging
 * of `memory` has the number of levels. Reads 8 bytes of each page.
 */
uint32_t rs_image_roots(struct rs_memory *memory, uint64_t from, uint64_t to, uint64_t *roots,
			uint32_t max);

/* Returns the copy of bytes at an address, or NULL unless one run contains all of them. */
const uint8_t *rs_image_at(const struct rs_image *image, uint64_t gva, uint64_t bytes);
/* Returns a text in the copy, or NULL unless it ends within `most` bytes. */
const char *rs_image_text(const struct rs_image *image, uint64_t gva, uint64_t most);

#endif
