/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A filter: BPF instructions that a live source runs on each record before the record enters a
 * ring. They decide whether a consumer needs the record. The probe language generates them
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
 * and end with r0 RS_FILTER_KEEP or 0. They only jump forward, call no functions, and access only
 * their own frame. Filters with sums also access the words that follow the record:
 *
 *	record | the thread's number (RS_FILTER_WHO) | rows to add, RS_FILTER_ROWS of RS_FILTER_ROW
 *
 * Such a filter also returns RS_FILTER_ADD and, from bit RS_FILTER_N on, the number of rows. The
 * source adds all rows to their sums, which it finds by key. If one sum has no room, it adds none
 * of them and keeps the record. A record that is kept although its rows were added has
 * RS_FILTER_DONE in its id.
 *
 * The header is also compiled for BPF: no libc, no pointers except the filter's own.
 */
#ifndef RS_EVENT_FILTER_H
#define RS_EVENT_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#define RS_FILTER_INSNS 2048u /* the most instructions, including those that the source appends */
#define RS_FILTER_TAIL	3u    /* the number of instructions that the source appends */
#define RS_FILTER_WORDS 12u
#define RS_FILTER_HEAD	2u
#define RS_FILTER_KEEP	1u
#define RS_FILTER_ADD	2u
#define RS_FILTER_N	8u

/* Offsets in words from the record. */
#define RS_FILTER_WHO  RS_FILTER_WORDS
#define RS_FILTER_AT   (RS_FILTER_WHO + 1)
#define RS_FILTER_ROWS 4u

/*
 * A row has a head, a value, a count by which the value is weighted, and a key, whose first two
 * words the source fills in. The head is 0 if nothing is to be added. Otherwise its bits 0 to 15
 * are the number of the sum plus 1, bits 16 to 23 an enum rs_filter_how, and bits 32 to 63 the bin.
 */
#define RS_FILTER_KEYS	   8u
#define RS_FILTER_KEY	   3u /* the key's offset in the row */
#define RS_FILTER_KEY_HEAD 2u /* the number | the bin << 16 | the CPU << 32; the epoch */
#define RS_FILTER_ROW	   (RS_FILTER_KEY + RS_FILTER_KEY_HEAD + RS_FILTER_KEYS)
#define RS_FILTER_HOW	   16
#define RS_FILTER_BIN	   32
#define RS_FILTER_SUMS_MAX 0xfffeu

/* How a row changes its sum. */
enum rs_filter_how {
	RS_FILTER_COUNT,
	RS_FILTER_SUM,
	RS_FILTER_MIN,
	RS_FILTER_MAX,
	RS_FILTER_SQUARES,
	RS_FILTER_BINS,	 /* the bin is in the head */
	RS_FILTER_POWER, /* a bin by powers of two */
	RS_FILTER_HIST,	 /* a bin by base/hist.h; also the minimum and maximum */
	RS_FILTER_HOWS,
};

/* The bin of 0 among the powers of two: from -2^63 to -1, then 0, then from 1 to 2^62. */
#define RS_FILTER_POWER_ZERO 63u

struct rs_filter_sum {
	uint64_t n;	  /* rows that were added */
	int64_t value;	  /* by `how`: sum, minimum or maximum; for bins, sum of counts */
	uint64_t more[2]; /* SQUARES: the sum of squares, 128 bits; HIST: minimum, maximum */
};

/* A bit in the id of a record that is kept although its rows were added. With it, the record is
 * another event, which the schema has, too. */
#define RS_FILTER_DONE 0x80000u

struct bpf_insn;
struct rs_filter {
	const struct bpf_insn *insns; /* NULL: each record of a wanted event is kept */
	uint32_t n;
	uint64_t wanted; /* a bit for each wanted event, by its number in its provider */
	bool thread;	 /* the filter reads r4 or the thread's number */
	bool adds;	 /* the filter adds rows */
	uint32_t n_keys; /* words of the longest key, without the source's two words */
	uint32_t room;	 /* the most sums */
	/* Each epoch_ns since from_ns has its own sums, by the record's stamp. 0: one epoch. */
	uint64_t from_ns, epoch_ns;
};

/* A sum as the reader receives it. */
struct rs_filter_row {
	uint32_t number, bin;
	const uint64_t *keys;
	struct rs_filter_sum sum;
};

#endif
