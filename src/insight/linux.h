/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the Linux kernel of a stopped x86-64 guest, from the guest's memory and registers only.
 *
 *	CR3 of a vCPU; with PTI, the kernel's half
 *	  -> the kernel's image: kallsyms -> symbols -> linux_banner
 *	                                  -> __start_BTF -> structures -> init_task -> tasks, maps
 *	                                  -> __per_cpu_offset -> the processor of a vCPU, its task
 *
 * Everything is checked against a second source: the symbol table against the banner, the
 * structures against init_task, a vCPU's per-CPU area against the number that the kernel keeps
 * there, a task against its stack and its struct pid. If they disagree, the call fails with the
 * reason.
 *
 * All data comes from the guest and is not trusted: reads, lists and trees are bounded. Only one
 * thread may use an open kernel, during one stop of the machine. Copied tables remain valid after
 * it.
 */
#ifndef RS_INSIGHT_LINUX_H
#define RS_INSIGHT_LINUX_H

#include <ringside/error.h>

#include "insight/fields.h"
#include "insight/kallsyms.h"

#define RS_LINUX_VERSION_MAX 512u
#define RS_LINUX_CPUS_MAX    8192u /* CONFIG_NR_CPUS of MAXSMP */
/* Link address of the kernel's text: __START_KERNEL with the default CONFIG_PHYSICAL_START. */
#define RS_LINUX_LINKED UINT64_C(0xffffffff81000000)

struct rs_linux_vcpu {
	struct rs_x86_regs regs;
	uint64_t tr_base; /* base of the task state segment; 0: unknown */
	bool no_sp;	  /* rsp is unknown */
	bool no_bases;	  /* gs_base and k_gs_base are unknown: its APIC id tells the processor */
	uint32_t apic_id;
};

struct rs_linux {
	struct rs_memory memory; /* through the kernel's page tables */
	struct rs_kallsyms *symbols;
	struct rs_btf *btf;		    /* NULL: the kernel has none */
	struct rs_error *no_btf;	    /* why not */
	struct rs_fields fields;	    /* without BTF, none is found */
	uint64_t text;			    /* load address of the kernel's text */
	uint64_t banner;		    /* the address of linux_banner */
	char version[RS_LINUX_VERSION_MAX]; /* "Linux version ...", without the newline */
	enum { RS_PTI_UNKNOWN, RS_PTI_OFF, RS_PTI_ON } pti; /* from init_top_pgt, when needed */
	uint64_t stop;			    /* number of the machine's stop */
	struct rs_modules *modules;	    /* modules.h; NULL: none were read */
};

/* Finds the kernel. Returns RS_USAGE if there is none, or an unknown one. */
struct rs_error *rs_linux_open(const struct rs_memory *memory, const struct rs_linux_vcpu *vcpus,
			       uint32_t n, struct rs_linux **out);
void rs_linux_close(struct rs_linux *kernel); /* NULL is ignored */

/* Sets the machine's memory and vCPU at another stop. The kernel's tables remain valid; later reads
 * return the state at that stop. Returns false if the page table of the vCPU does not map this
 * kernel, for example before the kernel has started. Nothing may be read then. */
bool rs_linux_at(struct rs_linux *kernel, const struct rs_memory *memory,
		 const struct rs_x86_regs *regs);

/* Marks that the machine has run on, by the same page table, or that its memory has changed. */
void rs_linux_moved(struct rs_linux *kernel);

/* Returns the kernel's displacement by KASLR. */
static inline int64_t rs_linux_slide(const struct rs_linux *kernel)
{
	return (int64_t)(kernel->text - RS_LINUX_LINKED);
}

/* Reads an unsigned member of at most 8 bytes of the struct at an address, through the kernel's
 * page tables. Returns RS_USAGE if the kernel lacks the member, RS_DAMAGED if the address cannot be
 * read. */
struct rs_error *rs_linux_read(struct rs_linux *kernel, uint64_t gva, enum rs_field_id id,
			       uint64_t *value);
/* Reads the member from a copy of the struct. The member must be within `bytes`, else the value is
 * 0. */
uint64_t rs_linux_value(const struct rs_linux *kernel, const uint8_t *copy, size_t bytes,
			enum rs_field_id id);
/* Returns RS_USAGE, with the field's name, unless each of the fields was found. */
struct rs_error *rs_linux_need(const struct rs_linux *kernel, const enum rs_field_id *ids,
			       uint32_t n);

/* Reads bytes through the kernel's page tables. Returns RS_DAMAGED, with the address and the
 * reason, on a fault. */
struct rs_error *rs_linux_bytes(struct rs_linux *kernel, uint64_t gva, void *buf, size_t bytes);

/* Finds the Linux processor of a vCPU: its number, and the *base that is added to the address of a
 * per-CPU symbol. Returns RS_DAMAGED if they cannot be determined. */
struct rs_error *rs_linux_cpu(struct rs_linux *kernel, const struct rs_linux_vcpu *vcpu,
			      uint32_t *cpu, uint64_t *base);

/* Returns whether a processor with this CR3 uses the page table of a process, or the user's part of
 * it with PTI. */
bool rs_linux_is_root(struct rs_linux *kernel, uint64_t cr3, uint64_t root);

/* Returns the address of the pointer to the task that a vCPU runs. It does not change. */
struct rs_error *rs_linux_current_at(struct rs_linux *kernel, uint64_t base, uint64_t *gva);
/* Returns the unchecked address of the task that a vCPU runs. rs_linux_task_read() checks it. */
struct rs_error *rs_linux_current(struct rs_linux *kernel, uint64_t base, uint64_t *task);

/* Returns the guest's CLOCK_REALTIME at the kernel's last update of it, and the time since boot
 * (CLOCK_MONOTONIC). */
struct rs_error *rs_linux_time(struct rs_linux *kernel, int64_t *realtime_ns,
			       int64_t *monotonic_ns);

#endif
