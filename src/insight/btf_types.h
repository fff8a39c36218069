/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the types and variables of a guest's kernel from its BTF (btf.h) and its symbols. */
#ifndef RS_INSIGHT_BTF_TYPES_H
#define RS_INSIGHT_BTF_TYPES_H

#include "insight/btf.h"
#include "insight/kallsyms.h"
#include "introspect/types.h"

/*
 * Creates a reader of BTF and of a symbol table, which must outlive it. Its name is "kernel".
 *
 * Its variables are the symbols. BTF has types of per-CPU variables, whose place it has too
 * (.data..percpu), and in some kernels those of others. The rest have no type. symbols may be
 * NULL: then there is no variable.
 */
struct rs_error *rs_btf_types_create(const struct rs_btf *btf, const struct rs_kallsyms *symbols,
				     struct rs_types **types);

#endif
