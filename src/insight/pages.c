/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads files from a guest's page cache. */
#include "insight/pages.h"

#include <inttypes.h>
#include <stdlib.h>

#define PAGE_BITS   12u
#define PAGE_BYTES  (1u << PAGE_BITS)
#define CHUNK_BITS  6u /* XA_CHUNK_SHIFT of include/linux/xarray.h; also the constants below */
#define CHUNK_SLOTS (1u << CHUNK_BITS)
#define SHIFT_MAX   60u
/* An entry with bit 0 set is a value: the page was evicted. An entry with only bit 1 set is
 * internal: up to SIBLING_MAX the number of another slot, from NODE_MIN on a node. */
#define ENTRY_TAGS    3u
#define ENTRY_NODE    2u
#define SIBLING_MAX   ((CHUNK_SLOTS - 1) << 2 | ENTRY_NODE)
#define NODE_MIN      4096u
#define FOLIO_PAGES   (1u << 18)		   /* pages of a folio, at most: 1 GiB */
#define VMEMMAP_FIXED UINT64_C(0xffffea0000000000) /* without CONFIG_RANDOMIZE_MEMORY */

struct cache {
	struct rs_linux *kernel;
	uint64_t mapping, root, vmemmap;
	uint32_t page_bytes;
};

static struct rs_error *word(struct rs_linux *kernel, uint64_t gva, uint64_t *value)
{
	return rs_linux_bytes(kernel, gva, value, sizeof(*value));
}

/* Finds the address of the array of struct page, and the size of its elements. */
static struct rs_error *array_find(struct rs_linux *kernel, uint64_t *from, uint32_t *bytes)
{
	struct rs_ksym base;

	*from = VMEMMAP_FIXED;
	*bytes = kernel->fields.struct_bytes[RS_STRUCT_PAGE];
	if (!*bytes)
		return rs_error_create(RS_USAGE, "this kernel has no struct page");
	return rs_kallsyms_by_name(kernel->symbols, "vmemmap_base", &base)
		       ? word(kernel, base.address, from)
		       : NULL;
}

struct rs_error *rs_linux_page_gpa(struct rs_linux *kernel, uint64_t page, uint64_t *gpa)
{
	uint64_t from = 0;
	uint32_t bytes = 0;
	struct rs_error *err = array_find(kernel, &from, &bytes);

	if (!err && (page < from || (page - from) % bytes))
		err = rs_error_create(RS_DAMAGED, "there is no struct page at 0x%" PRIx64, page);
	if (!err)
		*gpa = (page - from) / bytes << PAGE_BITS;
	return err;
}

struct rs_error *rs_linux_file_read(struct rs_linux *kernel, uint64_t file,
				    struct rs_linux_file *out)
{
	uint64_t mapping = 0, inode = 0, back = 0, bytes = 0;
	struct rs_error *err = rs_linux_read(kernel, file, RS_FIELD_FILE_MAPPING, &mapping);

	if (!err)
		err = rs_linux_read(kernel, mapping, RS_FIELD_MAPPING_HOST, &inode);
	if (!err)
		err = rs_linux_read(kernel, inode, RS_FIELD_INODE_MAPPING, &back);
	if (!err)
		err = rs_linux_read(kernel, inode, RS_FIELD_INODE_SIZE, &bytes);
	if (!err && back != mapping)
		err = rs_error_create(RS_DAMAGED, "the file's inode belongs to another file");
	if (!err)
		*out = (struct rs_linux_file){ mapping, bytes };
	return err;
}

/* ---- the tree ------------------------------------------------------------------------------- */

/* Reads a slot of a node, which must belong to this mapping and be below `parent`. */
static struct rs_error *slot_read(struct cache *c, uint64_t node, uint64_t parent, uint64_t index,
				  uint64_t *shift, uint64_t *entry)
{
	const struct rs_btf_member *slots = &c->kernel->fields.fields[RS_FIELD_XA_SLOTS].member;
	uint64_t above = 0, array = 0, slot;
	struct rs_error *err = rs_linux_read(c->kernel, node, RS_FIELD_XA_SHIFT, shift);

	if (!err)
		err = rs_linux_read(c->kernel, node, RS_FIELD_XA_PARENT, &above);
	if (!err)
		err = rs_linux_read(c->kernel, node, RS_FIELD_XA_ARRAY, &array);
	if (err)
		return err;
	/* The root is i_pages.xa_head, after the lock and the flags of i_pages. */
	if (above != parent || array <= c->mapping || array > c->root || *shift > SHIFT_MAX ||
	    *shift % CHUNK_BITS)
		return rs_error_create(
			RS_DAMAGED,
			"the page cache's node at 0x%" PRIx64 " belongs to another tree", node);
	if (!parent && index >> *shift >> CHUNK_BITS) {
		*entry = 0;
		return NULL;
	}
	slot = index >> *shift & (CHUNK_SLOTS - 1);
	err = word(c->kernel, node + slots->offset + slot * 8, entry);
	if (!err && (*entry & ENTRY_TAGS) == ENTRY_NODE && *entry <= SIBLING_MAX)
		err = word(c->kernel, node + slots->offset + (*entry >> 2) * 8, entry);
	return err;
}

/* Finds the folio of a page. *folio is 0 if the page is not in memory. */
static struct rs_error *folio_find(struct cache *c, uint64_t index, uint64_t *folio)
{
	uint64_t entry = 0, parent = 0, shift = 0, last = SHIFT_MAX + CHUNK_BITS;
	struct rs_error *err = word(c->kernel, c->root, &entry);
	bool first = true;

	while (!err && (entry & ENTRY_TAGS) == ENTRY_NODE && entry >= NODE_MIN) {
		uint64_t node = entry & ~(uint64_t)ENTRY_TAGS;

		err = slot_read(c, node, parent, index, &shift, &entry);
		if (!err && !first && shift + CHUNK_BITS != last)
			err = rs_error_create(RS_DAMAGED, "the page cache's tree does not descend");
		parent = node;
		last = shift;
		first = false;
	}
	if (first && index)
		entry = 0; /* a tree of one page has no node */
	*folio = entry & ENTRY_TAGS ? 0 : entry;
	return err;
}

static struct rs_error *page_find(struct cache *c, uint64_t index, uint64_t *gpa)
{
	bool has_folio = c->kernel->fields.fields[RS_FIELD_FOLIO_MAPPING].found;
	uint64_t folio = 0, mapping = 0, first = 0;
	struct rs_error *err = folio_find(c, index, &folio);

	if (err)
		return err;
	if (!folio)
		return rs_error_create(RS_USAGE, "page %" PRIu64 " of the file is not in memory",
				       index);
	err = rs_linux_read(c->kernel, folio,
			    has_folio ? RS_FIELD_FOLIO_MAPPING : RS_FIELD_PAGE_MAPPING, &mapping);
	if (!err)
		err = rs_linux_read(c->kernel, folio,
				    has_folio ? RS_FIELD_FOLIO_INDEX : RS_FIELD_PAGE_INDEX, &first);
	if (err)
		return err;
	if (mapping != c->mapping || index < first || index - first >= FOLIO_PAGES ||
	    folio < c->vmemmap || (folio - c->vmemmap) % c->page_bytes)
		return rs_error_create(
			RS_DAMAGED, "page %" PRIu64 " of the file belongs to another file", index);
	*gpa = ((folio - c->vmemmap) / c->page_bytes + index - first) << PAGE_BITS;
	return NULL;
}

/* ---- the content ---------------------------------------------------------------------------- */

static struct rs_error *cache_open(struct rs_linux *kernel, const struct rs_linux_file *file,
				   struct cache *c)
{
	static const enum rs_field_id needed[] = { RS_FIELD_MAPPING_ROOT, RS_FIELD_XA_SHIFT,
						   RS_FIELD_XA_PARENT, RS_FIELD_XA_ARRAY,
						   RS_FIELD_XA_SLOTS };
	struct rs_error *err = rs_linux_need(kernel, needed, sizeof(needed) / sizeof(needed[0]));

	*c = (struct cache){ .kernel = kernel, .mapping = file->mapping };
	c->root = file->mapping + kernel->fields.fields[RS_FIELD_MAPPING_ROOT].member.offset;
	if (!err && kernel->fields.fields[RS_FIELD_XA_SLOTS].member.elements != CHUNK_SLOTS)
		err = rs_error_create(RS_USAGE, "this kernel's page cache has an unknown format");
	return err ? err : array_find(kernel, &c->vmemmap, &c->page_bytes);
}

struct rs_error *rs_linux_file_copy(struct rs_linux *kernel, const struct rs_linux_file *file,
				    uint64_t bytes, uint8_t **out)
{
	struct cache c;
	struct rs_error *err = cache_open(kernel, file, &c);
	uint8_t *copy = NULL;

	if (!err && (!bytes || bytes > file->bytes || bytes > RS_FILE_BYTES_MAX))
		err = rs_error_create(RS_USAGE, "the file has %" PRIu64 " bytes", file->bytes);
	if (!err && !(copy = malloc(bytes)))
		err = rs_error_no_memory();
	for (uint64_t at = 0; !err && at < bytes; at += PAGE_BYTES) {
		uint64_t left = bytes - at, gpa = 0;

		err = page_find(&c, at >> PAGE_BITS, &gpa);
		if (!err && rs_memory_read_phys(&kernel->memory, gpa, copy + at,
						left < PAGE_BYTES ? left : PAGE_BYTES))
			err = rs_error_create(RS_DAMAGED,
					      "page %" PRIu64
					      " of the file is not in the guest's RAM",
					      at >> PAGE_BITS);
	}
	if (err)
		free(copy);
	else
		*out = copy;
	return err;
}
