/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes a filter's instructions into a BPF object, over the placeholders of filter.bpf.h. */
#include "kvm/session.h"

#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>

static struct bpf_insn no_op(void)
{
	return (struct bpf_insn){ .code = BPF_ALU64 | BPF_MOV | BPF_X };
}

/* Finds the room by its mark and the instructions that follow it. Returns NULL if the object has no
 * such room, or several. */
static struct bpf_insn *room_in(void *elf, size_t bytes)
{
	const struct bpf_insn begins[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .imm = RS_KVM_FILTER_MARK },
		{ .code = BPF_JMP | BPF_JNE | BPF_K, .off = RS_KVM_FILTER_ROOM },
		no_op(),
	};
	size_t room = RS_FILTER_INSNS * sizeof(struct bpf_insn);
	uint8_t *at = elf, *end = at + bytes, *found = NULL;

	while (end - at >= (ptrdiff_t)room) {
		at = memmem(at, (size_t)(end - at), begins, sizeof(begins));
		if (!at || end - at < (ptrdiff_t)room)
			break;
		if (found)
			return NULL;
		found = at;
		at += sizeof(begins);
	}
	if (found &&
	    ((struct bpf_insn *)(void *)found)[RS_FILTER_INSNS - 1].code != (BPF_JMP | BPF_EXIT))
		return NULL;
	return (void *)found;
}

/* Copies the filter, followed by a jump over the rest of the room, which the verifier then removes
 * as unreachable. */
static void fill(struct bpf_insn *room, const struct rs_filter *filter)
{
	uint32_t n = filter->n, left = RS_FILTER_INSNS - RS_FILTER_TAIL - n;

	memcpy(room, filter->insns, n * sizeof(*room));
	room[n++] = (struct bpf_insn){ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 1 };
	room[n++] = (struct bpf_insn){ .code = BPF_JMP | BPF_JEQ | BPF_K,
				       .dst_reg = 1,
				       .off = (int16_t)left };
	while (left--)
		room[n++] = no_op();
	room[n] = (struct bpf_insn){ .code = BPF_JMP | BPF_EXIT };
}

struct rs_error *rs_kvm_filter_in(const void *elf, size_t bytes, const struct rs_filter *filter,
				  void **out)
{
	struct bpf_insn *room;
	void *copy;

	if (filter->n > RS_FILTER_INSNS - RS_FILTER_TAIL)
		return rs_error_create(RS_FAILED, "the filter has %u instructions; at most %u fit",
				       filter->n, RS_FILTER_INSNS - RS_FILTER_TAIL);
	copy = malloc(bytes);
	if (!copy)
		return rs_error_no_memory();
	memcpy(copy, elf, bytes);
	room = room_in(copy, bytes);
	if (!room) {
		free(copy);
		return rs_error_create(RS_FAILED, "the BPF object has no room for a filter");
	}
	fill(room, filter);
	*out = copy;
	return NULL;
}
