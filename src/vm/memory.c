/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Access to guest memory. The guest's vCPUs may write it at the same time, so each function copies
 * the data once, into the caller's memory, and callers check the copy.
 */
#include "vm/internal.h"

#include <string.h>

uint8_t *rs_vm_hva(const struct rs_vm *vm, uint64_t gpa, uint64_t bytes)
{
	uint64_t size = vm->options.memory_bytes + vm->log_bytes;

	return bytes <= size && gpa <= size - bytes ? vm->memory + gpa : NULL;
}

/* Copies from guest memory. Loads an aligned word with one acquire load, which pairs with the
 * guest's release stores (of a ring's tail and magic, and the trace area's magic). Returns false if
 * the range is not RAM. */
bool rs_vm_read(const struct rs_vm *vm, uint64_t gpa, void *to, size_t bytes)
{
	const uint8_t *from = rs_vm_hva(vm, gpa, bytes);

	if (!from)
		return false;
	if (bytes == sizeof(uint32_t) && gpa % sizeof(uint32_t) == 0) {
		uint32_t word =
			__atomic_load_n((const uint32_t *)(const void *)from, __ATOMIC_ACQUIRE);
		memcpy(to, &word, sizeof(word));
	} else if (bytes == sizeof(uint64_t) && gpa % sizeof(uint64_t) == 0) {
		uint64_t word =
			__atomic_load_n((const uint64_t *)(const void *)from, __ATOMIC_ACQUIRE);
		memcpy(to, &word, sizeof(word));
	} else {
		memcpy(to, from, bytes);
	}
	return true;
}

/* Copies to guest memory. Stores an aligned word with one release store: that of a ring's head
 * pairs with the guest's acquire load. Returns false if the range is not RAM. */
bool rs_vm_write(struct rs_vm *vm, uint64_t gpa, const void *from, size_t bytes)
{
	uint8_t *to = rs_vm_hva(vm, gpa, bytes);

	if (!to)
		return false;
	if (bytes == sizeof(uint32_t) && gpa % sizeof(uint32_t) == 0) {
		uint32_t word;

		memcpy(&word, from, sizeof(word));
		__atomic_store_n((uint32_t *)(void *)to, word, __ATOMIC_RELEASE);
	} else {
		memcpy(to, from, bytes);
	}
	return true;
}

bool rs_vm_read_text(const struct rs_vm *vm, uint64_t gpa, uint64_t bytes, char *to, size_t max)
{
	size_t n = bytes < max ? (size_t)bytes : max - 1;

	if (!rs_vm_read(vm, gpa, to, n))
		return false;
	for (size_t i = 0; i < n; i++) {
		if (to[i] < ' ' || to[i] > '~')
			to[i] = '?';
	}
	to[n] = 0;
	return true;
}

static bool read_callback(void *ctx, uint64_t gpa, void *to, size_t bytes)
{
	return rs_vm_read(ctx, gpa, to, bytes);
}

static bool write_callback(void *ctx, uint64_t gpa, const void *from, size_t bytes)
{
	return rs_vm_write(ctx, gpa, from, bytes);
}

struct rs_guest_memory rs_vm_memory(struct rs_vm *vm)
{
	return (struct rs_guest_memory){ vm, read_callback, write_callback };
}
