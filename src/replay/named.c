/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the places of probes by name, and creates their events. */
#include "replay/named.h"

#include <ctype.h>
#include <fnmatch.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "insight/modules.h"
#include "introspect/functions.h"
#include "introspect/leaves.h"

#define SYSCALL_FUNCTIONS "__x64_sys_"
#define SYSCALL_NONE	  "__x64_sys_ni_syscall"
#define SYSCALL_TABLE	  "sys_call_table"
#define SYSCALLS_MAX	  1024u /* limit of the numbers of system calls that globs match */
#define SYSCALL_LEFT	  "syscall_exit_to_user_mode"
#define SWITCH		  "__switch_to"
#define MOVED		  ".cold" /* gcc's suffixes for parts of a function that it moves */

/* ---- events ------------------------------------------------------------------------------- */

#define HEX(name)                                                                                  \
	{                                                                                          \
		name, "", NULL, NULL, RS_TYPE_U64, RS_SHOW_HEX, 0                                  \
	}
#define NUMBER(name, type)                                                                         \
	{                                                                                          \
		name, "", NULL, NULL, type, RS_SHOW_DEC, 0                                         \
	}
#define STOP HEX("pc"), NUMBER("icount", RS_TYPE_U64), NUMBER("cpl", RS_TYPE_U8)
#define ARGS HEX("arg0"), HEX("arg1"), HEX("arg2"), HEX("arg3"), HEX("arg4"), HEX("arg5")

static const struct rs_field call_fields[] = { ARGS, STOP };
static const struct rs_field place_fields[] = { STOP };
static const struct rs_field return_fields[] = { HEX("retval"), STOP };
static const struct rs_field result_fields[] = { NUMBER("retval", RS_TYPE_S64), STOP };
static const struct rs_field switch_fields[] = { HEX("prev"),
						 HEX("next"),
						 NUMBER("next_pid", RS_TYPE_S32),
						 NUMBER("next_tid", RS_TYPE_S32),
						 STOP,
						 NUMBER("next_comm", RS_TYPE_TEXT) };

static const struct kind {
	const struct rs_field *fields;
	uint16_t n_fields;
	const char *help;
} kinds[] = {
#define KIND(fields, help)                                                                         \
	{                                                                                          \
		fields, sizeof(fields) / sizeof(fields[0]), help                                   \
	}
	[RS_REPLAY_CALL - RS_REPLAY_NAMED] = KIND(call_fields, "a function is called"),
	[RS_REPLAY_PLACE - RS_REPLAY_NAMED] = KIND(place_fields, "an instruction of a function"),
	[RS_REPLAY_RETURN - RS_REPLAY_NAMED] = KIND(return_fields, "a function is left"),
	[RS_REPLAY_SYSCALL - RS_REPLAY_NAMED] = KIND(call_fields, "a system call begins"),
	[RS_REPLAY_SYSRET - RS_REPLAY_NAMED] = KIND(result_fields, "a system call has ended"),
	[RS_REPLAY_SWITCH - RS_REPLAY_NAMED] = KIND(switch_fields, "the kernel changes tasks"),
};

/* A probe during its creation. */
struct making {
	struct rs_probed *p;
	const struct rs_replay_words *words;
	struct rs_named *named;
	struct rs_replay_probe probe; /* the probe without its places */
	const char *class_name;	      /* "kernel", or the program's file */
	uint64_t offset;	      /* where the probe is in a function */
	uint32_t first;		      /* number of the machine's probes before this description */
	uint32_t n;		      /* number of places so far */
};

static struct rs_error *declare(struct making *m)
{
	const struct kind *kind = &kinds[m->probe.kind - RS_REPLAY_NAMED];
	const struct rs_event event = { .id = RS_ID(RS_IDS_USER, m->p->n_probes + 1),
					.class_name = m->words->at[1],
					.function = m->words->at[2],
					.name = m->words->at[3],
					.help = kind->help,
					.fields = kind->fields,
					.n_fields = kind->n_fields };
	struct rs_error *err = rs_schema_add(m->p->schema, &event);

	m->probe.event = err ? NULL : rs_schema_find(m->p->schema, event.id);
	return err;
}

/* Adds a breakpoint, at each possible base of a program. */
static struct rs_error *add(struct making *m, uint64_t address)
{
	struct rs_error *err = NULL;

	m->probe.address = address;
	if (!m->probe.event)
		err = declare(m);
	m->n++;
	return err ? err : rs_probed_add(m->p, &m->probe);
}

/* ---- functions ---------------------------------------------------------------------------- */

/* A part of a function, and its code, which only probes at a return need. */
struct part {
	uint64_t address, bytes;
	const uint8_t *code;
};

static struct rs_error *add_leaves(struct making *m, uint32_t from)
{
	struct rs_error *err = NULL;
	uint64_t address;

	for (uint32_t i = from; !err && rs_leaves_place(m->named->leaves, i, &address); i++)
		err = add(m, address);
	return err;
}

/* Creates the probe of one function, which has one or two parts. */
static struct rs_error *add_function(struct making *m, const struct part *parts, uint32_t n)
{
	struct rs_error *err = NULL;

	if (m->probe.kind != RS_REPLAY_RETURN) {
		if (m->offset >= parts->bytes)
			return rs_error_create(RS_USAGE, "%s has %llu bytes", m->words->at[2],
					       (unsigned long long)parts->bytes);
		return add(m, parts->address + m->offset);
	}
	/* Functions of one name differ in their parts, so each has a separate probe. */
	m->named = calloc(1, sizeof(*m->named));
	if (!m->named)
		return rs_error_no_memory();
	m->named->next = m->p->named;
	m->p->named = m->named;
	m->probe.named = m->named;
	err = rs_leaves_create(&m->named->leaves);
	for (uint32_t i = 0; !err && i < n; i++)
		err = rs_leaves_add(m->named->leaves, parts[i].address, parts[i].code,
				    parts[i].bytes);
	return err ? err : add_leaves(m, 0);
}

static struct rs_error *no_function(const struct making *m, const char *of)
{
	if (m->n)
		return NULL;
	return rs_error_create(RS_USAGE,
			       m->probe.kind == RS_REPLAY_RETURN
				       ? "%s has no function '%s' that returns"
				       : "%s has no function '%s'",
			       of, m->words->at[2]);
}

/* Reads the code of a part in the kernel's memory. */
static struct rs_error *code_read(struct making *m, struct rs_linux *kernel, struct part *part)
{
	uint8_t *code;
	struct rs_error *err;

	if (m->probe.kind != RS_REPLAY_RETURN)
		return NULL;
	if (part->bytes > RS_LEAVES_CODE_MAX)
		return rs_error_create(RS_USAGE, "the function is larger than %u bytes",
				       RS_LEAVES_CODE_MAX);
	code = malloc(part->bytes);
	if (!code)
		return rs_error_no_memory();
	err = rs_linux_bytes(kernel, part->address, code, part->bytes);
	if (err)
		free(code);
	else
		part->code = code;
	return err;
}

/* ---- globs -------------------------------------------------------------------------------- */

#define GLOB "*?["

/* Returns whether a function's name is that of the description, or matches its glob. Parts that the
 * compiler has moved away match no glob. */
static bool is_asked(const struct making *m, const char *function)
{
	const char *asked = m->words->at[2];
	size_t len = strlen(function), moved = strlen(MOVED);

	if (!strpbrk(asked, GLOB))
		return !strcmp(asked, function);
	return !(len > moved && !strcmp(function + len - moved, MOVED)) &&
	       !fnmatch(asked, function, 0);
}

/* Returns the event that a function's probe already has, or NULL. Sets *is_of_other if another
 * description created it. */
static const struct rs_event *event_of(const struct making *m, const struct rs_replay_words *words,
				       bool *is_of_other)
{
	for (uint32_t i = 0; i < m->p->n_probes; i++) {
		const struct rs_event *event = m->p->probes[i].event;

		if (!event || strcmp(event->function, words->at[2]) != 0 ||
		    strcmp(event->class_name, words->at[1]) != 0 ||
		    strcmp(event->name, words->at[3]) != 0)
			continue;
		*is_of_other = i < m->first;
		return event;
	}
	return NULL;
}

/* Creates the probe of one function that a description names or matches, with make(). If the
 * description is a glob, each function's name has its own event, and a function without such a
 * place is left out. */
static struct rs_error *make_one(struct making *m, const char *function,
				 struct rs_error *(*make)(struct making *m, const void *ctx),
				 const void *ctx)
{
	struct making one = *m;
	struct rs_replay_words words = *m->words;
	bool is_of_other = false;
	struct rs_error *err;

	if (!strpbrk(m->words->at[2], GLOB))
		return make(m, ctx);
	words.at[1] = m->class_name;
	words.at[2] = function;
	one.words = &words;
	one.n = 0;
	one.probe.event = event_of(m, &words, &is_of_other);
	if (is_of_other) {
		m->n++; /* it is there */
		return NULL;
	}
	err = make(&one, ctx);
	m->n += one.n;
	if (one.probe.event)
		m->probe.event = one.probe.event;
	if (!err || rs_error_code(err) != RS_USAGE || m->p->n_probes == RS_PROBES_MAX)
		return err;
	rs_error_free(err);
	return NULL;
}

/* ---- functions of the kernel -------------------------------------------------------------- */

/* A function of the kernel's own, or of a module. */
struct of_kernel {
	struct rs_linux *kernel;
	const struct rs_linux_module *module; /* NULL: the kernel itself */
	struct rs_ksym sym;
	uint64_t bytes; /* up to the next symbol; 0: unknown */
};

static bool is_code(const struct rs_ksym *sym)
{
	return !sym->percpu && strchr("tTwW", sym->type);
}

/* Finds the part of a module's function that has a name. */
static bool module_part(const struct rs_linux_module *module, const char *name, struct part *part)
{
	struct rs_ksym sym;

	for (uint32_t i = 0; rs_linux_module_symbol(module, i, &sym, &part->bytes); i++) {
		part->address = sym.address;
		if (is_code(&sym) && !strcmp(sym.name, name))
			return true;
	}
	return false;
}

/* Finds the part of the function that the compiler has moved away. Returns false if there is
 * none. */
static bool moved_part(const struct of_kernel *of, struct part *part)
{
	char moved[RS_KALLSYMS_NAME_MAX + sizeof(MOVED)];
	struct rs_ksym sym;

	snprintf(moved, sizeof(moved), "%s" MOVED, of->sym.name);
	if (of->module)
		return module_part(of->module, moved, part);
	if (!rs_kallsyms_by_name(of->kernel->symbols, moved, &sym))
		return false;
	part->address = sym.address;
	if (!rs_kallsyms_by_address(of->kernel->symbols, sym.address, &sym, &part->bytes))
		part->bytes = 0;
	return true;
}

/* Creates the probe of a function of the kernel or of a module. */
static struct rs_error *kernels_make(struct making *m, const void *ctx)
{
	const struct of_kernel *of = ctx;
	struct part parts[2] = { { .address = of->sym.address, .bytes = of->bytes } };
	struct rs_error *err = NULL;
	uint32_t n = moved_part(of, &parts[1]) ? 2 : 1;

	for (uint32_t i = 0; !err && i < n; i++)
		err = parts[i].bytes ? code_read(m, of->kernel, &parts[i])
				     : rs_error_create(RS_USAGE, "the end of %s is unknown",
						       of->sym.name);
	if (!err)
		err = add_function(m, parts, n);
	for (uint32_t i = 0; i < n; i++)
		free((void *)(uintptr_t)parts[i].code);
	return err;
}

static struct rs_error *make_kernel(struct making *m, struct rs_linux *kernel)
{
	struct of_kernel of = { .kernel = kernel };
	struct rs_error *err = NULL;

	m->class_name = m->words->at[1];
	for (uint32_t i = 0; !err && rs_kallsyms_at(kernel->symbols, i, &of.sym); i++) {
		struct rs_ksym first; /* of the symbols at this address */

		if (!is_asked(m, of.sym.name) || !is_code(&of.sym))
			continue;
		if (!rs_kallsyms_by_address(kernel->symbols, of.sym.address, &first, &of.bytes))
			of.bytes = 0;
		err = make_one(m, of.sym.name, kernels_make, &of);
	}
	return err ? err : no_function(m, "the guest's kernel");
}

/* ---- places of probes --------------------------------------------------------------------- */

/* A class of names in the kernel. */
struct named_class {
	const char *name;
	struct rs_error *(*make)(struct making *m, struct rs_linux *kernel);
	bool offsets; /* probes of this class are at places in functions */
	bool globs;   /* the function may be a glob */
};

/* Parses a probe's name: its place in the function. */
static bool name_read(struct making *m, bool offsets)
{
	const char *name = m->words->at[3];
	char *end;

	m->probe.kind = !strcmp(name, "return") ? RS_REPLAY_RETURN : RS_REPLAY_CALL;
	if (!offsets || *name != '+' || !isdigit((unsigned char)name[1]))
		return !strcmp(name, "return") || !strcmp(name, "entry");
	m->probe.kind = RS_REPLAY_PLACE;
	m->offset = strtoull(name + 1, &end, 0);
	return !*end;
}

static struct rs_error *name_check(struct making *m, const struct named_class *class)
{
	if (class && !class->globs) {
		if (!*m->words->at[2] && !strcmp(m->words->at[3], "switch"))
			return NULL;
		return rs_error_create(RS_USAGE,
				       "the probe of the guest's scheduler is guest:sched::switch");
	}
	if (*m->words->at[2] && name_read(m, !class || class->offsets))
		return NULL;
	if (class && !class->offsets)
		return rs_error_create(RS_USAGE, "the probes of a system call of the guest are "
						 "guest:syscall:NAME:entry and return");
	return rs_error_create(RS_USAGE,
			       "the probes of a function of the guest are guest:%s:FUNCTION:entry, "
			       "return, and +BYTES after its first instruction",
			       m->words->at[1]);
}

/* ---- functions of modules ----------------------------------------------------------------- */

/* Creates the probe of a module's function, and its description, by which later loads of the module
 * have the probe, too. */
static struct rs_error *modules_make(struct making *m, const void *ctx)
{
	const struct of_kernel *of = ctx;
	const uint32_t before = m->p->n_probes;
	struct rs_module_probe *added;
	struct rs_error *err = kernels_make(m, of);

	if (!err)
		err = rs_probed_module_add(m->p, &m->probe, m->offset, &added);
	if (err)
		return err;
	for (uint32_t i = before; i < m->p->n_probes; i++) {
		m->p->probes[i].of_module = added;
		m->p->probes[i].module = of->module->address;
	}
	added->module = of->module->address;
	added->loads = 1;
	return NULL;
}

/* Calls make() for each function of a module that the description names or matches. */
static struct rs_error *module_search(struct making *m, struct rs_linux *kernel,
				      const struct rs_linux_module *module,
				      struct rs_error *(*make)(struct making *m, const void *ctx))
{
	struct of_kernel of = { .kernel = kernel, .module = module };
	struct rs_error *err = NULL;

	m->class_name = m->words->at[1];
	for (uint32_t i = 0; !err && rs_linux_module_symbol(module, i, &of.sym, &of.bytes); i++)
		if (is_asked(m, of.sym.name) && is_code(&of.sym))
			err = make_one(m, of.sym.name, make, &of);
	return err ? err : no_function(m, m->class_name);
}

/* Creates the probe of a function of a module that may be loaded later. */
static struct rs_error *await_module(struct making *m)
{
	struct rs_module_probe *added;
	struct rs_error *err;

	if (strpbrk(m->words->at[2], GLOB))
		return rs_error_create(RS_USAGE,
				       "the guest has not loaded a module '%s', whose functions "
				       "'%s' may match",
				       m->words->at[1], m->words->at[2]);
	err = declare(m);
	if (!err)
		err = rs_probed_module_add(m->p, &m->probe, m->offset, &added);
	if (err)
		return err;
	m->probe.of_module = added;
	m->probe.is_nowhere = true;
	return rs_probed_add(m->p, &m->probe);
}

static struct rs_error *make_module(struct making *m, struct rs_linux *kernel)
{
	const struct rs_linux_module *module = rs_modules_by_name(kernel, m->words->at[1]);
	struct rs_error *err = name_check(m, NULL);

	if (err)
		return err;
	if (module)
		return module_search(m, kernel, module, modules_make);
	if (m->p->awaits_modules)
		return await_module(m);
	return rs_error_create(RS_USAGE,
			       "no --binary has the name '%s', and the guest loads no such module",
			       m->words->at[1]);
}

struct rs_error *rs_named_add_module(struct rs_probed *p, struct rs_linux *kernel,
				     struct rs_module_probe *of,
				     const struct rs_linux_module *module)
{
	const struct rs_replay_words words = { .at = { "", of->event->class_name,
						       of->event->function, of->event->name } };
	struct making m = { .p = p,
			    .words = &words,
			    .first = p->n_probes,
			    .offset = of->offset,
			    .probe = { .kind = of->kind,
				       .event = of->event,
				       .bytes = 1,
				       .point = RS_GDB_EXEC,
				       .wanted = of->wanted,
				       .of_module = of,
				       .module = module->address } };

	return module_search(&m, kernel, module, kernels_make);
}

/* ---- system calls and switches ------------------------------------------------------------ */

/* Returns whether a system call's function is at an address, which may also have other names. */
static bool is_syscall(const struct rs_linux *kernel, uint64_t address)
{
	struct rs_ksym sym;

	for (uint32_t i = 0; rs_kallsyms_at(kernel->symbols, i, &sym); i++) {
		if (sym.address == address && !sym.percpu &&
		    !strncmp(sym.name, SYSCALL_FUNCTIONS, strlen(SYSCALL_FUNCTIONS)))
			return true;
	}
	return false;
}

/* A system call of the guest's kernel. */
struct of_syscall {
	struct rs_linux *kernel;
	uint64_t table, bytes; /* the kernel's table of the calls' functions */
	uint32_t number;
};

/* Finds the function of a system call in the kernel's table, by the call's number. */
static struct rs_error *syscall_find(const struct of_syscall *of, const char *name,
				     uint64_t *function)
{
	struct rs_error *err;

	if (of->number >= of->bytes / sizeof(*function))
		return rs_error_create(RS_USAGE, "the guest's kernel lacks the system call '%s'",
				       name);
	err = rs_linux_bytes(of->kernel, of->table + sizeof(*function) * of->number, function,
			     sizeof(*function));
	if (err)
		return err;
	if (!is_syscall(of->kernel, *function))
		return rs_error_create(RS_USAGE,
				       "the kernel's table of system calls has an unknown form");
	if (rs_kallsyms_has(of->kernel->symbols, SYSCALL_NONE, *function))
		return rs_error_create(RS_USAGE, "the guest's kernel lacks the system call '%s'",
				       name);
	return NULL;
}

static struct rs_error *kernel_place(struct making *m, struct rs_linux *kernel, const char *name)
{
	struct rs_ksym sym;

	if (!rs_kallsyms_by_name(kernel->symbols, name, &sym) || !is_code(&sym))
		return rs_error_create(RS_USAGE, "the guest's kernel has no function %s", name);
	return add(m, sym.address);
}

/* Creates the probe of one system call. */
static struct rs_error *syscall_make(struct making *m, const void *ctx)
{
	const struct of_syscall *of = ctx;
	uint64_t function = 0;
	struct rs_error *err = syscall_find(of, m->words->at[2], &function);

	if (err)
		return err;
	m->named = calloc(1, sizeof(*m->named));
	if (!m->named)
		return rs_error_no_memory();
	m->named->number = of->number;
	m->named->next = m->p->named;
	m->p->named = m->probe.named = m->named;
	return m->probe.kind == RS_REPLAY_SYSRET ? kernel_place(m, of->kernel, SYSCALL_LEFT)
						 : add(m, function);
}

/* Creates the probes of the system calls that a glob matches. */
static struct rs_error *match_syscalls(struct making *m, struct of_syscall *of)
{
	struct rs_error *err = NULL;

	m->class_name = m->words->at[1];
	for (of->number = 0; !err && of->number < SYSCALLS_MAX; of->number++) {
		char *name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_X86_64, (int)of->number);

		if (name && !fnmatch(m->words->at[2], name, 0))
			err = make_one(m, name, syscall_make, of);
		free(name);
	}
	if (!err && !m->n)
		err = rs_error_create(RS_USAGE, "the guest's kernel has no system call '%s'",
				      m->words->at[2]);
	return err;
}

static struct rs_error *make_syscall(struct making *m, struct rs_linux *kernel)
{
	static const enum rs_field_id needed[] = { RS_FIELD_REGS_DI, RS_FIELD_REGS_SI,
						   RS_FIELD_REGS_DX, RS_FIELD_REGS_R10,
						   RS_FIELD_REGS_R8, RS_FIELD_REGS_R9,
						   RS_FIELD_REGS_AX, RS_FIELD_REGS_NR };
	struct rs_error *err = rs_linux_need(kernel, needed, sizeof(needed) / sizeof(needed[0]));
	const char *name = m->words->at[2];
	struct of_syscall of = { .kernel = kernel };
	struct rs_ksym table;
	int number;

	if (err)
		return err;
	if (!rs_kallsyms_by_name(kernel->symbols, SYSCALL_TABLE, &table) ||
	    !rs_kallsyms_by_address(kernel->symbols, table.address, &table, &of.bytes))
		return rs_error_create(RS_USAGE, "the kernel's symbols have no " SYSCALL_TABLE);
	of.table = table.address;
	m->probe.kind = m->probe.kind == RS_REPLAY_RETURN ? RS_REPLAY_SYSRET : RS_REPLAY_SYSCALL;
	if (strpbrk(name, GLOB))
		return match_syscalls(m, &of);
	number = seccomp_syscall_resolve_name_arch(SCMP_ARCH_X86_64, name);
	if (number < 0)
		return rs_error_create(RS_USAGE, "Linux for x86-64 has no system call '%s'", name);
	of.number = (uint32_t)number;
	return syscall_make(m, &of);
}

static struct rs_error *make_switch(struct making *m, struct rs_linux *kernel)
{
	m->probe.kind = RS_REPLAY_SWITCH;
	return kernel_place(m, kernel, SWITCH);
}

/* ---- programs ----------------------------------------------------------------------------- */

/* Returns the end of the function that begins at an address. */
static uint64_t end_of(const struct rs_functions *functions, uint64_t address)
{
	const struct rs_range *range = rs_ranges_find(&functions->ranges, address);
	const uint32_t item = range ? range->item : 0;
	uint64_t end = address;

	while (range && range->item == item) {
		end = range->hi;
		range = rs_ranges_find(&functions->ranges, end);
	}
	return end;
}

static bool part_find(const struct rs_elf_file *file, const struct rs_functions *functions,
		      uint64_t address, struct part *part)
{
	*part = (struct part){ .address = address, .bytes = end_of(functions, address) - address };
	if (part->bytes)
		part->code = rs_elf_loaded(file, address, part->bytes);
	return part->code;
}

/* Returns the function whose name is `name`, with or without a suffix in MOVED, or NULL. */
static const struct rs_function *moved_of(const struct rs_functions *functions, const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < functions->n; i++) {
		const char *symbol = functions->at[i].symbol;

		if (!strncmp(symbol, name, len) && !strcmp(symbol + len, MOVED))
			return &functions->at[i];
	}
	return NULL;
}

/* A function of a program. */
struct of_program {
	const struct rs_elf_file *file;
	const struct rs_functions *functions;
	const struct rs_function *function;
};

static struct rs_error *programs_make(struct making *m, const void *ctx)
{
	const struct of_program *of = ctx;
	const struct rs_function *moved = moved_of(of->functions, of->function->symbol);
	struct part parts[2];
	uint32_t n = 1;

	if (!part_find(of->file, of->functions, of->function->address, &parts[0]))
		return NULL;
	if (moved && part_find(of->file, of->functions, moved->address, &parts[1]))
		n++;
	return add_function(m, parts, n);
}

static struct rs_error *add_programs(struct making *m, const struct rs_elf_file *file,
				     const struct rs_functions *functions)
{
	struct rs_error *err = NULL;

	for (size_t i = 0; !err && i < functions->n; i++) {
		const struct of_program of = { file, functions, &functions->at[i] };

		if (is_asked(m, of.function->symbol))
			err = make_one(m, of.function->symbol, programs_make, &of);
	}
	return err;
}

static struct rs_error *make_program(struct making *m, uint32_t program)
{
	const char *path = m->p->programs[program].of->path;
	struct rs_functions functions = { 0 };
	struct rs_elf_file file = { 0 };
	struct rs_error *err = rs_elf_file_open(path, &file);

	if (!err)
		err = rs_functions_read(&file, &functions);
	m->probe.of_program = true;
	m->probe.program = program;
	if (!err)
		err = add_programs(m, &file, &functions);
	rs_functions_deinit(&functions);
	rs_elf_file_close(&file);
	return err;
}

/* ---- descriptions ------------------------------------------------------------------------- */

static const struct named_class classes[] = {
	{ "kernel", make_kernel, true, true },
	{ "syscall", make_syscall, false, true },
	{ "sched", make_switch, false, false },
};
#define N_CLASSES (sizeof(classes) / sizeof(classes[0]))

static const struct named_class *class_of(const char *description, struct rs_replay_words *words)
{
	if (!rs_replay_words(description, words) || strcmp(words->at[0], "guest") != 0 ||
	    strpbrk(words->at[1], GLOB) || strpbrk(words->at[3], GLOB))
		return NULL;
	for (size_t i = 0; i < N_CLASSES; i++) {
		if (!strcmp(classes[i].name, words->at[1]) &&
		    (classes[i].globs || !strpbrk(words->at[2], GLOB)))
			return &classes[i];
	}
	return NULL;
}

bool rs_named_is_glob(const char *description)
{
	struct rs_replay_words words;

	return rs_replay_words(description, &words) && strpbrk(words.at[2], GLOB) &&
	       !strpbrk(words.at[3], GLOB);
}

bool rs_named_of_kernel(const char *description)
{
	struct rs_replay_words words;

	return class_of(description, &words);
}

/* Returns whether a name is that of a place in a function. */
static bool is_place(const char *name)
{
	return !strcmp(name, "entry") || !strcmp(name, "return") || *name == '+';
}

/* Returns a program's file, if a description names or matches it, and a function; else NULL. */
static const char *program_of(const struct rs_probed *p, uint32_t program,
			      const struct rs_replay_words *words)
{
	const char *path = p->programs[program].of->path;
	const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path;
	bool is_glob = strpbrk(words->at[1], GLOB) || strpbrk(words->at[2], GLOB);

	if (strcmp(words->at[0], "guest") != 0 || !*words->at[1] || !*words->at[2] ||
	    fnmatch(words->at[1], file, 0) != 0)
		return NULL;
	/* A glob may be of other probes. */
	return is_glob && !is_place(words->at[3]) ? NULL : file;
}

bool rs_named_module(const struct rs_probed *p, const char *description,
		     char name[RS_WORD_MAX + 1])
{
	/* Other probes of the guest, whose last field may be any word. */
	static const char *const others[] = { "usdt", "assert" };
	struct rs_replay_words words;

	if (!rs_replay_words(description, &words) || strcmp(words.at[0], "guest") != 0 ||
	    !*words.at[1] || !*words.at[2] || strpbrk(words.at[1], GLOB) || !is_place(words.at[3]))
		return false;
	for (size_t i = 0; i < N_CLASSES; i++)
		if (!strcmp(words.at[1], classes[i].name))
			return false;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (!strcmp(words.at[1], others[i]))
			return false;
	for (uint32_t i = 0; i < p->n_programs; i++)
		if (program_of(p, i, &words))
			return false;
	if (name)
		snprintf(name, RS_WORD_MAX + 1, "%s", words.at[1]);
	return true;
}

/* Creates the probes of each program that a description names or matches. */
static struct rs_error *make_programs(struct making *m, struct rs_replay_words *words,
				      const struct rs_event **event)
{
	const char *file = words->at[1], *last = NULL;
	struct rs_error *err = NULL;

	for (uint32_t i = 0; i < m->p->n_programs && !err; i++) {
		words->at[1] = file;
		m->class_name = program_of(m->p, i, words);
		if (!m->class_name)
			continue;
		/* The event of another program has that one's name. */
		if (last && strcmp(last, m->class_name) != 0)
			m->probe.event = NULL;
		words->at[1] = last = m->class_name;
		err = name_check(m, NULL);
		if (!err)
			err = make_program(m, i);
	}
	if (!err && last)
		err = no_function(m, last);
	if (!err)
		*event = m->probe.event;
	return err;
}

struct rs_error *rs_named_make(struct rs_probed *p, const char *description,
			       const struct rs_event **event)
{
	struct rs_replay_words words;
	const struct named_class *class = class_of(description, &words);
	struct making m = { .p = p,
			    .words = &words,
			    .first = p->n_probes,
			    .probe = { .bytes = 1, .point = RS_GDB_EXEC } };
	struct rs_linux *kernel = rs_guest_kernel_here(&p->guest);
	struct rs_error *err;

	*event = NULL;
	if (!class && !rs_named_module(p, description, NULL)) {
		return rs_replay_words(description, &words) ? make_programs(&m, &words, event)
							    : NULL;
	}
	err = class ? name_check(&m, class) : NULL;
	if (!err && !kernel)
		err = rs_error_create(RS_USAGE, "the guest's kernel is unknown: %s",
				      p->guest.why ? rs_error_text(p->guest.why)
						   : "no search was made");
	if (!err)
		err = class ? class->make(&m, kernel) : make_module(&m, kernel);
	if (!err)
		*event = m.probe.event;
	return err;
}

static void named_free(struct rs_named *named)
{
	rs_leaves_destroy(named->leaves);
	free(named);
}

void rs_named_remove(struct rs_probed *p, struct rs_named *named)
{
	for (struct rs_named **at = &p->named; named && *at; at = &(*at)->next) {
		if (*at != named)
			continue;
		*at = named->next;
		named_free(named);
		return;
	}
}

void rs_named_destroy(struct rs_named *list)
{
	while (list) {
		struct rs_named *next = list->next;

		named_free(list);
		list = next;
	}
}
