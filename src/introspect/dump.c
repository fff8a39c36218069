/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes a machine's core:
 *
 *	ELF header | program headers | notes NT_PRSTATUS | notes "QEMU" | RAM, page-aligned
 */
#include "introspect/dump.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/copy.h"
#include "introspect/core.h"

#define PAGE_BYTES 4096u
#define EFER_LMA   (UINT64_C(1) << 10)
/* Flat segments, as the second word of a descriptor: SDM volume 3, 3.4.5. */
#define CODE_64	   0x00a09b00u
#define CODE_32	   0x00c09b00u
#define DATA	   0x00c09300u
#define FLAT_LIMIT 0xffffffffu
#define NAME_BYTES 8u /* size of "CORE" and "QEMU", with NUL and padding */

struct status_note {
	Elf64_Nhdr head;
	char name[NAME_BYTES];
	struct rs_core_status status;
} __attribute__((packed));

struct state_note {
	Elf64_Nhdr head;
	char name[NAME_BYTES];
	struct rs_core_cpu cpu;
} __attribute__((packed));

_Static_assert(sizeof(struct status_note) % 4 == 0 && sizeof(struct state_note) % 4 == 0,
	       "a note is padded to 4 bytes");

static struct status_note status_note(const struct rs_x86_regs *from, uint32_t vcpu)
{
	const uint64_t *r = from->gpr;

	return (struct status_note){
		.head = { sizeof(RS_CORE_CPU_NOTE), sizeof(struct rs_core_status), NT_PRSTATUS },
		.name = RS_CORE_CPU_NOTE,
		.status.pid = (int32_t)vcpu + 1,
		.status.regs = {
			.rax = r[0], .rbx = r[1], .rcx = r[2], .rdx = r[3],
			.rsi = r[4], .rdi = r[5], .rbp = r[6], .rsp = r[7],
			.r8 = r[8], .r9 = r[9], .r10 = r[10], .r11 = r[11],
			.r12 = r[12], .r13 = r[13], .r14 = r[14], .r15 = r[15],
			.rip = from->rip, .eflags = from->eflags,
			.cs = from->cs, .ss = from->ss, .ds = from->ds, .es = from->es,
			.fs = from->fs, .gs = from->gs,
			.fs_base = from->fs_base, .gs_base = from->gs_base,
			.orig_rax = UINT64_MAX, /* not in a system call */
		},
	};
}

static struct rs_core_segment segment(uint32_t selector, uint64_t base, uint32_t flags)
{
	return (struct rs_core_segment){ selector, FLAT_LIMIT, flags, 0, base };
}

static struct state_note state_note(const struct rs_x86_regs *from)
{
	const uint64_t *r = from->gpr;
	struct state_note note = {
		.head = { sizeof(RS_CORE_QEMU_NOTE), sizeof(note.cpu), 0 },
		.name = RS_CORE_QEMU_NOTE,
		.cpu = {
			.version = RS_CORE_CPU_VERSION,
			.size = sizeof(note.cpu),
			.rax = r[0], .rbx = r[1], .rcx = r[2], .rdx = r[3],
			.rsi = r[4], .rdi = r[5], .rbp = r[6], .rsp = r[7],
			.r8 = { r[8], r[9], r[10], r[11], r[12], r[13], r[14], r[15] },
			.rip = from->rip,
			.rflags = from->eflags,
			.cs = segment(from->cs, 0, from->efer & EFER_LMA ? CODE_64 : CODE_32),
			.ds = segment(from->ds, 0, DATA),
			.es = segment(from->es, 0, DATA),
			.fs = segment(from->fs, from->fs_base, DATA),
			.gs = segment(from->gs, from->gs_base, DATA),
			.ss = segment(from->ss, 0, DATA),
			.cr = { from->cr0, 0, from->cr2, from->cr3, from->cr4 },
			.kernel_gs_base = from->k_gs_base,
		},
	};

	return note;
}

/* ---- the file ------------------------------------------------------------------------------- */

struct layout {
	uint64_t headers, notes, note_bytes, ram, end;
};

static struct layout layout_of(const struct rs_dump *dump)
{
	struct layout l = { .headers = sizeof(Elf64_Ehdr) };

	l.notes = l.headers + (dump->n_ram + 1) * sizeof(Elf64_Phdr);
	l.note_bytes =
		dump->n_vcpus * (uint64_t)(sizeof(struct status_note) + sizeof(struct state_note));
	l.ram = (l.notes + l.note_bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
	l.end = l.ram;
	for (uint32_t i = 0; i < dump->n_ram; i++)
		l.end += dump->ram[i].bytes;
	return l;
}

/* Fills in the headers and notes before the RAM. */
static void front_make(const struct rs_dump *dump, const struct layout *l, uint8_t *front)
{
	const Elf64_Ehdr head = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			     EV_CURRENT },
		.e_type = ET_CORE,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = l->headers,
		.e_ehsize = sizeof(head),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = (Elf64_Half)(dump->n_ram + 1),
	};
	Elf64_Phdr p = { .p_type = PT_NOTE, .p_offset = l->notes, .p_filesz = l->note_bytes };
	uint8_t *at = front + l->headers;
	uint64_t offset = l->ram;

	memcpy(front, &head, sizeof(head));
	memcpy(at, &p, sizeof(p));
	for (uint32_t i = 0; i < dump->n_ram; i++) {
		const struct rs_ram *ram = &dump->ram[i];

		p = (Elf64_Phdr){ .p_type = PT_LOAD,
				  .p_flags = PF_R | PF_W | PF_X,
				  .p_offset = offset,
				  .p_vaddr = ram->gpa,
				  .p_paddr = ram->gpa,
				  .p_filesz = ram->bytes,
				  .p_memsz = ram->bytes,
				  .p_align = PAGE_BYTES };
		at += sizeof(p);
		memcpy(at, &p, sizeof(p));
		offset += ram->bytes;
	}
	at = front + l->notes;
	for (uint32_t i = 0; i < dump->n_vcpus; i++, at += sizeof(struct status_note))
		*(struct status_note *)(void *)at = status_note(&dump->vcpus[i], i);
	for (uint32_t i = 0; i < dump->n_vcpus; i++, at += sizeof(struct state_note))
		*(struct state_note *)(void *)at = state_note(&dump->vcpus[i]);
}

static bool is_zero(const uint8_t *page, size_t bytes)
{
	return !bytes || (!page[0] && !memcmp(page, page + 1, bytes - 1));
}

/* Writes the runs of pages that are not zero. Returns false, with errno, if that fails. */
static bool ram_write(const struct rs_ram *ram, int fd, uint64_t offset)
{
	uint64_t begin = 0, at = 0;

	while (at < ram->bytes) {
		uint64_t left = ram->bytes - at;
		size_t part = left < PAGE_BYTES ? (size_t)left : PAGE_BYTES;
		bool zero = is_zero(ram->mem + at, part);

		at += part;
		if (zero || at == ram->bytes) {
			size_t run = (size_t)(zero ? at - part - begin : at - begin);

			if (rs_write_at(fd, ram->mem + begin, run, offset + begin) < run)
				return false;
			begin = at;
		}
	}
	return true;
}

struct rs_error *rs_dump_write(const struct rs_dump *dump, int fd, const char *path)
{
	const struct layout l = layout_of(dump);
	struct rs_error *err = NULL;
	uint64_t offset = l.ram;
	uint8_t *front = calloc(1, (size_t)l.ram);
	bool good;

	if (!front)
		return rs_error_no_memory();
	front_make(dump, &l, front);
	good = rs_write_at(fd, front, (size_t)l.ram, 0) == l.ram;
	for (uint32_t i = 0; good && i < dump->n_ram; i++) {
		good = ram_write(&dump->ram[i], fd, offset);
		offset += dump->ram[i].bytes;
	}
	/* Sets the length, since the last pages may be holes. */
	good = good && !ftruncate(fd, (off_t)l.end);
	if (!good) {
		err = rs_error_errno(errno, "cannot write core '%s'", path);
		if (ftruncate(fd, 0))
			err = rs_error_wrap(err, "a part of a core remains");
	}
	free(front);
	return err;
}
