/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records of Xen's trace by time: blocks of them come in, from a file's windows or from the
 * hypervisor's buffers, are checked, and wait in a queue for each physical CPU.
 *
 *	block (checked) --> queue of its CPU --\
 *	                    queue ...        ---> heap by TSC --> record
 *
 * Blocks come in rounds, over the CPUs in the order of their numbers. What is in a round was traced
 * after all of the round before the last was read: so much may be taken.
 */
#ifndef RS_XEN_RECORDS_H
#define RS_XEN_RECORDS_H

#include <string.h>

#include "xen/layout.h"

#define RS_XEN_CPUS_MAX 4096u /* the most that Xen can be built for; numbers stay below */

/* A record's header: event 0-27, number of words 28-30, a stamp follows 31. */
#define RS_XEN_HEAD_EVENT(head)	  ((head)&0x0fffffffu)
#define RS_XEN_HEAD_WORDS(head)	  ((head) >> 28 & 7)
#define RS_XEN_HEAD_STAMPED(head) ((head) >> 31)
#define RS_XEN_HEAD_BYTES(head)	  (4 + 8 * RS_XEN_HEAD_STAMPED(head) + 4 * RS_XEN_HEAD_WORDS(head))

static inline uint32_t rs_xen_word_at(const uint8_t *at)
{
	uint32_t word;

	memcpy(&word, at, sizeof(word));
	return word;
}

static inline uint64_t rs_xen_stamp_at(const uint8_t *at)
{
	uint64_t stamp;

	memcpy(&stamp, at, sizeof(stamp));
	return stamp;
}

/* Whole records, one after the other, of one CPU. */
struct rs_xen_block {
	struct rs_xen_block *next;
	uint64_t offset; /* in the file, of data */
	uint32_t bytes;
	uint64_t first_tsc; /* the first stamp in it; 0: none */
	uint8_t data[];
};
/* Bytes behind a block's data that are its own, so that the words of its last record can be read
 * without a look at how many they are. */
#define RS_XEN_BLOCK_SLACK 32u

/* A block with room for so many bytes, and none in it; NULL: there is no memory. */
struct rs_xen_block *rs_xen_block_create(uint64_t offset, uint32_t room);

struct rs_xen_pcpu {
	uint32_t cpu;
	struct rs_xen_block *first, *last; /* what was read and not taken */
	const uint8_t *at, *end;	   /* the next record in the first, and its end */
	uint64_t tsc;			   /* of the record taken last, corrected */
	uint64_t next_tsc;		   /* of the one at `at` */
	uint64_t read_tsc;		   /* the last stamp that was read, as it was */
	uint64_t tsc_max;		   /* none can be later; 0: not known */
	bool has_tsc, in_heap;
	int64_t skew; /* to be added to its stamps */
	void *owner;  /* what the source keeps of it */
};

struct rs_xen_records {
	bool ended;  /* no more blocks come: all may be taken */
	size_t held; /* bytes in blocks */
	/* The rounds: what may be taken is what is not after the round before the last. */
	uint32_t round_cpu;    /* of the last window */
	uint64_t round_max[3]; /* of this round, the last, and all before */
	bool any_round;
	struct rs_xen_pcpu **pcpus; /* in the order of their first windows */
	uint32_t n_pcpus;
	struct rs_xen_pcpu *by_cpu[RS_XEN_CPUS_MAX];
	struct rs_xen_pcpu **heap; /* those that have records in hand, by the stamp of the next */
	uint32_t n_heap;
	/* The top of the heap stays there while its next stamp is below; 0: not known. */
	uint64_t rival_tsc;
	uint64_t taken_tsc; /* of the last record taken */
	uint64_t late;	    /* records that came too late for their place */
};

/* Of one of zero bytes. Frees what pcpus' owner points to, too. */
void rs_xen_records_deinit(struct rs_xen_records *records);

/* A CPU's queue, made when it is first asked for. cpu: below RS_XEN_CPUS_MAX. */
struct rs_error *rs_xen_records_pcpu(struct rs_xen_records *records, uint32_t cpu,
				     struct rs_xen_pcpu **pcpu);

/* The next blocks are of this CPU. */
void rs_xen_records_round(struct rs_xen_records *records, uint32_t cpu);

/*
 * Checks a block's records. *end: where the last one ends that is whole and valid; *records:
 * how many are added to it. NULL: nothing wrong, but that less than a record may be left. has_head:
 * the first is a window's head.
 */
const char *rs_xen_block_check(struct rs_xen_pcpu *pcpu, struct rs_xen_block *block, bool has_head,
			       uint32_t *end, uint64_t *records);

/*
 * Up to where the records of a block can be believed, of which the one at `end` is invalid:
 * what made it so may lie before it, and be no record either.
 */
uint32_t rs_xen_block_believed(const struct rs_xen_block *block, uint32_t end);

/* Takes over a block that was checked; it is not empty. */
void rs_xen_records_add(struct rs_xen_records *records, struct rs_xen_pcpu *pcpu,
			struct rs_xen_block *block);

/* Whether there is one to take. */
bool rs_xen_records_ready(const struct rs_xen_records *records);

/* Bytes from the consumed record on. Blocks were read long before. */
#define RS_XEN_PREFETCH 512

/* The rare parts of rs_xen_records_consume(). */
void rs_xen_records_sift(struct rs_xen_records *records);
void rs_xen_records_block_next(struct rs_xen_records *records, struct rs_xen_pcpu *pcpu);
void rs_xen_records_window_fill(const struct rs_xen_pcpu *pcpu, struct rs_xen_record *record);

#define RS_XEN_AHEAD_MAX (256u << 20) /* bytes, at most, that are read ahead of what is taken */

static inline bool rs_xen_may_consume(const struct rs_xen_records *r, uint64_t tsc)
{
	return tsc <= r->round_max[2] || r->ended || r->held >= RS_XEN_AHEAD_MAX;
}

/* Reads the stamp of the CPU's next record, without consuming it. */
static inline void rs_xen_pcpu_peek(struct rs_xen_pcpu *pcpu)
{
	uint64_t tsc = pcpu->tsc;

	if (RS_XEN_HEAD_STAMPED(rs_xen_word_at(pcpu->at)))
		tsc = rs_xen_stamp_at(pcpu->at + 4) + (uint64_t)pcpu->skew;
	pcpu->next_tsc = tsc;
}

/* What the highest four bits of a record's head say. */
struct rs_xen_form {
	uint32_t words[8]; /* all ones for each word it has */
	uint8_t bytes, words_at;
	uint8_t n, stamped;
} __attribute__((aligned(64)));
extern const struct rs_xen_form rs_xen_forms[16];

/* at: in a block. Words that the record does not have become 0: by masks, which is faster than to
 * go by their number. */
static inline void rs_xen_record_read(const uint8_t *at, const struct rs_xen_form *form,
				      struct rs_xen_record *record)
{
	typedef uint32_t quad __attribute__((vector_size(16)));
	quad low, high, has_low, has_high;

	_Static_assert(2 * sizeof(quad) == sizeof(*record) - offsetof(struct rs_xen_record, words),
		       "they fill the record, with no domain nor vcpu");
	memcpy(&low, at + form->words_at, sizeof(low));
	memcpy(&high, at + form->words_at + sizeof(low), sizeof(high));
	memcpy(&has_low, form->words, sizeof(has_low));
	memcpy(&has_high, form->words + 4, sizeof(has_high));
	low &= has_low;
	high &= has_high;
	record->event = RS_XEN_HEAD_EVENT(rs_xen_word_at(at));
	memcpy(&record->n, &form->n, 2); /* and stamped */
	record->cpu = 0;
	memcpy(record->words, &low, sizeof(low));
	memcpy((uint8_t *)record + sizeof(*record) - sizeof(high), &high, sizeof(high));
}

/* Consumes the next record. Sets its corrected stamp and its CPU. Returns false if more records
 * must be read first. */
static inline bool rs_xen_records_consume(struct rs_xen_records *r, struct rs_xen_record *record,
					  uint64_t *tsc, struct rs_xen_pcpu **out)
{
	struct rs_xen_pcpu *pcpu;
	uint64_t stamp;
	const struct rs_xen_form *form;

	if (!r->n_heap)
		return false;
	pcpu = r->heap[0];
	stamp = pcpu->next_tsc;
	if (!rs_xen_may_consume(r, stamp))
		return false;
	form = &rs_xen_forms[rs_xen_word_at(pcpu->at) >> 28];
	rs_xen_record_read(pcpu->at, form, record);
	if (__builtin_expect(record->event == RS_XEN_CPU_CHANGE, 0))
		rs_xen_records_window_fill(pcpu, record);
	*out = pcpu;
	pcpu->tsc = stamp;
	if (stamp >= r->taken_tsc)
		r->taken_tsc = stamp;
	else if (form->stamped)
		r->late++;
	else /* A record without a stamp can be anywhere up to the next with one: from a pipe, what
	      * other CPUs did since its predecessor may have been taken. */
		stamp = r->taken_tsc;
	*tsc = stamp;
	pcpu->at += form->bytes;
	if (__builtin_expect(pcpu->at == pcpu->end, 0)) {
		rs_xen_records_block_next(r, pcpu);
		return true;
	}
	__builtin_prefetch(pcpu->at + RS_XEN_PREFETCH);
	rs_xen_pcpu_peek(pcpu);
	if (pcpu->next_tsc >= r->rival_tsc)
		rs_xen_records_sift(r);
	return true;
}

/* Returns whether all records were consumed. */
bool rs_xen_records_done(const struct rs_xen_records *records);

/* Calls each() for every record that was read and not consumed, by CPU, with the file's stamps. */
void rs_xen_records_survey(const struct rs_xen_records *records,
			   void (*each)(void *ctx, const struct rs_xen_record *record, uint64_t tsc,
					uint32_t pcpu),
			   void *ctx);

/* Sets the skews after a survey, before any record is consumed. */
void rs_xen_records_correct(struct rs_xen_records *records, const int64_t *skews);

#endif
