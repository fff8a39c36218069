/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A Linux kernel in a stopped x86-64 guest, by the guest's memory and registers alone.
 *
 *	CR3 of a vCPU, the kernel's half of it under PTI
 *	  -> the kernel's image: kallsyms -> symbols -> linux_banner
 *	                                  -> __start_BTF -> structures -> init_task -> tasks, maps
 *	                                  -> __per_cpu_offset -> the processor of a vCPU, its task
 *
 * Nothing is believed before it agrees with something else: the symbol table with the banner, the
 * structures with init_task, a vCPU's per-CPU area with the number that the kernel keeps there, a
 * task with its stack and its struct pid. What does not agree is refused, with the reason.
 *
 * All of it is the guest's and is not trusted: reads are bounded, lists and trees too. An open
 * kernel is for one thread, and for one stop of the machine; tables that were copied stay.
 */
#ifndef RS_INSIGHT_LINUX_H
#define RS_INSIGHT_LINUX_H

#include <ringside/error.h>

#include "insight/fields.h"
#include "insight/kallsyms.h"

#define RS_LINUX_VERSION_MAX 512u
#define RS_LINUX_CPUS_MAX    8192u /* CONFIG_NR_CPUS of MAXSMP */
/* Where the kernel's text is linked to begin: __START_KERNEL with the default
 * CONFIG_PHYSICAL_START. */
#define RS_LINUX_LINKED UINT64_C(0xffffffff81000000)

struct rs_linux_vcpu {
	struct rs_x86_regs regs;
	uint64_t tr_base; /* of the task state segment; 0: not known */
};

struct rs_linux {
	struct rs_memory memory; /* through the kernel's page tables */
	struct rs_kallsyms *symbols;
	struct rs_btf *btf;		    /* NULL: there is none */
	struct rs_error *no_btf;	    /* why not */
	struct rs_fields fields;	    /* all not found without BTF */
	uint64_t text;			    /* where the kernel's text begins */
	uint64_t banner;		    /* the address of linux_banner */
	char version[RS_LINUX_VERSION_MAX]; /* "Linux version ...", without the line's end */
};

/* Finds the kernel. Returns RS_USAGE if there is none, or none that is known. */
struct rs_error *rs_linux_open(const struct rs_memory *memory, const struct rs_linux_vcpu *vcpus,
			       uint32_t n, struct rs_linux **out);
void rs_linux_close(struct rs_linux *kernel); /* NULL is ignored */

/* Goes on to another stop of the machine, whose memory and vCPU are given: the kernel's tables
 * stay, what is read from here on is of that stop. Returns false if the page table of the vCPU does
 * not map this kernel, as before the kernel has begun; then nothing may be read. */
bool rs_linux_at(struct rs_linux *kernel, const struct rs_memory *memory,
		 const struct rs_x86_regs *regs);

/* Returns the kernel's displacement by KASLR. */
static inline int64_t rs_linux_slide(const struct rs_linux *kernel)
{
	return (int64_t)(kernel->text - RS_LINUX_LINKED);
}

/* Reads an unsigned member of at most 8 bytes, of the struct at an address, by the kernel's tables.
 * Returns RS_USAGE if the kernel lacks it, RS_DAMAGED if the address cannot be read. */
struct rs_error *rs_linux_read(struct rs_linux *kernel, uint64_t gva, enum rs_field_id id,
			       uint64_t *value);
/* The same, of a copy of the struct. The member must be within `bytes`, else the value is 0. */
uint64_t rs_linux_value(const struct rs_linux *kernel, const uint8_t *copy, size_t bytes,
			enum rs_field_id id);
/* Returns RS_USAGE, with its name, unless each of the fields is found. */
struct rs_error *rs_linux_need(const struct rs_linux *kernel, const enum rs_field_id *ids,
			       uint32_t n);

/* Reads bytes by the kernel's tables. Returns RS_DAMAGED, with the address and the reason. */
struct rs_error *rs_linux_bytes(struct rs_linux *kernel, uint64_t gva, void *buf, size_t bytes);

/* Returns the number of Linux's processor that a vCPU is, and where its per-CPU area is: *base is
 * what is added to the address of a per-CPU symbol. Returns RS_DAMAGED if they cannot be told. */
struct rs_error *rs_linux_cpu(struct rs_linux *kernel, const struct rs_linux_vcpu *vcpu,
			      uint32_t *cpu, uint64_t *base);

/* Returns where the kernel keeps the address of the task that a vCPU runs. It stays there. */
struct rs_error *rs_linux_current_at(struct rs_linux *kernel, uint64_t base, uint64_t *gva);
/* Returns the address of the task that a vCPU runs, unchecked: rs_linux_task_read() checks it. */
struct rs_error *rs_linux_current(struct rs_linux *kernel, uint64_t base, uint64_t *task);

/* Returns the guest's CLOCK_REALTIME, as of the kernel's last update of it, and the time since it
 * booted (CLOCK_MONOTONIC). */
struct rs_error *rs_linux_time(struct rs_linux *kernel, int64_t *realtime_ns,
			       int64_t *monotonic_ns);

#endif
