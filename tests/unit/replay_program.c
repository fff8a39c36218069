/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether memory has a program: this program, in its own memory, with changed bytes and missing
 * pages. And where files made here are loaded. tests/replay/placed.test uses guests.
 */
#include "../test.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include "replay/program.h"

#define PAGE UINT64_C(4096)

/* ---- this program ------------------------------------------------------------------------- */

#ifdef __x86_64__

/* Our own memory, except for: */
struct seen {
	int memory;
	uint64_t missing;  /* a page that is missing, */
	uint64_t changed;  /* and a byte that is changed */
	bool nothing_else; /* only the code's page is there */
	uint64_t code;
};

static bool read_ours(void *ctx, uint64_t gva, void *buf, size_t bytes)
{
	const struct seen *s = ctx;

	if (s->missing && gva / PAGE == s->missing / PAGE)
		return false;
	if (s->nothing_else && gva / PAGE != s->code / PAGE)
		return false;
	if (pread(s->memory, buf, bytes, (off_t)gva) != (ssize_t)bytes)
		return false;
	if (s->changed >= gva && s->changed - gva < bytes)
		((uint8_t *)buf)[s->changed - gva] ^= 1;
	return true;
}

static int first_base(struct dl_phdr_info *info, size_t size, void *base)
{
	(void)size;
	*(uint64_t *)base = info->dlpi_addr;
	return 1;
}

__attribute__((noinline)) static void code(void)
{
	__asm__ volatile("");
}

static const struct rs_program_segment *of(const struct rs_program *p, uint64_t address)
{
	for (uint32_t i = 0; i < p->n_segments; i++)
		if (address - p->segments[i].address < p->segments[i].bytes)
			return &p->segments[i];
	return NULL;
}

/* Returns an address in read-only memory, two pages from the code and the build-id. */
static uint64_t far_away(const struct rs_program *p, uint64_t pc)
{
	for (uint32_t i = 0; i < p->n_segments; i++) {
		const struct rs_program_segment *s = &p->segments[i];

		for (uint64_t at = s->skip; at < s->bytes; at++) {
			uint64_t page = (s->address + at) / PAGE;

			if (page != pc / PAGE && page != pc / PAGE + 1 &&
			    page != p->build_id / PAGE)
				return s->address + at;
		}
	}
	return 0;
}

TEST(own_program_is_found)
{
	const uint64_t pc = (uint64_t)(uintptr_t)code;
	struct seen seen = { .memory = open("/proc/self/mem", O_RDONLY), .code = pc };
	struct rs_program p;
	uint64_t base = 0, away;

	dl_iterate_phdr(first_base, &base);
	REQUIRE_OK(rs_program_read("/proc/self/exe", &p));
	CHECK_EQ_U64(p.n_bases, 1);
	CHECK(p.moves == (base != 0));
	CHECK(p.entry && of(&p, p.entry));
	CHECK(rs_program_is_at(&p, base, pc, read_ours, &seen));
	/* At another base it is not found, and neither is a base without code. */
	CHECK(!rs_program_is_at(&p, base - PAGE, pc, read_ours, &seen));
	CHECK(!rs_program_is_at(&p, base, base + (UINT64_C(1) << 40), read_ours, &seen));
	/* Other code. */
	seen.changed = pc;
	CHECK(!rs_program_is_at(&p, base, pc, read_ours, &seen));

	if (p.build_id_bytes) { /* its build-id is decisive */
		seen.changed = base + p.build_id + p.build_id_bytes - 1;
		CHECK(!rs_program_is_at(&p, base, pc, read_ours, &seen));
		/*
		 * Without it, or its page, the other bytes are compared: the changed byte is on
		 * that page.
		 */
		seen.missing = seen.changed;
		CHECK(rs_program_is_at(&p, base, pc, read_ours, &seen));
	}
	away = far_away(&p, pc - base);
	REQUIRE(away);
	seen.missing = 0;
	seen.changed = base + away;
	p.build_id_bytes = 0;
	CHECK(!rs_program_is_at(&p, base, pc, read_ours, &seen));
	/* Missing pages are ignored. */
	seen.missing = seen.changed;
	CHECK(rs_program_is_at(&p, base, pc, read_ours, &seen));
	seen = (struct seen){ .memory = seen.memory, .nothing_else = true, .code = pc };
	CHECK(rs_program_is_at(&p, base, pc, read_ours, &seen));
	seen.missing = pc;
	CHECK(!rs_program_is_at(&p, base, pc, read_ours, &seen));
	rs_program_deinit(&p);
	CHECK(!rs_program_is_at(&p, base, pc, read_ours, &seen));
	close(seen.memory);
}
#endif

/* ---- files -------------------------------------------------------------------------------- */

/*
 * A file with one loaded part, which is marked as a program; with an interpreter, if there are
 * enough headers.
 */
struct made {
	Elf64_Ehdr head;
	Elf64_Phdr parts[3];
	Elf64_Dyn dynamic[2];
	char rest[0x1000];
};

static struct made made(uint16_t type)
{
	struct made m = { .head = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
						 ELFDATA2LSB, EV_CURRENT },
				    .e_type = type,
				    .e_machine = EM_X86_64,
				    .e_version = EV_CURRENT,
				    .e_entry = 0x100,
				    .e_phoff = offsetof(struct made, parts),
				    .e_ehsize = sizeof(Elf64_Ehdr),
				    .e_phentsize = sizeof(Elf64_Phdr),
				    .e_phnum = 2 } };

	m.parts[0] = (Elf64_Phdr){ .p_type = PT_LOAD,
				   .p_flags = PF_R | PF_X,
				   .p_filesz = sizeof(m),
				   .p_memsz = 0x2345,
				   .p_align = PAGE };
	m.parts[1] = (Elf64_Phdr){ .p_type = PT_DYNAMIC,
				   .p_offset = offsetof(struct made, dynamic),
				   .p_filesz = sizeof(m.dynamic) };
	m.parts[2] = (Elf64_Phdr){ .p_type = PT_INTERP };
	m.dynamic[0] = (Elf64_Dyn){ .d_tag = DT_FLAGS_1, .d_un.d_val = DF_1_PIE };
	return m;
}

/* Reads a file with this suffix. */
static struct rs_error *read_made(const struct made *m, const char *behind, struct rs_program *p)
{
	char path[64] = "/tmp/ringside-program-XXXXXX", with[96];
	int fd = mkstemp(path);
	struct rs_error *err;

	CHECK(fd >= 0 && write(fd, m, sizeof(*m)) == (ssize_t)sizeof(*m));
	snprintf(with, sizeof(with), "%s%s", path, behind);
	err = rs_program_read(with, p);
	close(fd);
	unlink(path);
	return err;
}

TEST(places)
{
	struct made m = made(ET_DYN);
	struct rs_program p;

	/* static-pie: three pages below 128 MiB below the stack's end; or five sixths below it. */
	REQUIRE_OK(read_made(&m, "", &p));
	CHECK_EQ_U64(p.n_bases, 2);
	CHECK_EQ_U64(p.bases[0], UINT64_C(0x7ffff7fff000) - 3 * PAGE);
	CHECK_EQ_U64(p.bases[1], UINT64_C(0x155555556000) - 3 * PAGE);
	rs_program_deinit(&p);
	/* With a larger alignment, newer and older kernels differ. */
	m.parts[0].p_align = 0x200000;
	REQUIRE_OK(read_made(&m, "", &p));
	CHECK_EQ_U64(p.n_bases, 4);
	CHECK_EQ_U64(p.bases[2], UINT64_C(0x7ffff7e00000));
	CHECK_EQ_U64(p.bases[3], UINT64_C(0x155555400000));
	rs_program_deinit(&p);
	/* With an interpreter, all do. */
	m.head.e_phnum = 3;
	REQUIRE_OK(read_made(&m, "", &p));
	CHECK_EQ_U64(p.n_bases, 1);
	CHECK_EQ_U64(p.bases[0], UINT64_C(0x555555400000));
	rs_program_deinit(&p);
	m.parts[0].p_align = PAGE;
	m.parts[0].p_vaddr = 0x10000;
	REQUIRE_OK(read_made(&m, "", &p));
	CHECK_EQ_U64(p.bases[0], UINT64_C(0x555555554000) - 0x10000);
	rs_program_deinit(&p);
	REQUIRE_OK(read_made(&m, "@0x7f0000001000", &p));
	CHECK_EQ_U64(p.bases[0], UINT64_C(0x7f0000001000));
	CHECK(p.given && p.n_bases == 1 && p.entry == 0x100);
	rs_program_deinit(&p);
	/* A library is not started, and may be anywhere, even if it can be executed. */
	m = made(ET_DYN);
	m.dynamic[0].d_un.d_val = 0;
	REQUIRE_OK(read_made(&m, "@0x7f0000001000", &p));
	CHECK(p.given && !p.entry);
	rs_program_deinit(&p);
	REQUIRE_OK(read_made(&m, "", &p));
	CHECK(p.moves && !p.n_bases && !p.entry);
	rs_program_deinit(&p);
	/* A fixed program is at its address; for a kernel no file is read. */
	m = made(ET_EXEC);
	REQUIRE_OK(read_made(&m, "", &p));
	CHECK(!p.moves && p.n_bases == 1 && !p.bases[0] && p.n_segments == 1);
	rs_program_deinit(&p);
	m.parts[0].p_vaddr = UINT64_C(0xffffffff81000000);
	REQUIRE_OK(read_made(&m, "", &p));
	CHECK(p.kernel && !p.n_segments);
	rs_program_deinit(&p);
}

TEST(unusable_files)
{
	struct made m = made(ET_EXEC);
	struct rs_program p;

	CHECK_ERR(read_made(&m, "@0x1000", &p), RS_USAGE, "is not position independent");
	m = made(ET_DYN);
	CHECK_ERR(read_made(&m, "@0x1001", &p), RS_USAGE, "page-aligned");
	CHECK_ERR(read_made(&m, "@0x10g0", &p), RS_USAGE, "needs a valid address");
	CHECK_ERR(read_made(&m, "@0xffffffffffff0000", &p), RS_USAGE, "needs a valid address");
	m.parts[0].p_filesz = m.parts[0].p_memsz;
	CHECK_ERR(read_made(&m, "", &p), RS_DAMAGED, "is not in the file");
	m.parts[0].p_filesz = m.parts[0].p_memsz + 1;
	CHECK_ERR(read_made(&m, "", &p), RS_DAMAGED, "no valid address");
	m.parts[0].p_filesz = m.parts[0].p_memsz = UINT64_C(1) << 40;
	CHECK_ERR(read_made(&m, "", &p), RS_DAMAGED, "is too long");
	m.parts[0] = (Elf64_Phdr){ .p_type = PT_NULL };
	CHECK_ERR(read_made(&m, "", &p), RS_USAGE, "no loaded segment");
	m = made(ET_DYN);
	m.parts[0].p_memsz = UINT64_C(1) << 45;
	CHECK_ERR(read_made(&m, "", &p), RS_DAMAGED, "it is too long");
	m.head.e_machine = EM_AARCH64;
	CHECK_ERR(read_made(&m, "", &p), RS_USAGE, "is not for x86-64");
	CHECK_ERR(rs_program_read("/dev/null", &p), RS_DAMAGED, "not an ELF file");
	CHECK_ERR(rs_program_read("/nowhere/at/all", &p), RS_FAILED, "No such file");
}

TEST(too_many_parts)
{
	struct made m = made(ET_EXEC);
	Elf64_Phdr *parts = (Elf64_Phdr *)(void *)m.rest;
	struct rs_program p;

	m.head.e_phoff = offsetof(struct made, rest);
	m.head.e_phnum = RS_PROGRAM_SEGMENTS_MAX + 1;
	for (uint32_t i = 0; i <= RS_PROGRAM_SEGMENTS_MAX; i++)
		parts[i] = (Elf64_Phdr){ .p_type = PT_LOAD,
					 .p_flags = PF_R,
					 .p_vaddr = i * PAGE,
					 .p_filesz = 1,
					 .p_memsz = 1 };
	CHECK_ERR(read_made(&m, "", &p), RS_DAMAGED, "too many loaded segments");
}
