/* SPDX-License-Identifier: BSD-2-Clause */
/* Copies the memory of a guest's kernel, by a walk of its page tables. */
#include "insight/image.h"

#include <stdlib.h>
#include <string.h>

#define PAGE_BYTES  UINT64_C(4096)
#define TABLE_SLOTS 512u
#define LARGE_BYTES (UINT64_C(2) << 20)
#define CR0_PG	    (UINT64_C(1) << 31)
#define CR4_LA57    (UINT64_C(1) << 12)
#define EFER_LMA    (UINT64_C(1) << 10)
#define ENTRY_P	    UINT64_C(1)
#define ENTRY_PS    UINT64_C(0x80)
#define ADDRESS	    UINT64_C(0x000ffffffffff000)

/* The indexes of the area's first address in the upper tables. */
#define TOP_SLOT    511u
#define MIDDLE_SLOT 510u

struct copying {
	struct rs_memory *memory;
	struct rs_image *image;
	uint64_t room;
	uint64_t table[TABLE_SLOTS]; /* the lowest */
};

static bool entry_at(struct rs_memory *memory, uint64_t table, uint32_t slot, uint64_t *entry)
{
	return !rs_memory_read_phys(memory, (table & ADDRESS) + slot * 8, entry, 8) &&
	       *entry & ENTRY_P;
}

/* Makes room for more bytes. Returns NULL, with `room` unchanged, if there is no memory. */
static uint8_t *room_for(struct copying *c, uint64_t bytes)
{
	uint64_t room = c->room ? c->room : 16 << 20;
	uint8_t *data;

	if (c->image->bytes + bytes <= c->room)
		return c->image->data + c->image->bytes;
	while (room < c->image->bytes + bytes)
		room *= 2;
	data = realloc(c->image->data, room);
	if (!data)
		return NULL;
	c->image->data = data;
	c->room = room;
	return data + c->image->bytes;
}

/* Appends pages. Skips pages that are not RAM, as if they were not mapped. */
static struct rs_error *append(struct copying *c, uint64_t gva, uint64_t gpa, uint64_t bytes)
{
	struct rs_image *image = c->image;
	struct rs_image_run *run = image->n_runs ? &image->runs[image->n_runs - 1] : NULL;
	uint8_t *to;

	if (image->bytes + bytes > RS_IMAGE_BYTES_MAX ||
	    (image->n_runs == RS_IMAGE_RUNS_MAX && run->gva + run->bytes != gva)) {
		image->is_cut = true;
		return NULL;
	}
	to = room_for(c, bytes);
	if (!to)
		return rs_error_no_memory();
	if (rs_memory_read_phys(c->memory, gpa, to, bytes))
		return NULL;
	if (!run || run->gva + run->bytes != gva) {
		run = &image->runs[image->n_runs++];
		*run = (struct rs_image_run){ .gva = gva, .offset = image->bytes };
	}
	run->bytes += bytes;
	image->bytes += bytes;
	return NULL;
}

static struct rs_error *copy_table(struct copying *c, uint64_t gva, uint64_t entry)
{
	struct rs_error *err = NULL;

	if (rs_memory_read_phys(c->memory, entry & ADDRESS, c->table, sizeof(c->table)))
		return NULL;
	for (uint32_t i = 0; i < TABLE_SLOTS && !err && !c->image->is_cut; i++)
		if (c->table[i] & ENTRY_P)
			err = append(c, gva + i * PAGE_BYTES, c->table[i] & ADDRESS, PAGE_BYTES);
	return err;
}

static struct rs_error *copy_all(struct copying *c, uint64_t directory)
{
	struct rs_error *err = NULL;
	uint64_t entry;

	for (uint32_t i = 0; i < TABLE_SLOTS && !err && !c->image->is_cut; i++) {
		uint64_t gva = RS_IMAGE_FROM + i * LARGE_BYTES;

		if (!entry_at(c->memory, directory, i, &entry))
			continue;
		if (entry & ENTRY_PS)
			err = append(c, gva, entry & ADDRESS & ~(LARGE_BYTES - 1), LARGE_BYTES);
		else
			err = copy_table(c, gva, entry);
	}
	return err;
}

/* Returns the table of a root's entries for the kernel's addresses, or 0 if there is none. */
static uint64_t directory_of(struct rs_memory *memory, uint64_t root)
{
	uint64_t entry = root;

	if ((memory->paging.cr4 & CR4_LA57 && !entry_at(memory, entry, TOP_SLOT, &entry)) ||
	    !entry_at(memory, entry, TOP_SLOT, &entry) ||
	    !entry_at(memory, entry, MIDDLE_SLOT, &entry) || entry & ENTRY_PS)
		return 0;
	return entry & ADDRESS;
}

static bool has_user_entries(struct rs_memory *memory, uint64_t root)
{
	uint64_t entries[TABLE_SLOTS / 2];

	if (rs_memory_read_phys(memory, root, entries, sizeof(entries)))
		return true;
	for (uint32_t i = 0; i < TABLE_SLOTS / 2; i++)
		if (entries[i])
			return true;
	return false;
}

uint32_t rs_image_roots(struct rs_memory *memory, uint64_t from, uint64_t to, uint64_t *roots,
			uint32_t max)
{
	uint64_t directories[RS_IMAGE_ROOTS_MAX], directory;
	uint32_t n = 0;

	max = max < RS_IMAGE_ROOTS_MAX ? max : RS_IMAGE_ROOTS_MAX;
	for (uint64_t root = from; root < to && n < max; root += PAGE_BYTES) {
		uint32_t same = 0;

		directory = directory_of(memory, root);
		while (directory && same < n && directories[same] != directory)
			same++;
		if (!directory || same < n || has_user_entries(memory, root))
			continue;
		directories[n] = directory;
		roots[n++] = root;
	}
	return n;
}

struct rs_error *rs_image_copy(struct rs_memory *memory, struct rs_image *out)
{
	struct rs_image image = { 0 };
	struct copying *c;
	struct rs_error *err = NULL;
	uint64_t directory;

	if (!(memory->paging.cr0 & CR0_PG) || !(memory->paging.efer & EFER_LMA))
		return rs_error_create(RS_USAGE, "the processor is not in 64-bit mode with paging");
	directory = directory_of(memory, memory->paging.cr3);
	if (!directory)
		return rs_error_create(
			RS_USAGE, "the page tables map nothing at the addresses of Linux's kernel");
	c = malloc(sizeof(*c));
	if (!c)
		return rs_error_no_memory();
	*c = (struct copying){ .memory = memory, .image = &image };
	err = copy_all(c, directory);
	if (!err && !image.n_runs)
		err = rs_error_create(
			RS_USAGE, "the page tables map no RAM at the addresses of Linux's kernel");
	free(c);
	if (err)
		rs_image_deinit(&image);
	else
		*out = image;
	return err;
}

void rs_image_deinit(struct rs_image *image)
{
	free(image->data);
	*image = (struct rs_image){ 0 };
}

static const struct rs_image_run *run_of(const struct rs_image *image, uint64_t gva)
{
	for (uint32_t i = 0; i < image->n_runs; i++)
		if (gva >= image->runs[i].gva && gva - image->runs[i].gva < image->runs[i].bytes)
			return &image->runs[i];
	return NULL;
}

const uint8_t *rs_image_at(const struct rs_image *image, uint64_t gva, uint64_t bytes)
{
	const struct rs_image_run *run = run_of(image, gva);

	return run && bytes <= run->bytes - (gva - run->gva)
		       ? image->data + run->offset + (gva - run->gva)
		       : NULL;
}

const char *rs_image_text(const struct rs_image *image, uint64_t gva, uint64_t most)
{
	const struct rs_image_run *run = run_of(image, gva);
	uint64_t left = run ? run->bytes - (gva - run->gva) : 0;
	const uint8_t *at = run ? image->data + run->offset + (gva - run->gva) : NULL;

	return run && memchr(at, 0, left < most ? left : most) ? (const char *)at : NULL;
}
