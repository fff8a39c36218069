/* SPDX-License-Identifier: BSD-2-Clause */
/* The columns of the findings in a guest's memory. */
#include "view/insight.h"

#include <inttypes.h>

static void text_set(struct rs_cell *cell, const char *text)
{
	rs_cell_text(cell, *text ? text : NULL);
}

/* ---- vCPUs ---------------------------------------------------------------------------------- */

static const struct rs_insight_vcpu *vcpu_at(const void *at)
{
	return at;
}

RS_COLUMN_GETTER(get_cpu)
{
	if (vcpu_at(at)->has_cpu)
		rs_cell_number(cell, vcpu_at(at)->cpu);
}

RS_COLUMN_GETTER(get_vcpu_pid)
{
	if (vcpu_at(at)->has_task)
		rs_cell_number(cell, (uint64_t)vcpu_at(at)->task.tgid);
}

RS_COLUMN_GETTER(get_vcpu_tid)
{
	if (vcpu_at(at)->has_task)
		rs_cell_number(cell, (uint64_t)vcpu_at(at)->task.pid);
}

RS_COLUMN_GETTER(get_vcpu_name)
{
	if (vcpu_at(at)->has_task)
		rs_cell_text(cell, vcpu_at(at)->task.comm);
}

RS_COLUMN_GETTER(get_mode)
{
	rs_cell_text(cell, vcpu_at(at)->is_user ? "user" : "kernel");
}

RS_COLUMN_GETTER(get_function)
{
	if (vcpu_at(at)->has_function)
		rs_cell_format(cell, "%s+0x%" PRIx64, vcpu_at(at)->function,
			       vcpu_at(at)->function_offset);
}

#define AT(member) RS_COLUMN_AT(struct rs_insight_vcpu, member)

const struct rs_column rs_insight_vcpu_columns[] = {
	{ "vcpu", "VCPU", RS_COLUMN_NUMBER, rs_column_u32, AT(vcpu) },
	{ "space", "SPACE", RS_COLUMN_NUMBER, rs_column_u32, AT(space) },
	{ "cr3", "CR3", RS_COLUMN_HEX, rs_column_u64, AT(cr3) },
	{ "cpu", "CPU", RS_COLUMN_NUMBER, get_cpu },
	{ "pid", "PID", RS_COLUMN_NUMBER, get_vcpu_pid },
	{ "tid", "TID", RS_COLUMN_NUMBER, get_vcpu_tid },
	{ "task", "TASK", RS_COLUMN_TEXT, get_vcpu_name },
	{ "mode", "MODE", RS_COLUMN_TEXT, get_mode },
	{ "rip", "RIP", RS_COLUMN_HEX, rs_column_u64, AT(rip) },
	{ "function", "FUNCTION", RS_COLUMN_TEXT, get_function },
	{ 0 },
};
#undef AT

/* ---- tasks ---------------------------------------------------------------------------------- */

static const struct rs_linux_task *task_at(const void *at)
{
	return at;
}

RS_COLUMN_GETTER(get_state)
{
	rs_cell_format(cell, "%c", task_at(at)->state);
}

RS_COLUMN_GETTER(get_name)
{
	rs_cell_text(cell, task_at(at)->comm);
}

RS_COLUMN_GETTER(get_kernel)
{
	rs_cell_number(cell, task_at(at)->is_kernel);
}

RS_COLUMN_GETTER(get_cr3)
{
	if (task_at(at)->cr3)
		rs_cell_number(cell, task_at(at)->cr3);
}

#define AT(member) RS_COLUMN_AT(struct rs_linux_task, member)

const struct rs_column rs_insight_task_columns[] = {
	{ "pid", "PID", RS_COLUMN_NUMBER, rs_column_int, AT(tgid) },
	{ "tid", "TID", RS_COLUMN_NUMBER, rs_column_int, AT(pid) },
	{ "ppid", "PPID", RS_COLUMN_NUMBER, rs_column_int, AT(ppid) },
	{ "state", "STATE", RS_COLUMN_TEXT, get_state },
	{ "cr3", "CR3", RS_COLUMN_HEX, get_cr3 },
	{ "task", "TASK", RS_COLUMN_TEXT, get_name },
	{ "kernel", NULL, RS_COLUMN_BOOL, get_kernel },
	{ "address", NULL, RS_COLUMN_HEX, rs_column_u64, AT(address) },
	{ 0 },
};
#undef AT

/* ---- areas ---------------------------------------------------------------------------------- */

static const struct rs_insight_area *area_at(const void *at)
{
	return at;
}

RS_COLUMN_GETTER(get_rights)
{
	rs_cell_text(cell, area_at(at)->rights);
}

#define AT(member) RS_COLUMN_AT(struct rs_insight_area, member)

const struct rs_column rs_insight_area_columns[] = {
	{ "start", "START", RS_COLUMN_HEX, rs_column_u64, AT(area.start) },
	{ "end", "END", RS_COLUMN_HEX, rs_column_u64, AT(area.end) },
	{ "rights", "RIGHTS", RS_COLUMN_TEXT, get_rights },
	{ "offset", "OFFSET", RS_COLUMN_HEX, rs_column_u64, AT(area.offset) },
	{ "name", "NAME", RS_COLUMN_TEXT, rs_column_text, AT(name) },
	{ 0 },
};
#undef AT

/* ---- symbols -------------------------------------------------------------------------------- */

static const struct rs_insight_symbol *symbol_at(const void *at)
{
	return at;
}

RS_COLUMN_GETTER(get_type)
{
	rs_cell_format(cell, "%c", symbol_at(at)->sym.type);
}

RS_COLUMN_GETTER(get_symbol)
{
	rs_cell_text(cell, symbol_at(at)->sym.name);
}

RS_COLUMN_GETTER(get_offset)
{
	rs_cell_number(cell, symbol_at(at)->requested_address - symbol_at(at)->sym.address);
}

RS_COLUMN_GETTER(get_size)
{
	if (symbol_at(at)->size)
		rs_cell_number(cell, symbol_at(at)->size);
}

RS_COLUMN_GETTER(get_symbol_module)
{
	text_set(cell, symbol_at(at)->module);
}

RS_COLUMN_GETTER(get_percpu)
{
	rs_cell_number(cell, symbol_at(at)->sym.percpu);
}

#define AT(member) RS_COLUMN_AT(struct rs_insight_symbol, member)

const struct rs_column rs_insight_symbol_columns[] = {
	{ "asked", NULL, RS_COLUMN_TEXT, rs_column_text, AT(requested) },
	{ "address", "ADDRESS", RS_COLUMN_HEX, rs_column_u64, AT(sym.address) },
	{ "offset", "OFFSET", RS_COLUMN_HEX, get_offset },
	{ "size", "SIZE", RS_COLUMN_HEX, get_size },
	{ "type", "TYPE", RS_COLUMN_TEXT, get_type },
	{ "percpu", NULL, RS_COLUMN_BOOL, get_percpu },
	{ "symbol", "SYMBOL", RS_COLUMN_TEXT, get_symbol },
	{ "module", "MODULE", RS_COLUMN_TEXT, get_symbol_module },
	{ 0 },
};
#undef AT

/* ---- stacks --------------------------------------------------------------------------------- */

static const struct rs_insight_frame *frame_at(const void *at)
{
	return at;
}

RS_COLUMN_GETTER(get_frame_mode)
{
	rs_cell_text(cell, frame_at(at)->is_kernel ? "kernel" : "user");
}

RS_COLUMN_GETTER(get_frame_origin)
{
	static const char *const origins[] = { [RS_FRAME_REGISTERS] = "registers",
					       [RS_FRAME_ORC] = "orc",
					       [RS_FRAME_CFI] = "cfi",
					       [RS_FRAME_POINTER] = "guess",
					       [RS_FRAME_LINK] = "pointer" };

	rs_cell_text(cell, origins[frame_at(at)->at.origin]);
}

RS_COLUMN_GETTER(get_frame_function)
{
	text_set(cell, frame_at(at)->function);
}

RS_COLUMN_GETTER(get_frame_place)
{
	const struct rs_insight_frame *frame = frame_at(at);

	if (*frame->function && frame->inlined)
		rs_cell_format(cell, "%.80s (inlined)", frame->function);
	else if (*frame->function)
		rs_cell_format(cell, "%.70s+0x%" PRIx64, frame->function, frame->offset);
}

RS_COLUMN_GETTER(get_frame_offset)
{
	if (*frame_at(at)->function && !frame_at(at)->inlined)
		rs_cell_number(cell, frame_at(at)->offset);
}

RS_COLUMN_GETTER(get_frame_inlined)
{
	rs_cell_number(cell, frame_at(at)->inlined);
}

RS_COLUMN_GETTER(get_frame_module)
{
	text_set(cell, frame_at(at)->module);
}

RS_COLUMN_GETTER(get_frame_file)
{
	text_set(cell, frame_at(at)->file);
}

RS_COLUMN_GETTER(get_frame_line)
{
	rs_cell_known(cell, (int)frame_at(at)->line, 1);
}

RS_COLUMN_GETTER(get_frame_source)
{
	const struct rs_insight_frame *frame = frame_at(at);

	if (*frame->file && frame->line)
		rs_cell_format(cell, "%.80s:%u", frame->file, frame->line);
	else
		text_set(cell, frame->file);
}

#define AT(member) RS_COLUMN_AT(struct rs_insight_frame, member)

const struct rs_column rs_insight_frame_columns[] = {
	{ "frame", "FRAME", RS_COLUMN_NUMBER, rs_column_u32, AT(frame) },
	{ "mode", "MODE", RS_COLUMN_TEXT, get_frame_mode },
	{ "address", "ADDRESS", RS_COLUMN_HEX, rs_column_u64, AT(at.address) },
	{ "found_by", "FOUND BY", RS_COLUMN_TEXT, get_frame_origin },
	{ NULL, "FUNCTION", RS_COLUMN_TEXT, get_frame_place },
	{ "function", NULL, RS_COLUMN_TEXT, get_frame_function },
	{ "offset", NULL, RS_COLUMN_HEX, get_frame_offset },
	{ "inlined", NULL, RS_COLUMN_BOOL, get_frame_inlined },
	{ "module", "MODULE", RS_COLUMN_TEXT, get_frame_module },
	{ "file", NULL, RS_COLUMN_TEXT, get_frame_file },
	{ "line", NULL, RS_COLUMN_NUMBER, get_frame_line },
	{ NULL, "SOURCE", RS_COLUMN_TEXT, get_frame_source },
	{ 0 },
};
#undef AT
