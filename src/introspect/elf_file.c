/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads an ELF file into memory. */
#include "introspect/elf_file.h"

#include <elfutils/libdwelf.h>
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/hex.h"
#include "introspect/binary.h"

#define FILE_BYTES_MAX (UINT64_C(4) << 30)
/* size of zeroed memory after the copy: a DWARF number has at most 10 bytes, a word 8 */
#define SPARE_BYTES 64u
/* Limit of the sections after decompression, for each byte of the file: compilers' DWARF needs 2 to
 * 5, but zlib could claim 1,032. */
#define INFLATION_MAX	8u
#define INFLATION_SPARE 65536u

static struct rs_error *read_all(FILE *file, const char *path, struct rs_elf_file *to)
{
	struct stat st;

	if (fstat(fileno(file), &st))
		return rs_error_errno(errno, "%s", path);
	if ((uint64_t)st.st_size > FILE_BYTES_MAX)
		return rs_error_create(RS_USAGE, "%s has more than %" PRIu64 " bytes", path,
				       FILE_BYTES_MAX);
	to->bytes = malloc((size_t)st.st_size + SPARE_BYTES);
	if (!to->bytes)
		return rs_error_no_memory();
	to->size = fread(to->bytes, 1, (size_t)st.st_size, file);
	memset(to->bytes + to->size, 0, (size_t)st.st_size - to->size + SPARE_BYTES);
	return ferror(file) ? rs_error_errno(errno, "%s", path) : NULL;
}

/* Returns the size that a section claims to have after decompression, 0 if it is not compressed. */
static uint64_t inflated_bytes(const struct rs_elf_file *file, Elf_Scn *section, size_t names)
{
	const char *name;
	GElf_Shdr head;
	GElf_Chdr compressed;
	uint64_t size;

	if (!gelf_getshdr(section, &head) || head.sh_type == SHT_NOBITS)
		return 0;
	if (head.sh_flags & SHF_COMPRESSED)
		return gelf_getchdr(section, &compressed) ? compressed.ch_size : 0;
	/* GNU's older form: "ZLIB" and a big-endian size, in a section that the name marks. */
	name = elf_strptr(file->elf, names, head.sh_name);
	if (!name || strncmp(name, ".zdebug", 7) != 0 || head.sh_offset > file->size ||
	    file->size - head.sh_offset < 12)
		return 0;
	memcpy(&size, file->bytes + head.sh_offset + 4, sizeof(size));
	return be64toh(size);
}

/* Refuses a file whose sections claim to be much larger than the file: libelf and libdw allocate
 * what they claim. */
static struct rs_error *check_inflation(const struct rs_elf_file *file, const char *path)
{
	uint64_t left = file->size * INFLATION_MAX + INFLATION_SPARE;
	Elf_Scn *section = NULL;
	size_t names;

	if (elf_getshdrstrndx(file->elf, &names))
		return NULL;
	/* The names may be compressed, too. libelf inflates them to read the first one. */
	section = elf_getscn(file->elf, names);
	if (section && inflated_bytes(file, section, SHN_UNDEF) > left)
		goto large;
	section = NULL;
	while ((section = elf_nextscn(file->elf, section))) {
		uint64_t size = inflated_bytes(file, section, names);

		if (size > left)
			goto large;
		left -= size;
	}
	return NULL;
large:
	return rs_error_create(RS_DAMAGED,
			       "%s: its compressed sections claim more than %u times its size",
			       path, INFLATION_MAX);
}

static struct rs_error *check(const struct rs_elf_file *file, const char *path)
{
	GElf_Ehdr head;

	if (!file->elf || elf_kind(file->elf) != ELF_K_ELF || !gelf_getehdr(file->elf, &head))
		return rs_error_create(RS_DAMAGED, "%s is not an ELF file", path);
	if (head.e_machine != EM_X86_64 || head.e_ident[EI_CLASS] != ELFCLASS64 ||
	    head.e_ident[EI_DATA] != ELFDATA2LSB)
		return rs_error_create(RS_USAGE, "%s is not for x86-64", path);
	if (head.e_type != ET_EXEC && head.e_type != ET_DYN)
		return rs_error_create(RS_USAGE, "%s is not linked yet (a relocatable object file)",
				       path);
	return check_inflation(file, path);
}

/* Opens the content that was read, unless the read failed. */
static struct rs_error *finish(struct rs_error *err, const char *path, struct rs_elf_file *file)
{
	if (!err) {
		elf_version(EV_CURRENT);
		file->elf = elf_memory(file->bytes, file->size);
		err = check(file, path);
	}
	if (err)
		rs_elf_file_close(file);
	return err;
}

struct rs_error *rs_elf_file_open(const char *path, struct rs_elf_file *file)
{
	FILE *from = NULL;
	struct rs_error *err = rs_binary_open(path, &from);

	*file = (struct rs_elf_file){ 0 };
	if (err)
		return err;
	err = read_all(from, path, file);
	fclose(from);
	return finish(err, path, file);
}

struct rs_error *rs_elf_file_of_bytes(const char *path, const void *bytes, uint64_t size,
				      struct rs_elf_file *file)
{
	*file = (struct rs_elf_file){ 0 };
	if (size > FILE_BYTES_MAX)
		return rs_error_create(RS_USAGE, "%s has more than %" PRIu64 " bytes", path,
				       FILE_BYTES_MAX);
	file->bytes = malloc(size + SPARE_BYTES);
	if (!file->bytes)
		return rs_error_no_memory();
	memcpy(file->bytes, bytes, size);
	memset(file->bytes + size, 0, SPARE_BYTES);
	file->size = size;
	return finish(NULL, path, file);
}

void rs_elf_file_close(struct rs_elf_file *file)
{
	elf_end(file->elf);
	free(file->bytes);
	*file = (struct rs_elf_file){ 0 };
}

void rs_elf_build_id(const struct rs_elf_file *file, char text[RS_BUILD_ID_TEXT_MAX])
{
	const void *bits = NULL;
	ssize_t n = dwelf_elf_gnu_build_id(file->elf, &bits);

	if (n < 0 || n > (ssize_t)(RS_BUILD_ID_TEXT_MAX / 2 - 1))
		n = 0;
	rs_hex_write(text, bits, (size_t)n);
}

Elf_Scn *rs_elf_section(const struct rs_elf_file *file, const char *name, GElf_Shdr *head)
{
	Elf_Scn *section = NULL;
	size_t names;

	if (elf_getshdrstrndx(file->elf, &names))
		return NULL;
	while ((section = elf_nextscn(file->elf, section)) && gelf_getshdr(section, head)) {
		const char *at = elf_strptr(file->elf, names, head->sh_name);

		if (!at || strcmp(at, name) != 0 || head->sh_type == SHT_NOBITS)
			continue;
		if (head->sh_flags & SHF_COMPRESSED &&
		    (elf_compress(section, 0, 0) < 0 || !gelf_getshdr(section, head)))
			return NULL;
		return section;
	}
	return NULL;
}

const uint8_t *rs_elf_loaded(const struct rs_elf_file *file, uint64_t address, uint64_t n)
{
	size_t count = 0;
	GElf_Phdr p;

	if (elf_getphdrnum(file->elf, &count))
		return NULL;
	for (size_t i = 0; i < count && gelf_getphdr(file->elf, (int)i, &p); i++) {
		uint64_t at = address - p.p_vaddr;

		if (p.p_type == PT_LOAD && address >= p.p_vaddr && at < p.p_filesz &&
		    n <= p.p_filesz - at && p.p_offset <= file->size &&
		    at < file->size - p.p_offset && n <= file->size - p.p_offset - at)
			return (const uint8_t *)file->bytes + p.p_offset + at;
	}
	return NULL;
}
