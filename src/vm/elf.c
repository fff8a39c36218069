/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Loads a guest: a static ELF64 at fixed addresses, with virtual addresses equal to physical ones.
 * libelf reads the file's structures; this file checks their content against the file's size and
 * the VM's memory before it loads a byte. The file is read, never mapped, so that a file that
 * shrinks meanwhile causes an error, not SIGBUS.
 */
#include "vm/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ringside/guest_abi.h>
#include <ringside/vmm.h>

#define SEGMENTS_MAX	64u
#define SYMBOLS_MAX	(1u << 20)
#define EXPORTS_SECTION "rs_exports"
#define AREA_SYMBOL	"rs_guest_area"

struct loader {
	struct rs_vm *vm;
	struct rs_vm_image *image;
	int fd;
	uint64_t file_bytes;
	Elf *elf;
};

static struct rs_error *bad(const char *what)
{
	return rs_error_create(RS_DAMAGED, "%s", what);
}

static struct rs_error *header_check(struct loader *l)
{
	GElf_Ehdr header;

	if (elf_kind(l->elf) != ELF_K_ELF || !gelf_getehdr(l->elf, &header))
		return rs_error_create(RS_USAGE, "not an ELF file");
	if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
	    header.e_machine != EM_X86_64)
		return rs_error_create(RS_USAGE, "not a guest for x86-64");
	if (header.e_type != ET_EXEC)
		return rs_error_create(RS_USAGE, "not a guest: it must be linked statically, at a "
						 "fixed address (see guest.ld)");
	l->image->entry = header.e_entry;
	return NULL;
}

/* ---- segments ----------------------------------------------------------------------------- */

static struct rs_error *read_exactly(int fd, uint8_t *to, uint64_t bytes, uint64_t offset)
{
	while (bytes) {
		ssize_t n = pread(fd, to, bytes, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return rs_error_errno(errno, "offset %llu", (unsigned long long)offset);
		if (n == 0)
			return bad("the file ends within a segment");
		to += n;
		offset += (uint64_t)n;
		bytes -= (uint64_t)n;
	}
	return NULL;
}

static struct rs_error *segment_load(struct loader *l, const GElf_Phdr *p)
{
	uint64_t memory = l->vm->options.memory_bytes;

	if (p->p_filesz > p->p_memsz)
		return bad("a segment has more bytes in the file than in memory");
	if (p->p_offset > l->file_bytes || p->p_filesz > l->file_bytes - p->p_offset)
		return bad("a segment reaches past the end of the file");
	if (p->p_vaddr != p->p_paddr || p->p_paddr < RS_VM_IMAGE_GPA)
		return rs_error_create(
			RS_USAGE,
			"a segment at 0x%llx: guests must be linked at 0x%llx or "
			"above, with equal virtual and physical addresses (see guest.ld)",
			(unsigned long long)p->p_paddr, (unsigned long long)RS_VM_IMAGE_GPA);
	if (p->p_memsz > memory || p->p_paddr > memory - p->p_memsz)
		return rs_error_create(RS_USAGE,
				       "a segment of %llu bytes at 0x%llx does not fit in %llu "
				       "MiB of memory",
				       (unsigned long long)p->p_memsz,
				       (unsigned long long)p->p_paddr,
				       (unsigned long long)(memory >> 20));
	if (p->p_paddr + p->p_memsz > l->image->end)
		l->image->end = p->p_paddr + p->p_memsz;
	l->image->bytes += p->p_memsz;
	/* The rest of the segment is zero: the VM's memory is new. */
	return read_exactly(l->fd, l->vm->memory + p->p_paddr, p->p_filesz, p->p_offset);
}

static struct rs_error *segments_load(struct loader *l)
{
	size_t n;
	bool entry_in_code = false;
	struct rs_error *err = NULL;

	if (elf_getphdrnum(l->elf, &n) != 0 || n > SEGMENTS_MAX)
		return bad("the program headers are invalid");
	for (size_t i = 0; i < n && !err; i++) {
		GElf_Phdr p;

		if (!gelf_getphdr(l->elf, (int)i, &p))
			return bad("the program headers reach past the end of the file");
		if (p.p_type == PT_INTERP || p.p_type == PT_DYNAMIC)
			return rs_error_create(
				RS_USAGE, "linked dynamically; a guest must be linked statically");
		if (p.p_type != PT_LOAD || !p.p_memsz)
			continue;
		err = segment_load(l, &p);
		if ((p.p_flags & PF_X) && l->image->entry >= p.p_vaddr &&
		    l->image->entry - p.p_vaddr < p.p_filesz)
			entry_in_code = true;
	}
	if (!err && !entry_in_code)
		return bad("the entry point is outside the loaded code");
	return err;
}

/* ---- the guest's exports ------------------------------------------------------------------ */

/* Reads a name: a C identifier that is not too long. Returns false if it is invalid. */
static bool name_read(const struct rs_vm *vm, uint64_t gpa, char *to)
{
	for (uint32_t i = 0; i < RS_KIT_NAME_MAX; i++) {
		if (!rs_vm_read(vm, gpa + i, &to[i], 1))
			return false;
		if (!to[i])
			return i > 0;
		if (to[i] <= ' ' || to[i] > '~')
			return false;
	}
	return false;
}

static bool types_valid(const struct rs_kit_export *entry)
{
	if (entry->n_args > RS_KIT_ARGS_MAX || entry->result < RS_KIT_VOID ||
	    entry->result > RS_KIT_BYTES)
		return false;
	for (uint32_t i = 0; i < entry->n_args; i++) {
		if (entry->params[i] < RS_KIT_INT || entry->params[i] > RS_KIT_BYTES)
			return false;
	}
	return true;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(((const struct rs_vm_export *)a)->name,
		      ((const struct rs_vm_export *)b)->name);
}

static struct rs_error *exports_read(struct loader *l, uint64_t gpa, uint64_t bytes)
{
	uint64_t n = bytes / sizeof(struct rs_kit_export);

	if (bytes % sizeof(struct rs_kit_export) || n > RS_KIT_EXPORTS_MAX || l->image->exports)
		return bad("the table of exported functions (rs_exports) is invalid");
	l->image->exports = calloc(n ? n : 1, sizeof(*l->image->exports));
	if (!l->image->exports)
		return rs_error_no_memory();
	for (uint64_t i = 0; i < n; i++) {
		struct rs_vm_export *export = &l->image->exports[i];
		struct rs_kit_export entry;

		if (!rs_vm_read(l->vm, gpa + i * sizeof(entry), &entry, sizeof(entry)) ||
		    !name_read(l->vm, (uintptr_t)entry.name, export->name) || !types_valid(&entry))
			return bad("an exported function (rs_exports) is invalid, or of another "
				   "version of the kit");
		export->index = (uint32_t)i;
		export->n_args = entry.n_args;
		export->result = entry.result;
		memcpy(export->params, entry.params, sizeof(export->params));
	}
	qsort(l->image->exports, n, sizeof(*l->image->exports), compare_names);
	l->image->n_exports = (uint32_t)n;
	return NULL;
}

static void symbols_read(struct loader *l, Elf_Scn *section, const GElf_Shdr *header)
{
	Elf_Data *data = elf_getdata(section, NULL);
	uint64_t n = header->sh_entsize ? header->sh_size / header->sh_entsize : 0;

	if (!data || n > SYMBOLS_MAX)
		return;
	for (uint64_t i = 0; i < n; i++) {
		GElf_Sym symbol;
		const char *name;

		if (!gelf_getsym(data, (int)i, &symbol))
			return;
		name = elf_strptr(l->elf, header->sh_link, symbol.st_name);
		if (name && !strcmp(name, AREA_SYMBOL) &&
		    symbol.st_size >= sizeof(struct rs_guest_area))
			l->image->trace_area = symbol.st_value;
	}
}

static struct rs_error *sections_read(struct loader *l)
{
	struct rs_error *err = NULL;
	Elf_Scn *section = NULL;
	size_t names;

	if (elf_getshdrstrndx(l->elf, &names) != 0)
		return bad("the section headers are invalid");
	while ((section = elf_nextscn(l->elf, section)) && !err) {
		GElf_Shdr header;
		const char *name;

		if (!gelf_getshdr(section, &header))
			return bad("the section headers are invalid");
		name = elf_strptr(l->elf, names, header.sh_name);
		if (header.sh_type == SHT_SYMTAB)
			symbols_read(l, section, &header);
		if (name && !strcmp(name, EXPORTS_SECTION) && (header.sh_flags & SHF_ALLOC))
			err = exports_read(l, header.sh_addr, header.sh_size);
	}
	if (!err && !l->image->exports)
		return rs_error_create(
			RS_USAGE, "not a guest: it exports no function (no section " EXPORTS_SECTION
				  "; see ringside/kit.h)");
	return err;
}

static struct rs_error *image_read(struct loader *l, const char *path)
{
	struct stat status;
	struct rs_error *err;

	if (fstat(l->fd, &status) < 0)
		return rs_error_errno(errno, "stat");
	if (!S_ISREG(status.st_mode))
		return rs_error_create(RS_USAGE, "not a regular file");
	l->file_bytes = (uint64_t)status.st_size;
	if (elf_version(EV_CURRENT) == EV_NONE)
		return rs_error_create(RS_ABSENT, "this libelf is too old");
	l->elf = elf_begin(l->fd, ELF_C_READ, NULL);
	if (!l->elf)
		return rs_error_create(RS_USAGE, "not an ELF file: %s", elf_errmsg(-1));
	l->image->path = strdup(path);
	if (!l->image->path)
		return rs_error_no_memory();
	err = header_check(l);
	if (!err)
		err = segments_load(l);
	if (!err)
		err = sections_read(l);
	return err;
}

struct rs_error *rs_vm_image_load(struct rs_vm *vm, const char *path, struct rs_vm_image *out)
{
	struct rs_vm_image image = { 0 };
	struct loader l = { .vm = vm, .image = &image };
	struct rs_error *err;

	l.fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (l.fd < 0)
		return rs_error_errno(errno, "%s", path);
	err = image_read(&l, path);
	elf_end(l.elf);
	close(l.fd);
	if (err) {
		rs_vm_image_deinit(&image);
		return rs_error_wrap(err, "%s", path);
	}
	*out = image;
	return NULL;
}

void rs_vm_image_deinit(struct rs_vm_image *image)
{
	free(image->path);
	free(image->exports);
	*image = (struct rs_vm_image){ 0 };
}

struct rs_error *rs_vm_load(struct rs_vm *vm, const char *path)
{
	RS_SPAN(vm, "load guest");
	struct rs_error *err;

	if (vm->image.path)
		return rs_error_create(RS_USAGE, "the VM already has a guest: %s", vm->image.path);
	err = rs_vm_image_load(vm, path, &vm->image);
	if (err) {
		RS_LOG(ERROR, "%s", rs_error_text(err));
		return err;
	}
	RS_LOG(INFO, "image %s: %llu bytes, entry 0x%llx", path,
	       (unsigned long long)vm->image.bytes, (unsigned long long)vm->image.entry);
	RS_EMIT_EVENT_TEXT(vm_load, path, strlen(path), .entry = vm->image.entry,
			   .size = vm->image.bytes);
	return NULL;
}
