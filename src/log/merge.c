/* SPDX-License-Identifier: BSD-2-Clause */
/* Merges the lines of several rings by sequence number. */
#include "log/merge.h"

#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/vector.h"

struct rs_log_merge_entry {
	uint64_t seq;
	int64_t at_ms;
	uint32_t lane;
	uint16_t bytes;
	bool cut;
	char text[RS_LOG_TEXT_MAX];
};

struct rs_error *rs_log_merge_init(struct rs_log_merge *m, uint32_t n_lanes,
				   const struct rs_log_taker *taker)
{
	*m = (struct rs_log_merge){ .taker = *taker, .n_lanes = n_lanes };
	m->lanes = calloc(n_lanes, sizeof(*m->lanes));
	if (!m->lanes)
		return rs_error_no_memory();
	for (uint32_t i = 0; i < n_lanes; i++)
		m->lanes[i].cpu = i % RS_LOG_LANES_MAX;
	return NULL;
}

void rs_log_merge_deinit(struct rs_log_merge *m)
{
	free(m->lanes);
	free(m->entries);
	free(m->heap);
	free(m->spare);
	*m = (struct rs_log_merge){ 0 };
}

void rs_log_merge_begin(struct rs_log_merge *m, uint64_t next)
{
	m->next = next;
	m->last_us = UINT64_MAX;
	for (uint32_t i = 0; i < m->n_lanes; i++) {
		m->lanes[i].last = 0;
		m->lanes[i].n_losses = 0;
	}
}

/* ---- the heap ------------------------------------------------------------------------------ */

static struct rs_error *grow(struct rs_log_merge *m)
{
	uint32_t room = m->room, heap_room = room, spare_room = room;

	if (!RS_VECTOR_RESERVE(m->heap, heap_room, room + 1) ||
	    !RS_VECTOR_RESERVE(m->spare, spare_room, room + 1) ||
	    !RS_VECTOR_RESERVE(m->entries, room, room + 1))
		return rs_error_no_memory();
	for (uint32_t i = room; i-- > m->room;)
		m->spare[m->n_spare++] = i;
	m->room = room;
	return NULL;
}

static bool before(const struct rs_log_merge *m, uint32_t a, uint32_t b)
{
	return m->entries[a].seq < m->entries[b].seq;
}

RS_HEAP_DEFINE(heap, uint32_t, const struct rs_log_merge *, before)

static void pop(struct rs_log_merge *m)
{
	m->spare[m->n_spare++] = m->heap[0];
	m->heap[0] = m->heap[--m->n];
	if (m->n)
		heap_sift(m, m->heap, m->n, 0);
}

/* ---- losses -------------------------------------------------------------------------------- */

void rs_log_merge_lost(struct rs_log_merge *m, uint32_t lane)
{
	struct rs_log_merge_lane *l = &m->lanes[lane];

	if (l->n_losses && l->losses[l->n_losses - 1].before == UINT64_MAX)
		return;
	if (l->n_losses == RS_LOG_LOSSES) /* the last two losses become one */
		l->n_losses--;
	else
		l->losses[l->n_losses] =
			(struct rs_log_loss){ .after = l->last, .cpus = { l->cpu, l->cpu } };
	l->losses[l->n_losses++].before = UINT64_MAX;
}

/* Sets the end of a lane's last loss, when the lane's next line arrives. */
static void loss_end(struct rs_log_merge_lane *l, const struct rs_log_line *line)
{
	struct rs_log_loss *loss = l->n_losses ? &l->losses[l->n_losses - 1] : NULL;

	l->cpu = line->cpu % RS_LOG_LANES_MAX;
	if (loss && loss->before == UINT64_MAX) {
		loss->before = line->seq;
		loss->cpus[1] = l->cpu;
		if (!l->last) /* the lane had no line before */
			loss->cpus[0] = l->cpu;
	}
	if (line->seq > l->last)
		l->last = line->seq;
}

static void gap_add_cpu(struct rs_log_gap *gap, uint32_t cpu)
{
	gap->cpus[cpu / 64] |= UINT64_C(1) << cpu % 64;
}

static void gap_add_losses(struct rs_log_merge *m, struct rs_log_gap *gap)
{
	for (uint32_t i = 0; i < m->n_lanes; i++) {
		struct rs_log_merge_lane *l = &m->lanes[i];
		uint32_t kept = 0;

		for (uint32_t k = 0; k < l->n_losses; k++) {
			const struct rs_log_loss *loss = &l->losses[k];

			if (loss->after < gap->last && loss->before > gap->first) {
				gap_add_cpu(gap, loss->cpus[0]);
				gap_add_cpu(gap, loss->cpus[1]);
			}
			if (loss->before > gap->last + 1)
				l->losses[kept++] = *loss;
		}
		l->n_losses = kept;
	}
}

/* ---- lines --------------------------------------------------------------------------------- */

struct rs_error *rs_log_merge_put(struct rs_log_merge *m, uint32_t lane, const char *text,
				  size_t bytes, bool cut, int64_t now_ms)
{
	struct rs_log_merge_entry *e;
	struct rs_log_line line;
	struct rs_error *err;

	if (bytes > RS_LOG_TEXT_MAX)
		bytes = RS_LOG_TEXT_MAX;
	if (!rs_log_line_parse(text, bytes, &line) || !line.seq || line.seq == UINT64_MAX) {
		m->odd++;
		return NULL;
	}
	loss_end(&m->lanes[lane], &line);
	if (!m->n_spare) {
		err = grow(m);
		if (err)
			return err;
	}
	e = &m->entries[m->spare[--m->n_spare]];
	e->seq = line.seq;
	e->at_ms = now_ms;
	e->lane = lane;
	e->bytes = (uint16_t)bytes;
	e->cut = cut;
	memcpy(e->text, text, bytes);
	heap_push(m, m->heap, m->n++, (uint32_t)(e - m->entries));
	return NULL;
}

static struct rs_error *gap_emit(struct rs_log_merge *m, uint64_t last, uint64_t to_us)
{
	struct rs_log_gap gap = {
		.first = m->next, .last = last, .from_us = m->last_us, .to_us = to_us
	};

	/* A line gets its time before its number, so the times of two lines may be in the reverse
	 * order. */
	if (gap.from_us != UINT64_MAX && gap.from_us > to_us) {
		gap.from_us = to_us;
		gap.to_us = m->last_us;
	}
	gap_add_losses(m, &gap);
	m->gaps++;
	m->missing += last - m->next + 1;
	m->next = last + 1;
	return m->taker.gap(m->taker.ctx, &gap);
}

static struct rs_error *line_emit(struct rs_log_merge *m, const struct rs_log_merge_entry *e)
{
	struct rs_error *err = NULL;
	struct rs_log_line line;

	rs_log_line_parse(e->text, e->bytes, &line);
	line.cut |= e->cut;
	if (e->seq > m->next)
		err = gap_emit(m, e->seq - 1, line.us);
	m->next = e->seq + 1;
	m->last_us = line.us;
	m->lines++;
	return err ? err : m->taker.line(m->taker.ctx, &line);
}

struct rs_error *rs_log_merge_run(struct rs_log_merge *m, int64_t now_ms, uint32_t patience_ms,
				  bool end)
{
	while (m->n) {
		const struct rs_log_merge_entry *e = &m->entries[m->heap[0]];
		bool waits = !end && !rs_log_merge_full(m) && now_ms - e->at_ms < patience_ms;
		struct rs_error *err = NULL;

		if (m->next && e->seq < m->next) {
			m->late++;
		} else {
			if (waits && e->seq != m->next)
				break;
			if (!m->next)
				m->next = e->seq;
			err = line_emit(m, e);
		}
		pop(m);
		if (err)
			return err;
	}
	return NULL;
}
