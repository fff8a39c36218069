/* SPDX-License-Identifier: BSD-2-Clause */
/* Queues Xen's records for each physical CPU, and merges them by time. */
#include "xen/records.h"

#include <stdlib.h>
#include <string.h>

#include "base/heap.h"

/* A stamp this many cycles after the stamp before is invalid: the distance is hours, at any
 * frequency. */
#define JUMP_MAX (UINT64_C(1) << 46)

#define EVENT(head)   RS_XEN_HEAD_EVENT(head)
#define WORDS(head)   RS_XEN_HEAD_WORDS(head)
#define STAMPED(head) RS_XEN_HEAD_STAMPED(head)
#define BYTES(head)   RS_XEN_HEAD_BYTES(head)

#define HAS (-1u)
/* A record of n words, whose masks follow. */
#define FORM(with_stamp, n_words, ...)                                                             \
	{                                                                                          \
		.words = { __VA_ARGS__ }, .bytes = 4 + 8 * (with_stamp) + 4 * (n_words),           \
		.words_at = 4 + 8 * (with_stamp), .n = (n_words), .stamped = (with_stamp)          \
	}
#define FORMS(with_stamp)                                                                          \
	FORM(with_stamp, 0, 0), FORM(with_stamp, 1, HAS), FORM(with_stamp, 2, HAS, HAS),           \
		FORM(with_stamp, 3, HAS, HAS, HAS), FORM(with_stamp, 4, HAS, HAS, HAS, HAS),       \
		FORM(with_stamp, 5, HAS, HAS, HAS, HAS, HAS),                                      \
		FORM(with_stamp, 6, HAS, HAS, HAS, HAS, HAS, HAS),                                 \
		FORM(with_stamp, 7, HAS, HAS, HAS, HAS, HAS, HAS, HAS)
const struct rs_xen_form rs_xen_forms[16] = { FORMS(0), FORMS(1) };

/* ---- the heap: CPUs with unread records, by the next record's stamp ------------------------- */

static bool before(const struct rs_xen_records *r, const struct rs_xen_pcpu *a,
		   const struct rs_xen_pcpu *b)
{
	(void)r;
	return a->next_tsc < b->next_tsc || (a->next_tsc == b->next_tsc && a->cpu < b->cpu);
}

RS_HEAP_DEFINE(heap, struct rs_xen_pcpu *, const struct rs_xen_records *, before)

/* Moves the top, whose stamp has changed, to its place. Sets the limit below which the new top's
 * stamps keep it at the top. */
void rs_xen_records_sift(struct rs_xen_records *r)
{
	uint64_t rival = UINT64_MAX;

	heap_sift(r, r->heap, r->n_heap, 0);
	for (uint32_t child = 1; child <= 2 && child < r->n_heap; child++) {
		uint64_t tsc = r->heap[child]->next_tsc;

		rival = tsc < rival ? tsc : rival;
	}
	r->rival_tsc = rival;
}

static void push(struct rs_xen_records *r, struct rs_xen_pcpu *item)
{
	r->rival_tsc = 0;
	heap_push(r, r->heap, r->n_heap++, item);
}

static void heap_make(struct rs_xen_records *r)
{
	r->n_heap = 0;
	for (uint32_t i = 0; i < r->n_pcpus; i++) {
		if (r->pcpus[i]->in_heap)
			push(r, r->pcpus[i]);
	}
}

/* ---- checks --------------------------------------------------------------------------------- */

/* Returns whether an event's class is one bit of 16-27, and its subclass is not 0. */
static bool is_event(uint32_t event)
{
	uint32_t class = event >> 16;

	return class && !(class & (class - 1)) && (event >> 12 & 0xf);
}

/*
 * Returns the end of the records of a block that are accepted before the invalid record at `end`.
 * Discards back to the last record with a known layout, because the damage may precede the invalid
 * record.
 */
uint32_t rs_xen_block_believed(const struct rs_xen_block *block, uint32_t end)
{
	uint32_t good = 0, at = 0;

	while (at < end) {
		uint32_t head = rs_xen_word_at(block->data + at);

		at += BYTES(head);
		if (rs_xen_is_known(EVENT(head), WORDS(head)))
			good = at;
	}
	return good;
}

/* The state of the stamps in the walk over a block. */
struct walk {
	uint32_t last_at;  /* the last stamped record with one before it; NOWHERE */
	uint64_t read_tsc; /* the last stamp of its CPU */
	uint64_t before;   /* the stamp before that */
	bool has_tsc;	   /* `last` is valid */
};
#define NOWHERE UINT32_MAX

/* Returns the defect of a stamp, or NULL. Sets *wrong to the defective record: this one or the one
 * before. */
static const char *stamp_wrong(struct walk walk, uint64_t tsc, uint32_t *wrong)
{
	if (walk.has_tsc && tsc < walk.read_tsc) {
		/* A record that leapt ahead is the defective one. */
		if (walk.last_at != NOWHERE && tsc >= walk.before)
			*wrong = walk.last_at;
		return "time goes backward";
	}
	if (walk.has_tsc && tsc - walk.read_tsc > JUMP_MAX)
		return "time leaps ahead";
	return NULL;
}

static uint64_t first_stamp(const struct rs_xen_block *block, uint32_t end)
{
	uint32_t head;

	for (uint32_t at = 0; at < end; at += BYTES(head)) {
		head = rs_xen_word_at(block->data + at);
		if (STAMPED(head))
			return rs_xen_stamp_at(block->data + at + 4);
	}
	return 0;
}

/* Walks over a block's records. Sets *end to the end of the last whole record. Returns the defect,
 * or NULL. */
const char *rs_xen_block_check(struct rs_xen_pcpu *pcpu, struct rs_xen_block *block, bool has_head,
			       uint32_t *end, uint64_t *records)
{
	const char *what = NULL;
	struct walk walk = { .last_at = NOWHERE,
			     .read_tsc = pcpu->read_tsc,
			     .has_tsc = pcpu->has_tsc };
	const uint64_t most = pcpu->tsc_max ? pcpu->tsc_max : UINT64_MAX;
	const uint32_t bytes = block->bytes;
	uint64_t n = 0, tsc;
	uint32_t at = 0, head, size;

	if (has_head && bytes >= 4 && BYTES(rs_xen_word_at(block->data)) <= bytes) {
		at = BYTES(rs_xen_word_at(block->data));
		n = 1;
	}
	for (; bytes - at >= 4; at += size, n++) {
		head = rs_xen_word_at(block->data + at);
		size = rs_xen_forms[head >> 28].bytes;
		if (size > bytes - at)
			break;
		if (!is_event(EVENT(head)) || EVENT(head) == RS_XEN_CPU_CHANGE) {
			what = "not a record";
			break;
		}
		if (!STAMPED(head))
			continue;
		tsc = rs_xen_stamp_at(block->data + at + 4);
		if (tsc - walk.read_tsc > JUMP_MAX) /* or before it, or at the first record */
			what = stamp_wrong(walk, tsc, &at);
		if (tsc > most && !what)
			what = "time is ahead of the present";
		if (what)
			break;
		if (walk.has_tsc)
			walk.last_at = at;
		walk.before = walk.read_tsc;
		walk.read_tsc = tsc;
		walk.has_tsc = true;
	}
	pcpu->has_tsc = walk.has_tsc;
	pcpu->read_tsc = walk.read_tsc;
	if (!block->first_tsc)
		block->first_tsc = first_stamp(block, at);
	*records += n;
	*end = at;
	return what;
}

/* ---- blocks --------------------------------------------------------------------------------- */

struct rs_xen_block *rs_xen_block_create(uint64_t offset, uint32_t room)
{
	struct rs_xen_block *block = malloc(sizeof(*block) + room + RS_XEN_BLOCK_SLACK);

	if (!block)
		return NULL;
	*block = (struct rs_xen_block){ .offset = offset };
	memset(block->data + room, 0, RS_XEN_BLOCK_SLACK);
	return block;
}

static void block_begin(struct rs_xen_pcpu *pcpu)
{
	pcpu->at = pcpu->first->data;
	pcpu->end = pcpu->at + pcpu->first->bytes;
	rs_xen_pcpu_peek(pcpu);
}

void rs_xen_records_add(struct rs_xen_records *r, struct rs_xen_pcpu *pcpu,
			struct rs_xen_block *block)
{
	if (pcpu->read_tsc + (uint64_t)pcpu->skew > r->round_max[0])
		r->round_max[0] = pcpu->read_tsc + (uint64_t)pcpu->skew;
	if (!pcpu->tsc) /* records without a stamp before the first record with one */
		pcpu->tsc = block->first_tsc ? block->first_tsc + (uint64_t)pcpu->skew : 0;
	r->held += sizeof(*block) + block->bytes;
	if (pcpu->first)
		pcpu->last->next = block;
	else
		pcpu->first = block;
	pcpu->last = block;
	if (pcpu->in_heap)
		return;
	pcpu->in_heap = true;
	block_begin(pcpu);
	push(r, pcpu);
}

struct rs_error *rs_xen_records_pcpu(struct rs_xen_records *r, uint32_t cpu,
				     struct rs_xen_pcpu **out)
{
	struct rs_xen_pcpu *pcpu = r->by_cpu[cpu];

	if (!pcpu) {
		struct rs_xen_pcpu **more =
			realloc(r->pcpus, (r->n_pcpus + 1) * sizeof(struct rs_xen_pcpu *));
		struct rs_xen_pcpu **heap =
			realloc(r->heap, (r->n_pcpus + 1) * sizeof(struct rs_xen_pcpu *));

		r->pcpus = more ? more : r->pcpus;
		r->heap = heap ? heap : r->heap;
		pcpu = calloc(1, sizeof(*pcpu));
		if (!more || !heap || !pcpu) {
			free(pcpu);
			return rs_error_no_memory();
		}
		pcpu->cpu = cpu;
		r->pcpus[r->n_pcpus++] = r->by_cpu[cpu] = pcpu;
	}
	*out = pcpu;
	return NULL;
}

void rs_xen_records_round(struct rs_xen_records *r, uint32_t cpu)
{
	if (r->any_round && cpu <= r->round_cpu) {
		if (r->round_max[1] > r->round_max[2])
			r->round_max[2] = r->round_max[1];
		r->round_max[1] = r->round_max[0];
		r->round_max[0] = 0;
	}
	r->any_round = true;
	r->round_cpu = cpu;
}

/* ---- consuming
 * ------------------------------------------------------------------------------------
 */

bool rs_xen_records_ready(const struct rs_xen_records *r)
{
	return r->n_heap && rs_xen_may_consume(r, r->heap[0]->next_tsc);
}

/* Removes the first block, which was consumed, of the CPU on top. */
void rs_xen_records_block_next(struct rs_xen_records *r, struct rs_xen_pcpu *pcpu)
{
	struct rs_xen_block *block = pcpu->first;

	r->held -= sizeof(*block) + block->bytes;
	pcpu->first = block->next;
	free(block);
	if (pcpu->first) {
		block_begin(pcpu);
	} else {
		pcpu->in_heap = false;
		r->heap[0] = r->heap[--r->n_heap];
	}
	if (r->n_heap)
		rs_xen_records_sift(r);
}

/* Adds the facts that are needed to write a window's head again unchanged. */
void rs_xen_records_window_fill(const struct rs_xen_pcpu *pcpu, struct rs_xen_record *record)
{
	const struct rs_xen_block *block = pcpu->first;
	uint64_t facts[2] = { block->offset + (uint64_t)(pcpu->at - block->data),
			      (uint64_t)pcpu->skew };

	if (record->n == 2)
		memcpy(record->words + record->n, facts, sizeof(facts));
}

bool rs_xen_records_done(const struct rs_xen_records *r)
{
	return r->ended && !r->n_heap;
}

/* ---- the survey ----------------------------------------------------------------------------- */

void rs_xen_records_survey(const struct rs_xen_records *r,
			   void (*each)(void *ctx, const struct rs_xen_record *record, uint64_t tsc,
					uint32_t pcpu),
			   void *ctx)
{
	struct rs_xen_record record;

	for (uint32_t i = 0; i < r->n_pcpus; i++) {
		const struct rs_xen_block *block = r->pcpus[i]->first;
		uint64_t tsc = r->pcpus[i]->tsc;

		for (; block; block = block->next) {
			for (uint32_t at = 0; at < block->bytes;) {
				uint32_t head = rs_xen_word_at(block->data + at);

				if (STAMPED(head))
					tsc = rs_xen_stamp_at(block->data + at + 4);
				rs_xen_record_read(block->data + at, &rs_xen_forms[head >> 28],
						   &record);
				each(ctx, &record, tsc, i);
				at += BYTES(head);
			}
		}
	}
}

void rs_xen_records_correct(struct rs_xen_records *r, const int64_t *skews)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < r->n_pcpus; i++) {
		struct rs_xen_pcpu *pcpu = r->pcpus[i];
		uint64_t size = (uint64_t)(skews[i] < 0 ? -skews[i] : skews[i]);

		most = size > most ? size : most;
		pcpu->skew = skews[i];
		pcpu->tsc += (uint64_t)skews[i];
		if (pcpu->in_heap)
			rs_xen_pcpu_peek(pcpu);
	}
	/* The rounds' limits so far are of uncorrected stamps. */
	for (uint32_t i = 0; i < 3; i++)
		r->round_max[i] -= r->round_max[i] < most ? r->round_max[i] : most;
	heap_make(r);
}

void rs_xen_records_deinit(struct rs_xen_records *r)
{
	for (uint32_t i = 0; i < r->n_pcpus; i++) {
		struct rs_xen_block *block = r->pcpus[i]->first, *next;

		for (; block; block = next) {
			next = block->next;
			free(block);
		}
		free(r->pcpus[i]->owner);
		free(r->pcpus[i]);
	}
	free(r->pcpus);
	free(r->heap);
}
