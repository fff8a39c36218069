/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Prints what introspection reports about a process:
 *
 * introspect_stacks [--symfs DIR] unwind CORE [FILE...] the stack in an ELF core, as if a guest had
 * stopped there. The process's mappings are found through page tables that this program makes up.
 * With FILEs, symbols are read of those alone. introspect_stacks [--symfs DIR] lookup FILE EXPECTED
 * LOAD ADDRESS... addresses of a binary; EXPECTED is an identity, "-", or "content": its content is
 * read, as from a guest's memory
 *
 * A line for each frame: address, "cfi", "fp" or "in" (inlined), function, offset, file:line,
 * module, with tabs between them. An error is printed as "error: MESSAGE".
 */
#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/procfs.h>
#include <sys/stat.h>
#include <sys/user.h>
#include <unistd.h>

#include <ringside/record.h>

#include "introspect/symbols.h"
#include "introspect/unwind.h"

#define TABLES	   (UINT64_C(1) << 51) /* guest-physical; below it, physical equals virtual */
#define PAGE	   4096u
#define TABLE_BITS 9u
#define PRESENT	   UINT64_C(1)
#define LARGE	   UINT64_C(0x80)

static const uint8_t *core;
static size_t core_bytes;

static void fail(struct rs_error *err)
{
	printf("error: %s\n", rs_error_text(err));
	exit(1);
}

static bool read_core(uint64_t address, void *buf, size_t bytes)
{
	const Elf64_Ehdr *head = (const void *)core;
	const Elf64_Phdr *p = (const void *)(core + head->e_phoff);

	for (uint32_t i = 0; i < head->e_phnum; i++, p++) {
		uint64_t at = address - p->p_vaddr;

		if (p->p_type != PT_LOAD || address < p->p_vaddr || at >= p->p_filesz ||
		    bytes > p->p_filesz - at)
			continue;
		memcpy(buf, core + p->p_offset + at, bytes);
		return true;
	}
	return false;
}

/*
 * Tables for the lower half: the first points to one table for each 512 GiB, with pages of 1 GiB.
 */
static bool read_physical(void *ctx, uint64_t gpa, void *buf, size_t bytes)
{
	uint64_t index = (gpa & (PAGE - 1)) / 8, table = (gpa - TABLES) / PAGE, entry;

	(void)ctx;
	if (gpa < TABLES)
		return read_core(gpa, buf, bytes);
	if (!table)
		entry = index < 256 ? (TABLES + (index + 1) * PAGE) | PRESENT : 0;
	else
		entry = ((table - 1) << 39 | index << 30) | PRESENT | LARGE;
	memcpy(buf, &entry, bytes);
	return true;
}

static const void *note(uint32_t type, size_t *bytes)
{
	const Elf64_Ehdr *head = (const void *)core;
	const Elf64_Phdr *p = (const void *)(core + head->e_phoff);

	for (uint32_t i = 0; i < head->e_phnum; i++, p++) {
		for (uint64_t at = 0; p->p_type == PT_NOTE && at < p->p_filesz;) {
			const Elf64_Nhdr *n = (const void *)(core + p->p_offset + at);
			uint64_t name = (n->n_namesz + 3u) & ~3u;

			if (n->n_type == type) {
				*bytes = n->n_descsz;
				return (const uint8_t *)(n + 1) + name;
			}
			at += sizeof(*n) + name + ((n->n_descsz + 3u) & ~3u);
		}
	}
	return NULL;
}

static struct rs_x86_regs registers(void)
{
	size_t bytes;
	const struct elf_prstatus *status = note(NT_PRSTATUS, &bytes);
	struct user_regs_struct r;

	memcpy(&r, &status->pr_reg, sizeof(r));
	return (struct rs_x86_regs){ .gpr = { r.rax, r.rbx, r.rcx, r.rdx, r.rsi, r.rdi, r.rbp,
					      r.rsp, r.r8, r.r9, r.r10, r.r11, r.r12, r.r13, r.r14,
					      r.r15 },
				     .rip = r.rip };
}

static bool wanted(const char *name, char **files, int n)
{
	for (int i = 0; i < n; i++) {
		if (!strcmp(files[i], name))
			return true;
	}
	return !n;
}

/* Adds the files whose beginnings are mapped: NT_FILE, Linux's fs/binfmt_elf.c. */
static void add_files(struct rs_symbols *set, char **files, int n_files)
{
	size_t bytes;
	const uint64_t *at = note(NT_FILE, &bytes);
	uint64_t n = at[0];
	const char *name = (const char *)(at + 2 + 3 * n);

	for (uint64_t i = 0; i < n; i++, name += strlen(name) + 1) {
		const uint64_t *mapping = at + 2 + 3 * i;
		Elf64_Ehdr head;
		struct rs_error *err;
		int fd = mapping[2] ? -1 : open(name, O_RDONLY);

		if (fd < 0)
			continue;
		if (read(fd, &head, sizeof(head)) == sizeof(head) &&
		    !memcmp(head.e_ident, ELFMAG, SELFMAG) && wanted(name, files, n_files)) {
			err = rs_symbols_add(set, name, NULL,
					     head.e_type == ET_DYN ? mapping[0] : 0);
			if (err)
				fail(err);
		}
		close(fd);
	}
}

static void print_frames(uint64_t address, const char *how, const struct rs_frame *frames,
			 uint32_t n)
{
	static const struct rs_frame none;

	for (uint32_t i = 0; i < (n ? n : 1); i++) {
		const struct rs_frame *f = n ? &frames[i] : &none;

		printf("0x%" PRIx64 "\t%s\t%s\t%" PRIu64 "\t%s:%u\t%s\n", address,
		       f->inlined ? "in" : how, f->function ? f->function : "?", f->offset,
		       f->file ? f->file : "?", f->line, f->module ? f->module : "?");
	}
}

static void unwind(struct rs_symbols *set, const char *path, char **files, int n_files)
{
	static struct rs_memory memory;
	struct rs_paging paging = {
		.cr0 = UINT64_C(1) << 31, .cr3 = TABLES, .cr4 = 1 << 5, .efer = 1 << 10
	};
	struct rs_frame frames[RS_SYMBOL_FRAMES_MAX];
	uint64_t stack[RS_STACK_DEPTH_MAX], by_fp = 0;
	struct rs_x86_regs regs;
	struct stat st;
	uint32_t n;
	int fd = open(path, O_RDONLY);

	if (fd < 0 || fstat(fd, &st))
		exit(2);
	core_bytes = (size_t)st.st_size;
	core = mmap(NULL, core_bytes, PROT_READ, MAP_PRIVATE, fd, 0);
	add_files(set, files, n_files);
	regs = registers();
	memory.read = read_physical;
	rs_memory_stopped(&memory, &paging);
	n = rs_unwind(set, &memory, &regs, stack, RS_STACK_DEPTH_MAX, &by_fp);
	for (uint32_t i = 0; i < n; i++)
		print_frames(stack[i], by_fp >> i & 1 ? "fp" : "cfi", frames,
			     rs_symbols_lookup_stack(set, stack, i, frames, RS_SYMBOL_FRAMES_MAX));
	close(fd);
}

static struct rs_error *content_add(struct rs_symbols *set, const char *path, uint64_t load)
{
	static uint8_t content[1 << 20];
	FILE *file = fopen(path, "rb");
	size_t n = file ? fread(content, 1, sizeof(content), file) : 0;

	if (file)
		fclose(file);
	return rs_symbols_add_bytes(set, path, content, n, load);
}

static void lookup(struct rs_symbols *set, int n, char **arguments)
{
	struct rs_frame frames[RS_SYMBOL_FRAMES_MAX];
	const char *expected = arguments[1];
	uint64_t load = strtoull(arguments[2], NULL, 0);
	struct rs_error *err =
		!strcmp(expected, "content")
			? content_add(set, arguments[0], load)
			: rs_symbols_add(set, arguments[0], strcmp(expected, "-") ? expected : NULL,
					 load);

	if (err)
		fail(err);
	for (int i = 3; i < n; i++) {
		uint64_t address = strtoull(arguments[i], NULL, 0);

		print_frames(address, "cfi", frames,
			     rs_symbols_lookup(set, address, frames, RS_SYMBOL_FRAMES_MAX));
	}
}

int main(int argc, char **argv)
{
	bool symfs = argc > 2 && !strcmp(argv[1], "--symfs");
	struct rs_symbols *set;
	struct rs_error *err = rs_symbols_create(symfs ? argv[2] : NULL, &set);

	argv += symfs ? 3 : 1;
	argc -= symfs ? 3 : 1;
	if (err)
		fail(err);
	if (argc > 1 && !strcmp(argv[0], "unwind"))
		unwind(set, argv[1], argv + 2, argc - 2);
	else if (argc > 3 && !strcmp(argv[0], "lookup"))
		lookup(set, argc - 1, argv + 1);
	else
		return 2;
	rs_symbols_destroy(set);
	return 0;
}
