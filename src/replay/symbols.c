/* SPDX-License-Identifier: BSD-2-Clause */
/* Looks addresses up in the symbol table of a program or kernel. */
#include "replay/symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/vector.h"

#define SYMBOLS_MAX (1u << 20)

static struct rs_error *add(struct rs_symbols *symbols, const GElf_Sym *symbol, const char *name)
{
	struct rs_symbol *at;

	if (symbols->n == SYMBOLS_MAX)
		return rs_error_create(RS_DAMAGED, "more than %u functions", SYMBOLS_MAX);
	if (!RS_VECTOR_RESERVE(symbols->at, symbols->room, symbols->n + 1))
		return rs_error_no_memory();
	at = &symbols->at[symbols->n];
	*at = (struct rs_symbol){ symbol->st_value, symbol->st_size, strdup(name) };
	if (!at->name)
		return rs_error_no_memory();
	symbols->n++;
	return NULL;
}

static struct rs_error *section_symbols(Elf *elf, Elf_Scn *section, const GElf_Shdr *head,
					struct rs_symbols *symbols)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t n = head->sh_entsize ? head->sh_size / head->sh_entsize : 0;
	struct rs_error *err = NULL;
	GElf_Sym symbol;

	for (size_t i = 0; !err && data && i < n && i < INT32_MAX; i++) {
		const char *name;

		if (!gelf_getsym(data, (int)i, &symbol))
			break;
		name = elf_strptr(elf, head->sh_link, symbol.st_name);
		if (name && *name && symbol.st_shndx != SHN_UNDEF &&
		    GELF_ST_TYPE(symbol.st_info) == STT_FUNC)
			err = add(symbols, &symbol, name);
	}
	return err;
}

static int by_address(const void *a, const void *b)
{
	const struct rs_symbol *one = a, *other = b;

	return (one->address > other->address) - (one->address < other->address);
}

static struct rs_error *read_elf(Elf *elf, const char *path, struct rs_symbols *symbols)
{
	Elf_Scn *section = NULL;
	struct rs_error *err = NULL;
	GElf_Ehdr head;
	GElf_Shdr part;

	if (!elf || elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &head))
		return rs_error_create(RS_DAMAGED, "%s is not an ELF file", path);
	if (head.e_machine != EM_X86_64)
		return rs_error_create(RS_USAGE, "%s is not for x86-64", path);
	if (head.e_type != ET_EXEC && head.e_type != ET_DYN)
		return rs_error_create(RS_USAGE, "%s is a part of a program, not linked yet", path);
	while (!err && (section = elf_nextscn(elf, section)) && gelf_getshdr(section, &part)) {
		if (part.sh_type == SHT_SYMTAB)
			err = section_symbols(elf, section, &part, symbols);
	}
	return rs_error_wrap(err, "%s", path);
}

struct rs_error *rs_symbols_read(const char *path, struct rs_symbols *symbols)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct rs_error *err;
	Elf *elf;

	*symbols = (struct rs_symbols){ 0 };
	if (fd < 0)
		return rs_error_errno(errno, "%s", path);
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	err = read_elf(elf, path, symbols);
	if (elf)
		elf_end(elf);
	close(fd);
	if (err)
		rs_symbols_deinit(symbols);
	else if (symbols->n)
		qsort(symbols->at, symbols->n, sizeof(*symbols->at), by_address);
	return err;
}

void rs_symbols_deinit(struct rs_symbols *symbols)
{
	for (uint32_t i = 0; i < symbols->n; i++)
		free(symbols->at[i].name);
	free(symbols->at);
	*symbols = (struct rs_symbols){ 0 };
}

bool rs_symbols_find(const struct rs_symbols *symbols, uint64_t address,
		     char text[RS_SYMBOL_TEXT_MAX])
{
	uint32_t low = 0, high = symbols->n;
	const struct rs_symbol *s;

	while (low < high) { /* finds the first that begins after it */
		uint32_t middle = low + (high - low) / 2;

		if (symbols->at[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return false;
	s = &symbols->at[low - 1];
	if (s->bytes ? address - s->address >= s->bytes : low == symbols->n)
		return false;
	if (address == s->address)
		snprintf(text, RS_SYMBOL_TEXT_MAX, "%s", s->name);
	else
		snprintf(text, RS_SYMBOL_TEXT_MAX, "%.100s+0x%" PRIx64, s->name,
			 address - s->address);
	return true;
}
