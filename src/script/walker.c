/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs walkers on stacks. */
#include "script/walker.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/utf8.h"
#include "introspect/dwarf_types.h"
#include "introspect/elf_file.h"
#include "lang/lang.h"

#define PROVIDER      "walker"
#define FRAME	      "frame"
#define TEXT_MAX      (1u << 20) /* size limit of a walker's source */
#define FUNCTIONS_MAX 16u	 /* limit of the functions for which a walker has clauses */
#define REPORTS_MAX   5u	 /* reported failures of a walker; all are counted in the profile */

struct payload {
	uint64_t nth, frames, whole, pc;
};

struct walker {
	struct rs_walkers *of;
	char name[RS_WALKER_NAME_MAX];
	char *program; /* last component of its path */
	char build_id[RS_BUILD_ID_TEXT_MAX];
	struct rs_types *types;
	struct rs_schema *schema;
	const struct rs_event *events[FUNCTIONS_MAX]; /* by function */
	uint32_t n_events;
	struct rs_script *script;
	struct rs_sink *sink;
	struct rs_out out;
	struct rs_stream stream;
	struct rs_machine machine;
	uint32_t reports;
	/* State for the current stack. */
	bool refused;
	uint32_t seen[FUNCTIONS_MAX], count[FUNCTIONS_MAX];
};

struct rs_walkers {
	const struct rs_script_remarks *remarks;
	const char *symfs;
	struct walker *at[RS_WALKERS_MAX];
	uint32_t n;
	struct rs_clock clock;
	/* The current frame. */
	struct rs_stacks *stacks;
	const struct rs_linux_stack *stack;
	const struct rs_linux_task *task;
	uint32_t index;
	struct walker *walker;
	const char *function;
	struct rs_arena texts;
	bool no_memory;
	struct rs_walked walked;
};

/* ---- a program's access to a frame ---------------------------------------------------------- */

static bool get_reg(void *ctx, const char *name, uint64_t *value)
{
	const struct rs_walkers *w = ctx;

	/* The registers of a caller's frame are unknown, except rip. A program uses variables
	 * instead. */
	if (strcmp(name, "rip") != 0)
		return false;
	*value = w->stack->frames[w->index].address;
	return true;
}

static bool read_virtual(void *ctx, uint64_t gva, void *buf, size_t bytes, uint64_t *at)
{
	const struct rs_walkers *w = ctx;

	return rs_memory_read(rs_stacks_memory(w->stacks), gva, buf, bytes, at) == RS_FAULT_NONE;
}

static bool read_physical(void *ctx, uint64_t gpa, void *buf, size_t bytes, uint64_t *at)
{
	(void)ctx, (void)buf, (void)bytes;
	*at = gpa;
	return false;
}

static bool get_thread(void *ctx, uint64_t *address)
{
	const struct rs_walkers *w = ctx;

	*address = w->task->address;
	return true;
}

static void put_frame(struct rs_walkers *w, const char *function, const char *file, uint32_t line)
{
	struct rs_walked *walked = &w->walked;
	struct rs_walked_frame *frame = &walked->frames[walked->n];
	char *texts[2];

	if (walked->n == RS_WALKED_MAX)
		return;
	texts[0] = rs_arena_text(&w->texts, function, strlen(function));
	texts[1] = rs_arena_text(&w->texts, file, strlen(file));
	if (!texts[0] || !texts[1]) {
		w->no_memory = true;
		return;
	}
	rs_utf8_mend(texts[0], strlen(texts[0]));
	rs_utf8_mend(texts[1], strlen(texts[1]));
	*frame = (struct rs_walked_frame){ .function = texts[0],
					   .file = *texts[1] ? texts[1] : NULL,
					   .line = line,
					   .walker = w->walker->name };
	walked->n++;
	walked->places[w->index].n++;
}

static void refuse(void *ctx, const char *why)
{
	struct rs_walkers *w = ctx;
	char text[256];

	if (w->walker->refused)
		return;
	snprintf(text, sizeof(text), "[walker %s: %s]", w->walker->name, why);
	put_frame(w, text, "", 0);
	w->walker->refused = true;
	w->walked.failed = true;
	w->walked.places[w->index].keeps = true;
}

/* Adds a frame, but keeps the last place for the reason why frames are missing. */
static void put(void *ctx, const char *function, const char *file, uint32_t line)
{
	struct rs_walkers *w = ctx;

	if (w->walker->refused)
		return;
	if (w->walked.n + RS_WALKERS_MAX >= RS_WALKED_MAX)
		refuse(w, "too many frames");
	else
		put_frame(w, function, file, line);
}

/* Returns whether frame i of the stack belongs to a function. */
static bool is_function(struct rs_walkers *w, uint32_t i, const char *function)
{
	struct rs_frame frames[RS_SYMBOL_FRAMES_MAX];
	uint32_t n = rs_stacks_lookup(w->stacks, w->stack, i, frames, RS_SYMBOL_FRAMES_MAX);

	for (uint32_t k = 0; k < n; k++) {
		if (frames[k].function && !strcmp(frames[k].function, function))
			return true;
	}
	return false;
}

static const char *get_variable(void *ctx, const char *name, const char *function, uint64_t *value)
{
	struct rs_walkers *w = ctx;
	uint32_t i = w->index;

	if (!function)
		function = w->function;
	else
		for (i++; i < w->stack->n && !is_function(w, i, function);)
			i++;
	if (i == w->stack->n)
		return "the stack has no frame of the function";
	return rs_stacks_variable(w->stacks, w->stack, i, function, name, value);
}

static bool get_symbol(void *ctx, const char *name, uint64_t *address)
{
	const struct rs_walkers *w = ctx;

	return rs_stacks_data(w->stacks, w->stack, w->index, name, address);
}

static const struct rs_machine_frame frame_functions = {
	.variable = get_variable, .symbol = get_symbol, .put = put, .refuse = refuse
};

/* ---- compiling ------------------------------------------------------------------------------ */

static const struct rs_field fields[] = {
	{ "nth", "", NULL, NULL, RS_TYPE_U64, RS_SHOW_DEC, 0 },
	{ "frames", "", NULL, NULL, RS_TYPE_U64, RS_SHOW_DEC, 0 },
	{ "whole", "", NULL, NULL, RS_TYPE_U64, RS_SHOW_DEC, 0 },
	{ "pc", "", NULL, NULL, RS_TYPE_U64, RS_SHOW_HEX, 0 },
};

/* Makes the event of "walker::FUNCTION:frame". */
static struct rs_error *make(void *ctx, const char *description, bool copies,
			     const struct rs_event **event)
{
	struct walker *w = ctx;
	struct rs_event made = {
		.class_name = "",
		.name = FRAME,
		.help = "a frame of a function that executes the functions of an interpreter",
		.fields = fields,
		.n_fields = sizeof(fields) / sizeof(fields[0])
	};
	char function[128];
	int end = 0;
	struct rs_error *err;

	(void)copies;
	*event = NULL;
	if (sscanf(description, PROVIDER "::%127[^:]:" FRAME "%n", function, &end) != 1 || !end ||
	    description[end])
		return NULL;
	for (uint32_t i = 0; i < w->n_events; i++) {
		if (!strcmp(w->events[i]->function, function))
			return NULL; /* the function already has an event */
	}
	if (w->n_events == FUNCTIONS_MAX)
		return rs_error_create(RS_USAGE, "a walker has clauses for at most %u functions",
				       FUNCTIONS_MAX);
	made.function = function;
	made.id = RS_ID(RS_IDS_USER, w->n_events + 1);
	err = rs_schema_add(w->schema, &made);
	if (!err)
		*event = w->events[w->n_events++] = rs_schema_find(w->schema, made.id);
	return err;
}

static struct rs_error *types(void *ctx, uint32_t index, const char **name, struct rs_types **out)
{
	struct walker *w = ctx;

	*name = index ? NULL : w->program;
	if (out)
		*out = index ? NULL : w->types;
	return NULL;
}

static void report(void *ctx, const char *text)
{
	struct walker *w = ctx;

	if (w->reports++ < REPORTS_MAX)
		rs_script_remark(w->of->remarks, "walker %s: %s", w->name, text);
}

static struct rs_error *text_read(const char *path, char **text, size_t *len)
{
	FILE *file = fopen(path, "re");
	struct rs_error *err = NULL;

	if (!file)
		return rs_error_errno(errno, "%s", path);
	*text = malloc(TEXT_MAX + 1);
	if (*text)
		*len = fread(*text, 1, TEXT_MAX + 1, file);
	if (!*text)
		err = rs_error_no_memory();
	else if (ferror(file))
		err = rs_error_errno(errno, "%s", path);
	else if (*len > TEXT_MAX)
		err = rs_error_create(RS_USAGE, "%s has more than %u bytes", path, TEXT_MAX);
	fclose(file);
	return err;
}

static struct rs_error *compile(struct walker *w, const char *path)
{
	struct rs_script_io io = { .out = &w->out, .report = report, .ctx = w };
	char *text = NULL;
	size_t len = 0;
	struct rs_error *err = text_read(path, &text, &len);
	const struct rs_schema *schema = w->schema;

	if (!err)
		err = rs_script_compile(&(struct rs_script_config){ .name = path,
								    .text = text,
								    .len = len,
								    .schemas = &schema,
								    .n_schemas = 1,
								    .make = make,
								    .make_ctx = w,
								    .types = types },
					&w->script);
	free(text);
	if (!err && !w->n_events)
		err = rs_error_create(RS_USAGE, "%s has no clause of " PROVIDER "::FUNCTION:" FRAME,
				      path);
	return err ? err : rs_script_start(w->script, &io, &w->sink);
}

/* Opens the interpreter's program: its identity and its types. */
static struct rs_error *program_open(struct walker *w, const char *path)
{
	struct rs_elf_file file = { 0 };
	struct rs_error *err = rs_elf_file_open(path, &file);
	const char *slash = strrchr(path, '/');

	if (err)
		return err;
	rs_elf_build_id(&file, w->build_id);
	rs_elf_file_close(&file);
	if (!*w->build_id)
		return rs_error_create(
			RS_USAGE, "%s has no build-id, which identifies it in the guest", path);
	w->program = strdup(slash && slash[1] ? slash + 1 : path);
	return w->program ? rs_dwarf_types_open(w->of->symfs, path, w->program, &w->types)
			  : rs_error_no_memory();
}

/* A walker's name in frames is its file's name without ".d". */
static void name_set(struct walker *w, const char *path)
{
	const char *slash = strrchr(path, '/');
	size_t len;

	snprintf(w->name, sizeof(w->name), "%s", slash && slash[1] ? slash + 1 : path);
	len = strlen(w->name);
	if (len > 2 && !strcmp(w->name + len - 2, ".d"))
		w->name[len - 2] = '\0';
	rs_utf8_mend(w->name, strlen(w->name));
}

static void walker_destroy(struct walker *w)
{
	rs_script_destroy(w->script);
	rs_types_close(w->types);
	rs_schema_destroy(w->schema);
	rs_out_deinit(&w->out);
	free(w->program);
	free(w);
}

struct rs_error *rs_walkers_add(struct rs_walkers *walkers, const char *path, const char *program)
{
	struct walker *w;
	struct rs_error *err;

	if (walkers->n == RS_WALKERS_MAX)
		return rs_error_create(RS_USAGE, "more than %u walkers", RS_WALKERS_MAX);
	w = calloc(1, sizeof(*w));
	if (!w)
		return rs_error_no_memory();
	walkers->at[walkers->n++] = w;
	w->of = walkers;
	name_set(w, path);
	w->machine = (struct rs_machine){ walkers,	 get_reg,    read_virtual,
					  read_physical, get_thread, &frame_functions };
	err = rs_out_init(&w->out, STDERR_FILENO);
	if (!err)
		err = rs_schema_create(PROVIDER, &w->schema);
	w->stream = (struct rs_stream){ .vcpu = RS_UNKNOWN,
					.cpu = RS_UNKNOWN,
					.tid = RS_UNKNOWN,
					.dom = RS_UNKNOWN,
					.schema = w->schema,
					.clock = &walkers->clock,
					.machine = &w->machine };
	if (!err)
		err = program_open(w, program);
	return err ? err : compile(w, path);
}

struct rs_error *rs_walkers_create(const char *symfs, const struct rs_script_remarks *remarks,
				   struct rs_walkers **out)
{
	struct rs_walkers *w = calloc(1, sizeof(*w));
	struct rs_error *err;

	if (!w)
		return rs_error_no_memory();
	w->remarks = remarks;
	w->symfs = symfs;
	w->clock = (struct rs_clock){ .name = "guest", .freq_hz = 1000000000, .invariant = true };
	err = rs_clock_init(&w->clock);
	if (err) {
		free(w);
		return err;
	}
	*out = w;
	return NULL;
}

void rs_walkers_destroy(struct rs_walkers *walkers)
{
	if (!walkers)
		return;
	for (uint32_t i = 0; i < walkers->n; i++)
		walker_destroy(walkers->at[i]);
	rs_arena_deinit(&walkers->texts);
	free(walkers);
}

/* ---- walking -------------------------------------------------------------------------------- */

/* Returns the walker's function to which frame i belongs, or FUNCTIONS_MAX. */
static uint32_t function_of(struct rs_walkers *w, const struct walker *walker, uint32_t i)
{
	struct rs_frame frames[RS_SYMBOL_FRAMES_MAX];
	uint32_t n = rs_stacks_lookup(w->stacks, w->stack, i, frames, RS_SYMBOL_FRAMES_MAX);

	for (uint32_t f = 0; f < n; f++) {
		for (uint32_t e = 0; frames[f].function && e < walker->n_events; e++) {
			if (!strcmp(frames[f].function, walker->events[e]->function) &&
			    rs_stacks_is_in(w->stacks, w->stack, i, walker->build_id))
				return e;
		}
	}
	return FUNCTIONS_MAX;
}

static struct rs_error *fire(struct rs_walkers *w, struct walker *walker, uint32_t function)
{
	const struct payload payload = {
		.nth = walker->seen[function],
		.frames = walker->count[function],
		.whole = !*w->stack->user_why && w->stack->n < RS_LINUX_FRAMES_MAX,
		.pc = w->stack->frames[w->index].address,
	};
	const struct rs_view view = { .event = walker->events[function],
				      .stream = &walker->stream,
				      .payload = (const uint8_t *)&payload,
				      .payload_bytes = sizeof(payload),
				      .cpu = RS_UNKNOWN };

	walker->seen[function]++;
	w->walker = walker;
	w->function = walker->events[function]->function;
	w->walked.places[w->index] = (struct rs_walked_place){ .first = w->walked.n };
	walker->stream.tid = w->task->pid;
	walker->stream.pid = w->task->tgid;
	walker->stream.thread = w->task->comm;
	return walker->sink->ops->events(walker->sink, &view, 1);
}

static struct rs_error *walk_by(struct rs_walkers *w, struct walker *walker)
{
	uint8_t functions[RS_LINUX_FRAMES_MAX];
	struct rs_error *err = NULL;

	walker->refused = false;
	memset(walker->seen, 0, sizeof(walker->seen));
	memset(walker->count, 0, sizeof(walker->count));
	for (uint32_t i = w->stack->n_kernel; i < w->stack->n; i++) {
		functions[i] = (uint8_t)function_of(w, walker, i);
		if (functions[i] < FUNCTIONS_MAX)
			walker->count[functions[i]]++;
	}
	for (uint32_t i = w->stack->n_kernel; i < w->stack->n && !err && !walker->refused; i++) {
		w->index = i;
		if (functions[i] < FUNCTIONS_MAX)
			err = fire(w, walker, functions[i]);
	}
	return err;
}

struct rs_error *rs_walkers_walk(struct rs_walkers *w, struct rs_stacks *stacks,
				 const struct rs_linux_stack *stack,
				 const struct rs_linux_task *task, const struct rs_walked **walked)
{
	struct rs_error *err = NULL;

	rs_arena_deinit(&w->texts);
	w->texts = (struct rs_arena){ 0 };
	w->stacks = stacks;
	w->stack = stack;
	w->task = task;
	w->walked.n = 0;
	w->walked.failed = false;
	memset(w->walked.places, 0, sizeof(w->walked.places));
	for (uint32_t i = 0; i < w->n && !err; i++)
		err = walk_by(w, w->at[i]);
	if (!err && w->no_memory)
		err = rs_error_no_memory();
	*walked = &w->walked;
	return err;
}
