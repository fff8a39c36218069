/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the places of probes by name, and makes their events. */
#include "replay/named.h"

#include <ctype.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "introspect/functions.h"
#include "introspect/leaves.h"

#define SYSCALL_FUNCTIONS "__x64_sys_"
#define SYSCALL_NONE	  "__x64_sys_ni_syscall"
#define SYSCALL_TABLE	  "sys_call_table"
#define SYSCALL_LEFT	  "syscall_exit_to_user_mode"
#define SWITCH		  "__switch_to"
#define MOVED		  ".cold" /* gcc's, of the parts of a function that it moves away */

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

/* A probe that is made. */
struct making {
	struct rs_probed *p;
	const struct rs_replay_words *words;
	struct rs_named *named;
	struct rs_replay_probe probe; /* without its places */
	uint64_t offset;	      /* of a place in a function */
	uint32_t n;		      /* places so far */
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

/* A part of a function, and its code: of a return only. */
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

/* Makes the probe of one function, which has one or two parts. */
static struct rs_error *add_function(struct making *m, const struct part *parts, uint32_t n)
{
	struct rs_error *err = NULL;

	if (m->probe.kind != RS_REPLAY_RETURN) {
		if (m->offset >= parts->bytes)
			return rs_error_create(RS_USAGE, "%s has %llu bytes", m->words->at[2],
					       (unsigned long long)parts->bytes);
		return add(m, parts->address + m->offset);
	}
	/* Functions of one name differ in their parts: each has its own. */
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

/* Makes the probe of the kernel's function at an address. */
static struct rs_error *add_kernels(struct making *m, struct rs_linux *kernel, const char *name,
				    uint64_t address)
{
	char moved[RS_KALLSYMS_NAME_MAX + sizeof(MOVED)];
	struct part parts[2] = { { .address = address } };
	struct rs_error *err = NULL;
	struct rs_ksym sym;
	uint32_t n = 1;

	snprintf(moved, sizeof(moved), "%s" MOVED, name);
	if (rs_kallsyms_by_name(kernel->symbols, moved, &sym))
		parts[n++].address = sym.address;
	for (uint32_t i = 0; !err && i < n; i++) {
		if (!rs_kallsyms_by_address(kernel->symbols, parts[i].address, &sym,
					    &parts[i].bytes) ||
		    !parts[i].bytes)
			err = rs_error_create(RS_USAGE, "the end of %s is not known", name);
		else
			err = code_read(m, kernel, &parts[i]);
	}
	if (!err)
		err = add_function(m, parts, n);
	for (uint32_t i = 0; i < n; i++)
		free((void *)(uintptr_t)parts[i].code);
	return err;
}

static bool is_code(const struct rs_ksym *sym)
{
	return !sym->percpu && strchr("tTwW", sym->type);
}

static struct rs_error *make_kernel(struct making *m, struct rs_linux *kernel)
{
	struct rs_error *err = NULL;
	struct rs_ksym sym;

	for (uint32_t i = 0; !err && rs_kallsyms_at(kernel->symbols, i, &sym); i++) {
		if (!strcmp(sym.name, m->words->at[2]) && is_code(&sym))
			err = add_kernels(m, kernel, sym.name, sym.address);
	}
	return err ? err : no_function(m, "the guest's kernel");
}

/* ---- system calls and switches ------------------------------------------------------------ */

/* Returns whether a function of system calls is at an address, which may have other names too. */
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

/* Looks up the function of a system call in the kernel's table, by the call's number. */
static struct rs_error *syscall_find(struct making *m, struct rs_linux *kernel, uint64_t *function)
{
	const char *name = m->words->at[2];
	int number = seccomp_syscall_resolve_name_arch(SCMP_ARCH_X86_64, name);
	struct rs_ksym table;
	struct rs_error *err;

	if (number < 0)
		return rs_error_create(RS_USAGE, "Linux for x86-64 has no system call '%s'", name);
	if (!rs_kallsyms_by_name(kernel->symbols, SYSCALL_TABLE, &table))
		return rs_error_create(RS_USAGE, "the kernel's symbols have no " SYSCALL_TABLE);
	m->named->number = (uint32_t)number;
	err = rs_linux_bytes(kernel, table.address + 8 * (uint64_t)number, function,
			     sizeof(*function));
	if (err)
		return err;
	if (!is_syscall(kernel, *function))
		return rs_error_create(RS_USAGE,
				       "the kernel's table of system calls is none that is known");
	if (rs_kallsyms_has(kernel->symbols, SYSCALL_NONE, *function))
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

static struct rs_error *make_syscall(struct making *m, struct rs_linux *kernel)
{
	static const enum rs_field_id needed[] = { RS_FIELD_PT_REGS_DI, RS_FIELD_PT_REGS_SI,
						   RS_FIELD_PT_REGS_DX, RS_FIELD_PT_REGS_R10,
						   RS_FIELD_PT_REGS_R8, RS_FIELD_PT_REGS_R9,
						   RS_FIELD_PT_REGS_AX, RS_FIELD_PT_REGS_NR };
	uint64_t function = 0;
	struct rs_error *err = rs_linux_need(kernel, needed, sizeof(needed) / sizeof(needed[0]));

	m->named = calloc(1, sizeof(*m->named));
	if (!err && !m->named)
		err = rs_error_no_memory();
	if (err)
		return err;
	m->named->next = m->p->named;
	m->p->named = m->probe.named = m->named;
	err = syscall_find(m, kernel, &function);
	if (err)
		return err;
	m->probe.kind = m->probe.kind == RS_REPLAY_RETURN ? RS_REPLAY_SYSRET : RS_REPLAY_SYSCALL;
	return m->probe.kind == RS_REPLAY_SYSRET ? kernel_place(m, kernel, SYSCALL_LEFT)
						 : add(m, function);
}

static struct rs_error *make_switch(struct making *m, struct rs_linux *kernel)
{
	m->probe.kind = RS_REPLAY_SWITCH;
	return kernel_place(m, kernel, SWITCH);
}

/* ---- programs ----------------------------------------------------------------------------- */

/* Returns where a function that begins at an address ends. */
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

/* Returns the function of this name that a function's name and MOVED are; NULL: none. */
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

static struct rs_error *add_programs(struct making *m, const struct rs_elf_file *file,
				     const struct rs_functions *functions)
{
	const char *name = m->words->at[2];
	const struct rs_function *moved = moved_of(functions, name);
	struct rs_error *err = NULL;

	for (size_t i = 0; !err && i < functions->n; i++) {
		struct part parts[2];
		uint32_t n = 1;

		if (strcmp(functions->at[i].symbol, name) != 0 ||
		    !part_find(file, functions, functions->at[i].address, &parts[0]))
			continue;
		if (moved && part_find(file, functions, moved->address, &parts[1]))
			n++;
		err = add_function(m, parts, n);
	}
	return err;
}

static struct rs_error *make_program(struct making *m)
{
	const char *path = m->p->program.of->path;
	struct rs_functions functions = { 0 };
	struct rs_elf_file file = { 0 };
	struct rs_error *err = rs_elf_file_open(path, &file);

	if (!err)
		err = rs_functions_read(&file, &functions);
	m->probe.of_program = true;
	if (!err)
		err = add_programs(m, &file, &functions);
	rs_functions_deinit(&functions);
	rs_elf_file_close(&file);
	return err ? err : no_function(m, path);
}

/* ---- descriptions ------------------------------------------------------------------------- */

/* The classes whose names are the kernel's. */
static const struct named_class {
	const char *name;
	struct rs_error *(*make)(struct making *m, struct rs_linux *kernel);
	bool offsets; /* it has places in functions */
} classes[] = {
	{ "kernel", make_kernel, true },
	{ "syscall", make_syscall, false },
	{ "sched", make_switch, false },
};
#define N_CLASSES (sizeof(classes) / sizeof(classes[0]))

static const struct named_class *class_of(const char *description, struct rs_replay_words *words)
{
	if (!rs_replay_words(description, words) || strcmp(words->at[0], "guest") != 0 ||
	    strpbrk(description, "*?["))
		return NULL;
	for (size_t i = 0; i < N_CLASSES; i++) {
		if (!strcmp(classes[i].name, words->at[1]))
			return &classes[i];
	}
	return NULL;
}

bool rs_named_of_kernel(const char *description)
{
	struct rs_replay_words words;

	return class_of(description, &words);
}

/* Returns whether a description names the program's file, and a function. */
static bool is_program(const struct rs_probed *p, const struct rs_replay_words *words)
{
	const char *path = p->program.of ? p->program.of->path : NULL;
	const char *slash = path ? strrchr(path, '/') : NULL;

	return path && !strcmp(words->at[0], "guest") && *words->at[2] &&
	       !strcmp(words->at[1], slash ? slash + 1 : path);
}

/* Reads a probe's name: what of the function it is. */
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
	if (class && class->make == make_switch) {
		if (!*m->words->at[2] && !strcmp(m->words->at[3], "switch"))
			return NULL;
		return rs_error_create(RS_USAGE, "the guest's scheduler has guest:sched::switch");
	}
	if (*m->words->at[2] && name_read(m, !class || class->offsets))
		return NULL;
	if (class && !class->offsets)
		return rs_error_create(RS_USAGE, "a system call of the guest is "
						 "guest:syscall:NAME:entry, or return");
	return rs_error_create(RS_USAGE,
			       "a function of the guest is guest:%s:FUNCTION:entry, or "
			       "return, or +BYTES behind its first instruction",
			       m->words->at[1]);
}

struct rs_error *rs_named_make(struct rs_probed *p, const char *description,
			       const struct rs_event **event)
{
	struct rs_replay_words words;
	const struct named_class *class = class_of(description, &words);
	struct making m = { .p = p,
			    .words = &words,
			    .probe = { .bytes = 1, .point = RS_GDB_EXEC } };
	struct rs_linux *kernel = rs_guest_kernel_here(&p->guest);
	struct rs_error *err;

	*event = NULL;
	if (!class && (strpbrk(description, "*?[") || !rs_replay_words(description, &words) ||
		       !is_program(p, &words)))
		return NULL;
	err = name_check(&m, class);
	if (!err && class && !kernel)
		err = rs_error_create(RS_USAGE, "the guest's kernel is not known: %s",
				      p->guest.why ? rs_error_text(p->guest.why)
						   : "it was not looked for");
	if (!err)
		err = class ? class->make(&m, kernel) : make_program(&m);
	if (!err)
		*event = m.probe.event;
	return err;
}

void rs_named_destroy(struct rs_named *list)
{
	while (list) {
		struct rs_named *next = list->next;

		rs_leaves_destroy(list->leaves);
		free(list);
		list = next;
	}
}
