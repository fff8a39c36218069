/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the list of the BPF programs of a guest's Linux kernel. */
#include "insight/bpf.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "insight/modules.h"

#define LIST	   "bpf_kallsyms"
#define PREFIX	   "bpf_prog_"
#define TAG_BYTES  8u /* BPF_TAG_SIZE */
#define CODE_MAX   (UINT64_C(16) << 20)
#define NAME_BYTES 128u /* at most, of a program: PREFIX, the tag, a name of BTF */

static bool field_read(struct rs_linux *kernel, uint64_t gva, enum rs_field_id id, uint64_t *value)
{
	struct rs_error *err = rs_linux_read(kernel, gva, id, value);
	bool good = !err;

	rs_error_free(err);
	return good;
}

static uint64_t offset_of(const struct rs_linux *kernel, enum rs_field_id id)
{
	return kernel->fields.fields[id].member.offset;
}

/* Returns whether the name is PREFIX and the tag in hexadecimal, and has only characters that the
 * kernel permits in a program's name. */
static bool is_name(const char *name, const uint8_t tag[TAG_BYTES])
{
	char expected[sizeof(PREFIX) + 2 * TAG_BYTES] = PREFIX;

	for (uint32_t i = 0; i < TAG_BYTES; i++)
		snprintf(expected + strlen(PREFIX) + 2 * (size_t)i, 3, "%02x", tag[i]);
	if (strncmp(name, expected, strlen(expected)) != 0)
		return false;
	for (name += strlen(expected); *name; name++)
		if (!isalnum((unsigned char)*name) && *name != '_' && *name != '.')
			return false;
	return true;
}

/* Returns whether the struct bpf_ksym is that of a program, and reads its name. */
static bool program_read(struct rs_linux *kernel, uint64_t ksym, uint64_t from, uint64_t to,
			 struct rs_ksym *sym)
{
	uint64_t aux = ksym - offset_of(kernel, RS_FIELD_BPF_AUX_KSYM);
	uint64_t program, back, code, bytes, is_program;
	uint8_t tag[TAG_BYTES];
	char name[NAME_BYTES];

	if (!field_read(kernel, ksym, RS_FIELD_BPF_KSYM_PROG, &is_program) || !is_program ||
	    !field_read(kernel, aux, RS_FIELD_BPF_AUX_PROG, &program) ||
	    !field_read(kernel, program, RS_FIELD_BPF_PROG_AUX, &back) || back != aux ||
	    !field_read(kernel, program, RS_FIELD_BPF_PROG_FUNC, &code) || code != from ||
	    !field_read(kernel, program, RS_FIELD_BPF_PROG_BYTES, &bytes) || bytes != to - from ||
	    rs_memory_read(&kernel->memory, program + offset_of(kernel, RS_FIELD_BPF_PROG_TAG), tag,
			   sizeof(tag), NULL) ||
	    rs_memory_read_text(&kernel->memory, ksym + offset_of(kernel, RS_FIELD_BPF_KSYM_NAME),
				name, sizeof(name), NULL) ||
	    strlen(name) == sizeof(name) - 1 || !is_name(name, tag))
		return false;
	*sym = (struct rs_ksym){ .address = from, .type = 't' };
	snprintf(sym->name, sizeof(sym->name), "%s", name);
	return true;
}

static bool is_possible(struct rs_linux *kernel, struct rs_ksym *list)
{
	static const enum rs_field_id needed[] = {
		RS_FIELD_BPF_KSYM_START, RS_FIELD_BPF_KSYM_END,	 RS_FIELD_BPF_KSYM_NAME,
		RS_FIELD_BPF_KSYM_NODE,	 RS_FIELD_BPF_KSYM_PROG, RS_FIELD_BPF_AUX_KSYM,
		RS_FIELD_BPF_AUX_PROG,	 RS_FIELD_BPF_PROG_AUX,	 RS_FIELD_BPF_PROG_FUNC,
		RS_FIELD_BPF_PROG_BYTES, RS_FIELD_BPF_PROG_TAG,
	};

	for (uint32_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
		if (!kernel->fields.fields[needed[i]].found)
			return false;
	return rs_kallsyms_by_name(kernel->symbols, LIST, list) && !list->percpu;
}

bool rs_bpf_symbol(struct rs_linux *kernel, uint64_t address, struct rs_ksym *sym, uint64_t *size)
{
	struct rs_ksym list;
	uint64_t node, previous, from, to, links[2]; /* next, previous */

	if (address < RS_MODULES_FROM || address >= RS_MODULES_TO || !is_possible(kernel, &list) ||
	    rs_memory_read(&kernel->memory, list.address, &node, sizeof(node), NULL))
		return false;
	previous = list.address;
	for (uint32_t i = 0; i < RS_BPF_MAX && node != list.address; i++) {
		uint64_t ksym = node - offset_of(kernel, RS_FIELD_BPF_KSYM_NODE);

		if (rs_memory_read(&kernel->memory, node, links, sizeof(links), NULL) ||
		    links[1] != previous ||
		    !field_read(kernel, ksym, RS_FIELD_BPF_KSYM_START, &from) ||
		    !field_read(kernel, ksym, RS_FIELD_BPF_KSYM_END, &to))
			return false;
		if (address >= from && address < to) {
			if (from < RS_MODULES_FROM || to > RS_MODULES_TO || to - from > CODE_MAX ||
			    rs_memory_read(&kernel->memory, links[0] + sizeof(links[0]), &previous,
					   sizeof(previous), NULL) ||
			    previous != node || !program_read(kernel, ksym, from, to, sym))
				return false;
			*size = to - from;
			return true;
		}
		previous = node;
		node = links[0];
	}
	return false;
}
