/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads symbol tables. */
#include "introspect/functions.h"

#include <stdlib.h>
#include <string.h>

#include "base/vector.h"
#include "introspect/demangle.h"

const char *rs_function_name(struct rs_arena *names, const char *symbol)
{
	char name[RS_FUNCTION_NAME_MAX];

	rs_demangle(symbol, name, sizeof(name));
	return rs_arena_text(names, name, strlen(name));
}

#define RANK_SIZED 16u /* higher than all other ranks: the symbol has a size */

/* Returns the rank of a symbol, 0 if it is not code. Of several names of one address, the one with
 * the highest rank is shown. Labels in assembler have no type; they are code if their section
 * is. */
static uint32_t rank_of(const GElf_Sym *symbol, const GElf_Shdr *section)
{
	uint8_t type = GELF_ST_TYPE(symbol->st_info), bind = GELF_ST_BIND(symbol->st_info);
	uint32_t rank = type == STT_FUNC || type == STT_GNU_IFUNC ? 8 : type == STT_NOTYPE ? 4 : 0;

	if (!rank || !(section->sh_flags & SHF_EXECINSTR))
		return 0;
	return rank + (bind == STB_GLOBAL ? 2 : bind == STB_WEAK ? 1 : 0);
}

static struct rs_error *add(struct rs_functions *functions, const char *name,
			    const GElf_Sym *symbol, const GElf_Shdr *section, uint32_t rank)
{
	uint64_t end = section->sh_addr + section->sh_size;
	struct rs_range range = { .lo = symbol->st_value, .item = (uint32_t)functions->n };

	if (functions->n == UINT32_MAX ||
	    !RS_VECTOR_RESERVE(functions->at, functions->room, functions->n + 1))
		return rs_error_no_memory();
	/* A symbol without a size extends to the next one, which is known after all were read. */
	range.hi = symbol->st_size ? symbol->st_value + symbol->st_size : end;
	range.rank = rank + (symbol->st_size ? RANK_SIZED : 0);
	functions->at[functions->n++] = (struct rs_function){ name, NULL, symbol->st_value };
	return rs_ranges_add(&functions->ranges, range) ? NULL : rs_error_no_memory();
}

static struct rs_error *read_table(const struct rs_elf_file *file, Elf_Scn *table,
				   const GElf_Shdr *head, struct rs_functions *functions)
{
	Elf_Data *data = elf_getdata(table, NULL);
	size_t n = head->sh_entsize ? head->sh_size / head->sh_entsize : 0;
	struct rs_error *err = NULL;
	GElf_Sym symbol;

	for (size_t i = 0; !err && data && i < n && i < INT32_MAX; i++) {
		GElf_Shdr section;
		const char *name;
		uint32_t rank;

		if (!gelf_getsym(data, (int)i, &symbol))
			break;
		if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx >= SHN_LORESERVE ||
		    !gelf_getshdr(elf_getscn(file->elf, symbol.st_shndx), &section))
			continue;
		name = elf_strptr(file->elf, head->sh_link, symbol.st_name);
		rank = rank_of(&symbol, &section);
		if (name && *name && rank)
			err = add(functions, name, &symbol, &section, rank);
	}
	return err;
}

static struct rs_error *read_tables(const struct rs_elf_file *file, uint32_t type,
				    struct rs_functions *functions)
{
	struct rs_error *err = NULL;
	Elf_Scn *section = NULL;
	GElf_Shdr head;

	while (!err && (section = elf_nextscn(file->elf, section)) &&
	       gelf_getshdr(section, &head)) {
		if (head.sh_type == type)
			err = read_table(file, section, &head, functions);
	}
	return err;
}

static int by_beginning(const void *a, const void *b)
{
	const struct rs_range *one = a, *other = b;

	return (one->lo > other->lo) - (one->lo < other->lo);
}

/* Ends each symbol without a size at the next one. Omits a symbol inside a function that has a
 * size, since it is a label there. */
static void end_at_next(struct rs_ranges *ranges)
{
	uint64_t next = UINT64_MAX, covered = 0;

	if (ranges->n)
		qsort(ranges->at, ranges->n, sizeof(*ranges->at), by_beginning);
	for (size_t i = ranges->n; i--;) {
		if (i + 1 < ranges->n && ranges->at[i + 1].lo > ranges->at[i].lo)
			next = ranges->at[i + 1].lo;
		if (ranges->at[i].rank < RANK_SIZED && ranges->at[i].hi > next)
			ranges->at[i].hi = next;
	}
	for (size_t i = 0; i < ranges->n; i++) {
		if (ranges->at[i].rank >= RANK_SIZED && ranges->at[i].hi > covered)
			covered = ranges->at[i].hi;
		else if (ranges->at[i].rank < RANK_SIZED && ranges->at[i].lo < covered)
			ranges->at[i].hi = ranges->at[i].lo;
	}
}

struct rs_error *rs_functions_read(const struct rs_elf_file *file, struct rs_functions *functions)
{
	struct rs_error *err = read_tables(file, SHT_SYMTAB, functions);

	if (!err && !functions->n)
		err = read_tables(file, SHT_DYNSYM, functions);
	if (err)
		return err;
	end_at_next(&functions->ranges);
	return rs_ranges_flatten(&functions->ranges) ? NULL : rs_error_no_memory();
}

void rs_functions_deinit(struct rs_functions *functions)
{
	free(functions->at);
	rs_ranges_deinit(&functions->ranges);
	rs_arena_deinit(&functions->names);
	*functions = (struct rs_functions){ 0 };
}

bool rs_functions_find(struct rs_functions *functions, uint64_t address, const char **name,
		       uint64_t *begin)
{
	const struct rs_range *range = rs_ranges_find(&functions->ranges, address);
	struct rs_function *f = range ? &functions->at[range->item] : NULL;

	if (!f)
		return false;
	if (!f->name)
		f->name = rs_function_name(&functions->names, f->symbol);
	*name = f->name;
	*begin = f->address;
	return true;
}
