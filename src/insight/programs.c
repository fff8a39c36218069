/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the programs that processes of a guest have mapped. */
#include "insight/programs.h"

#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hex.h"
#include "base/vector.h"
#include "insight/pages.h"
#include "introspect/binary.h"
#include "introspect/module.h"

#define VM_EXEC		4u /* include/linux/mm.h */
#define PAGE_MASK	UINT64_C(4095)
#define PAGE_BYTES	4096u
#define SPECIAL_BYTES	65536u /* of [vdso] */
#define HEADERS_MAX	64u
#define MAPPED_CODE_MAX 4096u
#define WAIT_FIRST	8u /* uses of a space before files are searched again; doubles each time */
#define WAIT_MAX	(1u << 20)

/* A range of code that a process has mapped. */
struct code {
	struct rs_linux_area area;
	struct rs_linux_file file;
	char why[RS_PROGRAM_WHY_MAX]; /* why the code is in no binary; empty: it is in one */
};

struct space {
	uint64_t mm;
	struct code *code;
	uint32_t n;
	struct rs_symbols *set;
	uint64_t bytes; /* bytes of its binaries that were copied */
	uint64_t used;	/* time of its last use */
	/* For code in no binary: its file may not have been in the page cache when the process
	 * started. The time of the next search, and its distance to the last. */
	uint64_t again, wait;
};

struct rs_programs {
	struct rs_linux *kernel;
	char *symfs;
	struct space spaces[RS_PROGRAM_SPACES_MAX], *last;
	uint64_t time, bytes; /* bytes of all spaces */
};

struct rs_error *rs_programs_create(struct rs_linux *kernel, const char *symfs,
				    struct rs_programs **out)
{
	struct rs_programs *p = calloc(1, sizeof(*p));

	if (p && symfs)
		p->symfs = strdup(symfs);
	if (!p || (symfs && !p->symfs)) {
		free(p);
		return rs_error_no_memory();
	}
	p->kernel = kernel;
	*out = p;
	return NULL;
}

static void space_deinit(struct rs_programs *p, struct space *space)
{
	p->bytes -= space->bytes;
	rs_symbols_destroy(space->set);
	free(space->code);
	*space = (struct space){ 0 };
}

void rs_programs_destroy(struct rs_programs *p)
{
	if (!p)
		return;
	for (uint32_t i = 0; i < RS_PROGRAM_SPACES_MAX; i++)
		space_deinit(p, &p->spaces[i]);
	free(p->symfs);
	free(p);
}

/* ---- headers -------------------------------------------------------------------------------- */

/* The headers at the beginning of a binary. */
struct headers {
	const uint8_t *bytes;
	uint64_t size;
	Elf64_Ehdr head;
};

static struct rs_error *headers_read(const uint8_t *bytes, uint64_t size, struct headers *h)
{
	h->bytes = bytes;
	h->size = size;
	if (size >= sizeof(h->head))
		memcpy(&h->head, bytes, sizeof(h->head));
	if (size < sizeof(h->head) || memcmp(h->head.e_ident, ELFMAG, SELFMAG) != 0 ||
	    h->head.e_phentsize != sizeof(Elf64_Phdr) || h->head.e_phnum > HEADERS_MAX ||
	    h->head.e_phoff > size ||
	    (uint64_t)h->head.e_phnum * sizeof(Elf64_Phdr) > size - h->head.e_phoff)
		return rs_error_create(RS_DAMAGED, "not an ELF file");
	return NULL;
}

static Elf64_Phdr header_at(const struct headers *h, uint32_t i)
{
	Elf64_Phdr p;

	memcpy(&p, h->bytes + h->head.e_phoff + i * sizeof(p), sizeof(p));
	return p;
}

/* Computes a binary's load address from an area and the segment that the area maps. */
static struct rs_error *load_find(const struct headers *h, const struct rs_linux_area *area,
				  uint64_t *load)
{
	for (uint32_t i = 0; i < h->head.e_phnum; i++) {
		Elf64_Phdr p = header_at(h, i);

		if (p.p_type != PT_LOAD || !(p.p_flags & PF_X) ||
		    area->offset < (p.p_offset & ~PAGE_MASK) ||
		    (area->offset >= p.p_offset && area->offset - p.p_offset >= p.p_filesz))
			continue;
		*load = area->start - (area->offset - p.p_offset + p.p_vaddr);
		return NULL;
	}
	return rs_error_create(RS_DAMAGED, "the mapping matches no segment with code");
}

/* Finds the build-id in the first bytes of a binary. Returns false if it is not there. */
static bool build_id_find(const struct headers *h, char text[RS_HASH_TEXT_BYTES])
{
	for (uint32_t i = 0; i < h->head.e_phnum; i++) {
		Elf64_Phdr p = header_at(h, i);
		uint64_t at = p.p_offset, end = p.p_offset + p.p_filesz;
		Elf64_Nhdr note;

		if (p.p_type != PT_NOTE || p.p_filesz > h->size || p.p_offset > h->size ||
		    end > h->size)
			continue;
		while (end - at >= sizeof(note)) {
			uint64_t name = at + sizeof(note), align = p.p_align == 8 ? 7 : 3, desc;

			memcpy(&note, h->bytes + at, sizeof(note));
			desc = (name + note.n_namesz + align) & ~align;
			if (desc > end || note.n_descsz > end - desc)
				break;
			if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
			    !memcmp(h->bytes + name, "GNU", 4) &&
			    note.n_descsz * 2 < RS_HASH_TEXT_BYTES) {
				rs_hex_write(text, h->bytes + desc, note.n_descsz);
				return true;
			}
			at = (desc + note.n_descsz + align) & ~align;
			if (at > end)
				break;
		}
	}
	return false;
}

/* ---- a binary ------------------------------------------------------------------------------- */

static struct rs_error *special_read(struct rs_programs *p, const struct rs_linux_task *task,
				     const struct rs_linux_area *area, uint8_t **copy,
				     uint64_t *size)
{
	static _Thread_local struct rs_memory memory;
	struct rs_error *err = rs_linux_task_memory(p->kernel, task, &memory);
	uint8_t *bytes;

	*size = area->end - area->start;
	if (err)
		return err;
	if (*size > SPECIAL_BYTES)
		return rs_error_create(RS_USAGE, "the area has no file");
	bytes = malloc(*size);
	if (!bytes)
		return rs_error_no_memory();
	if (rs_memory_read(&memory, area->start, bytes, *size, NULL)) {
		free(bytes);
		return rs_error_create(RS_USAGE, "a page of the area is not in memory");
	}
	*copy = bytes;
	return NULL;
}

/* Adds the file in the folder if its build-id is that in the first page of the guest's file.
 * Returns whether it was added. */
static bool given_add(struct rs_programs *p, const struct code *code, const char *name,
		      struct rs_symbols *set)
{
	char build_id[RS_HASH_TEXT_BYTES];
	struct headers headers;
	uint8_t *bytes = NULL;
	uint64_t load = 0, size = code->file.bytes < PAGE_BYTES ? code->file.bytes : PAGE_BYTES;
	struct rs_error *err = NULL;
	bool found = false;

	/* The guest chooses the name, which must not lead out of the folder. */
	if (!p->symfs || !code->file.mapping || strstr(name, "/../"))
		return false;
	err = rs_linux_file_copy(p->kernel, &code->file, size, &bytes);
	if (!err)
		err = headers_read(bytes, size, &headers);
	if (!err)
		err = load_find(&headers, &code->area, &load);
	if (!err && build_id_find(&headers, build_id)) {
		err = rs_symbols_add(set, name, build_id, load);
		found = !err;
	}
	rs_error_free(err);
	free(bytes);
	return found;
}

static struct rs_error *binary_add(struct rs_programs *p, const struct rs_linux_task *task,
				   const struct code *code, const char *name, struct space *space)
{
	struct headers headers;
	uint8_t *bytes = NULL;
	uint64_t size = code->file.bytes, load = 0;
	struct rs_error *err;

	if (given_add(p, code, name, space->set))
		return NULL;
	if (code->file.mapping && size > RS_PROGRAM_BYTES_MAX - p->bytes)
		return rs_error_create(RS_USAGE, "the programs have more than %" PRIu64 " bytes",
				       RS_PROGRAM_BYTES_MAX);
	if (code->file.mapping)
		err = rs_linux_file_copy(p->kernel, &code->file, size, &bytes);
	else
		err = special_read(p, task, &code->area, &bytes, &size);
	if (err)
		return err;
	err = headers_read(bytes, size, &headers);
	if (!err)
		err = load_find(&headers, &code->area, &load);
	if (!err)
		err = rs_symbols_add_bytes(space->set, name, bytes, size, load);
	free(bytes);
	if (!err) {
		space->bytes += size;
		p->bytes += size;
	}
	return err;
}

/* Adds the binary of a range of code, unless an earlier range belongs to the same binary. */
static struct rs_error *code_add(struct rs_programs *p, const struct rs_linux_task *task,
				 const struct rs_linux_areas *areas, struct space *space,
				 struct code *code)
{
	static _Thread_local char name[RS_AREA_NAME_MAX];
	struct rs_error *err;

	if (rs_symbols_module(space->set, code->area.start))
		return NULL;
	err = rs_linux_area_name(p->kernel, areas, &code->area, name);
	if (err)
		*name = '\0';
	else
		err = binary_add(p, task, code, name, space);
	if (err && rs_error_code(err) == RS_NO_MEMORY)
		return err;
	if (err)
		snprintf(code->why, sizeof(code->why), "%.80s: %.100s",
			 *name ? name : "memory without a file", rs_error_text(err));
	rs_error_free(err);
	return NULL;
}

/* ---- an address space ----------------------------------------------------------------------- */

/* Lists the code that a process has mapped. */
static struct rs_error *code_list(struct rs_programs *p, const struct rs_linux_areas *areas,
				  struct space *space)
{
	uint32_t room = 0;

	for (uint32_t i = 0; i < areas->n; i++) {
		const struct rs_linux_area *area = &areas->areas[i];
		struct code *code;
		struct rs_error *err = NULL;

		if (!(area->flags & VM_EXEC))
			continue;
		if (space->n == MAPPED_CODE_MAX)
			return rs_error_create(RS_USAGE,
					       "the process has more than %u ranges of code",
					       MAPPED_CODE_MAX);
		if (!RS_VECTOR_RESERVE(space->code, room, space->n + 1))
			return rs_error_no_memory();
		code = &space->code[space->n++];
		memset(code, 0, sizeof(*code));
		code->area = *area;
		if (area->file)
			err = rs_linux_file_read(p->kernel, area->file, &code->file);
		if (err)
			snprintf(code->why, sizeof(code->why), "%s", rs_error_text(err));
		rs_error_free(err);
	}
	return NULL;
}

static bool is_same(const struct space *one, const struct space *other)
{
	if (one->mm != other->mm || one->n != other->n)
		return false;
	for (uint32_t i = 0; i < one->n; i++) {
		const struct code *a = &one->code[i], *b = &other->code[i];

		if (a->area.start != b->area.start || a->area.end != b->area.end ||
		    a->area.offset != b->area.offset || a->area.file != b->area.file ||
		    a->file.mapping != b->file.mapping || a->file.bytes != b->file.bytes)
			return false;
	}
	return true;
}

/* Returns the place of a space or, if there is none, that of the least recently used space. */
static struct space *space_place(struct rs_programs *p, uint64_t mm)
{
	struct space *oldest = &p->spaces[0];

	for (uint32_t i = 0; i < RS_PROGRAM_SPACES_MAX; i++) {
		if (p->spaces[i].mm == mm)
			return &p->spaces[i];
		if (p->spaces[i].used < oldest->used)
			oldest = &p->spaces[i];
	}
	return oldest;
}

/* Returns whether it is time to search for missing files again. */
static bool is_due(const struct rs_programs *p, const struct space *space)
{
	for (uint32_t i = 0; i < space->n && p->time >= space->again; i++) {
		if (*space->code[i].why && space->code[i].area.file)
			return true;
	}
	return false;
}

struct rs_error *rs_programs_of(struct rs_programs *p, const struct rs_linux_task *task,
				struct rs_symbols **set)
{
	struct rs_linux_areas areas = { 0 };
	struct space now = { .mm = task->mm }, *place = space_place(p, task->mm);
	struct rs_error *err = rs_linux_areas_read(p->kernel, task, &areas);

	if (!err)
		err = code_list(p, &areas, &now);
	now.wait = WAIT_FIRST;
	if (!err && is_same(&now, place))
		now.wait = place->wait < WAIT_MAX ? place->wait * 2 : WAIT_MAX;
	if (!err && (!is_same(&now, place) || is_due(p, place))) {
		now.again = p->time + now.wait;
		space_deinit(p, place);
		for (uint32_t i = 0;
		     p->bytes > RS_PROGRAM_BYTES_MAX / 2 && i < RS_PROGRAM_SPACES_MAX; i++)
			space_deinit(p, &p->spaces[i]);
		p->last = NULL;
		err = rs_symbols_create(p->symfs, &now.set);
		for (uint32_t i = 0; i < now.n && !err; i++)
			if (!*now.code[i].why)
				err = code_add(p, task, &areas, &now, &now.code[i]);
		if (!err) {
			*place = now;
			now = (struct space){ 0 };
		}
	}
	rs_linux_areas_deinit(&areas);
	space_deinit(p, &now);
	if (err)
		return err;
	place->used = ++p->time;
	p->last = place;
	*set = place->set;
	return NULL;
}

void rs_programs_why(struct rs_programs *p, uint64_t address, char why[RS_PROGRAM_WHY_MAX])
{
	for (uint32_t i = 0; p->last && i < p->last->n; i++) {
		const struct code *code = &p->last->code[i];

		if (address >= code->area.start && address < code->area.end) {
			snprintf(why, RS_PROGRAM_WHY_MAX, "%s",
				 *code->why ? code->why : "the code belongs to no binary");
			return;
		}
	}
	snprintf(why, RS_PROGRAM_WHY_MAX, "0x%" PRIx64 " is not in the code of the process",
		 address);
}
