/* SPDX-License-Identifier: BSD-2-Clause */
/* The functions of D that read a stopped machine. */
#include <string.h>

#include "live/tracepoint_text.h"
#include "lang/vm/machine.h"
#include "lang/vm/memory.h"

#define FUNCTION(name)                                                                             \
	bool rs_lang_machine_##name(struct firing *f, const struct value *args, uint32_t n,        \
				    struct value *result)

FUNCTION(copyin)
{
	char *to;

	(void)n;
	result->i = rs_lang_memory_alloca(f, args[1].i);
	to = result->i ? rs_lang_memory_at(f, result->i, args[1].i, true) : NULL;
	return to && rs_lang_machine_read(f, args[0].i, to, args[1].i);
}

FUNCTION(copyinphys)
{
	const struct rs_machine *machine = rs_lang_machine_of(f);
	uint64_t at = args[0].i;
	char *to;

	(void)n;
	result->i = rs_lang_memory_alloca(f, args[1].i);
	to = result->i ? rs_lang_memory_at(f, result->i, args[1].i, true) : NULL;
	if (!to)
		return false;
	if (!machine || !machine->read_phys(machine->ctx, args[0].i, to, args[1].i, &at))
		return rs_lang_machine_fault(f, at);
	return true;
}

static const struct rs_field *field_with(const struct rs_event *event, const char *base, size_t len,
					 const char *suffix)
{
	for (uint16_t i = 0; i < event->n_fields; i++) {
		const char *name = event->fields[i].name;

		if (!strncmp(name, base, len) && !strcmp(name + len, suffix))
			return &event->fields[i];
	}
	return NULL;
}

/* Finds the text that BPF read at an address that is an argument of the event
 * (tracepoint_text.h). Returns false if BPF read nothing there. */
static bool text_of_argument(const struct firing *f, uint64_t address, uint64_t most,
			     struct value *value)
{
	const struct rs_event *event = f->view ? f->view->event : NULL;

	for (uint16_t i = 0; event && i < event->n_fields; i++) {
		const struct rs_field *field = &event->fields[i], *pointer, *read;
		size_t len = strlen(field->name), end = sizeof(RS_TRACEPOINT_TEXT) - 1;

		if (field->type != RS_TYPE_TEXT || len <= end ||
		    strcmp(field->name + len - end, RS_TRACEPOINT_TEXT) != 0)
			continue;
		pointer = field_with(event, field->name, len - end, "");
		read = field_with(event, field->name, len - end, RS_TRACEPOINT_READ);
		if (!pointer || !read || pointer->type != RS_TYPE_U64 ||
		    read->type != RS_TYPE_S64 ||
		    rs_field_value(pointer, f->view->payload) != address ||
		    (int64_t)rs_field_value(read, f->view->payload) < 0)
			continue;
		value->s = rs_view_text(f->view, field, &len);
		value->len = (uint32_t)(len < most ? len : most);
		return true;
	}
	return false;
}

FUNCTION(copyinstr)
{
	uint64_t most = f->script->options[OPT_STRSIZE] - 1;

	if (n > 1 && args[1].i < most)
		most = args[1].i;
	if (!rs_lang_machine_of(f) && text_of_argument(f, args[0].i, most, result))
		return true;
	return rs_lang_machine_text(f, args[0].i, most, result);
}

FUNCTION(copyinto)
{
	char *to = rs_lang_memory_at(f, args[2].i, args[1].i, true);

	(void)n, (void)result;
	return to && rs_lang_machine_read(f, args[0].i, to, args[1].i);
}

static bool reg_by_name(struct firing *f, const char *name, struct value *result)
{
	const struct rs_machine *machine = rs_lang_machine_of(f);

	if (machine && machine->reg(machine->ctx, name, &result->i))
		return true;
	f->fault = FAULT_ILLOP;
	f->fault_value = 0;
	return false;
}

FUNCTION(reg)
{
	char name[16] = "";

	(void)n;
	if (args[0].len < sizeof(name))
		memcpy(name, args[0].s, args[0].len);
	return reg_by_name(f, name, result);
}

FUNCTION(uregs)
{
	(void)n;
	return reg_by_name(f, rs_lang_machine_register_name(args[0].i), result);
}
