/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the symbol table in a Linux kernel's image (CONFIG_KALLSYMS). scripts/kallsyms.c in the
 * kernel's source defines the layout. Each table is aligned to 8 bytes, since 7.0 to 4:
 *
 *	until 6.3	offsets, relative_base, num_syms, names, markers, [seqs_of_names,]
 *			token_table, token_index
 *	since 6.4	num_syms, names, markers, token_table, token_index, offsets, relative_base
 *	since 7.0	the same without relative_base: an offset is relative to its own place
 *
 * The tables have no magic number. They are found by a part of token_table that each kernel has,
 * the tokens of the ten digits. They are accepted if each token begins where token_index says, each
 * 256th name begins where markers says, the names fill the space between the neighbouring tables,
 * each name can be expanded, and the addresses ascend.
 *
 * The tables are copied. Names are expanded on each lookup.
 */
#ifndef RS_INSIGHT_KALLSYMS_H
#define RS_INSIGHT_KALLSYMS_H

#include "insight/image.h"

#define RS_KALLSYMS_NAME_MAX 512u /* KSYM_NAME_LEN since 6.1 */
#define RS_KALLSYMS_MAX	     (1u << 20)

struct rs_kallsyms;

/* Finds and copies the tables in an image. Returns RS_USAGE if there are none. */
struct rs_error *rs_kallsyms_find(const struct rs_image *image, struct rs_kallsyms **out);
void rs_kallsyms_destroy(struct rs_kallsyms *k); /* NULL is ignored */

uint32_t rs_kallsyms_count(const struct rs_kallsyms *k);

struct rs_ksym {
	uint64_t address;
	/* The address is an offset in each processor's area. Since 6.15, per-CPU variables have
	 * addresses like other symbols, and __per_cpu_offset[] accounts for that. */
	bool percpu;
	char type; /* type as printed by nm(1) */
	char name[RS_KALLSYMS_NAME_MAX];
};

/* Returns the i-th symbol, by address. Returns false past the last. */
bool rs_kallsyms_at(const struct rs_kallsyms *k, uint32_t i, struct rs_ksym *sym);

/* Finds the first symbol of a name. */
bool rs_kallsyms_by_name(const struct rs_kallsyms *k, const char *name, struct rs_ksym *sym);

/* Returns whether a symbol of this name has this address. */
bool rs_kallsyms_has(const struct rs_kallsyms *k, const char *name, uint64_t address);

/* Finds the symbol that contains an address: the last one at or below it, and the first of several
 * at one address, as the kernel's kallsyms_lookup() does. Sets *size to the distance to the next
 * address with a symbol, or to 0 if there is none. */
bool rs_kallsyms_by_address(const struct rs_kallsyms *k, uint64_t address, struct rs_ksym *sym,
			    uint64_t *size);

#endif
