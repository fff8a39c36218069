/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A stopped machine in a file: its memory, and its vCPUs' registers. The formats:
 *
 *	ELF cores	of `ringside run --core`, of QEMU's dump-guest-memory with and without -p,
 *			and of virsh dump --memory-only, which is QEMU's
 *	RAM itself	a raw dump, as of QEMU's pmemsave, or the file that backs a guest's RAM
 *
 * An ELF core has a PT_LOAD for each piece of memory, whose p_paddr is guest-physical; with -p,
 * several of them may show the same memory at several virtual addresses. For each vCPU it has the
 * note NT_PRSTATUS of a Linux core, for gdb, and the note "QEMU", which has the control registers
 * too (QEMU's target/i386/arch_dump.c: QEMUCPUState). The i-th note of either kind is vCPU i's.
 *
 * The file is not trusted, and may change while it is open: each read is bounded by the file. Only
 * one thread at a time may use an open core.
 */
#ifndef RS_INTROSPECT_CORE_H
#define RS_INTROSPECT_CORE_H

#include <elf.h>
#include <ringside/error.h>
#include <ringside/registers.h>

#include "introspect/memory.h"

#define RS_CORE_SEGMENTS_MAX (1u << 20)
#define RS_CORE_NOTES_MAX    (16u << 20) /* limit of the size of all notes */

struct rs_core;

/* A contiguous part of guest memory in a file. */
struct rs_core_piece {
	uint64_t gpa, bytes, offset;
};

/* Opens an ELF core. Returns RS_USAGE if the file is not a core, is for another processor, or is
 * not from a guest; RS_DAMAGED if its headers, segments or notes are invalid. */
struct rs_error *rs_core_open(const char *path, struct rs_core **core);

/* Opens RAM in a file. Without pieces, the whole file is memory from address 0. Such a core has no
 * vCPUs. */
struct rs_error *rs_core_open_raw(const char *path, const struct rs_core_piece *pieces,
				  uint32_t n_pieces, struct rs_core **core);

void rs_core_close(struct rs_core *core); /* NULL is ignored */

uint32_t rs_core_vcpus(const struct rs_core *core);

/* Returns a vCPU's registers in *regs; false if there is no such vCPU. Sets LMA and LME in efer as
 * paging implies them, and cr8, which is not in a core, to 0. */
bool rs_core_registers(const struct rs_core *core, uint32_t vcpu, struct rs_x86_regs *regs);

/* Returns the address of a vCPU's task state segment, from its register tr; 0 if there is no such
 * vCPU. */
uint64_t rs_core_tr_base(const struct rs_core *core, uint32_t vcpu);

/* Initializes *memory to read the core, which must stay open. Translation is off until
 * rs_memory_at(). */
void rs_core_memory(struct rs_core *core, struct rs_memory *memory);

/* ---- the notes, for reader and writer ------------------------------------------------------- */

#define RS_CORE_QEMU_NOTE "QEMU"
#define RS_CORE_CPU_NOTE  "CORE"

/* The registers of an x86-64 thread in Linux's core dumps: its struct user_regs_struct
 * (arch/x86/include/asm/user_64.h), declared here since this program may run on another
 * processor. */
struct rs_core_regs {
	uint64_t r15, r14, r13, r12, rbp, rbx, r11, r10, r9, r8;
	uint64_t rax, rcx, rdx, rsi, rdi, orig_rax;
	uint64_t rip, cs, eflags, rsp, ss;
	uint64_t fs_base, gs_base, ds, es, fs, gs;
};
_Static_assert(sizeof(struct rs_core_regs) == 216, "in files");

/* The note NT_PRSTATUS: struct elf_prstatus (include/linux/elfcore.h) of x86-64. */
struct rs_core_status {
	uint8_t signals[32];
	int32_t pid;
	uint8_t ids_and_times[76];
	struct rs_core_regs regs;
	int32_t fpvalid;
	uint32_t reserved;
};
_Static_assert(offsetof(struct rs_core_status, regs) == 112, "in files");
_Static_assert(sizeof(struct rs_core_status) == 336, "in files");

/* QEMU's QEMUCPUState, version 1. */
struct rs_core_segment {
	uint32_t selector, limit, flags, pad;
	uint64_t base;
};

struct rs_core_cpu {
	uint32_t version, size;
	uint64_t rax, rbx, rcx, rdx, rsi, rdi, rsp, rbp;
	uint64_t r8[8];
	uint64_t rip, rflags;
	struct rs_core_segment cs, ds, es, fs, gs, ss, ldt, tr, gdt, idt;
	uint64_t cr[5];
	uint64_t kernel_gs_base;
};
_Static_assert(sizeof(struct rs_core_cpu) == 440, "QEMU's layout");

#define RS_CORE_CPU_VERSION 1u
/* Size without kernel_gs_base, which QEMU before 4.1 lacks. */
#define RS_CORE_CPU_BYTES_MIN ((uint32_t)offsetof(struct rs_core_cpu, kernel_gs_base))

#endif
