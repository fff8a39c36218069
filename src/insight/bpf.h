/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The BPF programs of a guest's Linux kernel, as its JIT compiled them: the list `bpf_kallsyms` of
 * struct bpf_ksym (since 5.7, kernel/bpf/core.c).
 *
 * A program is accepted if both neighbours in the list refer to it, its code is in the area of
 * modules, and its struct bpf_prog and struct bpf_prog_aux refer to each other and have the same
 * code, whose tag is in the name. The list also has trampolines and dispatchers, which are not
 * programs and are not returned. The list is followed at each search, up to RS_BPF_MAX elements.
 *
 * All of it is the guest's and is not trusted.
 */
#ifndef RS_INSIGHT_BPF_H
#define RS_INSIGHT_BPF_H

#include "insight/linux.h"

#define RS_BPF_MAX    16384u
#define RS_BPF_MODULE "bpf" /* as /proc/kallsyms shows it */

/* Finds the program whose code has an address at the present stop. Sets *sym to its first
 * instruction and its name, and *size to the size of its code. Returns false if there is none. */
bool rs_bpf_symbol(struct rs_linux *kernel, uint64_t address, struct rs_ksym *sym, uint64_t *size);

#endif
