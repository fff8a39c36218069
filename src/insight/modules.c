/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the modules of a guest's Linux kernel. */
#include "insight/modules.h"

#include <elf.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"
#include "insight/bpf.h"
#include "insight/orc.h"

#define MODULE_BYTES_MAX 8192u
#define PART_BYTES_MAX	 (UINT64_C(64) << 20)
#define PAGE_BYTES	 4096u
#define SYMBOLS_MAX	 (1u << 18) /* of a module */
#define ALIASES_MAX	 256u	    /* names of one address that are compared */
#define TEXTS_MAX	 (16u << 20)
#define SYMBOLS_ALL_MAX	 (1u << 20)
#define TEXTS_ALL_MAX	 (64u << 20)
#define EXPORTS_MAX	 16384u
#define EXPORT_BYTES	 12u /* struct kernel_symbol: distances of value, name, name space */
#define LOCAL_PREFIX	 ".L"
/* enum module_state of include/linux/module.h. */
#define STATE_COMING   1u
#define STATE_UNFORMED 3u
/* enum mod_mem_type, since 6.4. */
#define MOD_TEXT      0u
#define MOD_INIT_TEXT 4u
#define MOD_TYPES     7u

static struct rs_error *damaged(const char *what)
{
	return rs_error_create(RS_DAMAGED, "%s", what);
}

/* ---- what a module says --------------------------------------------------------------------- */

/* A struct module that was copied. */
struct copied {
	struct rs_linux *kernel;
	uint64_t address;
	uint32_t bytes;
	uint64_t next, prev;
	bool is_formed; /* it is not being loaded, or far enough */
	uint8_t at[MODULE_BYTES_MAX];
};

static uint64_t value(const struct copied *m, enum rs_field_id id)
{
	return rs_linux_value(m->kernel, m->at, m->bytes, id);
}

static struct rs_error *part_add(const struct rs_modules *all, struct rs_linux_module_facts *facts,
				 uint64_t from, uint64_t bytes, bool is_code)
{
	if (!bytes || !from)
		return NULL;
	if (from < RS_MODULES_FROM || bytes > PART_BYTES_MAX || from > RS_MODULES_TO - bytes ||
	    from < all->kernel_to)
		return damaged("its memory is not where modules are");
	if (facts->n_parts == RS_MODULE_PARTS_MAX)
		return damaged("it has too many parts");
	facts->parts[facts->n_parts++] =
		(struct rs_linux_module_part){ from, from + bytes, is_code };
	return NULL;
}

/* Reads struct module_memory of each kind, since 6.4. */
static struct rs_error *memory_read(const struct copied *m, const struct rs_modules *all,
				    struct rs_linux_module_facts *facts)
{
	const struct rs_fields *fields = &m->kernel->fields;
	uint32_t step = fields->struct_bytes[RS_STRUCT_MODULE_MEMORY];
	struct rs_error *err = NULL;

	for (uint32_t i = 0; i < MOD_TYPES && !err; i++) {
		uint32_t at = fields->fields[RS_FIELD_MODULE_MEM].member.offset + i * step;

		if (!step || at > m->bytes || step > m->bytes - at)
			return damaged("its memory is not in its struct module");
		err = part_add(all, facts,
			       rs_linux_value(m->kernel, m->at + at, step, RS_FIELD_MODMEM_BASE),
			       rs_linux_value(m->kernel, m->at + at, step, RS_FIELD_MODMEM_BYTES),
			       i == MOD_TEXT || i == MOD_INIT_TEXT);
		if (!err && facts->n_parts && facts->parts[facts->n_parts - 1].from % PAGE_BYTES)
			err = damaged("its memory does not begin with a page");
	}
	return err;
}

/* Reads struct module_layout, until 6.3: its code comes first. */
static struct rs_error *layouts_read(const struct copied *m, const struct rs_modules *all,
				     struct rs_linux_module_facts *facts)
{
	static const struct {
		enum rs_field_id base, bytes, code_bytes;
	} layouts[] = { { RS_FIELD_MODULE_BASE, RS_FIELD_MODULE_BYTES, RS_FIELD_MODULE_CODE_BYTES },
			{ RS_FIELD_MODULE_INIT, RS_FIELD_MODULE_INIT_BYTES,
			  RS_FIELD_MODULE_INIT_CODE_BYTES } };
	struct rs_error *err = NULL;

	for (uint32_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]) && !err; i++) {
		uint64_t base = value(m, layouts[i].base), bytes = value(m, layouts[i].bytes);
		uint64_t code = value(m, layouts[i].code_bytes);

		if (code > bytes || base % PAGE_BYTES)
			return damaged("its code is not in its memory");
		err = part_add(all, facts, base, code, true);
		if (!err)
			err = part_add(all, facts, base + code, bytes - code, false);
	}
	return err;
}

/* Reads a text of the kernel's that has to be printable. Returns false if it is none. */
static bool text_read(struct rs_linux *kernel, uint64_t gva, char *text, size_t size)
{
	if (rs_memory_read_text(&kernel->memory, gva, text, size, NULL) || !*text ||
	    strlen(text) == size - 1)
		return false;
	for (const char *c = text; *c; c++)
		if (*c <= ' ' || *c > '~')
			return false;
	return true;
}

/* Copies a struct module, and checks that both neighbours in the list lead to it. */
static struct rs_error *module_copy(struct rs_linux *kernel, uint64_t gva, struct copied *m)
{
	uint64_t list = gva + kernel->fields.fields[RS_FIELD_MODULE_LIST].member.offset;
	uint64_t to_next = 0, to_prev = 0, state;
	struct rs_error *err;

	m->kernel = kernel;
	m->address = gva;
	m->bytes = kernel->fields.struct_bytes[RS_STRUCT_MODULE];
	if (m->bytes > MODULE_BYTES_MAX || list - gva + 16 > m->bytes)
		return rs_error_create(RS_USAGE, "this kernel's struct module has %u bytes",
				       m->bytes);
	err = rs_linux_bytes(kernel, gva, m->at, m->bytes);
	if (err)
		return err;
	memcpy(&m->next, m->at + (list - gva), 8);
	memcpy(&m->prev, m->at + (list - gva) + 8, 8);
	err = rs_linux_bytes(kernel, m->next + 8, &to_next, 8);
	if (!err)
		err = rs_linux_bytes(kernel, m->prev, &to_prev, 8);
	if (!err && (to_next != list || to_prev != list))
		err = damaged("its neighbours in the list do not lead to it");
	state = value(m, RS_FIELD_MODULE_STATE);
	/* mod_sysfs_setup() sets the kobject, after the module has become STATE_COMING. */
	m->is_formed = state != STATE_UNFORMED &&
		       (state != STATE_COMING ||
			(value(m, RS_FIELD_MODULE_BACK) && value(m, RS_FIELD_MODULE_KOBJECT_NAME)));
	return err;
}

/* Checks that the kobject is the module's. */
static struct rs_error *name_read(const struct copied *m, struct rs_linux_module_facts *facts)
{
	const struct rs_btf_member *name = &m->kernel->fields.fields[RS_FIELD_MODULE_NAME].member;
	char other[RS_MODULE_NAME_MAX];

	if (value(m, RS_FIELD_MODULE_BACK) != m->address)
		return damaged("its kobject is of another module");
	if (!text_read(m->kernel, m->address + name->offset, facts->name, sizeof(facts->name)) ||
	    !text_read(m->kernel, value(m, RS_FIELD_MODULE_KOBJECT_NAME), other, sizeof(other)) ||
	    strcmp(facts->name, other) != 0)
		return damaged("its kobject has another name");
	memset(facts->name + strlen(facts->name), 0, sizeof(facts->name) - strlen(facts->name));
	return NULL;
}

static struct rs_error *facts_read(const struct copied *m, const struct rs_modules *all,
				   struct rs_linux_module_facts *facts)
{
	uint64_t kallsyms = value(m, RS_FIELD_MODULE_KALLSYMS);
	struct rs_error *err;

	memset(facts, 0, sizeof(*facts));
	err = name_read(m, facts);
	if (!err)
		err = m->kernel->fields.fields[RS_FIELD_MODULE_MEM].found
			      ? memory_read(m, all, facts)
			      : layouts_read(m, all, facts);
	if (!err)
		err = rs_linux_read(m->kernel, kallsyms, RS_FIELD_MODSYMS_TABLE, &facts->symbols);
	if (!err)
		err = rs_linux_read(m->kernel, kallsyms, RS_FIELD_MODSYMS_COUNT, &facts->n_symbols);
	if (!err)
		err = rs_linux_read(m->kernel, kallsyms, RS_FIELD_MODSYMS_TEXTS, &facts->texts);
	if (!err && (!facts->n_parts || !facts->parts[0].is_code))
		err = damaged("it has no code");
	facts->orc_ips = value(m, RS_FIELD_MODULE_ORC_IPS);
	facts->orc_rows = value(m, RS_FIELD_MODULE_ORC_ROWS);
	facts->n_orc_rows = value(m, RS_FIELD_MODULE_ORCS);
	facts->exports[0] = value(m, RS_FIELD_MODULE_EXPORTS);
	facts->n_exports[0] = value(m, RS_FIELD_MODULE_N_EXPORTS);
	facts->exports[1] = value(m, RS_FIELD_MODULE_GPL_EXPORTS);
	facts->n_exports[1] = value(m, RS_FIELD_MODULE_N_GPL_EXPORTS);
	return err;
}

/* ---- symbols -------------------------------------------------------------------------------- */

const struct rs_linux_module_part *rs_linux_module_part(const struct rs_linux_module *module,
							uint64_t address)
{
	for (uint32_t i = 0; i < module->facts.n_parts; i++)
		if (address >= module->facts.parts[i].from && address < module->facts.parts[i].to)
			return &module->facts.parts[i];
	return NULL;
}

static int symbol_order(const void *a, const void *b)
{
	const struct rs_linux_module_symbol *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return (x->index > y->index) - (x->index < y->index);
}

/* Copies the names, of which the last one begins at `last`. */
static struct rs_error *texts_read(struct rs_linux *kernel, uint32_t last,
				   struct rs_linux_module *module)
{
	uint64_t gva = module->facts.texts;
	struct rs_error *err;

	module->texts_bytes = last + RS_KALLSYMS_NAME_MAX;
	module->texts = calloc(1, module->texts_bytes);
	if (!module->texts)
		return rs_error_no_memory();
	err = rs_linux_bytes(kernel, gva, module->texts, last);
	if (!err && rs_memory_read_text(&kernel->memory, gva + last, module->texts + last,
					RS_KALLSYMS_NAME_MAX, NULL))
		err = damaged("a symbol's name cannot be read");
	return err;
}

/* Returns whether a symbol of the table is one that /proc/kallsyms has, in the module's memory. */
static bool is_symbol(const struct rs_linux_module *module, const Elf64_Sym *sym)
{
	const char *name = module->texts + sym->st_name;

	return sym->st_shndx != SHN_UNDEF && *name && rs_linux_module_part(module, sym->st_value) &&
	       strnlen(name, RS_KALLSYMS_NAME_MAX) < RS_KALLSYMS_NAME_MAX &&
	       strncmp(name, LOCAL_PREFIX, strlen(LOCAL_PREFIX)) != 0;
}

static struct rs_error *symbols_take(struct rs_linux_module *module, const Elf64_Sym *table,
				     uint32_t n)
{
	module->symbols = calloc(n, sizeof(*module->symbols));
	if (!module->symbols)
		return rs_error_no_memory();
	for (uint32_t i = 0; i < n; i++) {
		if (!is_symbol(module, &table[i]))
			continue;
		for (const char *c = module->texts + table[i].st_name; *c; c++)
			if (*c <= ' ' || *c > '~')
				return damaged("a symbol's name is no text");
		module->symbols[module->n_symbols++] = (struct rs_linux_module_symbol){
			.address = table[i].st_value, .name = table[i].st_name, .index = i
		};
	}
	if (module->n_symbols)
		qsort(module->symbols, module->n_symbols, sizeof(*module->symbols), symbol_order);
	return NULL;
}

static struct rs_error *table_read(struct rs_linux *kernel, struct rs_modules *all,
				   struct rs_linux_module *module)
{
	uint64_t n = module->facts.n_symbols;
	uint32_t last = 0;
	struct rs_error *err = NULL;
	Elf64_Sym *table;

	if (!n || n > SYMBOLS_MAX || all->n_symbols + n > SYMBOLS_ALL_MAX)
		return rs_error_create(RS_DAMAGED, "it has %" PRIu64 " symbols", n);
	all->n_symbols += n;
	table = calloc(n, sizeof(*table));
	if (!table)
		return rs_error_no_memory();
	err = rs_linux_bytes(kernel, module->facts.symbols, table, n * sizeof(*table));
	for (uint32_t i = 0; !err && i < n; i++)
		if (table[i].st_name > last)
			last = table[i].st_name;
	if (!err && (last > TEXTS_MAX || all->n_texts + last > TEXTS_ALL_MAX))
		err = rs_error_create(RS_DAMAGED, "its symbols' names have %u bytes", last);
	all->n_texts += err ? 0 : last;
	if (!err)
		err = texts_read(kernel, last, module);
	if (!err)
		err = symbols_take(module, table, (uint32_t)n);
	free(table);
	return err;
}

/* Returns the first symbol at an address or above. */
static uint32_t first_at(const struct rs_linux_module *module, uint64_t address)
{
	uint32_t low = 0, high = module->n_symbols;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (module->symbols[middle].address < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool has(const struct rs_linux_module *module, const char *name, uint64_t address)
{
	uint32_t first = first_at(module, address);

	for (uint32_t i = first; i < module->n_symbols && i - first < ALIASES_MAX &&
				 module->symbols[i].address == address;
	     i++)
		if (!strcmp(module->texts + module->symbols[i].name, name))
			return true;
	return false;
}

/* Checks the functions of a table of exported symbols. Variables are in the symbol table only with
 * CONFIG_KALLSYMS_ALL. */
static struct rs_error *exports_check(struct rs_linux *kernel, const struct rs_linux_module *module,
				      uint32_t table)
{
	uint64_t n = module->facts.n_exports[table], at = module->facts.exports[table];
	char name[RS_KALLSYMS_NAME_MAX];
	struct rs_error *err = NULL;

	if (n > EXPORTS_MAX)
		return rs_error_create(RS_DAMAGED, "it exports %" PRIu64 " symbols", n);
	for (uint64_t i = 0; i < n && !err; i++, at += EXPORT_BYTES) {
		int32_t distances[2];
		const struct rs_linux_module_part *part;
		uint64_t address;

		err = rs_linux_bytes(kernel, at, distances, sizeof(distances));
		if (err)
			break;
		address = at + (uint64_t)(int64_t)distances[0];
		part = rs_linux_module_part(module, address);
		if (!part || !part->is_code)
			continue;
		if (!text_read(kernel, at + 4 + (uint64_t)(int64_t)distances[1], name,
			       sizeof(name)) ||
		    !has(module, name, address))
			err = damaged("its symbols and those that it exports do not agree");
	}
	return err;
}

static struct rs_error *symbols_read(struct rs_linux *kernel, struct rs_modules *all,
				     struct rs_linux_module *module)
{
	struct rs_error *err = table_read(kernel, all, module);

	for (uint32_t i = 0; i < 2 && !err; i++)
		err = exports_check(kernel, module, i);
	return err;
}

/* ---- the list ------------------------------------------------------------------------------- */

static void module_deinit(struct rs_linux_module *module)
{
	rs_orc_table_destroy(module->orc);
	free(module->symbols);
	free(module->texts);
}

static void modules_destroy(struct rs_modules *modules)
{
	if (!modules)
		return;
	for (uint32_t i = 0; i < modules->n; i++)
		module_deinit(&modules->modules[i]);
	rs_error_free(modules->damage);
	free(modules->modules);
	free(modules);
}

void rs_modules_forget(struct rs_linux *kernel)
{
	modules_destroy(kernel->modules);
	kernel->modules = NULL;
}

static struct rs_error *overlap_check(const struct rs_modules *all,
				      const struct rs_linux_module *module)
{
	for (uint32_t i = 0; i < all->n; i++)
		for (uint32_t p = 0; p < module->facts.n_parts; p++) {
			const struct rs_linux_module *other = &all->modules[i];
			const struct rs_linux_module_part *part = &module->facts.parts[p];

			for (uint32_t o = 0; o < other->facts.n_parts; o++)
				if (part->from < other->facts.parts[o].to &&
				    other->facts.parts[o].from < part->to)
					return rs_error_create(RS_DAMAGED,
							       "it overlaps the module %s",
							       other->facts.name);
		}
	return NULL;
}

/* Takes what an earlier list has of the same module, if it says the same. */
static bool take_over(struct rs_modules *old, struct rs_modules *all,
		      struct rs_linux_module *module)
{
	for (uint32_t i = 0; old && i < old->n; i++) {
		struct rs_linux_module *it = &old->modules[i];

		if (it->address != module->address ||
		    memcmp(&it->facts, &module->facts, sizeof(it->facts)) != 0)
			continue;
		*module = *it;
		it->symbols = NULL;
		it->texts = NULL;
		it->orc = NULL;
		all->n_symbols += module->facts.n_symbols;
		all->n_texts += module->texts_bytes;
		return true;
	}
	return false;
}

static struct rs_error *module_add(const struct copied *m, struct rs_modules *old,
				   struct rs_modules *all)
{
	struct rs_linux_module module = { .address = m->address };
	struct rs_error *err = facts_read(m, all, &module.facts);

	if (!err)
		err = overlap_check(all, &module);
	if (!err && !take_over(old, all, &module))
		err = symbols_read(m->kernel, all, &module);
	if (!err && !RS_VECTOR_RESERVE(all->modules, all->room, all->n + 1))
		err = rs_error_no_memory();
	if (err) {
		module_deinit(&module);
		return rs_error_wrap(err, "the module at 0x%" PRIx64, m->address);
	}
	module.checked = m->kernel->stop;
	all->modules[all->n++] = module;
	return NULL;
}

/* Follows the list. A module that is damaged is left out; a list that is damaged ends there. */
static struct rs_error *list_read(struct rs_linux *kernel, uint64_t head, struct rs_modules *old,
				  struct rs_modules *all)
{
	uint32_t in_struct = kernel->fields.fields[RS_FIELD_MODULE_LIST].member.offset, steps = 0;
	struct copied *m = malloc(sizeof(*m));
	struct rs_error *err = m ? NULL : rs_error_no_memory();

	if (!err)
		err = rs_linux_bytes(kernel, head, all->head, sizeof(all->head));
	for (uint64_t at = all->head[0]; !err && at != head; at = m->next) {
		if (++steps > RS_MODULES_MAX)
			err = rs_error_create(RS_DAMAGED, "there are more than %u modules",
					      RS_MODULES_MAX);
		if (!err)
			err = module_copy(kernel, at - in_struct, m);
		if (err)
			break;
		if (!m->is_formed)
			all->is_whole = false;
		else
			err = module_add(m, old, all);
		if (err && rs_error_code(err) != RS_NO_MEMORY) {
			all->damage = rs_error_first(all->damage, err);
			err = NULL;
		}
	}
	free(m);
	return err;
}

static struct rs_error *needed_check(const struct rs_linux *kernel, uint64_t *head, uint64_t *end)
{
	static const enum rs_field_id needed[] = {
		RS_FIELD_MODULE_LIST,	RS_FIELD_MODULE_NAME,	  RS_FIELD_MODULE_STATE,
		RS_FIELD_MODULE_BACK,	RS_FIELD_MODULE_KALLSYMS, RS_FIELD_MODULE_KOBJECT_NAME,
		RS_FIELD_MODSYMS_TABLE, RS_FIELD_MODSYMS_COUNT,	  RS_FIELD_MODSYMS_TEXTS,
	};
	struct rs_error *err = rs_linux_need(kernel, needed, sizeof(needed) / sizeof(needed[0]));
	struct rs_ksym list, last;

	if (err)
		return err;
	if (!rs_kallsyms_by_name(kernel->symbols, "modules", &list) ||
	    !rs_kallsyms_by_name(kernel->symbols, "_end", &last))
		return rs_error_create(RS_USAGE, "the kernel's symbols have no list of modules");
	*head = list.address;
	*end = last.address;
	return NULL;
}

/* Reads the list again, and keeps the tables of modules that are as they were. */
static struct rs_error *read_anew(struct rs_linux *kernel)
{
	struct rs_modules *all = calloc(1, sizeof(*all));
	uint64_t head = 0;
	struct rs_error *err;

	if (!all)
		return rs_error_no_memory();
	all->is_whole = true;
	all->stop = kernel->stop;
	err = needed_check(kernel, &head, &all->kernel_to);
	all->is_impossible = err;
	if (!err)
		err = list_read(kernel, head, kernel->modules, all);
	if (err && rs_error_code(err) == RS_NO_MEMORY) {
		modules_destroy(all);
		return err;
	}
	all->damage = rs_error_first(all->damage, err);
	all->is_whole &= !all->damage;
	if (kernel->modules)
		all->misses = kernel->modules->misses;
	modules_destroy(kernel->modules);
	kernel->modules = all;
	return NULL;
}

struct rs_error *rs_modules_read(struct rs_linux *kernel, const struct rs_modules **modules)
{
	struct rs_error *err = NULL;

	if (!kernel->modules ||
	    (kernel->modules->stop != kernel->stop && !kernel->modules->is_impossible))
		err = read_anew(kernel);
	if (!err)
		*modules = kernel->modules;
	return err;
}

/* ---- looking up ----------------------------------------------------------------------------- */

struct rs_error *rs_linux_code_find(const struct rs_linux *kernel, struct rs_linux_code *code)
{
	const struct {
		const char *name;
		uint64_t *to;
	} ends[] = { { "_stext", &code->from },
		     { "_etext", &code->to },
		     { "_sinittext", &code->init_from },
		     { "_einittext", &code->init_to } };
	struct rs_ksym sym;

	for (uint32_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		if (!rs_kallsyms_by_name(kernel->symbols, ends[i].name, &sym))
			return rs_error_create(RS_USAGE, "the kernel's symbols have no %s",
					       ends[i].name);
		*ends[i].to = sym.address;
	}
	return NULL;
}

static struct rs_linux_module *find(const struct rs_modules *modules, uint64_t address)
{
	for (uint32_t i = 0; modules && i < modules->n; i++)
		if (rs_linux_module_part(&modules->modules[i], address))
			return &modules->modules[i];
	return NULL;
}

/* Returns whether a module that was read at another stop is as it was. */
static bool is_same(struct rs_linux *kernel, struct rs_linux_module *module)
{
	struct rs_linux_module_facts facts;
	struct rs_error *err;
	struct copied *m;
	bool same;

	if (module->checked == kernel->stop)
		return true;
	m = malloc(sizeof(*m));
	err = m ? module_copy(kernel, module->address, m) : rs_error_no_memory();
	if (!err)
		err = facts_read(m, kernel->modules, &facts);
	same = !err && m->is_formed && !memcmp(&facts, &module->facts, sizeof(facts));
	rs_error_free(err);
	free(m);
	if (same)
		module->checked = kernel->stop;
	return same;
}

/* Returns whether the list may have a module that was not there when it was read: modules are added
 * at its head. A list that is not whole is read again after 1, 2, 4, 8 and so on addresses that are
 * in no module. */
static bool may_have_more(struct rs_linux *kernel)
{
	struct rs_modules *modules = kernel->modules;
	uint64_t head[2] = { 0 };
	struct rs_ksym list;

	if (!modules)
		return true;
	if (modules->stop == kernel->stop || modules->is_impossible ||
	    !rs_kallsyms_by_name(kernel->symbols, "modules", &list) ||
	    rs_memory_read(&kernel->memory, list.address, head, sizeof(head), NULL))
		return false;
	if (memcmp(head, modules->head, sizeof(head)) != 0)
		return true;
	modules->misses += !modules->is_whole;
	return !modules->is_whole && !(modules->misses & (modules->misses - 1));
}

struct rs_linux_module *rs_modules_at(struct rs_linux *kernel, uint64_t address)
{
	struct rs_linux_module *module;

	if (address < RS_MODULES_FROM || address >= RS_MODULES_TO)
		return NULL;
	module = find(kernel->modules, address);
	if (module && is_same(kernel, module))
		return module;
	if (!module && !may_have_more(kernel))
		return NULL;
	rs_error_free(read_anew(kernel));
	module = find(kernel->modules, address);
	return module && module->checked == kernel->stop ? module : NULL;
}

const struct rs_linux_module *rs_modules_by_name(struct rs_linux *kernel, const char *name)
{
	const struct rs_modules *modules = NULL;

	rs_error_free(rs_modules_read(kernel, &modules));
	for (uint32_t i = 0; modules && i < modules->n; i++)
		if (modules->modules[i].checked == kernel->stop &&
		    !strcmp(modules->modules[i].facts.name, name))
			return &modules->modules[i];
	return NULL;
}

bool rs_linux_is_code(struct rs_linux *kernel, const struct rs_linux_code *code, uint64_t address)
{
	const struct rs_linux_module *module;
	struct rs_ksym sym;
	uint64_t size;

	if (rs_linux_is_own(code, address))
		return true;
	module = rs_modules_at(kernel, address);
	if (!module)
		return rs_bpf_symbol(kernel, address, &sym, &size);
	return rs_linux_module_part(module, address)->is_code;
}

bool rs_linux_module_symbol(const struct rs_linux_module *module, uint32_t i, struct rs_ksym *sym,
			    uint64_t *size)
{
	const struct rs_linux_module_symbol *from = &module->symbols[i];
	const struct rs_linux_module_part *part;
	uint32_t next = i;

	if (i >= module->n_symbols)
		return false;
	part = rs_linux_module_part(module, from->address);
	while (next < module->n_symbols && module->symbols[next].address == from->address)
		next++;
	*size = (next < module->n_symbols && module->symbols[next].address < part->to
			 ? module->symbols[next].address
			 : part->to) -
		from->address;
	*sym = (struct rs_ksym){ .address = from->address, .type = part->is_code ? 't' : 'd' };
	strcpy(sym->name, module->texts + from->name); /* is_symbol() has checked its length */
	return true;
}

bool rs_linux_symbol(struct rs_linux *kernel, uint64_t address, struct rs_ksym *sym, uint64_t *size,
		     const char **module)
{
	const struct rs_linux_module *found;
	uint32_t i;

	*module = NULL;
	if (rs_kallsyms_by_address(kernel->symbols, address, sym, size) && !sym->percpu &&
	    address - sym->address < *size)
		return true;
	found = rs_modules_at(kernel, address);
	if (!found && rs_bpf_symbol(kernel, address, sym, size)) {
		*module = RS_BPF_MODULE;
		return true;
	}
	i = found ? first_at(found, address + 1) : 0;
	if (!i)
		return false;
	i = first_at(found, found->symbols[i - 1].address);
	if (found->symbols[i].address < rs_linux_module_part(found, address)->from)
		return false;
	*module = found->facts.name;
	return rs_linux_module_symbol(found, i, sym, size);
}

bool rs_linux_symbol_by_name(struct rs_linux *kernel, const char *name, struct rs_ksym *sym,
			     const char **module)
{
	const struct rs_modules *modules = NULL;
	uint64_t size;

	*module = NULL;
	if (rs_kallsyms_by_name(kernel->symbols, name, sym))
		return true;
	rs_error_free(rs_modules_read(kernel, &modules));
	for (uint32_t i = 0; modules && i < modules->n; i++)
		for (uint32_t s = 0; s < modules->modules[i].n_symbols; s++) {
			const struct rs_linux_module *m = &modules->modules[i];

			if (strcmp(m->texts + m->symbols[s].name, name) != 0)
				continue;
			*module = m->facts.name;
			return rs_linux_module_symbol(m, s, sym, &size);
		}
	return false;
}
