/* SPDX-License-Identifier: BSD-2-Clause */
/* ringside inspect: shows what runs in a guest, from the memory and registers in a core. */
#include "cli/cli.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/inspect_stacks.h"
#include "cli/numbers.h"
#include "cli/shared.h"
#include "introspect/core.h"
#include "view/insight.h"
#include "view/view.h"

#define SYMBOLS_MAX 256u
#define PID_MAX	    (1 << 22) /* PID_MAX_LIMIT of Linux */
#define CR3_ADDRESS UINT64_C(0x000ffffffffff000)

struct arguments {
	const char *path;
	bool json, tasks, maps, stacks;
	int pid, stacks_pid;
	const char *symfs;
	const char *symbols[SYMBOLS_MAX];
	uint32_t n_symbols;
};

/* A core and the findings in it. */
struct inspected {
	struct rs_core *core;
	struct rs_memory memory;
	struct rs_linux_vcpu *vcpus;
	uint32_t n_vcpus;
	struct rs_linux *kernel;     /* NULL: not found */
	struct rs_error *no_kernel;  /* why not */
	struct rs_error *incomplete; /* the first part that could not be read */
};

enum { OPT_MAPS = 256, OPT_STACKS };

static const struct argp_option options[] = {
	{ "tasks", 't', NULL, RS_CLI_FLAG(struct arguments, tasks),
	  "Show the tasks: each process and its threads", 1 },
	{ "maps", OPT_MAPS, "N", 0, "Show the memory areas of process N", 1 },
	{ "symbol", 's', "SYMBOL", 0,
	  "Show the address of a kernel symbol, or the symbol at an address (0x...); may be "
	  "repeated",
	  1 },
	{ "stacks", OPT_STACKS, "N", OPTION_ARG_OPTIONAL,
	  "Show the stack of each task, or of the threads of process N: the frames of the kernel "
	  "and of user mode",
	  1 },
	{ "symfs", RS_CLI_TEXT(struct arguments, symfs), "DIR", 0,
	  "Search DIR, as the guest's /, for the guest's programs and their debug files; a missing "
	  "program is read from the guest's page cache",
	  2 },
	{ "json", 'j', NULL, RS_CLI_FLAG(struct arguments, json), "Print one JSON object", 2 },
	{ 0 },
};

static const char doc[] =
	"Show what runs in a guest, from only its memory and registers: the kernel, the task of "
	"each vCPU, all tasks, their stacks, the memory areas of a process.\v"
	"CORE is a machine's core from QEMU's dump-guest-memory, virsh dump --memory-only, or of "
	"ringside run --core. inspect finds a Linux kernel for x86-64 by its page tables, symbols "
	"and types, and needs no file of it. For another guest, the output shows which vCPUs have "
	"the same page table.\n\n"
	"Exit codes: 0 done; 1 failed; 2 usage error; 3 a part could not be read, or no Linux was "
	"found.\n\n"
	"Examples:\n"
	"  ringside inspect guest.core\n"
	"  ringside inspect --tasks guest.core\n"
	"  ringside inspect --maps 1 --json guest.core | jq .maps\n"
	"  ringside inspect --stacks=1 guest.core\n";

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case OPT_MAPS:
		a->maps = true;
		a->pid = (int)rs_cli_number(state, "--maps", text, 1, PID_MAX);
		return 0;
	case OPT_STACKS:
		a->stacks = true;
		a->stacks_pid = text ? (int)rs_cli_number(state, "--stacks", text, 1, PID_MAX) : 0;
		return 0;
	case 's':
		rs_cli_append(state, "--symbol", text, a->symbols, &a->n_symbols, SYMBOLS_MAX);
		return 0;
	case ARGP_KEY_ARG:
		if (a->path)
			argp_error(state, "only one CORE is allowed, got '%s'", text);
		a->path = text;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "no CORE given");
		return EINVAL;
	default:
		return rs_cli_store(options, key, text, state);
	}
}

/* ---- the core ------------------------------------------------------------------------------- */

static struct rs_error *inspected_open(const char *path, struct inspected *in)
{
	struct rs_error *err = rs_core_open(path, &in->core);

	if (err)
		return err;
	in->n_vcpus = rs_core_vcpus(in->core);
	in->vcpus = calloc(in->n_vcpus ? in->n_vcpus : 1, sizeof(*in->vcpus));
	if (!in->vcpus)
		return rs_error_no_memory();
	for (uint32_t i = 0; i < in->n_vcpus; i++) {
		rs_core_registers(in->core, i, &in->vcpus[i].regs);
		in->vcpus[i].tr_base = rs_core_tr_base(in->core, i);
	}
	rs_core_memory(in->core, &in->memory);
	in->no_kernel = rs_linux_open(&in->memory, in->vcpus, in->n_vcpus, &in->kernel);
	return NULL;
}

static void inspected_close(struct inspected *in)
{
	rs_linux_close(in->kernel);
	rs_error_free(in->no_kernel);
	rs_error_free(in->incomplete);
	free(in->vcpus);
	rs_core_close(in->core);
}

/* Keeps the first reason why a part is missing. */
static bool lacks(struct inspected *in, struct rs_error *err)
{
	in->incomplete = rs_error_first(in->incomplete, err);
	return err != NULL;
}

static void put_rows(struct rs_json *json, const struct arguments *a, const char *key,
		     const struct rs_column *columns, const void *rows, size_t n, size_t bytes)
{
	struct rs_table table = { .json = json,
				  .form = a->json ? RS_TABLE_JSON : RS_TABLE_TEXT,
				  .columns = columns };

	if (a->json)
		rs_json_open(rs_json_key(json, key), '[');
	rs_table_rows(&table, rows, n, bytes);
	if (a->json)
		rs_json_close(json, ']');
}

/* ---- vCPUs ---------------------------------------------------------------------------------- */

/* Returns the page table that identifies a vCPU's address space. Under PTI a process has a second
 * one, which differs by one bit. */
static uint64_t space_of(struct inspected *in, const struct rs_insight_vcpu *row)
{
	return row->has_task && rs_linux_is_root(in->kernel, row->cr3, row->task.cr3)
		       ? row->task.cr3
		       : row->cr3 & CR3_ADDRESS;
}

static void vcpu_fill(struct inspected *in, uint32_t i, struct rs_insight_vcpu *row)
{
	const struct rs_x86_regs *regs = &in->vcpus[i].regs;
	struct rs_error *err;
	uint64_t base, address, size;
	const char *module;
	struct rs_ksym sym;

	*row = (struct rs_insight_vcpu){
		.vcpu = i, .cr3 = regs->cr3, .rip = regs->rip, .is_user = regs->cs & 3
	};
	if (!in->kernel)
		return;
	err = rs_linux_cpu(in->kernel, &in->vcpus[i], &row->cpu, &base);
	row->has_cpu = !err;
	if (!err)
		err = rs_linux_current(in->kernel, base, &address);
	if (!err)
		err = rs_linux_task_read(in->kernel, address, &row->task);
	row->has_task = !err;
	if (err)
		lacks(in, rs_error_wrap(err, "vCPU %u", i));
	if (rs_linux_symbol(in->kernel, regs->rip, &sym, &size, &module)) {
		row->has_function = true;
		row->function_offset = regs->rip - sym.address;
		snprintf(row->function, sizeof(row->function), "%.*s",
			 (int)sizeof(row->function) - 1, sym.name);
	}
}

static struct rs_error *put_vcpus(struct rs_json *json, const struct arguments *a,
				  struct inspected *in)
{
	struct rs_insight_vcpu *rows = calloc(in->n_vcpus ? in->n_vcpus : 1, sizeof(*rows));
	uint32_t spaces = 0;

	if (!rows)
		return rs_error_no_memory();
	for (uint32_t i = 0; i < in->n_vcpus; i++) {
		vcpu_fill(in, i, &rows[i]);
		for (uint32_t other = 0; other < i && !rows[i].space; other++)
			if (space_of(in, &rows[other]) == space_of(in, &rows[i]))
				rows[i].space = rows[other].space;
		if (!rows[i].space)
			rows[i].space = ++spaces;
	}
	put_rows(json, a, "vcpus", rs_insight_vcpu_columns, rows, in->n_vcpus, sizeof(*rows));
	free(rows);
	return NULL;
}

/* ---- the kernel ----------------------------------------------------------------------------- */

static void put_line(struct rs_out *out, const char *name, const char *text)
{
	rs_out_line(out);
	rs_out_text(out, name);
	for (size_t n = strlen(name); n < 10; n++)
		rs_out_char(out, ' ');
	rs_out_text(out, text);
	rs_out_char(out, '\n');
}

static void put_kernel_text(struct rs_out *out, struct inspected *in)
{
	int64_t realtime_ns, monotonic_ns;
	char text[64];

	if (!in->kernel) {
		put_line(out, "kernel", "-");
		return;
	}
	put_line(out, "kernel", in->kernel->version);
	snprintf(text, sizeof(text), "0x%" PRIx64 ", displaced by 0x%" PRIx64, in->kernel->text,
		 (uint64_t)rs_linux_slide(in->kernel));
	put_line(out, "text", text);
	snprintf(text, sizeof(text), "%u", rs_kallsyms_count(in->kernel->symbols));
	put_line(out, "symbols", text);
	snprintf(text, sizeof(text), "%u", in->kernel->btf ? rs_btf_count(in->kernel->btf) : 0);
	put_line(out, "types", in->kernel->btf ? text : "-");
	if (lacks(in, rs_linux_time(in->kernel, &realtime_ns, &monotonic_ns)))
		return;
	rs_out_text(out, "time      ");
	rs_words_wall(out, realtime_ns);
	rs_out_char(out, '\n');
	snprintf(text, sizeof(text), "%.6f s", (double)monotonic_ns / 1e9);
	put_line(out, "uptime", text);
}

static void put_kernel_json(struct rs_json *json, struct inspected *in)
{
	int64_t realtime_ns, monotonic_ns;
	char text[32];

	rs_json_key(json, "kernel");
	if (!in->kernel) {
		rs_json_null(json);
		return;
	}
	rs_json_open(json, '{');
	rs_json_text(rs_json_key(json, "version"), in->kernel->version);
	snprintf(text, sizeof(text), "0x%" PRIx64, in->kernel->text);
	rs_json_text(rs_json_key(json, "text"), text);
	snprintf(text, sizeof(text), "0x%" PRIx64, (uint64_t)rs_linux_slide(in->kernel));
	rs_json_text(rs_json_key(json, "displaced"), text);
	rs_json_unsigned(rs_json_key(json, "symbols"), rs_kallsyms_count(in->kernel->symbols));
	rs_json_unsigned(rs_json_key(json, "types"),
			 in->kernel->btf ? rs_btf_count(in->kernel->btf) : 0);
	if (!lacks(in, rs_linux_time(in->kernel, &realtime_ns, &monotonic_ns))) {
		rs_json_signed(rs_json_key(json, "time_ns"), realtime_ns);
		rs_json_signed(rs_json_key(json, "uptime_ns"), monotonic_ns);
	} else {
		rs_json_null(rs_json_key(json, "time_ns"));
		rs_json_null(rs_json_key(json, "uptime_ns"));
	}
	rs_json_close(json, '}');
}

/* ---- tasks, areas, symbols ------------------------------------------------------------------ */

static struct rs_error *put_tasks(struct rs_json *json, const struct arguments *a,
				  struct inspected *in)
{
	struct rs_linux_tasks tasks = { 0 };
	struct rs_error *err = rs_linux_tasks_read(in->kernel, &tasks);

	if (err)
		return err;
	put_rows(json, a, "tasks", rs_insight_task_columns, tasks.tasks, tasks.n,
		 sizeof(*tasks.tasks));
	lacks(in, tasks.damage);
	tasks.damage = NULL;
	rs_linux_tasks_deinit(&tasks);
	return NULL;
}

static struct rs_error *process_find(struct rs_linux *kernel, int pid, struct rs_linux_task *task)
{
	struct rs_linux_tasks tasks = { 0 };
	struct rs_error *err = rs_linux_tasks_read(kernel, &tasks), *damage;
	bool found = false;

	if (err)
		return err;
	for (uint32_t i = 0; i < tasks.n && !found; i++) {
		found = tasks.tasks[i].pid == pid;
		if (found)
			*task = tasks.tasks[i];
	}
	damage = tasks.damage;
	tasks.damage = NULL;
	rs_linux_tasks_deinit(&tasks);
	if (!found && damage)
		return rs_error_wrap(damage, "process %d was not found", pid);
	rs_error_free(damage);
	return found ? NULL : rs_error_create(RS_USAGE, "the guest has no process %d", pid);
}

static struct rs_error *put_areas(struct rs_json *json, const struct arguments *a,
				  struct inspected *in)
{
	static char name[RS_AREA_NAME_MAX];
	struct rs_linux_areas areas = { 0 };
	struct rs_insight_area *rows;
	struct rs_linux_task task;
	struct rs_error *err = process_find(in->kernel, a->pid, &task);

	if (!err)
		err = rs_linux_areas_read(in->kernel, &task, &areas);
	if (err)
		return err;
	rows = calloc(areas.n ? areas.n : 1, sizeof(*rows));
	for (uint32_t i = 0; rows && i < areas.n; i++) {
		rows[i].area = areas.areas[i];
		rs_linux_area_rights(&areas.areas[i], rows[i].rights);
		if (!lacks(in, rs_linux_area_name(in->kernel, &areas, &areas.areas[i], name)) &&
		    *name)
			rows[i].name = strdup(name);
	}
	if (rows)
		put_rows(json, a, "maps", rs_insight_area_columns, rows, areas.n, sizeof(*rows));
	for (uint32_t i = 0; rows && i < areas.n; i++)
		free(rows[i].name);
	rs_linux_areas_deinit(&areas);
	err = rows ? NULL : rs_error_no_memory();
	free(rows);
	return err;
}

static struct rs_error *symbol_find(struct rs_linux *kernel, const char *requested,
				    struct rs_insight_symbol *row)
{
	const char *module = NULL;

	row->requested = requested;
	row->size = 0;
	if (!strncmp(requested, "0x", 2)) {
		if (!rs_cli_read_number(requested, 0, UINT64_MAX, &row->requested_address))
			return rs_error_create(RS_USAGE, "'%s' is not an address", requested);
		if (!rs_linux_symbol(kernel, row->requested_address, &row->sym, &row->size,
				     &module))
			return rs_error_create(RS_USAGE,
					       "no symbol of the kernel or of a module contains "
					       "the address %s",
					       requested);
	} else {
		if (!rs_linux_symbol_by_name(kernel, requested, &row->sym, &module))
			return rs_error_create(RS_USAGE,
					       "neither the kernel nor a module has a symbol '%s'",
					       requested);
		row->requested_address = row->sym.address;
	}
	snprintf(row->module, sizeof(row->module), "%s", module ? module : "");
	return NULL;
}

static struct rs_error *put_symbols(struct rs_json *json, const struct arguments *a,
				    struct inspected *in)
{
	struct rs_insight_symbol *rows = calloc(a->n_symbols, sizeof(*rows));
	struct rs_error *err = NULL;

	if (!rows)
		return rs_error_no_memory();
	for (uint32_t i = 0; i < a->n_symbols && !err; i++)
		err = symbol_find(in->kernel, a->symbols[i], &rows[i]);
	if (!err)
		put_rows(json, a, "symbols", rs_insight_symbol_columns, rows, a->n_symbols,
			 sizeof(*rows));
	free(rows);
	return err;
}

static struct rs_error *put_stacks(struct rs_json *json, const struct arguments *a,
				   struct inspected *in)
{
	const struct rs_inspect_stacks what = { .kernel = in->kernel,
						.vcpus = in->vcpus,
						.n_vcpus = in->n_vcpus,
						.symfs = a->symfs,
						.pid = a->stacks_pid,
						.is_json = a->json };

	return rs_inspect_put_stacks(json, &what, &in->incomplete);
}

/* ---- all ------------------------------------------------------------------------------------ */

/* Shows the requested parts, or by default the kernel and the vCPUs. */
static struct rs_error *put_requested(struct rs_json *json, const struct arguments *a,
				      struct inspected *in)
{
	bool requested = a->tasks || a->maps || a->n_symbols || a->stacks, follows = false;
	const struct {
		bool is_requested;
		struct rs_error *(*put)(struct rs_json *json, const struct arguments *a,
					struct inspected *in);
	} parts[] = { { !requested, put_vcpus },
		      { a->tasks, put_tasks },
		      { a->maps, put_areas },
		      { a->n_symbols > 0, put_symbols },
		      { a->stacks, put_stacks } };
	struct rs_error *err = NULL;

	if (requested && !in->kernel) {
		err = in->no_kernel;
		in->no_kernel = NULL;
		return rs_error_wrap(err, "%s: no Linux kernel was found", a->path);
	}
	if (a->json)
		put_kernel_json(json, in);
	else if (!requested)
		put_kernel_text(json->out, in);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]) && !err; i++) {
		if (!parts[i].is_requested)
			continue;
		if (!a->json && follows)
			rs_out_char(json->out, '\n');
		follows = true;
		err = parts[i].put(json, a, in);
	}
	return rs_error_wrap(err, "%s", a->path);
}

static struct rs_error *show(const struct arguments *a, struct inspected *in, struct rs_out *out)
{
	struct rs_json json = { .out = out };
	struct rs_error *err = inspected_open(a->path, in);

	if (err)
		return err;
	if (a->json) {
		rs_json_open(&json, '{');
		rs_json_text(rs_json_key(&json, "core"), a->path);
	}
	err = put_requested(&json, a, in);
	if (a->json && !err) {
		rs_json_close(&json, '}');
		rs_json_line_end(&json);
	}
	return err;
}

/* Returns what the output lacks. */
static struct rs_error *missing(struct inspected *in, const char *path)
{
	struct rs_error *none = in->no_kernel, *part = in->incomplete;

	in->no_kernel = in->incomplete = NULL;
	if (!none)
		return rs_error_wrap(part, "%s: incomplete", path);
	return rs_error_first(
		rs_error_wrap(none,
			      "%s: no Linux kernel was found, so the output shows only "
			      "registers and page tables",
			      path),
		part);
}

int cmd_inspect(int argc, char **argv)
{
	static const struct argp argp = { options, parse, "CORE", doc, NULL, NULL, NULL };
	struct arguments a = { 0 };
	struct inspected in = { 0 };
	int status = RS_EXIT_OK;
	struct rs_error *err;
	struct rs_out out;

	if (rs_cli_parse(&argp, argc, argv, &a))
		return RS_EXIT_USAGE;
	err = rs_cli_confine(RS_CONFINE_READER);
	if (!err)
		err = rs_out_init(&out, STDOUT_FILENO);
	if (!err)
		err = rs_out_end(&out, show(&a, &in, &out));
	if (err) {
		status = rs_cli_fail("inspect", err);
	} else if (in.no_kernel || in.incomplete) {
		rs_cli_fail("inspect", missing(&in, a.path));
		status = RS_EXIT_PARTIAL;
	}
	inspected_close(&in);
	return status;
}
