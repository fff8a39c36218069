/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads and writes messages between host and guest (kit_abi.h), in guest memory, which the guest
 * may change at any time. So a message is copied once, and the copy is checked.
 */
#include "vm/internal.h"

#include <string.h>

bool rs_vm_message_read(const struct rs_vm *vm, uint64_t gpa, struct rs_vm_message *to)
{
	struct rs_kit_message head;

	if (!rs_vm_read(vm, gpa, &head, sizeof(head)) || head.bytes > sizeof(to->bytes) ||
	    !rs_vm_read(vm, gpa, to->bytes, head.bytes) ||
	    !rs_kit_message_valid(&to->head, head.bytes))
		return false;
	for (uint32_t i = 0; i < to->head.n; i++) {
		if (to->head.values[i].type >= RS_KIT_TEXT)
			to->head.values[i].v += (uintptr_t)to->bytes;
	}
	return true;
}

bool rs_vm_message_write(struct rs_vm *vm, uint64_t gpa, uint64_t room,
			 const struct rs_kit_value *values, uint32_t n)
{
	struct rs_vm_message message = { .head.n = n };
	uint64_t at = sizeof(message.head);

	if (room > sizeof(message.bytes))
		room = sizeof(message.bytes);
	for (uint32_t i = 0; i < n; i++) {
		bool text = values[i].type == RS_KIT_TEXT;

		message.head.values[i] = values[i];
		if (values[i].type < RS_KIT_TEXT)
			continue;
		if (at + values[i].bytes + text > room)
			return false;
		message.head.values[i].v = at;
		memcpy(message.bytes + at, (const void *)(uintptr_t)values[i].v, values[i].bytes);
		at += values[i].bytes + text;
	}
	message.head.bytes = (uint32_t)at;
	return at <= room && rs_vm_write(vm, gpa, message.bytes, at);
}

uint64_t rs_vm_value_number(const struct rs_kit_value *value)
{
	return value->type >= RS_KIT_TEXT ? value->bytes : value->v;
}

static const char *const type_names[] = {
	[RS_KIT_VOID] = "void",	  [RS_KIT_INT] = "int",	  [RS_KIT_BOOL] = "bool",
	[RS_KIT_FLOAT] = "float", [RS_KIT_TEXT] = "text", [RS_KIT_BYTES] = "bytes",
};

const char *rs_vm_type_name(uint32_t type)
{
	return type < sizeof(type_names) / sizeof(type_names[0]) && type_names[type]
		       ? type_names[type]
		       : "?";
}
