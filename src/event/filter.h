/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A filter: BPF instructions that a live source runs on each record before the record enters a
 * ring. They decide whether any consumer wants it. The probe language generates them
 * (lang/bpf/push.c); the source inserts them into its own programs (kvm/filter.bpf.h).
 *
 * They begin with
 *
 *	r1	the record, RS_FILTER_WORDS words of 8 bytes: two of the head, then the payload
 *	r2	the event's id
 *	r3	the CPU
 *	r4	if `thread` is set, the vCPU's number in 32 bits, signed, negative if unknown; from
 *		bit 32 on the process
 *
 * and end with r0 RS_FILTER_KEEP or 0. They only jump forward, call nothing, and access only their
 * own frame and, where they add up, what is behind the record:
 *
 *	record | the thread's number (RS_FILTER_WHO) | rows to add, RS_FILTER_ROWS of RS_FILTER_ROW
 *
 * Such a filter also returns RS_FILTER_ADD and, from bit RS_FILTER_N on, the number of rows. The
 * source adds all rows to their sums, which it finds by key. If one sum has no room, it adds none
 * of them and keeps the record. A record that is kept although its rows were added has
 * RS_FILTER_DONE in its id.
 *
 * Both compilers read this header: no libc, no pointers but the filter's own.
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
#define RS_FILTER_ADD	2u
#define RS_FILTER_N	8u

/* Words, from the record on. */
#define RS_FILTER_WHO  RS_FILTER_WORDS
#define RS_FILTER_AT   (RS_FILTER_WHO + 1)
#define RS_FILTER_ROWS 4u

/*
 * A row: the head (0: nothing is to be added), a value and how often it counts; then the key, of
 * which the source makes the first two words. Of the head: the number of the sum + 1 in 16 bits,
 * enum rs_filter_how in 8, from bit 32 on the bin.
 */
#define RS_FILTER_KEYS	   8u
#define RS_FILTER_KEY	   3u /* where it begins */
#define RS_FILTER_KEY_HEAD 2u /* the number | the bin << 16 | the CPU << 32; the epoch */
#define RS_FILTER_ROW	   (RS_FILTER_KEY + RS_FILTER_KEY_HEAD + RS_FILTER_KEYS)
#define RS_FILTER_HOW	   16
#define RS_FILTER_BIN	   32
#define RS_FILTER_SUMS_MAX 0xfffeu

/* What a row does to its sum. */
enum rs_filter_how {
	RS_FILTER_COUNT,
	RS_FILTER_SUM,
	RS_FILTER_MIN,
	RS_FILTER_MAX,
	RS_FILTER_SQUARES,
	RS_FILTER_BINS,	 /* the bin is in the head */
	RS_FILTER_POWER, /* a bin by powers of two */
	RS_FILTER_HIST,	 /* by base/hist.h, with the least and the greatest */
	RS_FILTER_HOWS,
};

/* Bins of powers of two: -2^63 and below to -1, 0, 1 to 2^62 and above. */
#define RS_FILTER_POWER_ZERO 63u

/* How many rows came to it, and of those by `how`: the sum (of how often, in bins), the least or
 * the greatest; the sum of squares, in 128 bits; of HIST least and greatest. */
struct rs_filter_sum {
	uint64_t n;
	int64_t value;
	uint64_t more[2];
};

/* In the id of a record that is kept, whose rows were added: it is another event, with a place of
 * its own in the schema. */
#define RS_FILTER_DONE 0x80000u

struct bpf_insn;
struct rs_filter {
	const struct bpf_insn *insns; /* none: what is wanted is wanted always */
	uint32_t n;
	uint64_t wanted; /* events, by a bit of their number in their provider */
	bool thread;	 /* r4, or the thread's number, is asked for */
	bool adds;	 /* there are rows */
	uint32_t n_keys; /* words of the longest key, without what the source makes */
	uint32_t room;	 /* sums that there may be */
	/* Of rows: each epoch_ns since from_ns has sums of its own, by the record's stamp. 0: one
	 * epoch. */
	uint64_t from_ns, epoch_ns;
};

/* A sum as it is read. */
struct rs_filter_row {
	uint32_t number, bin;
	const uint64_t *keys;
	struct rs_filter_sum sum;
};

#endif
