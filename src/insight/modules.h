/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The loaded modules of a guest's Linux kernel: the list `modules` of struct module, and of each
 * module its memory, its symbols (struct mod_kallsyms) and its table of frames (struct
 * mod_arch_specific), as include/linux/module.h and arch/x86/include/asm/module.h have them.
 *
 * A module is believed if both neighbours in the list lead to it, its kobject has its name and
 * leads back to it, its memory is where modules are and overlaps no other memory, and each
 * function that it exports has the same address in its symbol table. A symbol has to lie in the
 * module's memory. Nothing in memory repeats the name of a symbol that is not exported.
 *
 * Tables are copied when a module is first needed. They are used at another stop if the module is
 * still in the list there, with the same memory and the same tables. All of it is the guest's and
 * is not trusted: each count has a limit, and so have all modules together.
 */
#ifndef RS_INSIGHT_MODULES_H
#define RS_INSIGHT_MODULES_H

#include "insight/linux.h"

#define RS_MODULE_NAME_MAX  64u
#define RS_MODULE_PARTS_MAX 8u
#define RS_MODULES_MAX	    2048u
/* MODULES_VADDR, without CONFIG_RANDOMIZE_BASE, and MODULES_END of
 * arch/x86/include/asm/pgtable_64_types.h. */
#define RS_MODULES_FROM UINT64_C(0xffffffffa0000000)
#define RS_MODULES_TO	UINT64_C(0xffffffffff000000)

struct rs_linux_module_part {
	uint64_t from, to, is_code;
};

/* What a struct module says. Two are the same if all bytes are. */
struct rs_linux_module_facts {
	char name[RS_MODULE_NAME_MAX];
	struct rs_linux_module_part parts[RS_MODULE_PARTS_MAX];
	uint64_t n_parts;
	uint64_t symbols, n_symbols, texts;	/* where the symbols and their names are */
	uint64_t orc_ips, orc_rows, n_orc_rows; /* the table of frames; 0: there is none */
	uint64_t exports[2], n_exports[2];	/* struct kernel_symbol: for all, for GPL */
};

struct rs_linux_module_symbol {
	uint64_t address;
	uint32_t name; /* in texts[] */
	uint32_t index;
};

struct rs_orc_table;

struct rs_linux_module {
	uint64_t address; /* of its struct module */
	struct rs_linux_module_facts facts;
	struct rs_linux_module_symbol *symbols; /* by address */
	char *texts;
	uint32_t n_symbols, texts_bytes;
	uint64_t checked; /* the stop at which the facts were read last: rs_linux.stop */
	/* Set by orc.c. */
	struct rs_orc_table *orc; /* NULL: not read, or none */
	bool orc_was_read;
};

struct rs_modules {
	struct rs_linux_module *modules;
	uint32_t n, room;
	struct rs_error *damage; /* why there may be more; NULL: these are all */
	/* Of the code that uses modules. */
	uint64_t kernel_to; /* the end of the kernel's own image */
	uint64_t head[2];   /* the list's next and previous, as it was read */
	uint64_t stop;	    /* at which it was read */
	bool is_whole;	    /* no module was being loaded, and nothing was damaged */
	bool is_impossible; /* this kernel's modules cannot be read */
	uint32_t misses;    /* addresses of no module, since a list that is not whole was read */
	uint64_t n_symbols, n_texts; /* of all */
};

/* Reads the modules of the present stop. They are the kernel's, and stay until the next call of a
 * function of this header. Returns an error only if there is no memory: see `damage`. */
struct rs_error *rs_modules_read(struct rs_linux *kernel, const struct rs_modules **modules);
/* Frees all that is known of modules. rs_linux_close() does. */
void rs_modules_forget(struct rs_linux *kernel);

/* Returns the module in whose memory an address is at the present stop; NULL: in none that is
 * known. It stays until the next call of a function of this header. */
struct rs_linux_module *rs_modules_at(struct rs_linux *kernel, uint64_t address);
/* Returns the loaded module of a name at the present stop, or NULL. It stays until the next call of
 * a function of this header. */
const struct rs_linux_module *rs_modules_by_name(struct rs_linux *kernel, const char *name);
/* Returns the part of a module's memory that an address is in, or NULL. */
const struct rs_linux_module_part *rs_linux_module_part(const struct rs_linux_module *module,
							uint64_t address);

/* Where the kernel's own code is. */
struct rs_linux_code {
	uint64_t from, to, init_from, init_to;
};
struct rs_error *rs_linux_code_find(const struct rs_linux *kernel, struct rs_linux_code *code);
static inline bool rs_linux_is_own(const struct rs_linux_code *code, uint64_t address)
{
	return (address >= code->from && address < code->to) ||
	       (address >= code->init_from && address < code->init_to);
}
/* Returns whether an address is in that code, in a module's, or in a BPF program's (bpf.h). */
bool rs_linux_is_code(struct rs_linux *kernel, const struct rs_linux_code *code, uint64_t address);

/* Looks up the symbol that contains an address, of the kernel itself, of a module or of a BPF
 * program, as rs_kallsyms_by_address(). A per-CPU variable is at no address. Sets *module to the
 * module's name, which is valid until the next call of a function of this header, to RS_BPF_MODULE,
 * or to NULL. */
bool rs_linux_symbol(struct rs_linux *kernel, uint64_t address, struct rs_ksym *sym, uint64_t *size,
		     const char **module);
/* Looks up the first symbol of a name: the kernel's own, then those of modules in their order. */
bool rs_linux_symbol_by_name(struct rs_linux *kernel, const char *name, struct rs_ksym *sym,
			     const char **module);
/* Sets *sym to the i-th symbol of a module, by address. Returns false past the last. */
bool rs_linux_module_symbol(const struct rs_linux_module *module, uint32_t i, struct rs_ksym *sym,
			    uint64_t *size);

#endif
