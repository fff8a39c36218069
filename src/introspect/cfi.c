/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads call frame information. */
#include "introspect/cfi.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "base/vector.h"
#include "introspect/cursor.h"

#define REMEMBERED_MAX 16u /* depth of the stack of states; compilers nest two */
/* Limits of untrusted tables. Compilers' CIEs have less than 100 bytes; a function's program has as
 * many as its prologue and its changes of the stack need. */
#define CIE_BYTES_MAX	  4096u
#define PROGRAM_BYTES_MAX 65536u

/* An FDE. It describes how the caller's registers are found in [lo, hi). */
struct rs_cfi_entry {
	uint64_t lo, hi;
	size_t cie; /* offset of its CIE in the section */
	size_t program, program_end;
};

/* A CIE, which many FDEs share. */
struct common {
	uint64_t code_align;
	int64_t data_align;
	uint8_t encoding; /* encoding of the addresses in FDEs */
	bool sized;	  /* FDEs have augmentation data, preceded by its size */
	bool interrupted;
	struct rs_cursor program;
};

/* ---- numbers -------------------------------------------------------------------------------- */

static uint64_t address_of(const struct rs_cfi *cfi, const uint8_t *at)
{
	return cfi->address + (uint64_t)(at - cfi->bytes);
}

/* Reads a pointer: LSB 5.0 section 10.5.1. Rejects pointers relative to other sections and indirect
 * pointers, which FDEs of x86-64 do not use. */
static uint64_t read_pointer(const struct rs_cfi *cfi, struct rs_cursor *c, uint8_t encoding)
{
	uint64_t base = 0, value = 0;

	if ((encoding & 0x70) == DW_EH_PE_pcrel)
		base = address_of(cfi, c->at);
	else if ((encoding & 0x70) != DW_EH_PE_absptr)
		c->failed = true;
	switch (encoding & 0x0f) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		value = rs_cursor_uint(c, 8);
		break;
	case DW_EH_PE_udata4:
		value = rs_cursor_uint(c, 4);
		break;
	case DW_EH_PE_sdata4:
		value = (uint64_t)rs_cursor_int(c, 4);
		break;
	case DW_EH_PE_udata2:
		value = rs_cursor_uint(c, 2);
		break;
	case DW_EH_PE_sdata2:
		value = (uint64_t)rs_cursor_int(c, 2);
		break;
	case DW_EH_PE_uleb128:
		value = rs_cursor_uleb(c);
		break;
	case DW_EH_PE_sleb128:
		value = (uint64_t)rs_cursor_sleb(c);
		break;
	default:
		c->failed = true;
	}
	return base + value;
}

/* ---- entries -------------------------------------------------------------------------------- */

struct entry_head {
	const uint8_t *begin;  /* beginning of the entry, with its length */
	struct rs_cursor body; /* the bytes after the identifier */
	bool common;	       /* a CIE */
	uint64_t cie;	       /* in an FDE: the offset of its CIE */
};

/* Reads the head of the entry at a cursor, and moves the cursor past the entry. Returns false at
 * the end. */
static bool next_entry(const struct rs_cfi *cfi, struct rs_cursor *c, struct entry_head *head)
{
	uint64_t length, id;
	const uint8_t *id_at, *body;
	uint32_t bytes = 4;

	head->begin = c->at;
	length = rs_cursor_uint(c, 4);
	if (length == UINT32_MAX) {
		length = rs_cursor_uint(c, 8);
		bytes = 8;
	}
	body = length ? rs_cursor_bytes(c, length) : NULL; /* a length of 0 ends .eh_frame */
	if (!body)
		return false;
	head->body = (struct rs_cursor){ body, body + length, false };
	id_at = head->body.at;
	/* The identifier of .eh_frame has 4 bytes in both formats. */
	id = rs_cursor_uint(&head->body, cfi->eh ? 4 : bytes);
	head->common = cfi->eh ? !id : id == (bytes == 8 ? UINT64_MAX : UINT32_MAX);
	head->cie = cfi->eh ? (uint64_t)(id_at - cfi->bytes) - id : id;
	return true;
}

/* Reads the augmentation of a CIE: its FDEs' extensions of DWARF. Returns false if it is
 * unknown. */
static bool read_augmentation(const struct rs_cfi *cfi, const char *text, struct rs_cursor *body,
			      struct common *cie)
{
	struct rs_cursor data;
	uint64_t size;

	/* In .debug_frame, the assembler writes S (.cfi_signal_frame) without the size of z. */
	cie->interrupted = *text == 'S';
	text += cie->interrupted;
	if (!*text)
		return true;
	if (*text != 'z')
		return false;
	cie->sized = true;
	size = rs_cursor_uleb(body);
	data.at = rs_cursor_bytes(body, size);
	if (!data.at)
		return false;
	data.end = data.at + size;
	data.failed = false;
	while (*++text) {
		if (*text == 'R')
			cie->encoding = (uint8_t)rs_cursor_uint(&data, 1);
		else if (*text == 'L')
			rs_cursor_uint(&data, 1);
		else if (*text == 'P')
			read_pointer(cfi, &data, rs_cursor_uint(&data, 1) & 0x7f);
		else if (*text == 'S')
			cie->interrupted = true;
		else
			break; /* skipped by its size */
	}
	return !data.failed;
}

static bool read_common(const struct rs_cfi *cfi, size_t offset, struct common *cie)
{
	struct rs_cursor c;
	struct entry_head head;
	const char *augmentation;
	uint64_t version, register_number;

	if (offset >= cfi->size)
		return false;
	c = (struct rs_cursor){ cfi->bytes + offset, cfi->bytes + cfi->size, false };
	if (!next_entry(cfi, &c, &head) || !head.common ||
	    rs_cursor_left(&head.body) > CIE_BYTES_MAX)
		return false;
	*cie = (struct common){ .encoding = DW_EH_PE_absptr };
	version = rs_cursor_uint(&head.body, 1);
	augmentation = rs_cursor_text(&head.body);
	if (!augmentation || (version != 1 && version != 3 && version != 4))
		return false;
	if (version == 4 && (rs_cursor_uint(&head.body, 1) != 8 || /* size of an address */
			     rs_cursor_uint(&head.body, 1) != 0))  /* size of a segment selector */
		return false;
	cie->code_align = rs_cursor_uleb(&head.body);
	cie->data_align = rs_cursor_sleb(&head.body);
	register_number = version == 1 ? rs_cursor_uint(&head.body, 1) : rs_cursor_uleb(&head.body);
	if (!read_augmentation(cfi, augmentation, &head.body, cie))
		return false;
	cie->program = head.body;
	return !head.body.failed && register_number == RS_CFI_RIP;
}

/* Reads an FDE. Returns false if it is invalid, or covers nothing. */
static bool read_entry(const struct rs_cfi *cfi, struct entry_head *head, const struct common *cie,
		       struct rs_cfi_entry *entry)
{
	struct rs_cursor *body = &head->body;

	entry->lo = read_pointer(cfi, body, cie->encoding);
	entry->hi = entry->lo + read_pointer(cfi, body, cie->encoding & 0x0f);
	if (cie->sized)
		rs_cursor_bytes(body, rs_cursor_uleb(body));
	entry->cie = head->cie;
	entry->program = (size_t)(body->at - cfi->bytes);
	entry->program_end = (size_t)(body->end - cfi->bytes);
	/* If the linker discarded a function, its address is 0. */
	return !body->failed && entry->lo && entry->lo < entry->hi;
}

static int by_address(const void *a, const void *b)
{
	const struct rs_cfi_entry *one = a, *other = b;

	return (one->lo > other->lo) - (one->lo < other->lo);
}

struct rs_error *rs_cfi_read_bytes(const uint8_t *bytes, size_t size, uint64_t address, bool eh,
				   struct rs_cfi *cfi)
{
	struct rs_cursor c = { bytes, bytes + size, false };
	/* offset of `cie`, which is kept because most FDEs follow their CIE */
	uint64_t known = UINT64_MAX;
	struct common cie;
	bool good = false;
	struct entry_head head;

	*cfi = (struct rs_cfi){ .bytes = bytes, .size = size, .address = address, .eh = eh };
	while (next_entry(cfi, &c, &head)) {
		struct rs_cfi_entry entry;

		if (head.common)
			continue;
		if (head.cie != known)
			good = read_common(cfi, head.cie, &cie);
		known = head.cie;
		if (!good || !read_entry(cfi, &head, &cie, &entry))
			continue;
		if (!RS_VECTOR_RESERVE(cfi->entries, cfi->room, cfi->n + 1)) {
			rs_cfi_deinit(cfi);
			return rs_error_no_memory();
		}
		cfi->entries[cfi->n++] = entry;
	}
	if (cfi->n)
		qsort(cfi->entries, cfi->n, sizeof(*cfi->entries), by_address);
	return NULL;
}

struct rs_error *rs_cfi_read(const struct rs_elf_file *file, bool eh, struct rs_cfi *cfi)
{
	GElf_Shdr head;
	Elf_Scn *section = rs_elf_section(file, eh ? ".eh_frame" : ".debug_frame", &head);
	Elf_Data *data = section ? elf_rawdata(section, NULL) : NULL;

	*cfi = (struct rs_cfi){ 0 };
	if (!data || !data->d_buf || !data->d_size)
		return NULL;
	return rs_cfi_read_bytes(data->d_buf, data->d_size, head.sh_addr, eh, cfi);
}

void rs_cfi_deinit(struct rs_cfi *cfi)
{
	free(cfi->entries);
	*cfi = (struct rs_cfi){ 0 };
}

/* ---- rows ----------------------------------------------------------------------------------- */

struct state {
	struct rs_cfi_rule cfa, registers[RS_CFI_REGISTERS];
};

struct machine {
	const struct rs_cfi *cfi;
	const struct common *cie;
	struct rs_cursor program;
	uint64_t at, address;	   /* beginning of the row, and the requested address */
	const struct state *first; /* state after the CIE's program; NULL while that is computed */
	struct state state;
	uint32_t n_remembered;
	bool failed;
	struct state remembered[REMEMBERED_MAX];
};

static void set(struct machine *m, uint64_t number, uint8_t how, int64_t offset, uint64_t bytes)
{
	if (number < RS_CFI_REGISTERS) /* other registers are not used */
		m->state.registers[number] =
			(struct rs_cfi_rule){ how, 0, (uint32_t)bytes, offset };
}

static void set_expression(struct machine *m, struct rs_cfi_rule *cfa, uint8_t how)
{
	uint64_t number = cfa ? 0 : rs_cursor_uleb(&m->program);
	uint64_t bytes = rs_cursor_uleb(&m->program);
	int64_t offset = m->program.at - m->cfi->bytes;

	rs_cursor_bytes(&m->program, bytes);
	if (m->program.failed || bytes > UINT32_MAX)
		m->failed = true;
	else if (cfa)
		*cfa = (struct rs_cfi_rule){ how, 0, (uint32_t)bytes, offset };
	else
		set(m, number, how, offset, bytes);
}

static void set_cfa(struct machine *m, uint64_t base, int64_t offset)
{
	if (base >= RS_CFI_REGISTERS)
		m->failed = true;
	m->state.cfa = (struct rs_cfi_rule){ RS_CFI_OFFSET, (uint8_t)base, 0, offset };
}

static void restore(struct machine *m, uint64_t number)
{
	if (!m->first)
		m->failed = true;
	else if (number < RS_CFI_REGISTERS)
		m->state.registers[number] = m->first->registers[number];
}

static int64_t factored(const struct machine *m, uint64_t offset)
{
	return (int64_t)(offset * (uint64_t)m->cie->data_align);
}

/* Executes an instruction that has its operand in its low bits. Returns false if it is another
 * one. */
static bool step_short(struct machine *m, uint8_t code)
{
	uint8_t operand = code & 0x3f;

	switch (code & 0xc0) {
	case DW_CFA_advance_loc:
		m->at += operand * m->cie->code_align;
		return true;
	case DW_CFA_offset:
		set(m, operand, RS_CFI_AT_OFFSET, factored(m, rs_cursor_uleb(&m->program)), 0);
		return true;
	case DW_CFA_restore:
		restore(m, operand);
		return true;
	default:
		return false;
	}
}

static void remember(struct machine *m)
{
	if (m->n_remembered == REMEMBERED_MAX)
		m->failed = true;
	else
		m->remembered[m->n_remembered++] = m->state;
}

static void recall(struct machine *m)
{
	if (!m->n_remembered)
		m->failed = true;
	else
		m->state = m->remembered[--m->n_remembered];
}

/* Executes an instruction that sets the CFA. Returns false if it is another one. */
static bool step_cfa(struct machine *m, uint8_t code)
{
	struct rs_cursor *p = &m->program;
	struct rs_cfi_rule *cfa = &m->state.cfa;
	uint64_t number;

	switch (code) {
	case DW_CFA_def_cfa:
		number = rs_cursor_uleb(p);
		set_cfa(m, number, (int64_t)rs_cursor_uleb(p));
		return true;
	case DW_CFA_def_cfa_sf:
		number = rs_cursor_uleb(p);
		set_cfa(m, number, factored(m, (uint64_t)rs_cursor_sleb(p)));
		return true;
	case DW_CFA_def_cfa_register:
		m->failed |= cfa->how != RS_CFI_OFFSET;
		set_cfa(m, rs_cursor_uleb(p), cfa->offset);
		return true;
	case DW_CFA_def_cfa_offset:
		m->failed |= cfa->how != RS_CFI_OFFSET;
		cfa->offset = (int64_t)rs_cursor_uleb(p);
		return true;
	case DW_CFA_def_cfa_offset_sf:
		m->failed |= cfa->how != RS_CFI_OFFSET;
		cfa->offset = factored(m, (uint64_t)rs_cursor_sleb(p));
		return true;
	case DW_CFA_def_cfa_expression:
		set_expression(m, cfa, RS_CFI_EXPRESSION);
		return true;
	default:
		return false;
	}
}

/* Executes an instruction that sets a register's rule or saves states. Returns false if it is
 * another one. */
static bool step_register(struct machine *m, uint8_t code)
{
	struct rs_cursor *p = &m->program;
	uint64_t number = 0;

	if (code == DW_CFA_expression || code == DW_CFA_val_expression) {
		set_expression(m, NULL,
			       code == DW_CFA_expression ? RS_CFI_AT_EXPRESSION
							 : RS_CFI_EXPRESSION);
		return true;
	}
	if (code == DW_CFA_remember_state || code == DW_CFA_restore_state) {
		(code == DW_CFA_remember_state ? remember : recall)(m);
		return true;
	}
	number = rs_cursor_uleb(p);
	switch (code) {
	case DW_CFA_undefined:
		set(m, number, RS_CFI_UNDEFINED, 0, 0);
		return true;
	case DW_CFA_same_value:
		set(m, number, RS_CFI_SAME, 0, 0);
		return true;
	case DW_CFA_offset_extended:
		set(m, number, RS_CFI_AT_OFFSET, factored(m, rs_cursor_uleb(p)), 0);
		return true;
	case DW_CFA_offset_extended_sf:
		set(m, number, RS_CFI_AT_OFFSET, factored(m, (uint64_t)rs_cursor_sleb(p)), 0);
		return true;
	case DW_CFA_GNU_negative_offset_extended:
		set(m, number, RS_CFI_AT_OFFSET, factored(m, -rs_cursor_uleb(p)), 0);
		return true;
	case DW_CFA_val_offset:
		set(m, number, RS_CFI_OFFSET, factored(m, rs_cursor_uleb(p)), 0);
		return true;
	case DW_CFA_val_offset_sf:
		set(m, number, RS_CFI_OFFSET, factored(m, (uint64_t)rs_cursor_sleb(p)), 0);
		return true;
	case DW_CFA_register:
		set(m, number, RS_CFI_REGISTER, (int64_t)rs_cursor_uleb(p), 0);
		return true;
	case DW_CFA_restore_extended:
		restore(m, number);
		return true;
	default:
		return code == DW_CFA_GNU_args_size;
	}
}

/* Executes an instruction that advances the address. Returns false if it is another one. */
static bool step_advance(struct machine *m, uint8_t code)
{
	switch (code) {
	case DW_CFA_nop:
		return true;
	case DW_CFA_set_loc:
		m->at = read_pointer(m->cfi, &m->program, m->cie->encoding);
		return true;
	case DW_CFA_advance_loc1:
		m->at += rs_cursor_uint(&m->program, 1) * m->cie->code_align;
		return true;
	case DW_CFA_advance_loc2:
		m->at += rs_cursor_uint(&m->program, 2) * m->cie->code_align;
		return true;
	case DW_CFA_advance_loc4:
		m->at += rs_cursor_uint(&m->program, 4) * m->cie->code_align;
		return true;
	default:
		return false;
	}
}

/* Executes a program up to the row of the address. Returns whether it is valid up to there. A
 * longer program is executed up to its limit, since rows before it can be used. */
static bool run(struct machine *m, struct rs_cursor program)
{
	const uint8_t *limit = program.at;

	limit += rs_cursor_left(&program) < PROGRAM_BYTES_MAX ? rs_cursor_left(&program)
							      : PROGRAM_BYTES_MAX;
	m->program = program;
	while (m->program.at < m->program.end && !m->failed) {
		uint8_t code = (uint8_t)rs_cursor_uint(&m->program, 1);

		if (!step_short(m, code) && !step_advance(m, code) && !step_cfa(m, code) &&
		    !step_register(m, code))
			return false;
		if (m->program.failed)
			return false;
		if (m->at > m->address)
			break; /* after the loop, the state is that of the address */
		if (m->program.at >= limit && m->program.at < m->program.end)
			return false;
	}
	return !m->failed;
}

static const struct rs_cfi_entry *find_entry(const struct rs_cfi *cfi, uint64_t address)
{
	size_t after = RS_SEARCH(i, cfi->n, cfi->entries[i].lo <= address);

	return after && address < cfi->entries[after - 1].hi ? &cfi->entries[after - 1] : NULL;
}

/* Sets the ABI's default rules: the caller's rsp is the CFA, and a function preserves some
 * registers. */
static void set_abi(struct state *state)
{
	static const uint8_t preserved[] = { RS_CFI_RBX, RS_CFI_RBP, RS_CFI_R12,
					     RS_CFI_R13, RS_CFI_R14, RS_CFI_R15 };

	for (size_t i = 0; i < sizeof(preserved); i++)
		state->registers[preserved[i]].how = RS_CFI_SAME;
	state->registers[RS_CFI_RSP].how = RS_CFI_OFFSET;
}

enum rs_cfi_found rs_cfi_find(const struct rs_cfi *cfi, uint64_t address, struct rs_cfi_row *row)
{
	const struct rs_cfi_entry *entry = find_entry(cfi, address);
	struct machine m;
	struct state first;
	struct common cie;

	if (!entry)
		return RS_CFI_NONE;
	if (!read_common(cfi, entry->cie, &cie))
		return RS_CFI_INVALID;
	memset(&m, 0, offsetof(struct machine, remembered));
	m.cfi = cfi;
	m.cie = &cie;
	m.address = UINT64_MAX;
	set_abi(&m.state);
	if (!run(&m, cie.program))
		return RS_CFI_INVALID;
	first = m.state;
	m.first = &first;
	m.at = entry->lo;
	m.address = address;
	m.n_remembered = 0;
	if (!run(&m, (struct rs_cursor){ cfi->bytes + entry->program,
					 cfi->bytes + entry->program_end, false }))
		return RS_CFI_INVALID;
	row->cfa = m.state.cfa;
	memcpy(row->registers, m.state.registers, sizeof(row->registers));
	row->section = cfi->bytes;
	row->interrupted = cie.interrupted;
	return row->cfa.how == RS_CFI_UNDEFINED ? RS_CFI_INVALID : RS_CFI_FOUND;
}
