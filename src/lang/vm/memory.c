/* SPDX-License-Identifier: BSD-2-Clause */
/* The memory of a D program: structs, arrays and the memory from alloca(). */
#include "lang/vm/memory.h"

#include <string.h>

#include "lang/vm/machine.h"

static char *bad(struct firing *firing, uint64_t address)
{
	firing->fault = FAULT_BADADDR;
	firing->fault_value = address;
	return NULL;
}

char *rs_lang_memory_at(struct firing *firing, uint64_t address, uint64_t bytes, bool write)
{
	static char zeros[LANG_OBJECT_MAX];
	struct runtime *rt = firing->rt;
	uint64_t offset = address & ~MEMORY_REGION, room;
	char *base;

	switch (address & MEMORY_REGION) {
	case MEMORY_GLOBALS:
		base = rt->object_globals;
		room = firing->script->object_bytes[0];
		break;
	case MEMORY_THIS:
		base = rt->object_locals;
		room = firing->script->object_bytes[1];
		break;
	case MEMORY_SCRATCH:
		base = offset < LANG_SCRATCH - rt->alloca_used ? NULL : rt->scratch;
		room = LANG_SCRATCH;
		break;
	case MEMORY_ZEROS:
		base = zeros;
		room = write ? 0 : sizeof(zeros);
		break;
	case MEMORY_DYNAMIC:
		base = rs_lang_dynamic_object(&rt->dynamics, offset >> MEMORY_HANDLE, &room);
		offset &= (1u << MEMORY_HANDLE) - 1;
		break;
	default:
		return write ? bad(firing, address) : rs_lang_machine_copy(firing, address, bytes);
	}
	if (!base || offset > room || bytes > room - offset)
		return bad(firing, address);
	return base + offset;
}

bool rs_lang_memory_load(struct firing *firing, uint64_t address, uint8_t n, uint64_t *value)
{
	uint8_t bytes = n & 0x7f;
	const char *at = NULL;

	*value = 0;
	if (memory_is_guest(address)) {
		if (!rs_lang_machine_read(firing, address, value, bytes))
			return false;
	} else {
		at = rs_lang_memory_at(firing, address, bytes, false);
		if (!at)
			return false;
		memcpy(value, at, bytes);
	}
	*value = rs_lang_type_cut(INT_OF(bytes, n & 0x80), *value);
	return true;
}

bool rs_lang_memory_store(struct firing *firing, uint64_t address, uint8_t n, uint64_t value)
{
	char *at = rs_lang_memory_at(firing, address, n & 0x7f, true);

	if (at)
		memcpy(at, &value, n & 0x7f);
	return at;
}

/* Returns a string and its length: each byte up to its NUL must be readable. */
static const char *text_at(struct firing *firing, uint64_t address, uint64_t most, size_t *len)
{
	const char *first = rs_lang_memory_at(firing, address, 1, false), *at = first;

	for (*len = 0; at && *at && ++*len < most;)
		at = rs_lang_memory_at(firing, address + *len, 1, false);
	return at ? first : NULL;
}

bool rs_lang_memory_load_text(struct firing *firing, uint64_t address, uint64_t most,
			      struct value *value)
{
	size_t limit = firing->script->options[OPT_STRSIZE] - 1, len;
	const char *at;
	char *copy;

	if (memory_is_guest(address))
		return rs_lang_machine_text(firing, address, most && most < limit ? most : limit,
					    value);
	at = text_at(firing, address, most && most < limit ? most : limit, &len);
	if (!at)
		return false;
	copy = scratch(firing, len + 1);
	if (!copy)
		return false;
	memcpy(copy, at, len);
	copy[len] = '\0';
	*value = (struct value){ .s = copy, .len = (uint32_t)len };
	return true;
}

bool rs_lang_memory_store_text(struct firing *firing, uint64_t address, uint64_t most,
			       const struct value *value)
{
	size_t len = value->len < most ? value->len : most - 1;
	char *at = rs_lang_memory_at(firing, address, most, true);

	if (!at)
		return false;
	memmove(at, value->s, len);
	memset(at + len, 0, most - len);
	return true;
}

uint64_t rs_lang_memory_alloca(struct firing *firing, uint64_t bytes)
{
	struct runtime *rt = firing->rt;
	size_t room = LANG_SCRATCH - rt->alloca_used - rt->scratch_used;
	uint64_t at;

	if (bytes > LANG_SCRATCH || ((bytes + 7) & ~UINT64_C(7)) > room) {
		firing->fault = FAULT_NOSCRATCH;
		return 0;
	}
	rt->alloca_used += (bytes + 7) & ~UINT64_C(7);
	at = LANG_SCRATCH - rt->alloca_used;
	memset(rt->scratch + at, 0, bytes);
	return MEMORY_SCRATCH | at;
}

uint64_t rs_lang_memory_of_text(struct firing *firing, const struct value *text)
{
	uint64_t address = rs_lang_memory_alloca(firing, text->len + 1);

	if (address)
		memcpy(firing->rt->scratch + (address & ~MEMORY_REGION), text->s, text->len);
	return address;
}
