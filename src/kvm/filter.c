/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A session with a filter: before the programs are loaded, the filter's instructions are written
 * into the BPF object, over the room that filter.bpf.h leaves for them.
 */
#include "kvm/session.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>

/* ---- the filter in its place ----------------------------------------------------------------- */

static struct bpf_insn to_itself(void)
{
	return (struct bpf_insn){ .code = BPF_ALU64 | BPF_MOV | BPF_X };
}

/* Finds the room by its mark and the instructions that follow it. Returns NULL if there is none. */
static struct bpf_insn *room_in(void *elf, size_t bytes)
{
	const struct bpf_insn begins[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .imm = RS_KVM_FILTER_MARK },
		{ .code = BPF_JMP | BPF_JNE | BPF_K, .off = RS_KVM_FILTER_ROOM },
		to_itself(),
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

/* Jumps over the rest of the room, which the verifier then removes as unreachable. */
static void fill(struct bpf_insn *room, const struct rs_filter *filter)
{
	uint32_t n = filter->n, left = RS_FILTER_INSNS - RS_FILTER_TAIL - n;

	memcpy(room, filter->insns, n * sizeof(*room));
	room[n++] = (struct bpf_insn){ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 1 };
	room[n++] = (struct bpf_insn){ .code = BPF_JMP | BPF_JEQ | BPF_K,
				       .dst_reg = 1,
				       .off = (int16_t)left };
	while (left--)
		room[n++] = to_itself();
	room[n] = (struct bpf_insn){ .code = BPF_JMP | BPF_EXIT };
}

struct rs_error *rs_kvm_filter_in(const void *elf, size_t bytes, const struct rs_filter *filter,
				  void **out)
{
	struct bpf_insn *room;
	void *copy;

	if (filter->n > RS_FILTER_INSNS - RS_FILTER_TAIL)
		return rs_error_create(RS_FAILED,
				       "a filter of %u instructions: there is room for %u",
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

/* ---- programs that come later ---------------------------------------------------------------- */

/* Sums with a place of their own on each CPU: at most half of all. */
static uint32_t near_of(const struct rs_kvm_session *s, const struct rs_filter *filter)
{
	uint32_t n = RS_KVM_NEAR_MAX;

	while (n && (uint64_t)n * s->n_cpus > filter->room / 2)
		n /= 2;
	return n;
}

static void set_filter(struct rs_kvm_session *s, const struct rs_filter *filter)
{
	s->config.wanted = filter ? filter->wanted : ~UINT64_C(0);
	s->config.filter = filter && filter->n;
	s->config.filter_thread = filter && filter->thread;
	s->config.adds = filter && filter->adds;
	s->config.from_ns = filter ? filter->from_ns : 0;
	s->config.epoch_ns = filter ? filter->epoch_ns : 0;
	s->config.near = s->config.adds ? near_of(s, filter) : 0;
	s->sums_max = s->config.adds ? filter->room - s->config.near * s->n_cpus : 1;
	s->n_keys = s->config.adds ? filter->n_keys : RS_FILTER_KEYS;
	s->config.n_keys = s->n_keys;
}

struct rs_error *rs_kvm_program_image(struct rs_kvm_session *s, const struct rs_kvm_image *image,
				      const struct rs_filter *filter)
{
	if (!s->later || s->programs || s->gate != RS_KVM_NEW)
		return rs_error_create(RS_USAGE, "this session's programs are loaded already");
	set_filter(s, filter);
	return rs_kvm_load_programs(s, image, filter);
}

struct rs_error *rs_kvm_program(struct rs_kvm_session *s, const struct rs_filter *filter)
{
	return rs_kvm_program_image(s, NULL, filter);
}
