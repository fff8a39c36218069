/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A copy of what a guest's page tables map where Linux for x86-64 has its kernel: the last 2 GiB
 * but the modules, __START_KERNEL_map and KERNEL_IMAGE_SIZE (arch/x86/include/asm/page_64_types.h).
 *
 * Pages that follow each other there are one run. Each byte is copied once, so that what is checked
 * is what is used. The tables are the guest's and are not trusted: at most RS_IMAGE_BYTES_MAX are
 * copied, of at most RS_IMAGE_RUNS_MAX runs.
 */
#ifndef RS_INSIGHT_IMAGE_H
#define RS_INSIGHT_IMAGE_H

#include <ringside/error.h>

#include "introspect/memory.h"

#define RS_IMAGE_FROM	   UINT64_C(0xffffffff80000000)
#define RS_IMAGE_TO	   UINT64_C(0xffffffffc0000000)
#define RS_IMAGE_BYTES_MAX (UINT64_C(128) << 20)
#define RS_IMAGE_RUNS_MAX  64u

struct rs_image_run {
	uint64_t gva, bytes, offset; /* its place in the copy */
};

struct rs_image {
	uint8_t *data;
	uint64_t bytes;
	struct rs_image_run runs[RS_IMAGE_RUNS_MAX];
	uint32_t n_runs;
};

/* Copies what memory's paging maps. Returns RS_USAGE if the processor is not in long mode, or if
 * the tables map nothing there or more than the limits. */
struct rs_error *rs_image_copy(struct rs_memory *memory, struct rs_image *image);
void rs_image_deinit(struct rs_image *image);

/* Returns bytes of the copy at an address; NULL if not all of them are of one run. */
const uint8_t *rs_image_at(const struct rs_image *image, uint64_t gva, uint64_t bytes);
/* Returns a text in the copy, if it ends within `most` bytes; else NULL. */
const char *rs_image_text(const struct rs_image *image, uint64_t gva, uint64_t most);

#endif
