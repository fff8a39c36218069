/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sorts records of Xen's trace by time: blocks of records, from a file's windows or from the
 * hypervisor's buffers, are checked, and wait in a queue for each physical CPU.
 *
 *	block (checked) --> queue of its CPU --\
 *	                    queue ...        ---> heap by TSC --> record
 *
 * Blocks arrive in rounds, over the CPUs in the order of their numbers. The records of a round were
 * traced after all of the round before the last was read, so records up to that time may be
 * consumed.
 */
#ifndef RS_XEN_RECORDS_H
#define RS_XEN_RECORDS_H

#include <string.h>

#include "xen/layout.h"

#define RS_XEN_CPUS_MAX 4096u /* the most CPUs that a build of Xen can support; numbers are below */

/* A record's header: bits 0-27 the event, bits 28-30 the number of words, bit 31: a stamp
 * follows. */
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
	uint64_t offset; /* offset of data in the file */
	uint32_t bytes;
	uint64_t first_tsc; /* the block's first stamp; 0: none */
	uint8_t data[];
};
/* Bytes after a block's data that belong to the block, so that the words of its last record can be
 * read without a check of their number. */
#define RS_XEN_BLOCK_SLACK 32u

/* Creates an empty block with room for `bytes` bytes. Returns NULL without memory. */
struct rs_xen_block *rs_xen_block_create(uint64_t offset, uint32_t room);

struct rs_xen_pcpu {
	uint32_t cpu;
	struct rs_xen_block *first, *last; /* blocks that were read and not consumed */
	const uint8_t *at, *end;	   /* the next record in the first block, and its end */
	uint64_t tsc;			   /* the corrected stamp of the record consumed last */
	uint64_t next_tsc;		   /* the corrected stamp of the record at `at` */
	uint64_t read_tsc;		   /* the last stamp that was read, uncorrected */
	uint64_t tsc_max;		   /* no stamp can be later; 0: unknown */
	bool has_tsc, in_heap;
	int64_t skew; /* added to its stamps */
	void *owner;  /* the source's data of the CPU */
};

struct rs_xen_records {
	bool ended;  /* no more blocks arrive: all records may be consumed */
	size_t held; /* bytes in blocks */
	/* The rounds: records up to the end of the round before the last may be consumed. */
	uint32_t round_cpu;    /* the CPU of the last window */
	uint64_t round_max[3]; /* the last stamps of this round, of the last, and of all before */
	bool any_round;
	struct rs_xen_pcpu **pcpus; /* in the order of their first windows */
	uint32_t n_pcpus;
	struct rs_xen_pcpu *by_cpu[RS_XEN_CPUS_MAX];
	struct rs_xen_pcpu **heap; /* CPUs with unread records, by the next record's stamp */
	uint32_t n_heap;
	/* The top of the heap stays there while its next stamp is below this; 0: unknown. */
	uint64_t rival_tsc;
	uint64_t taken_tsc; /* the stamp of the last consumed record */
	uint64_t late;	    /* records that arrived too late for their place */
};

/* Accepts zeroed records. Also frees the pcpus' `owner`. */
void rs_xen_records_deinit(struct rs_xen_records *records);

/* Returns a CPU's queue, which the first call creates. cpu: below RS_XEN_CPUS_MAX. */
struct rs_error *rs_xen_records_pcpu(struct rs_xen_records *records, uint32_t cpu,
				     struct rs_xen_pcpu **pcpu);

/* Announces that the next blocks are of this CPU. */
void rs_xen_records_round(struct rs_xen_records *records, uint32_t cpu);

/*
 * Checks a block's records. Sets *end to the end of the last whole and valid record, and adds their
 * number to *records. Returns the defect, or NULL; less than a record may be left then. has_head:
 * the first record is a window's head.
 */
const char *rs_xen_block_check(struct rs_xen_pcpu *pcpu, struct rs_xen_block *block, bool has_head,
			       uint32_t *end, uint64_t *records);

/*
 * Returns the end of the records of a block that are accepted before the invalid record at `end`.
 * Discards back to the last record with a known layout, because the damage may precede the invalid
 * record.
 */
uint32_t rs_xen_block_believed(const struct rs_xen_block *block, uint32_t end);

/* Takes ownership of a checked block, which is not empty. */
void rs_xen_records_add(struct rs_xen_records *records, struct rs_xen_pcpu *pcpu,
			struct rs_xen_block *block);

/* Returns whether a record can be consumed. */
bool rs_xen_records_ready(const struct rs_xen_records *records);

/* Bytes to prefetch after the consumed record. Blocks were read long before. */
#define RS_XEN_PREFETCH 512

/* The rare parts of rs_xen_records_consume(). */
void rs_xen_records_sift(struct rs_xen_records *records);
void rs_xen_records_block_next(struct rs_xen_records *records, struct rs_xen_pcpu *pcpu);
void rs_xen_records_window_fill(const struct rs_xen_pcpu *pcpu, struct rs_xen_record *record);

#define RS_XEN_AHEAD_MAX (256u << 20) /* the most bytes that are read ahead of consumption */

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

/* The meaning of the highest four bits of a record's header. */
struct rs_xen_form {
	uint32_t words[8]; /* all ones for each word of the record */
	uint8_t bytes, words_at;
	uint8_t n, stamped;
} __attribute__((aligned(64)));
extern const struct rs_xen_form rs_xen_forms[16];

/* Parses the record at `at` in a block. Words that the record does not have become 0, by masks,
 * which is faster than a loop over their number. */
static inline void rs_xen_record_read(const uint8_t *at, const struct rs_xen_form *form,
				      struct rs_xen_record *record)
{
	typedef uint32_t quad __attribute__((vector_size(16)));
	quad low, high, has_low, has_high;

	_Static_assert(2 * sizeof(quad) == sizeof(*record) - offsetof(struct rs_xen_record, words),
		       "they fill the record, without domain and vcpu");
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
	else /* A record without a stamp may be anywhere before the next record with one. From a
	      * pipe, records of other CPUs after its predecessor may already have been consumed. */
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

/* Calls each() for each record that was read and not consumed, by CPU, with the file's stamps. */
void rs_xen_records_survey(const struct rs_xen_records *records,
			   void (*each)(void *ctx, const struct rs_xen_record *record, uint64_t tsc,
					uint32_t pcpu),
			   void *ctx);

/* Sets the skews after a survey, before any record is consumed. */
void rs_xen_records_correct(struct rs_xen_records *records, const int64_t *skews);

#endif
