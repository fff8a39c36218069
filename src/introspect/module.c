/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens a binary and its debug file, and checks that it is the expected one. */
#include "introspect/module.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "introspect/binary.h"
#include "introspect/debug_file.h"

/* Compares the binary with an identity, which may be a build-id or a hash. */
static struct rs_error *check(const struct rs_elf_file *file, const char *place,
			      const char *expected)
{
	char build_id[RS_BUILD_ID_TEXT_MAX];
	struct rs_binary binary;
	struct rs_error *err;

	rs_elf_build_id(file, build_id);
	if (!expected || (*build_id && !strcasecmp(expected, build_id)))
		return NULL;
	err = rs_binary_read(&binary, "guest", place);
	if (err || !strcasecmp(expected, binary.hash))
		return err;
	if (*build_id)
		return rs_error_create(RS_USAGE,
				       "%s is another binary: expected %s, its build-id is %s and "
				       "its hash (%s) is %s",
				       place, expected, build_id, binary.trace.hash_name,
				       binary.hash);
	return rs_error_create(RS_USAGE,
			       "%s is another binary: expected %s, its hash (%s) is %s and it has "
			       "no build-id",
			       place, expected, binary.trace.hash_name, binary.hash);
}

/* Finds the extent of the segments. */
static struct rs_error *place_segments(struct rs_module *m, const char *path)
{
	size_t n = 0;
	GElf_Phdr p;

	m->lo = UINT64_MAX;
	if (elf_getphdrnum(m->file.elf, &n))
		n = 0;
	for (size_t i = 0; i < n && gelf_getphdr(m->file.elf, (int)i, &p); i++) {
		uint64_t lo = p.p_vaddr + m->load, hi = lo + p.p_memsz;

		if (p.p_type != PT_LOAD || !p.p_memsz)
			continue;
		if (hi < lo || lo < m->load)
			return rs_error_create(RS_USAGE,
					       "%s at 0x%llx: a segment lies beyond the last "
					       "address",
					       path, (unsigned long long)m->load);
		m->lo = lo < m->lo ? lo : m->lo;
		m->hi = hi > m->hi ? hi : m->hi;
	}
	if (m->lo > m->hi)
		return rs_error_create(RS_DAMAGED, "%s has no segment to load", path);
	return NULL;
}

/* Reads the tables of the files. The debug file's tables are more complete, if it exists. CFI is in
 * a loaded section, or with the other DWARF. */
static struct rs_error *read_tables(struct rs_module *m)
{
	bool separate = m->debug.elf != NULL;
	struct rs_error *err = NULL;

	if (separate)
		err = rs_functions_read(&m->debug, &m->functions);
	if (!err && !m->functions.n)
		err = rs_functions_read(&m->file, &m->functions);
	if (!err && separate)
		err = rs_dwarf_open(&m->debug, m->other.elf ? &m->other : NULL, &m->dwarf);
	if (!err && !m->dwarf)
		err = rs_dwarf_open(&m->file, m->other.elf ? &m->other : NULL, &m->dwarf);
	if (!err)
		err = rs_cfi_read(&m->file, true, &m->eh_frame);
	if (!err && separate)
		err = rs_cfi_read(&m->debug, false, &m->debug_frame);
	if (!err && !m->debug_frame.n)
		err = rs_cfi_read(&m->file, false, &m->debug_frame);
	return err;
}

static bool has_dwarf(const struct rs_elf_file *file)
{
	GElf_Shdr head;

	return rs_elf_section(file, ".debug_info", &head) != NULL;
}

static struct rs_error *open_file(struct rs_module *m, const char *symfs, const char *path,
				  const char *expected)
{
	char place[PATH_MAX], other[PATH_MAX];
	const char *found = place;
	struct rs_error *err;

	if (!rs_symfs_path(symfs, path, place))
		return rs_error_create(RS_USAGE, "%s: the path is too long", path);
	err = rs_elf_file_open(place, &m->file);
	if (err && expected && rs_binary_by_id(symfs, expected, other)) {
		rs_error_free(err);
		found = other;
		err = rs_elf_file_open(found, &m->file);
	}
	if (!err)
		err = check(&m->file, found, expected);
	return err;
}

/* The source of a binary: a file, or its content if bytes is not NULL. */
struct source {
	const char *path, *expected;
	const void *bytes;
	uint64_t size;
};

static struct rs_error *create(const char *symfs, const struct source *from, uint64_t load,
			       struct rs_module **module)
{
	const char *path = from->path, *slash = strrchr(path, '/');
	struct rs_module *m = calloc(1, sizeof(*m));
	struct rs_error *err = NULL;

	if (m)
		m->name = strdup(slash && slash[1] ? slash + 1 : path);
	if (!m || !m->name)
		err = rs_error_no_memory();
	if (!err)
		m->load = load;
	if (!err)
		err = from->bytes ? rs_elf_file_of_bytes(path, from->bytes, from->size, &m->file)
				  : open_file(m, symfs, path, from->expected);
	if (!err && !has_dwarf(&m->file))
		rs_debug_file_open(symfs, from->bytes ? NULL : path, &m->file, &m->debug);
	if (!err)
		rs_debug_other_open(symfs, m->debug.elf ? &m->debug : &m->file, &m->other);
	if (!err)
		err = place_segments(m, path);
	if (!err)
		err = read_tables(m);
	if (err) {
		rs_module_destroy(m);
		return err;
	}
	*module = m;
	return NULL;
}

struct rs_error *rs_module_create(const char *symfs, const char *path, const char *expected,
				  uint64_t load, struct rs_module **module)
{
	return create(symfs, &(struct source){ .path = path, .expected = expected }, load, module);
}

struct rs_error *rs_module_create_bytes(const char *symfs, const char *path, const void *bytes,
					uint64_t size, uint64_t load, struct rs_module **module)
{
	return create(symfs, &(struct source){ .path = path, .bytes = bytes, .size = size }, load,
		      module);
}

void rs_module_destroy(struct rs_module *m)
{
	if (!m)
		return;
	for (uint32_t i = 0; i < RS_MODULE_SYMBOLS_KEPT; i++)
		free(m->symbols[i].name);
	rs_cfi_deinit(&m->debug_frame);
	rs_cfi_deinit(&m->eh_frame);
	rs_dwarf_close(m->dwarf);
	rs_functions_deinit(&m->functions);
	rs_elf_file_close(&m->other);
	rs_elf_file_close(&m->debug);
	rs_elf_file_close(&m->file);
	free(m->name);
	free(m);
}

bool rs_module_is_code(const struct rs_module *m, uint64_t address)
{
	uint64_t at = address - m->load;
	size_t n = 0;
	GElf_Phdr p;

	if (elf_getphdrnum(m->file.elf, &n))
		return false;
	for (size_t i = 0; i < n && gelf_getphdr(m->file.elf, (int)i, &p); i++) {
		if (p.p_type == PT_LOAD && p.p_flags & PF_X && at >= p.p_vaddr &&
		    at - p.p_vaddr < p.p_memsz)
			return true;
	}
	return false;
}

enum rs_cfi_found rs_module_cfi(const struct rs_module *m, uint64_t address, struct rs_cfi_row *row)
{
	enum rs_cfi_found found = rs_cfi_find(&m->eh_frame, address - m->load, row);

	return found == RS_CFI_NONE ? rs_cfi_find(&m->debug_frame, address - m->load, row) : found;
}

/* ---- variables ------------------------------------------------------------------------------ */

static bool symbol_in(const struct rs_elf_file *file, const char *section, const char *name,
		      uint64_t *address)
{
	GElf_Shdr head;
	Elf_Scn *scn = file->elf ? rs_elf_section(file, section, &head) : NULL;
	Elf_Data *data = scn ? elf_getdata(scn, NULL) : NULL;
	GElf_Sym sym;

	for (int i = 0; data && i < INT_MAX && gelf_getsym(data, i, &sym); i++) {
		const char *own;

		if (sym.st_shndx == SHN_UNDEF || GELF_ST_TYPE(sym.st_info) != STT_OBJECT)
			continue;
		own = elf_strptr(file->elf, head.sh_link, sym.st_name);
		if (own && !strcmp(own, name)) {
			*address = sym.st_value;
			return true;
		}
	}
	return false;
}

bool rs_module_symbol(struct rs_module *m, const char *name, uint64_t *address)
{
	struct rs_module_symbol *kept;
	uint64_t at;

	for (uint32_t i = 0; i < RS_MODULE_SYMBOLS_KEPT && m->symbols[i].name; i++) {
		if (!strcmp(m->symbols[i].name, name)) {
			*address = m->symbols[i].address + m->load;
			return true;
		}
	}
	if (!symbol_in(&m->file, ".symtab", name, &at) &&
	    !symbol_in(&m->file, ".dynsym", name, &at) &&
	    !symbol_in(&m->debug, ".symtab", name, &at))
		return false;
	kept = &m->symbols[m->n_symbols++ % RS_MODULE_SYMBOLS_KEPT];
	free(kept->name);
	*kept = (struct rs_module_symbol){ strdup(name), at };
	*address = at + m->load;
	return true;
}
