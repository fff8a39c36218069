/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads static probes and assertions from a program's ELF notes. */
#include "replay/notes.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/vector.h"

#define ASSERT_PROVIDER "rs_assert"
#define PROBE_OWNER	"stapsdt"
#define ASSERT_OWNER	"ringside"
#define PROBE_TYPE	3
#define ASSERT_TYPE	1

bool rs_note_is_assert(const struct rs_note *note)
{
	return !strcmp(note->provider, ASSERT_PROVIDER);
}

/* ---- operands ------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	uint8_t number, shift;
} registers[] = {
	{ "rax", 0, 0 },  { "eax", 0, 0 },   { "ax", 0, 0 },	{ "al", 0, 0 },
	{ "ah", 0, 8 },	  { "rbx", 1, 0 },   { "ebx", 1, 0 },	{ "bx", 1, 0 },
	{ "bl", 1, 0 },	  { "bh", 1, 8 },    { "rcx", 2, 0 },	{ "ecx", 2, 0 },
	{ "cx", 2, 0 },	  { "cl", 2, 0 },    { "ch", 2, 8 },	{ "rdx", 3, 0 },
	{ "edx", 3, 0 },  { "dx", 3, 0 },    { "dl", 3, 0 },	{ "dh", 3, 8 },
	{ "rsi", 4, 0 },  { "esi", 4, 0 },   { "si", 4, 0 },	{ "sil", 4, 0 },
	{ "rdi", 5, 0 },  { "edi", 5, 0 },   { "di", 5, 0 },	{ "dil", 5, 0 },
	{ "rbp", 6, 0 },  { "ebp", 6, 0 },   { "bp", 6, 0 },	{ "bpl", 6, 0 },
	{ "rsp", 7, 0 },  { "esp", 7, 0 },   { "sp", 7, 0 },	{ "spl", 7, 0 },
	{ "r8", 8, 0 },	  { "r8d", 8, 0 },   { "r8w", 8, 0 },	{ "r8b", 8, 0 },
	{ "r9", 9, 0 },	  { "r9d", 9, 0 },   { "r9w", 9, 0 },	{ "r9b", 9, 0 },
	{ "r10", 10, 0 }, { "r10d", 10, 0 }, { "r10w", 10, 0 }, { "r10b", 10, 0 },
	{ "r11", 11, 0 }, { "r11d", 11, 0 }, { "r11w", 11, 0 }, { "r11b", 11, 0 },
	{ "r12", 12, 0 }, { "r12d", 12, 0 }, { "r12w", 12, 0 }, { "r12b", 12, 0 },
	{ "r13", 13, 0 }, { "r13d", 13, 0 }, { "r13w", 13, 0 }, { "r13b", 13, 0 },
	{ "r14", 14, 0 }, { "r14d", 14, 0 }, { "r14w", 14, 0 }, { "r14b", 14, 0 },
	{ "r15", 15, 0 }, { "r15d", 15, 0 }, { "r15w", 15, 0 }, { "r15b", 15, 0 },
};

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '.' || c == '$' || c == '@';
}

static bool char_skip(const char **at, char c)
{
	if (**at != c)
		return false;
	++*at;
	return true;
}

/* Parses a register, "%rax". "%rip" gives the number -1 and sets *rip; it is invalid if rip is
 * NULL. */
static bool reg(const char **at, int8_t *number, uint8_t *shift, bool *rip)
{
	size_t len = 0;

	if (!char_skip(at, '%'))
		return false;
	while (is_word((*at)[len]))
		len++;
	if (rip && len == 3 && !strncmp(*at, "rip", 3)) {
		*rip = true;
		*at += 3;
		return true;
	}
	for (size_t i = 0; i < sizeof(registers) / sizeof(registers[0]); i++) {
		if (strlen(registers[i].name) != len || strncmp(registers[i].name, *at, len) != 0)
			continue;
		*number = (int8_t)registers[i].number;
		*shift = registers[i].shift;
		*at += len;
		return true;
	}
	return false;
}

/* Parses a number, with or without a sign, decimal or 0x. Returns false if there is none. */
static bool number(const char **at, uint64_t *value)
{
	const char *digits = *at + (**at == '-' || **at == '+');
	char *end;

	if (*digits < '0' || *digits > '9')
		return false;
	*value = (uint64_t)strtoull(digits, &end, 0);
	if (**at == '-')
		*value = -*value;
	*at = end;
	return true;
}

/* Parses a displacement: "8", "sym", "sym+8", "-8+sym", or nothing. */
static bool displacement(const char **at, struct rs_operand *o)
{
	uint64_t value;

	while (**at && **at != ' ' && **at != '(') {
		size_t len = 0;

		if (number(at, &value)) {
			o->disp += value;
			continue;
		}
		*at += **at == '+';
		while (is_word((*at)[len]))
			len++;
		if (!len || len >= sizeof(o->symbol) || o->has_symbol)
			return false;
		memcpy(o->symbol, *at, len);
		o->symbol[len] = '\0';
		o->has_symbol = true;
		*at += len;
	}
	return true;
}

/* Parses a memory operand: "disp(%base,%index,scale)". */
static bool in_memory(const char **at, struct rs_operand *o)
{
	uint64_t scale = 1;
	uint8_t shift = 0;
	bool rip = false;

	o->kind = RS_OPERAND_MEMORY;
	if (!displacement(at, o))
		return false;
	if (!char_skip(at, '('))
		return o->has_symbol; /* has only its address */
	if (**at == '%' && !reg(at, &o->base, &shift, &rip))
		return false;
	if (char_skip(at, ',')) {
		if (!reg(at, &o->index, &shift, NULL))
			return false;
		if (char_skip(at, ',') && !number(at, &scale))
			return false;
	}
	o->scale = (uint8_t)scale;
	/* A symbol relative to rip is at its own address; a plain number is relative to the next
	 * instruction. */
	return char_skip(at, ')') && !shift && (!rip || (o->has_symbol && o->index < 0)) &&
	       (scale == 1 || scale == 2 || scale == 4 || scale == 8);
}

bool rs_operand_parse(const char **text, struct rs_operand *o)
{
	const char *at = *text;
	uint64_t bytes;
	bool good;

	while (*at == ' ')
		at++;
	*text = at;
	*o = (struct rs_operand){ .base = -1, .index = -1, .scale = 1 };
	o->is_signed = *at == '-';
	if (!number(&at, &bytes) || !char_skip(&at, '@'))
		return false;
	if (o->is_signed)
		bytes = -bytes;
	o->bytes = (uint8_t)bytes;
	if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8)
		return false;
	if (char_skip(&at, '$')) {
		o->kind = RS_OPERAND_CONST;
		good = displacement(&at, o);
	} else if (*at == '%') {
		o->kind = RS_OPERAND_REGISTER;
		good = reg(&at, &o->base, &o->shift, NULL);
	} else {
		good = in_memory(&at, o);
	}
	if (!good || (*at && *at != ' '))
		return false;
	*text = at;
	return true;
}

/* ---- notes ---------------------------------------------------------------------------------- */

/* Reads the text at *at, and moves *at past its NUL. Returns false if there is no NUL, or the text
 * is too long. */
static bool text_at(const uint8_t **at, const uint8_t *end, char to[RS_NOTE_TEXT_MAX])
{
	size_t left = (size_t)(end - *at), len = strnlen((const char *)*at, left);

	if (len == left || len >= RS_NOTE_TEXT_MAX)
		return false;
	memcpy(to, *at, len + 1);
	*at += len + 1;
	return true;
}

static struct rs_error *add(struct rs_notes *notes, const struct rs_note *note)
{
	if (notes->n == RS_NOTES_MAX)
		return rs_error_create(RS_USAGE, "more than %u static probes", RS_NOTES_MAX);
	if (!RS_VECTOR_RESERVE(notes->at, notes->room, notes->n + 1))
		return rs_error_no_memory();
	notes->at[notes->n++] = *note;
	return NULL;
}

static bool values_of(struct rs_note *note, const char *text)
{
	while (text[strspn(text, " ")]) {
		if (note->n_values == RS_NOTE_VALUES_MAX ||
		    !rs_operand_parse(&text, &note->values[note->n_values]))
			return false;
		note->n_values++;
	}
	return true;
}

static bool probe_of(const uint8_t *desc, size_t bytes, struct rs_note *note)
{
	const uint8_t *at = desc + 24, *end = desc + bytes;
	char operands[RS_NOTE_TEXT_MAX];

	if (bytes < 24) /* sizes of pc, base and semaphore */
		return false;
	memcpy(&note->pc, desc, sizeof(note->pc));
	return note->pc && text_at(&at, end, note->provider) && text_at(&at, end, note->name) &&
	       text_at(&at, end, operands) && values_of(note, operands);
}

/* Adds an assertion's text to its probes. The compiler may have placed several copies of a
 * probe. */
static bool assert_of(struct rs_notes *notes, const uint8_t *desc, size_t bytes)
{
	const uint8_t *at = desc, *end = desc + bytes;
	struct rs_note assertion;
	bool any = false;

	if (!text_at(&at, end, assertion.name) || !text_at(&at, end, assertion.expression) ||
	    !text_at(&at, end, assertion.names))
		return false;
	for (uint32_t i = 0; i < notes->n; i++) {
		struct rs_note *note = &notes->at[i];

		if (!rs_note_is_assert(note) || strcmp(note->name, assertion.name) != 0)
			continue;
		memcpy(note->expression, assertion.expression, sizeof(assertion.expression));
		memcpy(note->names, assertion.names, sizeof(assertion.names));
		any = true;
	}
	return any;
}

struct rs_error *rs_notes_add(struct rs_notes *notes, const char *owner, const uint8_t *desc,
			      size_t bytes)
{
	struct rs_note note = { 0 };

	if (!strcmp(owner, PROBE_OWNER)) {
		if (probe_of(desc, bytes, &note))
			return add(notes, &note);
		notes->left_out++;
	} else if (!strcmp(owner, ASSERT_OWNER) && !assert_of(notes, desc, bytes)) {
		notes->left_out++;
	}
	return NULL;
}

/* ---- the file ------------------------------------------------------------------------------- */

/* Reads the notes of one owner in a section. */
static struct rs_error *section_notes(Elf_Scn *section, const char *owner, uint32_t type,
				      struct rs_notes *notes)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t at = 0, next, name_at, desc_at, len = strlen(owner) + 1;
	struct rs_error *err = NULL;
	GElf_Nhdr head;

	while (data && data->d_buf && !err &&
	       (next = gelf_getnote(data, at, &head, &name_at, &desc_at)) > 0) {
		const uint8_t *bytes = data->d_buf;

		at = next;
		if (head.n_type != type || head.n_namesz != len || name_at > data->d_size ||
		    len > data->d_size - name_at || memcmp(bytes + name_at, owner, len) != 0 ||
		    desc_at > data->d_size || head.n_descsz > data->d_size - desc_at)
			continue;
		err = rs_notes_add(notes, owner, bytes + desc_at, head.n_descsz);
	}
	return err;
}

/* Handles a symbol that an operand names: a function or an object. Several files of a program may
 * each have a static object of this name; the symbol is then ambiguous. */
static void found_symbol(struct rs_operand *o, const GElf_Sym *symbol)
{
	o->ambiguous |= o->found && o->symbol_at != symbol->st_value;
	o->found = true;
	o->symbol_at = symbol->st_value;
	o->moves = symbol->st_shndx != SHN_ABS;
}

static bool is_place(const GElf_Sym *symbol)
{
	uint8_t type = GELF_ST_TYPE(symbol->st_info);

	return symbol->st_shndx && type != STT_FILE && type != STT_SECTION && type != STT_TLS;
}

/* Finds the symbols that operands name. */
static void section_symbols(Elf *elf, Elf_Scn *section, const GElf_Shdr *head,
			    struct rs_notes *notes)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t n = head->sh_entsize ? head->sh_size / head->sh_entsize : 0;
	GElf_Sym symbol;

	for (size_t i = 0; data && i < n && i < INT32_MAX && gelf_getsym(data, (int)i, &symbol);
	     i++) {
		const char *name = elf_strptr(elf, head->sh_link, symbol.st_name);

		for (uint32_t j = 0; name && *name && is_place(&symbol) && j < notes->n; j++) {
			for (uint32_t k = 0; k < notes->at[j].n_values; k++) {
				struct rs_operand *o = &notes->at[j].values[k];

				if (o->has_symbol && !strcmp(o->symbol, name))
					found_symbol(o, &symbol);
			}
		}
	}
}

/* Adds the symbol's address to an operand. Returns false if the file has none or several. */
static bool resolve(struct rs_operand *o)
{
	if (o->has_symbol && o->found && !o->ambiguous) {
		o->disp += o->symbol_at;
		o->has_symbol = false;
	}
	return !o->has_symbol;
}

/* Removes probes with values at unknown symbols. */
static void resolve_all(struct rs_notes *notes)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < notes->n; i++) {
		bool known = true;

		for (uint32_t k = 0; k < notes->at[i].n_values; k++)
			known &= resolve(&notes->at[i].values[k]);
		if (known)
			notes->at[n++] = notes->at[i];
	}
	notes->left_out += notes->n - n;
	notes->n = n;
}

static struct rs_error *sections(Elf *elf, struct rs_notes *notes)
{
	static const struct {
		const char *owner;
		uint32_t type;
	} owners[] = { { PROBE_OWNER, PROBE_TYPE }, { ASSERT_OWNER, ASSERT_TYPE } };
	struct rs_error *err = NULL;
	Elf_Scn *section;
	GElf_Shdr head;

	for (size_t i = 0; i < 2; i++) {
		section = NULL;
		while (!err && (section = elf_nextscn(elf, section)) &&
		       gelf_getshdr(section, &head)) {
			if (head.sh_type == SHT_NOTE)
				err = section_notes(section, owners[i].owner, owners[i].type,
						    notes);
		}
	}
	section = NULL;
	while (!err && (section = elf_nextscn(elf, section)) && gelf_getshdr(section, &head)) {
		if (head.sh_type == SHT_SYMTAB)
			section_symbols(elf, section, &head, notes);
	}
	resolve_all(notes);
	return err;
}

struct rs_error *rs_notes_read(const char *path, struct rs_notes *notes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct rs_error *err = NULL;
	GElf_Ehdr head;
	Elf *elf;

	*notes = (struct rs_notes){ 0 };
	if (fd < 0)
		return rs_error_errno(errno, "%s", path);
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!elf || elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &head))
		err = rs_error_create(RS_DAMAGED, "%s is not an ELF file", path);
	else if (head.e_machine != EM_X86_64)
		err = rs_error_create(RS_USAGE, "%s is not for x86-64", path);
	if (!err)
		err = sections(elf, notes);
	if (elf)
		elf_end(elf);
	close(fd);
	if (err)
		rs_notes_deinit(notes);
	return err;
}

void rs_notes_deinit(struct rs_notes *notes)
{
	free(notes->at);
	*notes = (struct rs_notes){ 0 };
}
