/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A virtual machine's core: the input is the file. If it is accepted, each of its segments is
 * readable at its physical address, with the file's bytes, and nothing else is.
 */
#include "fuzz.h"

#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include "introspect/core.h"

#define SEGMENTS_MAX 64u
#define PART	     64u

/* Returns the bytes of the input that the core has at a physical address; NULL: none. */
static const uint8_t *expected(const uint8_t *data, const Elf64_Ehdr *head, uint64_t gpa)
{
	for (uint32_t i = 0; i < head->e_phnum; i++) {
		Elf64_Phdr p;

		memcpy(&p, data + head->e_phoff + i * sizeof(p), sizeof(p));
		if (p.p_type == PT_LOAD && gpa >= p.p_paddr && gpa - p.p_paddr < p.p_filesz)
			return data + p.p_offset + (gpa - p.p_paddr);
	}
	return NULL;
}

static void check_at(struct rs_memory *memory, const uint8_t *data, const Elf64_Ehdr *head,
		     uint64_t gpa)
{
	const uint8_t *byte = expected(data, head, gpa);
	uint8_t got = 0;

	MUST(!rs_memory_read_phys(memory, gpa, &got, 1) == !!byte);
	MUST(!byte || got == *byte);
}

static void check_memory(struct rs_core *core, const uint8_t *data)
{
	struct rs_memory memory;
	uint8_t part[PART];
	Elf64_Ehdr head;

	memcpy(&head, data, sizeof(head));
	rs_core_memory(core, &memory);
	if (head.e_phnum == PN_XNUM)
		return;
	for (uint32_t i = 0; i < head.e_phnum && i < SEGMENTS_MAX; i++) {
		Elf64_Phdr p;

		memcpy(&p, data + head.e_phoff + i * sizeof(p), sizeof(p));
		if (p.p_type != PT_LOAD || !p.p_filesz)
			continue;
		check_at(&memory, data, &head, p.p_paddr);
		check_at(&memory, data, &head, p.p_paddr - 1);
		check_at(&memory, data, &head, p.p_paddr + p.p_filesz - 1);
		check_at(&memory, data, &head, p.p_paddr + p.p_filesz);
		rs_memory_read_phys(&memory, p.p_paddr + p.p_filesz / 2, part, sizeof(part));
	}
	for (uint32_t i = 0; i < rs_core_vcpus(core) && i < SEGMENTS_MAX; i++) {
		struct rs_x86_regs regs;

		MUST(rs_core_registers(core, i, &regs));
		rs_memory_at(&memory, &regs);
		rs_memory_read(&memory, regs.gpr[7], part, sizeof(part), NULL);
		rs_memory_read(&memory, regs.rip, part, sizeof(part), NULL);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	struct rs_core *core = NULL;
	struct rs_x86_regs regs;
	struct rs_error *err;
	char path[64];

	if (fd < 0)
		fd = memfd_create("core", MFD_CLOEXEC);
	MUST(fd >= 0 && !ftruncate(fd, 0) && pwrite(fd, data, size, 0) == (ssize_t)size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	err = rs_core_open(path, &core);
	if (!err) {
		MUST(!rs_core_registers(core, rs_core_vcpus(core), &regs));
		check_memory(core, data);
		rs_core_close(core);
	}
	fuzz_drop(err);
	core = NULL;
	err = rs_core_open_raw(path, NULL, 0, &core);
	MUST(!err && !rs_core_vcpus(core));
	rs_core_close(core);
	return 0;
}
