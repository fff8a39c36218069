/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds where Linux loaded a guest's program, by its ELF file. */
#include "replay/program.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "replay/gdb.h"

/* arch/x86: DEFAULT_MAP_WINDOW (page_64_types.h), ELF_ET_DYN_BASE (elf.h), and mmap_base() of
 * mm/mmap.c with the smallest gap for the stack, which also applies to smaller stack limits, and
 * with the largest gap, for an unlimited stack. */
#define MAP_WINDOW  UINT64_C(0x7ffffffff000)
#define DYN_BASE    (MAP_WINDOW / 3 * 2)
#define GAP_LEAST   (UINT64_C(128) << 20)
#define GAP_MOST    (MAP_WINDOW / 6 * 5)
#define MMAP_TOP    (MAP_WINDOW - GAP_LEAST)
#define MMAP_LOW    (PAGE_OF(MAP_WINDOW - GAP_MOST + PAGE - 1))
#define PAGE	    UINT64_C(4096)
#define PAGE_OF(at) ((at) & ~(PAGE - 1))

#define SEGMENT_MAX    (UINT64_C(256) << 20)
#define ADDRESS_MAX    (UINT64_C(1) << 56)
#define CODE_BYTES     64u
#define ELF_HEAD_BYTES 64u

/* ---- its file ------------------------------------------------------------------------------- */

/* The state of reading the file. */
struct found {
	const char *path;
	int fd;
	Elf *elf;
	bool interpreter, pie, soname;
	uint64_t first, end, align; /* of all loaded segments */
	bool any;
};

static struct rs_error *damaged(const struct found *f, const char *what)
{
	return rs_error_create(RS_DAMAGED, "%s: %s", f->path, what);
}

static struct rs_error *keep(const struct found *f, const GElf_Phdr *part, struct rs_program *p)
{
	struct rs_program_segment *s = &p->segments[p->n_segments];

	if (p->n_segments == RS_PROGRAM_SEGMENTS_MAX)
		return damaged(f, "too many loaded segments");
	if (part->p_filesz > SEGMENT_MAX)
		return damaged(f, "a loaded segment is too long");
	s->address = part->p_vaddr;
	s->bytes = part->p_filesz;
	s->skip = part->p_offset < ELF_HEAD_BYTES ? ELF_HEAD_BYTES - part->p_offset : 0;
	s->data = malloc(part->p_filesz);
	if (!s->data)
		return rs_error_no_memory();
	p->n_segments++;
	for (uint64_t at = 0; at < part->p_filesz;) {
		ssize_t n = pread(f->fd, s->data + at, part->p_filesz - at,
				  (off_t)(part->p_offset + at));

		if (n <= 0)
			return damaged(f, "a loaded segment is not in the file");
		at += (uint64_t)n;
	}
	return NULL;
}

static struct rs_error *add_segment(struct found *f, const GElf_Phdr *part, struct rs_program *p)
{
	if (part->p_vaddr > UINT64_MAX - ADDRESS_MAX) {
		p->kernel = f->any = true;
		return NULL;
	}
	if (part->p_vaddr >= ADDRESS_MAX || part->p_memsz >= ADDRESS_MAX ||
	    part->p_filesz > part->p_memsz || part->p_offset > INT64_MAX - part->p_filesz)
		return damaged(f, "a loaded segment has no valid address");
	if (!f->any)
		f->first = PAGE_OF(part->p_vaddr);
	f->any = true;
	if (part->p_vaddr + part->p_memsz > f->end)
		f->end = part->p_vaddr + part->p_memsz;
	if (part->p_align > f->align && !(part->p_align & (part->p_align - 1)))
		f->align = part->p_align;
	return part->p_flags & PF_W || !part->p_filesz ? NULL : keep(f, part, p);
}

static void read_notes(const struct found *f, const GElf_Phdr *part, struct rs_program *p)
{
	Elf_Data *data = elf_getdata_rawchunk(f->elf, (int64_t)part->p_offset, part->p_filesz,
					      part->p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
	size_t at = 0, next, name, desc;
	GElf_Nhdr head;

	while (data && (next = gelf_getnote(data, at, &head, &name, &desc)) > 0) {
		if (head.n_type == NT_GNU_BUILD_ID && head.n_namesz == 4 && head.n_descsz &&
		    !memcmp((const char *)data->d_buf + name, "GNU", 4)) {
			p->build_id = part->p_vaddr + desc;
			p->build_id_bytes = head.n_descsz;
		}
		at = next;
	}
}

/* Reads whether the file is marked as a program, or has a library's name. */
static void read_dynamic(struct found *f, const GElf_Phdr *part)
{
	Elf_Data *data =
		elf_getdata_rawchunk(f->elf, (int64_t)part->p_offset, part->p_filesz, ELF_T_DYN);
	GElf_Dyn one;

	for (int i = 0; data && gelf_getdyn(data, i, &one) && one.d_tag != DT_NULL; i++) {
		f->pie |= one.d_tag == DT_FLAGS_1 && (one.d_un.d_val & DF_1_PIE);
		f->soname |= one.d_tag == DT_SONAME;
	}
}

static struct rs_error *read_parts(struct found *f, struct rs_program *p)
{
	struct rs_error *err = NULL;
	size_t n = 0;
	GElf_Phdr part;

	if (elf_getphdrnum(f->elf, &n))
		n = 0;
	for (size_t i = 0; !err && i < n && i < INT32_MAX && gelf_getphdr(f->elf, (int)i, &part);
	     i++) {
		f->interpreter |= part.p_type == PT_INTERP;
		if (part.p_type == PT_LOAD)
			err = add_segment(f, &part, p);
		else if (part.p_type == PT_NOTE)
			read_notes(f, &part, p);
		else if (part.p_type == PT_DYNAMIC)
			read_dynamic(f, &part);
	}
	if (!err && !f->any)
		err = rs_error_create(RS_USAGE, "%s is not a program: it has no loaded segment",
				      f->path);
	return err;
}

/* ---- the base ------------------------------------------------------------------------------- */

static void add_base(struct rs_program *p, uint64_t base)
{
	for (uint32_t i = 0; i < p->n_bases; i++)
		if (p->bases[i] == base)
			return;
	p->bases[p->n_bases++] = base;
}

/* Returns whether a file that moves is a library, even if it can be executed, as the C library
 * can. */
static bool is_library(const struct found *f)
{
	return !f->pie && (f->soname || !f->interpreter);
}

/* Computes the bases as load_elf_binary() does. Kernels before 6.10 align a static program only to
 * pages. */
static struct rs_error *find_places(const struct found *f, struct rs_program *p)
{
	uint64_t align = f->align > PAGE ? f->align : PAGE;
	uint64_t size = PAGE_OF(f->end - f->first + PAGE - 1);

	if (is_library(f))
		return NULL;
	if (f->interpreter) {
		add_base(p, PAGE_OF((DYN_BASE & ~(align - 1)) - f->first));
		return NULL;
	}
	if (size >= MMAP_LOW)
		return damaged(f, "it is too long");
	add_base(p, MMAP_TOP - size - f->first);
	add_base(p, MMAP_LOW - size - f->first);
	add_base(p, ((MMAP_TOP - size) & ~(align - 1)) - f->first);
	add_base(p, ((MMAP_LOW - size) & ~(align - 1)) - f->first);
	return NULL;
}

static struct rs_error *read_elf(struct found *f, struct rs_program *p)
{
	struct rs_error *err;
	GElf_Ehdr head;

	if (!f->elf || elf_kind(f->elf) != ELF_K_ELF || !gelf_getehdr(f->elf, &head))
		return rs_error_create(RS_DAMAGED, "%s is not an ELF file", f->path);
	if (head.e_machine != EM_X86_64)
		return rs_error_create(RS_USAGE, "%s is not for x86-64", f->path);
	p->moves = head.e_type == ET_DYN;
	if (p->given && (!p->moves || p->bases[0] != PAGE_OF(p->bases[0])))
		return rs_error_create(RS_USAGE,
				       p->moves ? "%s: its base must be page-aligned"
						: "%s is not position independent and has no base",
				       f->path);
	err = read_parts(f, p);
	/* Execution does not start at the entry of a library with a base. */
	p->entry = p->moves && is_library(f) ? 0 : head.e_entry;
	if (!p->moves || p->kernel)
		p->bases[p->n_bases++] = 0;
	else if (!err && !p->given)
		err = find_places(f, p);
	return err;
}

/* Splits FILE@0xBASE, if no file has that name. */
static struct rs_error *split(const char *path, struct rs_program *p)
{
	char *at, *end;

	p->path = strdup(path);
	if (!p->path)
		return rs_error_no_memory();
	at = strrchr(p->path, '@');
	if (!at || at[1] != '0' || at[2] != 'x' || !at[3] || !access(path, F_OK))
		return NULL;
	errno = 0;
	p->bases[0] = strtoull(at + 1, &end, 16);
	if (*end || errno || p->bases[0] >= ADDRESS_MAX)
		return rs_error_create(RS_USAGE, "%s: FILE@0xBASE needs a valid address", path);
	p->n_bases = 1;
	p->given = true;
	*at = '\0';
	return NULL;
}

struct rs_error *rs_program_read(const char *path, struct rs_program *p)
{
	struct found f = { .fd = -1 };
	struct rs_error *err;

	*p = (struct rs_program){ 0 };
	err = split(path, p);
	f.path = p->path;
	if (!err) {
		f.fd = open(p->path, O_RDONLY | O_CLOEXEC);
		if (f.fd < 0)
			err = rs_error_errno(errno, "%s", p->path);
	}
	if (!err) {
		elf_version(EV_CURRENT);
		f.elf = elf_begin(f.fd, ELF_C_READ, NULL);
		err = read_elf(&f, p);
	}
	if (f.elf)
		elf_end(f.elf);
	if (f.fd >= 0)
		close(f.fd);
	if (err)
		rs_program_deinit(p);
	return err;
}

void rs_program_deinit(struct rs_program *p)
{
	for (uint32_t i = 0; i < p->n_segments; i++)
		free(p->segments[i].data);
	free(p->path);
	*p = (struct rs_program){ 0 };
}

/* ---- detection ------------------------------------------------------------------------------ */

/* The reader of the guest's memory, and the program's base in it. */
struct place {
	uint64_t base;
	rs_program_read_fn *read;
	void *ctx;
};

enum is { SAME, OTHER, NOT_THERE };

/* Compares bytes within one page. */
static enum is compare(const struct place *to, const struct rs_program_segment *s, uint64_t at,
		       uint64_t bytes)
{
	uint8_t there[PAGE];

	if (!to->read(to->ctx, to->base + s->address + at, there, bytes))
		return NOT_THERE;
	return memcmp(there, s->data + at, bytes) != 0 ? OTHER : SAME;
}

static const struct rs_program_segment *segment_of(const struct rs_program *p, uint64_t address)
{
	for (uint32_t i = 0; i < p->n_segments; i++)
		if (address - p->segments[i].address < p->segments[i].bytes)
			return &p->segments[i];
	return NULL;
}

/* Returns how many bytes from `at` on are in the same page and segment, at most `most`. */
static uint64_t in_page(const struct rs_program_segment *s, uint64_t at, uint64_t most)
{
	uint64_t page = PAGE - ((s->address + at) & (PAGE - 1)), left = s->bytes - at;

	most = most < page ? most : page;
	return most < left ? most : left;
}

/* Compares the bytes at an address, across pages. */
static enum is compare_at(const struct rs_program *p, const struct place *to, uint64_t address,
			  uint64_t bytes)
{
	const struct rs_program_segment *s = segment_of(p, address);
	enum is is = NOT_THERE;

	if (!s || bytes > s->bytes - (address - s->address))
		return NOT_THERE;
	for (uint64_t at = address - s->address, left = bytes; left;) {
		uint64_t part = in_page(s, at, left);

		is = compare(to, s, at, part);
		if (is != SAME)
			return is;
		at += part;
		left -= part;
	}
	return is;
}

/* Compares all segments that are in memory; absent pages are ignored. */
static enum is compare_all(const struct rs_program *p, const struct place *to)
{
	enum is all = NOT_THERE;

	for (uint32_t i = 0; i < p->n_segments; i++) {
		const struct rs_program_segment *s = &p->segments[i];

		for (uint64_t at = s->skip; at < s->bytes;) {
			uint64_t part = in_page(s, at, PAGE);
			enum is is = compare(to, s, at, part);

			if (is == OTHER)
				return OTHER;
			all = is == SAME ? SAME : all;
			at += part;
		}
	}
	return all;
}

/* Compares the build-id or, if that is absent, all segments. */
static enum is compare_program(const struct rs_program *p, const struct place *to)
{
	enum is id = p->build_id_bytes ? compare_at(p, to, p->build_id, p->build_id_bytes)
				       : NOT_THERE;

	return id == NOT_THERE ? compare_all(p, to) : id;
}

bool rs_program_is_at(const struct rs_program *p, uint64_t base, uint64_t address,
		      rs_program_read_fn *read, void *ctx)
{
	const struct place to = { base, read, ctx };
	const struct rs_program_segment *code = segment_of(p, address - base);

	/* The page of the executed instruction is present. */
	if (!code || compare(&to, code, address - base - code->address,
			     in_page(code, address - base - code->address, CODE_BYTES)) != SAME)
		return false;
	return compare_program(p, &to) != OTHER;
}

bool rs_program_is_mapped(const struct rs_program *p, uint64_t base, rs_program_read_fn *read,
			  void *ctx)
{
	const struct place to = { base, read, ctx };

	return compare_program(p, &to) == SAME;
}

bool rs_program_is_file(const struct rs_program *p, const uint8_t *first, uint64_t bytes,
			uint64_t start, uint64_t *base)
{
	for (uint32_t i = 0; i < p->n_segments; i++) {
		const struct rs_program_segment *s = &p->segments[i];
		uint64_t n = s->bytes < bytes ? s->bytes : bytes;

		/* The segment with the whole ELF header. */
		if (s->skip != ELF_HEAD_BYTES || n <= s->skip)
			continue;
		*base = start - PAGE_OF(s->address);
		return !memcmp(first + s->skip, s->data + s->skip, n - s->skip);
	}
	return false;
}

static bool read_by_stub(void *ctx, uint64_t gva, void *buf, size_t bytes)
{
	struct rs_error *err = rs_gdb_read(ctx, gva, buf, bytes);
	bool good = !err;

	rs_error_free(err);
	return good;
}

bool rs_program_is_executed(const struct rs_program *p, struct rs_gdb *gdb, uint64_t address,
			    uint64_t *base)
{
	for (uint32_t i = 0; i < p->n_bases; i++) {
		if (!rs_program_is_at(p, p->bases[i], address, read_by_stub, gdb))
			continue;
		*base = p->bases[i];
		return true;
	}
	return false;
}
