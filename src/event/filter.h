/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A filter: BPF instructions that a live source runs for each record before it is put into a
 * ring. They say whether anybody wants it. The probe language makes them (lang/push.c); who runs
 * them puts them into programs of its own (kvm/filter.bpf.h).
 *
 * They begin with
 *
 *	r1	the record, RS_FILTER_WORDS words of 8 bytes: two of the head, then the payload
 *	r2	the event's id
 *	r3	the CPU
 *	r4	where asked for, the vCPU's number, 32 bits, signed, negative: not known; from bit
 *		32 on the process
 *
 * and come to their end with r0 RS_FILTER_KEEP or 0. They jump forward alone, call nothing, and
 * read and write nothing else but their own frame.
 *
 * Read by both compilers: no libc, no pointers but the filter's own.
 */
#ifndef RS_EVENT_FILTER_H
#define RS_EVENT_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#define RS_FILTER_INSNS 2048u /* room for them, with what is put behind them */
#define RS_FILTER_TAIL	3u    /* of that */
#define RS_FILTER_WORDS 12u
#define RS_FILTER_HEAD	2u
#define RS_FILTER_KEEP	1u

struct bpf_insn;
struct rs_filter {
	const struct bpf_insn *insns; /* none: what is wanted is wanted always */
	uint32_t n;
	uint64_t wanted; /* events, by a bit of their number in their provider */
	bool thread;	 /* r4 is asked for */
};

#endif
