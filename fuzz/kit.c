/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages of a guest of the micro-VM (kit_abi.h): the input is a message's address and, after it,
 * RAM. For any message, its values are within its copy, and a message that was read is equal when
 * it is written and read again.
 */
#include "fuzz.h"

#include "vm/internal.h"

static uint64_t sum_of(const struct rs_vm_message *message)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < message->head.n; i++) {
		const struct rs_kit_value *value = &message->head.values[i];
		const uint8_t *data = (const uint8_t *)(uintptr_t)value->v;

		MUST(value->type >= RS_KIT_INT && value->type <= RS_KIT_BYTES);
		if (value->type < RS_KIT_TEXT) {
			sum = 31 * sum + value->v;
			continue;
		}
		MUST(data >= message->bytes + sizeof(message->head));
		MUST(data + value->bytes <= message->bytes + sizeof(message->bytes));
		MUST(value->type == RS_KIT_BYTES || !data[value->bytes]);
		for (uint32_t j = 0; j < value->bytes; j++)
			sum = 31 * sum + data[j];
	}
	return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct rs_vm vm;
	static struct rs_vm_message message, again;
	struct fuzz_input in = { data, size };
	uint64_t gpa = fuzz_u64(&in) & 0xffff;

	vm.memory = malloc(in.left ? in.left : 1);
	MUST(vm.memory);
	memcpy(vm.memory, in.at, in.left);
	vm.options.memory_bytes = in.left;
	if (rs_vm_message_read(&vm, gpa, &message)) {
		uint64_t sum = sum_of(&message);

		/* Values may share bytes, and need more room when each has its own. */
		if (rs_vm_message_write(&vm, gpa, in.left - gpa, message.head.values,
					message.head.n)) {
			MUST(rs_vm_message_read(&vm, gpa, &again));
			MUST(again.head.n == message.head.n && sum_of(&again) == sum);
		}
	}
	free(vm.memory);
	return 0;
}
