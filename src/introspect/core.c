/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads a machine's core: its segments, which become sorted pieces that do not overlap, and the
 * registers in its notes. */
#include "introspect/core.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/search.h"
#include "introspect/binary.h"

#define CR0_PG	 (UINT64_C(1) << 31)
#define CR4_PAE	 (UINT64_C(1) << 5)
#define EFER_LME (UINT64_C(1) << 8)
#define EFER_LMA (UINT64_C(1) << 10)

struct vcpu {
	struct rs_x86_regs regs;
	uint64_t tr_base;
};

struct rs_core {
	FILE *file;
	uint64_t bytes; /* size of the file when it was opened */
	struct rs_core_piece *pieces;
	uint32_t n_pieces;
	struct vcpu *vcpus;
	uint32_t n_vcpus;     /* vCPUs, by their notes NT_PRSTATUS */
	uint32_t n_states;    /* number of notes "QEMU" */
	uint32_t n_vcpus_max; /* capacity of `vcpus` */
	uint64_t note_bytes;  /* bytes of notes read so far */
};

/* ---- the file ------------------------------------------------------------------------------- */

/* Returns whether the whole range was read. */
static bool read_at(const struct rs_core *core, uint64_t offset, void *to, size_t bytes)
{
	uint8_t *at = to;

	if (offset > core->bytes || bytes > core->bytes - offset)
		return false;
	while (bytes) {
		ssize_t n = pread(fileno(core->file), at, bytes, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		at += n;
		offset += (uint64_t)n;
		bytes -= (size_t)n;
	}
	return true;
}

static struct rs_error *file_open(const char *path, struct rs_core **out)
{
	struct rs_core *core = calloc(1, sizeof(*core));
	struct rs_error *err;
	struct stat st;

	if (!core)
		return rs_error_no_memory();
	err = rs_binary_open(path, &core->file);
	if (!err && fstat(fileno(core->file), &st))
		err = rs_error_errno(errno, "%s", path);
	if (err) {
		rs_core_close(core);
		return err;
	}
	core->bytes = (uint64_t)st.st_size;
	*out = core;
	return NULL;
}

void rs_core_close(struct rs_core *core)
{
	if (!core)
		return;
	if (core->file)
		fclose(core->file);
	free(core->pieces);
	free(core->vcpus);
	free(core);
}

/* ---- memory --------------------------------------------------------------------------------- */

static int by_gpa(const void *a, const void *b)
{
	const struct rs_core_piece *one = a, *other = b;

	return one->gpa < other->gpa ? -1 : one->gpa > other->gpa;
}

/* Sorts the pieces and joins those that overlap or touch. Overlapping pieces must have the common
 * memory at the same place in the file. */
static struct rs_error *pieces_join(struct rs_core *core)
{
	struct rs_core_piece *last = core->pieces;
	uint32_t n = 0;

	if (core->n_pieces)
		qsort(core->pieces, core->n_pieces, sizeof(*core->pieces), by_gpa);
	for (uint32_t i = 0; i < core->n_pieces; i++) {
		const struct rs_core_piece piece = core->pieces[i];
		uint64_t end = piece.gpa + piece.bytes;
		bool same = n && piece.offset - piece.gpa == last->offset - last->gpa;

		if (n && piece.gpa < last->gpa + last->bytes && !same)
			return rs_error_create(RS_DAMAGED,
					       "two segments have memory at 0x%" PRIx64
					       ", with different content",
					       piece.gpa);
		if (same && piece.gpa <= last->gpa + last->bytes) {
			if (end > last->gpa + last->bytes)
				last->bytes = end - last->gpa;
			continue;
		}
		last = &core->pieces[n++];
		*last = piece;
	}
	core->n_pieces = n;
	return NULL;
}

/* Adds a piece, unless it is empty. The caller has reserved the room. */
static struct rs_error *piece_add(struct rs_core *core, uint32_t number,
				  const struct rs_core_piece *piece)
{
	if (!piece->bytes)
		return NULL;
	if (piece->offset > core->bytes || piece->bytes > core->bytes - piece->offset)
		return rs_error_create(RS_DAMAGED,
				       "segment %u has %" PRIu64 " bytes at offset %" PRIu64
				       ", after the end of the file (%" PRIu64 " bytes)",
				       number, piece->bytes, piece->offset, core->bytes);
	if (piece->gpa + piece->bytes < piece->gpa)
		return rs_error_create(RS_DAMAGED,
				       "segment %u has %" PRIu64 " bytes at 0x%" PRIx64
				       ", beyond the last address",
				       number, piece->bytes, piece->gpa);
	core->pieces[core->n_pieces++] = *piece;
	return NULL;
}

/* Returns the piece that has an address, or NULL. */
static const struct rs_core_piece *piece_find(const struct rs_core *core, uint64_t gpa)
{
	size_t after = RS_SEARCH(i, core->n_pieces, core->pieces[i].gpa <= gpa);
	const struct rs_core_piece *piece = after ? &core->pieces[after - 1] : NULL;

	return piece && gpa - piece->gpa < piece->bytes ? piece : NULL;
}

/* Implements the callback of struct rs_memory. */
static bool memory_read(void *ctx, uint64_t gpa, void *buf, size_t bytes)
{
	const struct rs_core *core = ctx;
	uint8_t *to = buf;

	while (bytes) {
		const struct rs_core_piece *piece = piece_find(core, gpa);
		uint64_t at, part;

		if (!piece)
			return false;
		at = gpa - piece->gpa;
		part = piece->bytes - at < bytes ? piece->bytes - at : bytes;
		if (!read_at(core, piece->offset + at, to, (size_t)part))
			return false;
		gpa += part;
		to += part;
		bytes -= (size_t)part;
	}
	return true;
}

void rs_core_memory(struct rs_core *core, struct rs_memory *memory)
{
	*memory = (struct rs_memory){ .read = memory_read, .ctx = core };
}

/* ---- notes ---------------------------------------------------------------------------------- */

/* Adds a vCPU. Returns NULL if there is no memory. */
static struct vcpu *vcpu_of(struct rs_core *core, uint32_t number)
{
	if (number >= core->n_vcpus_max) {
		uint32_t n = core->n_vcpus_max ? 2 * core->n_vcpus_max : 16;
		struct vcpu *more = reallocarray(core->vcpus, n, sizeof(*more));

		if (!more)
			return NULL;
		memset(more + core->n_vcpus_max, 0, (n - core->n_vcpus_max) * sizeof(*more));
		core->vcpus = more;
		core->n_vcpus_max = n;
	}
	return &core->vcpus[number];
}

/* Reads the general registers from NT_PRSTATUS. The note "QEMU" has them, too. */
static struct rs_error *status_parse(struct rs_core *core, const uint8_t *at, uint32_t bytes)
{
	struct vcpu *vcpu;
	struct rs_core_status status;
	const struct rs_core_regs *r = &status.regs;

	if (bytes < sizeof(status))
		return rs_error_create(RS_DAMAGED, "the note NT_PRSTATUS has %u bytes, not %zu",
				       bytes, sizeof(status));
	memcpy(&status, at, sizeof(status));
	vcpu = vcpu_of(core, core->n_vcpus++);
	if (!vcpu)
		return rs_error_no_memory();
	vcpu->regs = (struct rs_x86_regs){
		.gpr = { r->rax, r->rbx, r->rcx, r->rdx, r->rsi, r->rdi, r->rbp, r->rsp, r->r8,
			 r->r9, r->r10, r->r11, r->r12, r->r13, r->r14, r->r15 },
		.rip = r->rip,
		.eflags = (uint32_t)r->eflags,
		.cs = (uint32_t)r->cs,
		.ss = (uint32_t)r->ss,
		.ds = (uint32_t)r->ds,
		.es = (uint32_t)r->es,
		.fs = (uint32_t)r->fs,
		.gs = (uint32_t)r->gs,
		/* until the vCPU's note "QEMU", which follows all notes NT_PRSTATUS */
		.fs_base = r->fs_base,
		.gs_base = r->gs_base,
	};
	return NULL;
}

static uint64_t efer_of(uint64_t cr0, uint64_t cr4)
{
	return (cr0 & CR0_PG) && (cr4 & CR4_PAE) ? EFER_LMA | EFER_LME : 0;
}

/* Reads the registers that Linux's note lacks. */
static struct rs_error *state_parse(struct rs_core *core, const uint8_t *at, uint32_t bytes)
{
	struct rs_core_cpu cpu = { 0 };
	struct rs_x86_regs *regs;

	if (bytes < RS_CORE_CPU_BYTES_MIN)
		return rs_error_create(RS_DAMAGED, "the note \"QEMU\" has %u bytes, not %u", bytes,
				       RS_CORE_CPU_BYTES_MIN);
	memcpy(&cpu, at, bytes < sizeof(cpu) ? bytes : sizeof(cpu));
	if (core->n_states == core->n_vcpus)
		return rs_error_create(RS_DAMAGED,
				       "there are more notes \"QEMU\" than preceding NT_PRSTATUS");
	core->vcpus[core->n_states].tr_base = cpu.tr.base;
	regs = &core->vcpus[core->n_states++].regs;
	regs->fs_base = cpu.fs.base;
	regs->gs_base = cpu.gs.base;
	regs->k_gs_base = cpu.kernel_gs_base;
	regs->cr0 = cpu.cr[0];
	regs->cr2 = cpu.cr[2];
	regs->cr3 = cpu.cr[3];
	regs->cr4 = cpu.cr[4];
	regs->efer = efer_of(cpu.cr[0], cpu.cr[4]);
	return NULL;
}

static bool is_named(const uint8_t *name, uint32_t bytes, const char *text)
{
	return bytes == strlen(text) + 1 && !memcmp(name, text, bytes);
}

static struct rs_error *notes_parse(struct rs_core *core, const uint8_t *notes, uint64_t bytes)
{
	uint64_t at = 0;

	while (at < bytes) {
		const uint8_t *name, *content;
		struct rs_error *err = NULL;
		Elf64_Nhdr head;

		if (bytes - at < sizeof(head))
			return rs_error_create(RS_DAMAGED, "the notes are cut");
		memcpy(&head, notes + at, sizeof(head));
		at += sizeof(head);
		name = notes + at;
		at += ((uint64_t)head.n_namesz + 3) & ~UINT64_C(3);
		content = notes + at;
		if (at > bytes || head.n_descsz > bytes - at)
			return rs_error_create(RS_DAMAGED, "the notes are cut");
		if (head.n_type == NT_PRSTATUS && is_named(name, head.n_namesz, RS_CORE_CPU_NOTE))
			err = status_parse(core, content, head.n_descsz);
		else if (!head.n_type && is_named(name, head.n_namesz, RS_CORE_QEMU_NOTE))
			err = state_parse(core, content, head.n_descsz);
		if (err)
			return err;
		at += ((uint64_t)head.n_descsz + 3) & ~UINT64_C(3);
	}
	return NULL;
}

static struct rs_error *notes_read(struct rs_core *core, const Elf64_Phdr *p)
{
	struct rs_error *err = NULL;
	uint8_t *notes;

	if (p->p_filesz > RS_CORE_NOTES_MAX - core->note_bytes)
		return rs_error_create(RS_DAMAGED, "the notes have more than %u bytes",
				       RS_CORE_NOTES_MAX);
	if (!p->p_filesz)
		return NULL;
	core->note_bytes += p->p_filesz;
	notes = malloc((size_t)p->p_filesz);
	if (!notes)
		return rs_error_no_memory();
	if (read_at(core, p->p_offset, notes, (size_t)p->p_filesz))
		err = notes_parse(core, notes, p->p_filesz);
	else
		err = rs_error_create(RS_DAMAGED, "the notes are after the end of the file");
	free(notes);
	return err;
}

/* ---- ELF ------------------------------------------------------------------------------------ */

static struct rs_error *head_check(const Elf64_Ehdr *head)
{
	if (memcmp(head->e_ident, ELFMAG, SELFMAG) != 0)
		return rs_error_create(RS_USAGE, "it is not an ELF core");
	if (head->e_ident[EI_CLASS] != ELFCLASS64 || head->e_ident[EI_DATA] != ELFDATA2LSB ||
	    head->e_machine != EM_X86_64)
		return rs_error_create(RS_USAGE, "it is not from an x86-64 machine in long mode");
	if (head->e_type != ET_CORE)
		return rs_error_create(RS_USAGE, "it is a program, not a core");
	if (head->e_phentsize != sizeof(Elf64_Phdr))
		return rs_error_create(RS_DAMAGED, "its program headers have %u bytes, not %zu",
				       head->e_phentsize, sizeof(Elf64_Phdr));
	return NULL;
}

/* Returns the number of program headers. If that is PN_XNUM or more, reads it from the first
 * section header. */
static struct rs_error *headers_count(const struct rs_core *core, const Elf64_Ehdr *head,
				      uint32_t *n)
{
	Elf64_Shdr first;

	*n = head->e_phnum;
	if (head->e_phnum == PN_XNUM) {
		if (head->e_shentsize != sizeof(first) ||
		    !read_at(core, head->e_shoff, &first, sizeof(first)))
			return rs_error_create(RS_DAMAGED,
					       "it has %u program headers or more, and no section "
					       "header that has their number",
					       PN_XNUM);
		*n = first.sh_info;
	}
	if (*n > RS_CORE_SEGMENTS_MAX)
		return rs_error_create(RS_DAMAGED, "it has %u program headers, more than %u", *n,
				       RS_CORE_SEGMENTS_MAX);
	return NULL;
}

static struct rs_error *segments_parse(struct rs_core *core, const Elf64_Phdr *headers, uint32_t n)
{
	struct rs_error *err = NULL;

	core->pieces = calloc(n ? n : 1, sizeof(*core->pieces));
	if (!core->pieces)
		return rs_error_no_memory();
	for (uint32_t i = 0; i < n && !err; i++) {
		const Elf64_Phdr *p = &headers[i];

		/* Memory beyond the bytes in the file was not dumped. */
		if (p->p_type == PT_LOAD)
			err = piece_add(
				core, i,
				&(struct rs_core_piece){ p->p_paddr, p->p_filesz, p->p_offset });
		else if (p->p_type == PT_NOTE)
			err = notes_read(core, p);
	}
	if (!err)
		err = pieces_join(core);
	if (!err && core->n_vcpus != core->n_states)
		err = core->n_states
			      ? rs_error_create(RS_DAMAGED,
						"it has %u notes NT_PRSTATUS and %u notes \"QEMU\"",
						core->n_vcpus, core->n_states)
			      : rs_error_create(
					RS_USAGE,
					"it is not from a guest: it lacks QEMU's notes, which "
					"have the control registers");
	return err;
}

static struct rs_error *core_parse(struct rs_core *core)
{
	struct rs_error *err;
	Elf64_Phdr *headers;
	Elf64_Ehdr head;
	uint32_t n;

	if (!read_at(core, 0, &head, sizeof(head)))
		return rs_error_create(RS_USAGE, "it is not an ELF core");
	err = head_check(&head);
	if (!err)
		err = headers_count(core, &head, &n);
	if (err)
		return err;
	if (head.e_phoff > core->bytes || n > (core->bytes - head.e_phoff) / sizeof(*headers))
		return rs_error_create(RS_DAMAGED,
				       "its %u program headers are after the end of the file", n);
	headers = calloc(n ? n : 1, sizeof(*headers));
	if (!headers)
		return rs_error_no_memory();
	if (read_at(core, head.e_phoff, headers, n * sizeof(*headers)))
		err = segments_parse(core, headers, n);
	else
		err = rs_error_create(RS_DAMAGED, "its program headers cannot be read");
	free(headers);
	return err;
}

struct rs_error *rs_core_open(const char *path, struct rs_core **out)
{
	struct rs_core *core = NULL;
	struct rs_error *err = file_open(path, &core);

	if (err)
		return err;
	err = rs_error_wrap(core_parse(core), "core '%s'", path);
	if (err)
		rs_core_close(core);
	else
		*out = core;
	return err;
}

struct rs_error *rs_core_open_raw(const char *path, const struct rs_core_piece *pieces,
				  uint32_t n_pieces, struct rs_core **out)
{
	struct rs_core_piece all = { 0 };
	struct rs_core *core = NULL;
	struct rs_error *err = file_open(path, &core);

	if (err)
		return err;
	if (!n_pieces) {
		all.bytes = core->bytes;
		pieces = &all;
		n_pieces = 1;
	}
	core->pieces = calloc(n_pieces, sizeof(*core->pieces));
	if (!core->pieces)
		err = rs_error_no_memory();
	for (uint32_t i = 0; i < n_pieces && !err; i++)
		err = piece_add(core, i, &pieces[i]);
	if (!err)
		err = pieces_join(core);
	err = rs_error_wrap(err, "memory '%s'", path);
	if (err)
		rs_core_close(core);
	else
		*out = core;
	return err;
}

uint32_t rs_core_vcpus(const struct rs_core *core)
{
	return core->n_vcpus;
}

bool rs_core_registers(const struct rs_core *core, uint32_t vcpu, struct rs_x86_regs *regs)
{
	if (vcpu >= core->n_vcpus)
		return false;
	*regs = core->vcpus[vcpu].regs;
	return true;
}

uint64_t rs_core_tr_base(const struct rs_core *core, uint32_t vcpu)
{
	return vcpu < core->n_vcpus ? core->vcpus[vcpu].tr_base : 0;
}
