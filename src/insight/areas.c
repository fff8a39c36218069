/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the memory areas of a guest's processes. */
#include "insight/areas.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

#define PAGE_BITS 12u
#define VM_READ	  1u /* include/linux/mm.h; also the flags below */
#define VM_WRITE  2u
#define VM_EXEC	  4u
#define VM_SHARED 0x80u /* VM_MAYSHARE, which /proc/PID/maps shows */

/* include/linux/maple_tree.h, lib/maple_tree.c: bits 3 to 6 of a pointer to a node are the node's
 * type. Bits 0 to 1 are 2 for the root (MAPLE_ROOT_NODE), else 0. */
#define NODE_MASK      UINT64_C(0xff)
#define NODE_RESERVED  4096u
#define NODE_TYPE(at)  ((at) >> 3 & 0xf)
#define NODE_DEPTH_MAX 31u /* MAPLE_HEIGHT_MAX */
#define NODES_MAX      (RS_AREAS_MAX / 4)
#define NODE_BYTES     256u
#define ROOT_PARENT    1u

enum node_type { NODE_DENSE, NODE_LEAF_64, NODE_RANGE_64, NODE_ARANGE_64 };

struct reading {
	struct rs_linux *kernel;
	struct rs_linux_areas areas;
	uint64_t nodes, end; /* end of the last area */
};

static uint32_t offset_of(const struct rs_linux *kernel, enum rs_field_id id)
{
	return kernel->fields.fields[id].member.offset;
}

static uint64_t word(const uint8_t *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

/* ---- areas ---------------------------------------------------------------------------------- */

static struct rs_error *area_add(struct reading *r, const struct rs_linux_area *area)
{
	struct rs_linux_areas *areas = &r->areas;

	if (areas->n == RS_AREAS_MAX)
		return rs_error_create(RS_DAMAGED, "there are more than %u areas", RS_AREAS_MAX);
	if (!(areas->n & (areas->n - 1))) { /* doubles at each power of two */
		struct rs_linux_area *more = reallocarray(
			areas->areas, areas->n ? 2 * (size_t)areas->n : 1, sizeof(*more));

		if (!more)
			return rs_error_no_memory();
		areas->areas = more;
	}
	areas->areas[areas->n++] = *area;
	r->end = area->end;
	return NULL;
}

/* Reads the area at an address, and the address of its successor in the list, if there is one. */
static struct rs_error *area_read(struct reading *r, uint64_t gva, struct rs_linux_area *area,
				  uint64_t *next)
{
	struct rs_linux *kernel = r->kernel;
	uint8_t copy[512];
	uint32_t bytes = kernel->fields.struct_bytes[RS_STRUCT_VMA];
	struct rs_error *err;

	if (!bytes || bytes > sizeof(copy))
		return rs_error_create(RS_USAGE, "this kernel's vm_area_struct has %u bytes",
				       bytes);
	err = rs_linux_bytes(kernel, gva, copy, bytes);
	if (err)
		return err;
	*area = (struct rs_linux_area){
		.address = gva,
		.start = rs_linux_value(kernel, copy, bytes, RS_FIELD_VMA_START),
		.end = rs_linux_value(kernel, copy, bytes, RS_FIELD_VMA_END),
		.flags = rs_linux_value(kernel, copy, bytes, RS_FIELD_VMA_FLAGS),
		.file = rs_linux_value(kernel, copy, bytes, RS_FIELD_VMA_FILE),
		.ops = rs_linux_value(kernel, copy, bytes, RS_FIELD_VMA_OPS),
		.private_data = rs_linux_value(kernel, copy, bytes, RS_FIELD_VMA_PRIVATE),
	};
	if (area->file)
		area->offset = rs_linux_value(kernel, copy, bytes, RS_FIELD_VMA_PGOFF) << PAGE_BITS;
	*next = rs_linux_value(kernel, copy, bytes, RS_FIELD_VMA_NEXT);
	if (rs_linux_value(kernel, copy, bytes, RS_FIELD_VMA_MM) != r->areas.mm)
		return rs_error_create(RS_DAMAGED,
				       "the area at 0x%" PRIx64 " belongs to another process", gva);
	if (area->start < r->end || area->end <= area->start)
		return rs_error_create(
			RS_DAMAGED, "the area at 0x%" PRIx64 " does not follow the last area", gva);
	return NULL;
}

struct rs_error *rs_linux_area_read(struct rs_linux *kernel, const struct rs_linux_task *task,
				    uint64_t gva, struct rs_linux_area *area)
{
	struct reading r = { .kernel = kernel, .areas.mm = task->mm };
	uint64_t next;

	return area_read(&r, gva, area, &next);
}

static struct rs_error *list_read(struct reading *r)
{
	uint64_t at = 0, next = 0;
	struct rs_error *err = rs_linux_read(r->kernel, r->areas.mm, RS_FIELD_MM_LIST, &at);

	while (!err && at) {
		struct rs_linux_area area;

		err = area_read(r, at, &area, &next);
		if (!err)
			err = area_add(r, &area);
		at = next;
	}
	return err;
}

/* ---- the tree ------------------------------------------------------------------------------- */

struct node {
	uint64_t gva;
	uint32_t pivots, slots; /* how many */
	bool is_leaf;
	uint64_t pivot[NODE_BYTES / 8], slot[NODE_BYTES / 8];
};

static struct rs_error *entry_read(struct reading *r, uint64_t entry, uint64_t min, uint64_t max)
{
	struct rs_linux_area area;
	uint64_t next;
	struct rs_error *err = area_read(r, entry, &area, &next);

	if (!err && (area.start != min || area.end - 1 != max))
		err = rs_error_create(RS_DAMAGED,
				      "the area at 0x%" PRIx64 " is not at its place in the tree",
				      entry);
	return err ? err : area_add(r, &area);
}

/* Reads a node. Its parent must be the node that led to it. */
static struct rs_error *node_read(struct reading *r, uint64_t at, uint64_t parent,
				  struct node *node)
{
	struct rs_linux *kernel = r->kernel;
	uint32_t type = NODE_TYPE(at);
	enum rs_field_id pivot =
		type == NODE_ARANGE_64 ? RS_FIELD_ARANGE_PIVOT : RS_FIELD_RANGE_PIVOT;
	enum rs_field_id slot = type == NODE_ARANGE_64 ? RS_FIELD_ARANGE_SLOT : RS_FIELD_RANGE_SLOT;
	uint8_t copy[NODE_BYTES];
	struct rs_error *err;

	if ((at & 3) != (parent & ROOT_PARENT ? 2 : 0) || at < NODE_RESERVED ||
	    (type != NODE_LEAF_64 && type != NODE_RANGE_64 && type != NODE_ARANGE_64))
		return rs_error_create(RS_DAMAGED, "the tree has an invalid node 0x%" PRIx64, at);
	if (++r->nodes > NODES_MAX)
		return rs_error_create(RS_DAMAGED, "the tree has more than %u nodes", NODES_MAX);
	node->gva = at & ~NODE_MASK;
	node->is_leaf = type == NODE_LEAF_64;
	node->pivots = kernel->fields.fields[pivot].member.elements;
	node->slots = kernel->fields.fields[slot].member.elements;
	if (!node->pivots || node->slots != node->pivots + 1 ||
	    offset_of(kernel, pivot) + (uint64_t)node->pivots * 8 > NODE_BYTES ||
	    offset_of(kernel, slot) + (uint64_t)node->slots * 8 > NODE_BYTES ||
	    offset_of(kernel, RS_FIELD_RANGE_PARENT) > NODE_BYTES - 8)
		return rs_error_create(
			RS_USAGE, "the maple tree nodes of this kernel have an unknown layout");
	err = rs_linux_bytes(kernel, node->gva, copy, sizeof(copy));
	if (err)
		return err;
	if ((word(copy + offset_of(kernel, RS_FIELD_RANGE_PARENT)) &
	     ~(parent & ROOT_PARENT ? 0 : NODE_MASK)) != parent)
		return rs_error_create(RS_DAMAGED,
				       "the tree's node at 0x%" PRIx64 " has another parent",
				       node->gva);
	memcpy(node->pivot, copy + offset_of(kernel, pivot), (size_t)node->pivots * 8);
	memcpy(node->slot, copy + offset_of(kernel, slot), (size_t)node->slots * 8);
	return NULL;
}

/* Reads the areas of a node from min to max. Its last used slot ends at max; the memory after that
 * slot has other content. */
static struct rs_error *tree_read(struct reading *r, uint64_t at, uint64_t parent, uint64_t min,
				  uint64_t max, uint32_t depth)
{
	struct node node;
	struct rs_error *err = node_read(r, at, parent, &node);

	if (!err && depth == NODE_DEPTH_MAX)
		err = rs_error_create(RS_DAMAGED, "the tree is deeper than %u levels",
				      NODE_DEPTH_MAX);
	for (uint32_t i = 0; !err && i < node.slots; i++) {
		uint64_t last = i < node.pivots && (!i || node.pivot[i]) ? node.pivot[i] : max;

		if (last < min || last > max)
			return rs_error_create(RS_DAMAGED,
					       "the tree's node at 0x%" PRIx64
					       " has pivots out of order",
					       node.gva);
		if (node.slot[i] && node.is_leaf)
			err = entry_read(r, node.slot[i], min, last);
		else if (!node.is_leaf)
			err = tree_read(r, node.slot[i], node.gva, min, last, depth + 1);
		if (last == max)
			break;
		min = last + 1;
	}
	return err;
}

/* ---- all ------------------------------------------------------------------------------------ */

static struct rs_error *layout_check(const struct rs_linux *kernel)
{
	static const enum rs_field_id needed[] = {
		RS_FIELD_MM_COUNT,  RS_FIELD_MM_HEAP_FROM, RS_FIELD_MM_HEAP_TO, RS_FIELD_MM_STACK,
		RS_FIELD_VMA_START, RS_FIELD_VMA_END,	   RS_FIELD_VMA_FLAGS,	RS_FIELD_VMA_PGOFF,
		RS_FIELD_VMA_FILE,  RS_FIELD_VMA_MM,	   RS_FIELD_VMA_OPS,	RS_FIELD_VMA_PRIVATE
	};
	static const enum rs_field_id tree[] = { RS_FIELD_RANGE_PARENT, RS_FIELD_RANGE_PIVOT,
						 RS_FIELD_RANGE_SLOT, RS_FIELD_ARANGE_PIVOT,
						 RS_FIELD_ARANGE_SLOT };
	static const enum rs_field_id list[] = { RS_FIELD_MM_LIST, RS_FIELD_VMA_NEXT };
	struct rs_error *err = rs_linux_need(kernel, needed, sizeof(needed) / sizeof(needed[0]));

	if (err)
		return err;
	if (kernel->fields.fields[RS_FIELD_MM_TREE_ROOT].found)
		return rs_linux_need(kernel, tree, sizeof(tree) / sizeof(tree[0]));
	return rs_linux_need(kernel, list, sizeof(list) / sizeof(list[0]));
}

static struct rs_error *mm_read(struct reading *r)
{
	struct rs_linux_areas *a = &r->areas;
	uint64_t root = 0, count = 0;
	struct rs_error *err = rs_linux_read(r->kernel, a->mm, RS_FIELD_MM_COUNT, &count);

	if (!err)
		err = rs_linux_read(r->kernel, a->mm, RS_FIELD_MM_HEAP_FROM, &a->heap_from);
	if (!err)
		err = rs_linux_read(r->kernel, a->mm, RS_FIELD_MM_HEAP_TO, &a->heap_to);
	if (!err)
		err = rs_linux_read(r->kernel, a->mm, RS_FIELD_MM_STACK, &a->stack);
	if (err)
		return err;
	if (!r->kernel->fields.fields[RS_FIELD_MM_TREE_ROOT].found) {
		err = list_read(r);
	} else {
		err = rs_linux_read(r->kernel, a->mm, RS_FIELD_MM_TREE_ROOT, &root);
		if (!err && root)
			err = tree_read(r, root,
					(a->mm + offset_of(r->kernel, RS_FIELD_MM_TREE)) |
						ROOT_PARENT,
					0, UINT64_MAX, 0);
	}
	if (!err && a->n != count)
		err = rs_error_create(RS_DAMAGED,
				      "%u areas were found, but the process has %" PRIu64, a->n,
				      count);
	return err;
}

struct rs_error *rs_linux_areas_read(struct rs_linux *kernel, const struct rs_linux_task *task,
				     struct rs_linux_areas *areas)
{
	struct reading r = { .kernel = kernel, .areas.mm = task->mm };
	struct rs_error *err = layout_check(kernel);

	if (!err && !task->mm)
		err = rs_error_create(RS_USAGE, "the task has no memory of its own");
	if (!err)
		err = mm_read(&r);
	if (err) {
		rs_linux_areas_deinit(&r.areas);
		return rs_error_wrap(err, "the areas of task %d", task->pid);
	}
	*areas = r.areas;
	return NULL;
}

void rs_linux_areas_deinit(struct rs_linux_areas *areas)
{
	free(areas->areas);
	*areas = (struct rs_linux_areas){ 0 };
}

void rs_linux_area_rights(const struct rs_linux_area *area, char rights[5])
{
	rights[0] = area->flags & VM_READ ? 'r' : '-';
	rights[1] = area->flags & VM_WRITE ? 'w' : '-';
	rights[2] = area->flags & VM_EXEC ? 'x' : '-';
	rights[3] = area->flags & VM_SHARED ? 's' : 'p';
	rights[4] = '\0';
}

/* ---- names ---------------------------------------------------------------------------------- */

/* A path, written from its end. */
struct path {
	char text[RS_AREA_NAME_MAX];
	size_t from;
};

/* Prepends a dentry's name to the path. Its length must be that of its text. Only the name of a
 * file in no folder has slashes. */
static struct rs_error *name_put(struct rs_linux *kernel, uint64_t dentry, bool has_folder,
				 struct path *path)
{
	uint64_t name = 0, length = 0;
	struct rs_error *err = rs_linux_read(kernel, dentry, RS_FIELD_DENTRY_NAME, &name);
	char text[256];

	if (!err)
		err = rs_linux_read(kernel, dentry, RS_FIELD_DENTRY_LEN, &length);
	if (err)
		return err;
	if (rs_memory_read_text(&kernel->memory, name, text, sizeof(text), NULL) || !length ||
	    strlen(text) != length || (has_folder && strchr(text, '/')))
		return rs_error_create(
			RS_DAMAGED, "the name of the dentry at 0x%" PRIx64 " is invalid", dentry);
	if (path->from < length + 1)
		return rs_error_create(RS_DAMAGED, "the path has more than %u bytes",
				       RS_AREA_NAME_MAX);
	path->from -= length;
	memcpy(path->text + path->from, text, length);
	path->text[--path->from] = '/';
	return NULL;
}

/* Moves from the root of a mount to its mount point. Sets *mnt to 0 at the last mount. */
static struct rs_error *mount_leave(struct rs_linux *kernel, uint64_t *mnt, uint64_t *dentry)
{
	uint64_t mount = *mnt - offset_of(kernel, RS_FIELD_MOUNT_MNT), parent = 0, point = 0;
	struct rs_error *err = rs_linux_read(kernel, mount, RS_FIELD_MOUNT_PARENT, &parent);

	if (!err)
		err = rs_linux_read(kernel, mount, RS_FIELD_MOUNT_POINT, &point);
	if (err)
		return err;
	*mnt = parent == mount ? 0 : parent + offset_of(kernel, RS_FIELD_MOUNT_MNT);
	*dentry = point;
	return NULL;
}

static struct rs_error *path_walk(struct rs_linux *kernel, uint64_t mnt, uint64_t dentry,
				  struct path *path)
{
	for (uint32_t depth = 0; depth < RS_AREA_DEPTH_MAX; depth++) {
		uint64_t root = 0, parent = 0;
		struct rs_error *err = rs_linux_read(kernel, mnt, RS_FIELD_VFSMOUNT_ROOT, &root);

		if (!err)
			err = rs_linux_read(kernel, dentry, RS_FIELD_DENTRY_PARENT, &parent);
		if (!err && dentry != root && parent != dentry) {
			err = name_put(kernel, dentry, true, path);
			dentry = parent;
		} else if (!err) {
			err = mount_leave(kernel, &mnt, &dentry);
			if (!err && !mnt)
				return NULL;
		}
		if (err)
			return err;
	}
	return rs_error_create(RS_DAMAGED, "the path has more than %u folders", RS_AREA_DEPTH_MAX);
}

/* Returns whether a file is in no folder, such as shared anonymous memory, which the kernel calls
 * "/dev/zero": its dentry is its own parent, but not the root of its mount (simple_dname() in
 * fs/d_path.c). */
static struct rs_error *folder_lacks(struct rs_linux *kernel, uint64_t mnt, uint64_t dentry,
				     bool *lacks)
{
	uint64_t root = 0, parent = 0;
	struct rs_error *err = rs_linux_read(kernel, mnt, RS_FIELD_VFSMOUNT_ROOT, &root);

	if (!err)
		err = rs_linux_read(kernel, dentry, RS_FIELD_DENTRY_PARENT, &parent);
	*lacks = !err && parent == dentry && root != dentry;
	return err;
}

static struct rs_error *file_name(struct rs_linux *kernel, uint64_t file, char *name)
{
	static const enum rs_field_id needed[] = { RS_FIELD_FILE_DENTRY,   RS_FIELD_FILE_MNT,
						   RS_FIELD_DENTRY_PARENT, RS_FIELD_DENTRY_NAME,
						   RS_FIELD_DENTRY_LEN,	   RS_FIELD_DENTRY_HASH,
						   RS_FIELD_MOUNT_MNT,	   RS_FIELD_VFSMOUNT_ROOT };
	static const char deleted[] = " (deleted)";
	struct path path = { .from = RS_AREA_NAME_MAX - sizeof(deleted) };
	uint64_t dentry = 0, mnt = 0, hashed = 0;
	struct rs_error *err = rs_linux_need(kernel, needed, sizeof(needed) / sizeof(needed[0]));
	bool lacks_folder = false;
	size_t bytes;

	if (!err)
		err = rs_linux_read(kernel, file, RS_FIELD_FILE_DENTRY, &dentry);
	if (!err)
		err = rs_linux_read(kernel, file, RS_FIELD_FILE_MNT, &mnt);
	if (!err)
		err = rs_linux_read(kernel, dentry, RS_FIELD_DENTRY_HASH, &hashed);
	if (!err)
		err = folder_lacks(kernel, mnt, dentry, &lacks_folder);
	if (!err)
		err = lacks_folder ? name_put(kernel, dentry, false, &path)
				   : path_walk(kernel, mnt, dentry, &path);
	if (err)
		return err;
	bytes = RS_AREA_NAME_MAX - sizeof(deleted) - path.from;
	memcpy(name, path.text + path.from, bytes);
	strcpy(name + bytes, hashed && !lacks_folder ? "" : deleted);
	return NULL;
}

/* Sets the name of an area that the kernel maps into each process, such as "[vdso]". */
static struct rs_error *special_name(struct rs_linux *kernel, const struct rs_linux_area *area,
				     char *name)
{
	struct rs_ksym ops;
	uint64_t text = 0;
	struct rs_error *err;

	if (!rs_kallsyms_by_name(kernel->symbols, "special_mapping_vmops", &ops) ||
	    ops.address != area->ops)
		return NULL;
	err = rs_linux_read(kernel, area->private_data, RS_FIELD_SPECIAL_NAME, &text);
	if (!err && (rs_memory_read_text(&kernel->memory, text, name, 32, NULL) || *name != '['))
		err = rs_error_create(RS_DAMAGED, "the name of a special mapping is invalid");
	return err;
}

struct rs_error *rs_linux_area_name(struct rs_linux *kernel, const struct rs_linux_areas *areas,
				    const struct rs_linux_area *area, char *name)
{
	struct rs_error *err;

	*name = '\0';
	err = area->file ? file_name(kernel, area->file, name) : special_name(kernel, area, name);
	if (err || *name) {
		rs_utf8_mend(name, strlen(name));
		return err;
	}
	if (area->start <= areas->heap_to && area->end >= areas->heap_from)
		strcpy(name, "[heap]");
	else if (area->start <= areas->stack && area->end >= areas->stack)
		strcpy(name, "[stack]");
	return NULL;
}
