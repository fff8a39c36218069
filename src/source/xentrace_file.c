/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/xentrace_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUFFER_BYTES (64u << 10)
#define PIECE_BYTES  (256u << 10) /* of a window, in a block */
#define WINDOW_MAX   (1u << 30)	  /* more than Xen's buffers can have */
#define RECORD_MAX   (4u + 8u + RS_XEN_WORDS_MAX * 4u)
#define HEAD_BYTES   12u /* of a window */
#define HEAD_WORD    (RS_XEN_CPU_CHANGE | 2u << 28)
/* Read ahead of what is taken: from files as a rule, which makes the order of windows that are
 * not xentrace's own right too; and the most, from whatever. */
#define AHEAD_FILE (4u << 20)
#define AHEAD_MAX  (256u << 20)
/* A stamp so many cycles after the one before is none: hours, at any frequency. */
#define JUMP_MAX (UINT64_C(1) << 46)

struct rs_xen_block {
	struct rs_xen_block *next;
	uint64_t offset; /* in the file, of data */
	uint32_t bytes;
	uint64_t first_tsc; /* the first stamp in it; 0: none */
	uint8_t data[];
};

static uint32_t word_at(const uint8_t *at)
{
	uint32_t word;

	memcpy(&word, at, sizeof(word));
	return word;
}

static uint64_t stamp_at(const uint8_t *at)
{
	uint64_t stamp;

	memcpy(&stamp, at, sizeof(stamp));
	return stamp;
}

/* A record's header: event 0-27, number of words 28-30, a stamp follows 31. */
#define EVENT(head)   ((head)&0x0fffffffu)
#define WORDS(head)   ((head) >> 28 & 7)
#define STAMPED(head) ((head) >> 31)
#define BYTES(head)   (4 + 8 * STAMPED(head) + 4 * WORDS(head))

/* ---- the heap: CPUs that have records in hand, by the stamp of the next --------------------- */

static bool before(const struct rs_xen_file *f, uint32_t a, uint32_t b)
{
	uint64_t x = f->pcpus[a]->next_tsc, y = f->pcpus[b]->next_tsc;

	return x < y || (x == y && f->pcpus[a]->cpu < f->pcpus[b]->cpu);
}

static void sift_down(struct rs_xen_file *f)
{
	uint32_t item = f->heap[0], at = 0, child;

	while ((child = at * 2 + 1) < f->n_heap) {
		if (child + 1 < f->n_heap && before(f, f->heap[child + 1], f->heap[child]))
			child++;
		if (!before(f, f->heap[child], item))
			break;
		f->heap[at] = f->heap[child];
		at = child;
	}
	f->heap[at] = item;
}

static void push(struct rs_xen_file *f, uint32_t item)
{
	uint32_t at = f->n_heap++;

	while (at && before(f, item, f->heap[(at - 1) / 2])) {
		f->heap[at] = f->heap[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	f->heap[at] = item;
}

static void heap_make(struct rs_xen_file *f)
{
	f->n_heap = 0;
	for (uint32_t i = 0; i < f->n_pcpus; i++) {
		if (f->pcpus[i]->in_heap)
			push(f, i);
	}
}

/* ---- bytes ---------------------------------------------------------------------------------- */

static void keep_error(struct rs_xen_file *f, struct rs_error *err)
{
	f->ended = true;
	if (!f->error)
		f->error = err;
	else
		rs_error_free(err);
}

static void damage(struct rs_xen_file *f, uint64_t offset, const char *what)
{
	keep_error(f, rs_error_create(RS_DAMAGED, "%s: at 0x%llx: %s", f->path,
				      (unsigned long long)offset, what));
}

/* Reads into to; fewer bytes at the end of the file, -1 after a signal or an error, which is
 * kept. */
static ssize_t read_some(struct rs_xen_file *f, void *to, size_t bytes)
{
	ssize_t n = read(f->fd, to, bytes);

	if (n < 0 && errno != EINTR)
		keep_error(f, rs_error_errno(errno, "%s", f->path));
	return n;
}

/* Puts at least n bytes into the buffer. False: not now, or never: f->ended. */
static bool buffer_need(struct rs_xen_file *f, size_t n, bool *end)
{
	while (f->buffer_end - f->buffer_at < n) {
		ssize_t got;

		memmove(f->buffer, f->buffer + f->buffer_at, f->buffer_end - f->buffer_at);
		f->buffer_end -= f->buffer_at;
		f->buffer_at = 0;
		got = read_some(f, f->buffer + f->buffer_end, BUFFER_BYTES - f->buffer_end);
		if (got <= 0) {
			*end = got == 0;
			return false;
		}
		f->buffer_end += (size_t)got;
	}
	return true;
}

/* ---- what is read is checked ------------------------------------------------------------------
 */

/* The class of an event is one bit of 16-27, its subclass is not nothing. */
static bool is_event(uint32_t event)
{
	uint32_t class = event >> 16;

	return class && !(class & (class - 1)) && (event >> 12 & 0xf);
}

/*
 * Up to where the records of a block can be believed, of which the one at `end` makes no sense:
 * what made it so may lie before it, and be no record either.
 */
static uint32_t believed(const struct rs_xen_block *block, uint32_t end)
{
	uint32_t good = 0, at = 0;

	while (at < end) {
		uint32_t head = word_at(block->data + at);

		at += BYTES(head);
		if (rs_xen_is_known(EVENT(head), WORDS(head)))
			good = at;
	}
	return good;
}

/* What the walk over a block has seen of stamps. */
struct walk {
	uint32_t last_at; /* of the last stamped record */
	uint64_t before;  /* the stamp before that */
	bool any;
};

/* Whether a stamp can be; *wrong: the record that is not right, this or the one before. */
static const char *stamp_check(struct rs_xen_pcpu *pcpu, struct walk *walk, uint32_t at,
			       uint64_t tsc, uint32_t *wrong)
{
	*wrong = at;
	if (pcpu->has_tsc && tsc < pcpu->read_tsc) {
		/* One that leapt ahead is the one that is wrong. */
		if (walk->any && tsc >= walk->before)
			*wrong = walk->last_at;
		return "time goes backward";
	}
	if (pcpu->has_tsc && tsc - pcpu->read_tsc > JUMP_MAX)
		return "time leaps ahead";
	walk->before = pcpu->has_tsc ? pcpu->read_tsc : tsc;
	walk->any = true;
	walk->last_at = at;
	pcpu->has_tsc = true;
	pcpu->read_tsc = tsc;
	return NULL;
}

/* Walks over a block's records; *end: where the last whole one ends. NULL: nothing wrong. */
static const char *walk_block(struct rs_xen_pcpu *pcpu, struct rs_xen_block *block, bool has_head,
			      uint32_t *end, uint64_t *records)
{
	const char *what = NULL;
	struct walk walk = { 0 };
	uint32_t at = 0;

	while (block->bytes - at >= 4) {
		uint32_t head = word_at(block->data + at);

		if (BYTES(head) > block->bytes - at)
			break;
		if (at || !has_head) {
			if (!is_event(EVENT(head)) || EVENT(head) == RS_XEN_CPU_CHANGE)
				what = "this is no record";
			else if (STAMPED(head))
				what = stamp_check(pcpu, &walk, at, stamp_at(block->data + at + 4),
						   &at);
			if (what)
				break;
		}
		if (STAMPED(head) && !block->first_tsc)
			block->first_tsc = stamp_at(block->data + at + 4);
		at += BYTES(head);
		(*records)++;
	}
	*end = at;
	return what;
}

/* ---- blocks and windows -----------------------------------------------------------------------
 */

static void head_look(struct rs_xen_pcpu *pcpu)
{
	uint32_t head = word_at(pcpu->at);

	pcpu->next_tsc = pcpu->tsc;
	if (STAMPED(head))
		pcpu->next_tsc = stamp_at(pcpu->at + 4) + (uint64_t)pcpu->skew;
}

static void block_add(struct rs_xen_file *f, struct rs_xen_block *block)
{
	struct rs_xen_pcpu *pcpu = f->window;

	if (pcpu->read_tsc + (uint64_t)pcpu->skew > f->round_max[0])
		f->round_max[0] = pcpu->read_tsc + (uint64_t)pcpu->skew;
	if (!pcpu->tsc) /* records without a stamp before the first that has one */
		pcpu->tsc = block->first_tsc ? block->first_tsc + (uint64_t)pcpu->skew : 0;
	f->held += sizeof(*block) + block->bytes;
	if (pcpu->first)
		pcpu->last->next = block;
	else
		pcpu->first = block;
	pcpu->last = block;
	if (pcpu->in_heap)
		return;
	pcpu->at = block->data;
	pcpu->in_heap = true;
	head_look(pcpu);
	for (uint32_t i = 0; i < f->n_pcpus; i++) {
		if (f->pcpus[i] == pcpu)
			push(f, i);
	}
}

static struct rs_error *pcpu_of(struct rs_xen_file *f, uint32_t cpu, struct rs_xen_pcpu **out)
{
	struct rs_xen_pcpu *pcpu = f->by_cpu[cpu];

	if (!pcpu) {
		struct rs_xen_pcpu **more =
			realloc(f->pcpus, (f->n_pcpus + 1) * sizeof(struct rs_xen_pcpu *));
		uint32_t *heap = realloc(f->heap, (f->n_pcpus + 1) * sizeof(*heap));

		f->pcpus = more ? more : f->pcpus;
		f->heap = heap ? heap : f->heap;
		pcpu = calloc(1, sizeof(*pcpu));
		if (!more || !heap || !pcpu) {
			free(pcpu);
			return rs_error_no_memory();
		}
		pcpu->cpu = cpu;
		f->pcpus[f->n_pcpus++] = f->by_cpu[cpu] = pcpu;
	}
	*out = pcpu;
	return NULL;
}

static void round_count(struct rs_xen_file *f, uint32_t cpu)
{
	if (f->any_round && cpu <= f->round_cpu) {
		if (f->round_max[1] > f->round_max[2])
			f->round_max[2] = f->round_max[1];
		f->round_max[1] = f->round_max[0];
		f->round_max[0] = 0;
	}
	f->any_round = true;
	f->round_cpu = cpu;
}

/* The head of the next window. False: not now, or the end. */
static bool window_begin(struct rs_xen_file *f, struct rs_error **err)
{
	const uint8_t *head;
	uint32_t cpu, bytes;
	bool end = false;

	if (!buffer_need(f, HEAD_BYTES, &end)) {
		if (end && f->buffer_end > f->buffer_at)
			damage(f, f->offset, "the file is cut; it is valid up to here");
		f->ended |= end;
		return false;
	}
	head = f->buffer + f->buffer_at;
	cpu = word_at(head + 4);
	bytes = word_at(head + 8);
	if (word_at(head) != HEAD_WORD || cpu >= RS_XEN_CPUS_MAX || bytes > WINDOW_MAX ||
	    bytes % 4) {
		damage(f, f->offset, "no window begins here; the file is valid up to here");
		return false;
	}
	*err = pcpu_of(f, cpu, &f->window);
	if (*err)
		return false;
	round_count(f, cpu);
	f->window_left = HEAD_BYTES + bytes; /* the head is its first record */
	f->window_begun = false;
	f->windows++;
	return true;
}

/* Fills a block with the next `want` bytes of the window; fewer at the file's end. */
static bool block_read(struct rs_xen_file *f, struct rs_xen_block *block, uint32_t want)
{
	while (f->piece < want) {
		size_t n = f->buffer_end - f->buffer_at;
		ssize_t got;

		if (n) {
			n = n < want - f->piece ? n : want - f->piece;
			memcpy(block->data + block->bytes, f->buffer + f->buffer_at, n);
			f->buffer_at += n;
		} else {
			got = read_some(f, block->data + block->bytes, want - f->piece);
			if (got < 0)
				return false;
			if (!got) {
				f->ended = true;
				return true;
			}
			n = (size_t)got;
		}
		block->bytes += (uint32_t)n;
		f->piece += (uint32_t)n;
		f->offset += n;
	}
	return true;
}

/* A block has been read: checks it, keeps the half record at its end for the next. */
static void block_take(struct rs_xen_file *f, struct rs_xen_block *block)
{
	bool whole = !f->window_left, cut = f->ended && !whole;
	uint64_t records = 0;
	uint32_t end;
	const char *what = walk_block(f->window, block, !f->window_begun, &end, &records);
	uint32_t rest = block->bytes - end;

	if (!what && rest && whole)
		what = "a record runs out of its window";
	if (!what && cut) {
		damage(f, block->offset + end, "the file is cut; it is valid up to here");
	} else if (what) {
		end = believed(block, end);
		damage(f, block->offset + end, what);
	} else if (rest) {
		memcpy(f->carry, block->data + end, rest);
		f->n_carry = rest;
	}
	f->window_begun = true;
	f->records += records;
	block->bytes = end;
	if (end)
		block_add(f, block);
	else
		free(block);
}

/* The next piece of a window becomes a block. False: not now, or the end. */
static bool piece_read(struct rs_xen_file *f, struct rs_error **err)
{
	uint32_t want = f->window_left < PIECE_BYTES ? f->window_left : PIECE_BYTES;
	struct rs_xen_block *block = f->block;

	if (!block) {
		block = malloc(sizeof(*block) + f->n_carry + want);
		if (!block) {
			*err = rs_error_no_memory();
			return false;
		}
		*block = (struct rs_xen_block){ .offset = f->offset - f->n_carry,
						.bytes = f->n_carry };
		memcpy(block->data, f->carry, f->n_carry);
		f->n_carry = f->piece = 0;
		f->block = block;
	}
	if (!block_read(f, block, want))
		return false;
	f->window_left -= f->piece;
	f->piece = 0;
	f->block = NULL;
	block_take(f, block);
	return true;
}

/* ---- taking ------------------------------------------------------------------------------------
 */

static uint64_t limit_of(const struct rs_xen_file *f)
{
	return f->ended || f->held >= AHEAD_MAX ? UINT64_MAX : f->round_max[2];
}

static bool is_ready(const struct rs_xen_file *f)
{
	if (f->held < AHEAD_FILE && f->regular)
		return false;
	return f->n_heap && f->pcpus[f->heap[0]]->next_tsc <= limit_of(f);
}

struct rs_error *rs_xen_file_fill(struct rs_xen_file *f, bool *enough)
{
	struct rs_error *err = NULL;

	while (!f->ended && !is_ready(f)) {
		bool more = f->window_left ? piece_read(f, &err) : window_begin(f, &err);

		if (err)
			return err;
		if (!more && !f->ended) { /* a signal */
			*enough = false;
			return NULL;
		}
	}
	*enough = true;
	return NULL;
}

/* Goes on to the CPU's next record. */
static void head_next(struct rs_xen_file *f, struct rs_xen_pcpu *pcpu, uint32_t bytes)
{
	struct rs_xen_block *block = pcpu->first;

	pcpu->at += bytes;
	if (pcpu->at == block->data + block->bytes) {
		f->held -= sizeof(*block) + block->bytes;
		pcpu->first = block->next;
		free(block);
		if (!pcpu->first) {
			pcpu->in_heap = false;
			f->heap[0] = f->heap[--f->n_heap];
			if (f->n_heap)
				sift_down(f);
			return;
		}
		pcpu->at = pcpu->first->data;
	}
	head_look(pcpu);
	sift_down(f);
}

/* Few words: a loop is faster than a call. */
static inline void words_copy(uint32_t *to, const uint8_t *from, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		to[i] = word_at(from + 4 * i);
}

static void record_read(const uint8_t *at, struct rs_xen_record *record)
{
	uint32_t head = word_at(at), stamped = STAMPED(head);

	record->event = EVENT(head);
	record->n = (uint16_t)WORDS(head);
	record->stamped = (uint16_t)stamped;
	if (record->event == RS_XEN_WRAP_BUFFER)
		memset(record->words, 0, sizeof(record->words));
	else
		words_copy(record->words, at + 4 + 8 * stamped, WORDS(head));
}

bool rs_xen_file_take(struct rs_xen_file *f, struct rs_xen_record *record, uint64_t *tsc,
		      struct rs_xen_pcpu **out)
{
	struct rs_xen_pcpu *pcpu;
	uint32_t head;

	if (!f->n_heap)
		return false;
	pcpu = f->pcpus[f->heap[0]];
	if (pcpu->next_tsc > limit_of(f))
		return false;
	head = word_at(pcpu->at);
	record_read(pcpu->at, record);
	*out = pcpu;
	*tsc = pcpu->tsc = pcpu->next_tsc;
	/* A record without a stamp can be anywhere up to the next with one: from a pipe, what other
	 * CPUs did since its predecessor may have been taken. */
	if (*tsc < f->taken_tsc && !record->stamped)
		*tsc = f->taken_tsc;
	if (*tsc < f->taken_tsc)
		f->late++;
	else
		f->taken_tsc = *tsc;
	head_next(f, pcpu, BYTES(head));
	return true;
}

bool rs_xen_file_done(const struct rs_xen_file *f)
{
	return f->ended && !f->n_heap;
}

/* ---- the survey --------------------------------------------------------------------------------
 */

void rs_xen_file_survey(const struct rs_xen_file *f,
			void (*see)(void *ctx, const struct rs_xen_record *record, uint64_t tsc,
				    uint32_t pcpu),
			void *ctx)
{
	struct rs_xen_record record;

	for (uint32_t i = 0; i < f->n_pcpus; i++) {
		const struct rs_xen_block *block = f->pcpus[i]->first;
		uint64_t tsc = f->pcpus[i]->tsc;

		for (; block; block = block->next) {
			for (uint32_t at = 0; at < block->bytes;) {
				uint32_t head = word_at(block->data + at);

				if (STAMPED(head))
					tsc = stamp_at(block->data + at + 4);
				record_read(block->data + at, &record);
				see(ctx, &record, tsc, i);
				at += BYTES(head);
			}
		}
	}
}

void rs_xen_file_correct(struct rs_xen_file *f, const int64_t *skews)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < f->n_pcpus; i++) {
		struct rs_xen_pcpu *pcpu = f->pcpus[i];
		uint64_t size = (uint64_t)(skews[i] < 0 ? -skews[i] : skews[i]);

		most = size > most ? size : most;
		pcpu->skew = skews[i];
		pcpu->tsc += (uint64_t)skews[i];
		if (pcpu->in_heap)
			head_look(pcpu);
	}
	/* What is known of the rounds so far was of stamps that were not corrected. */
	for (uint32_t i = 0; i < 3; i++)
		f->round_max[i] -= f->round_max[i] < most ? f->round_max[i] : most;
	heap_make(f);
}

/* ---- making one --------------------------------------------------------------------------------
 */

struct rs_error *rs_xen_file_init(struct rs_xen_file *f, int fd, const char *path, const void *head,
				  size_t bytes)
{
	struct stat st;

	*f = (struct rs_xen_file){ .fd = fd, .path = strdup(path) };
	f->buffer = malloc(BUFFER_BYTES);
	if (!f->buffer || !f->path) {
		rs_xen_file_deinit(f);
		return rs_error_no_memory();
	}
	f->regular = !fstat(fd, &st) && S_ISREG(st.st_mode);
	memcpy(f->buffer, head, bytes);
	f->buffer_end = bytes;
	return NULL;
}

void rs_xen_file_deinit(struct rs_xen_file *f)
{
	for (uint32_t i = 0; i < f->n_pcpus; i++) {
		struct rs_xen_block *block = f->pcpus[i]->first, *next;

		for (; block; block = next) {
			next = block->next;
			free(block);
		}
		free(f->pcpus[i]->owner);
		free(f->pcpus[i]);
	}
	free(f->block);
	free(f->pcpus);
	free(f->heap);
	free(f->buffer);
	free(f->path);
	rs_error_free(f->error);
	close(f->fd);
}
