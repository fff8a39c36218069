/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A guest's page tables: the input is control registers, an address, and RAM. Whatever the tables
 * say, a walk ends, and reads nothing outside RAM.
 */
#include "fuzz.h"

#include "introspect/memory.h"

#define RAM_MAX (64u << 10)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	struct rs_paging paging = { .cr0 = fuzz_u64(&in),
				    .cr3 = fuzz_u64(&in),
				    .cr4 = fuzz_u64(&in),
				    .efer = fuzz_u64(&in),
				    .address_bits = fuzz_u8(&in) % 53 };
	uint64_t gva = fuzz_u64(&in), gpa = 0, again = 0, at = 0;
	size_t bytes = in.left < RAM_MAX ? in.left : RAM_MAX;
	struct rs_memory *memory = calloc(1, sizeof(*memory));
	uint8_t *ram = malloc(bytes ? bytes : 1); /* of its very size: a byte beyond is seen */
	char text[256];
	enum rs_fault fault;

	MUST(memory && ram);
	memcpy(ram, in.at, bytes);
	memory->ram[0] = (struct rs_ram){ 0, bytes, ram };
	memory->n_ram = 1;
	rs_memory_stopped(memory, &paging);
	fault = rs_memory_translate(memory, gva, &gpa);
	MUST(rs_fault_text(fault)[0]);
	MUST(rs_memory_translate(memory, gva, &again) == fault && again == (fault ? 0 : gpa));
	fault = rs_memory_read(memory, gva, text, sizeof(text), &at);
	MUST(!fault || at == gva || !(at & 0xfff));
	fault = rs_memory_read_text(memory, gva, text, sizeof(text), &at);
	MUST(memchr(text, '\0', sizeof(text)));
	MUST(memory->walks <= 16);
	free(ram);
	free(memory);
	return 0;
}
