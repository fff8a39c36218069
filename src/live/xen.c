/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads a running Xen's trace buffers as a live source. */
#include "live/xen.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/count.h"
#include "import/xen/events.h"
#include "live/xen_names.h"

#define HEAD_WORDS    3u		   /* the head of a window: CPU_CHANGE, the CPU, bytes */
#define LOST_WORDS    7u		   /* a record of losses: header, stamp, 4 words */
#define SKEW_NS_MAX   UINT64_C(1000000000) /* a greater skew is ignored */
#define SURVEY_ROUNDS 3 /* from the first round with records to the first returned records */
/* Stamps are no later than the present, except for the skew of the CPUs' TSCs. */
#define AHEAD_NS UINT64_C(1000000000)

struct live {
	struct rs_foreign foreign;
	struct rs_xen_events events;
	struct rs_xen_records records;
	struct rs_xen_live_options options;
	bool *broken;	   /* buffers that are no longer read */
	uint64_t next_tsc; /* of the next round */
	uint64_t poll_cycles, ahead_cycles, began_tsc;
	bool clock_verified;   /* the clock was verified to be that of the stamps */
	uint64_t round_tsc[2]; /* starts of the last round and the one before; 0: none */
	uint64_t bytes;	       /* offset as in a file */
	uint32_t surveys;
	bool stopping, stopped; /* the next round is the last; the last round is over */
	uint64_t taken, damaged;
};

static uint64_t cycles_of(const struct rs_clock *clock, uint64_t ns)
{
	return (uint64_t)((unsigned __int128)ns * clock->freq_hz / 1000000000);
}

/* ---- a round -------------------------------------------------------------------------------- */

/* Writes a Xen record that reports a loss of unknown size. Returns its bytes. */
static uint32_t lost_write(void *at, uint64_t tsc)
{
	uint32_t words[LOST_WORDS] = { RS_XEN_LOST_RECORDS | 4u << 28 | 1u << 31 };
	const uint32_t unknown = UINT32_MAX; /* domain and vcpu */

	memcpy(&words[1], &tsc, sizeof(tsc));
	words[3] = 1; /* the least number */
	words[4] = unknown;
	memcpy(&words[5], &tsc, sizeof(tsc));
	memcpy(at, words, sizeof(words));
	return sizeof(words);
}

/* Reads a buffer's records, between a window's head and room for a record of losses. */
static struct rs_error *block_read(struct live *l, struct rs_xen_tbuf *buf, uint32_t bytes,
				   struct rs_xen_block **out)
{
	uint32_t head[HEAD_WORDS] = { RS_XEN_CPU_CHANGE | 2u << 28, buf->cpu, bytes };
	const uint32_t room = (uint32_t)(sizeof(head) + LOST_WORDS * sizeof(uint32_t)) + bytes;
	struct rs_xen_block *block = rs_xen_block_create(l->bytes, room);

	if (!block)
		return rs_error_no_memory();
	block->bytes = (uint32_t)sizeof(head) + bytes;
	memcpy(block->data, head, sizeof(head));
	rs_xen_tbuf_read(buf, block->data + sizeof(head), bytes);
	*out = block;
	return NULL;
}

/* Returns the first stamp in a block's records, or 0. */
static uint64_t first_stamp(const struct rs_xen_block *block)
{
	uint32_t at = HEAD_WORDS * sizeof(uint32_t), head;
	uint64_t stamp = 0;

	while (!stamp && block->bytes - at >= sizeof(head)) {
		memcpy(&head, block->data + at, sizeof(head));
		if (RS_XEN_HEAD_BYTES(head) > block->bytes - at)
			break;
		if (RS_XEN_HEAD_STAMPED(head))
			memcpy(&stamp, block->data + at + sizeof(head), sizeof(stamp));
		at += RS_XEN_HEAD_BYTES(head);
	}
	return stamp;
}

/*
 * Checks that the clock is that of the stamps. A PV dom0 reads the TSC that Xen uses for stamps.
 * The TSC of another dom0 may have an offset. Records since the start show it: without an offset,
 * their stamps differ by no more than the time since then.
 */
static void clock_verify(struct live *l, const struct rs_xen_block *block, uint64_t now)
{
	struct rs_clock *clock = &l->foreign.clock;
	uint64_t stamp = first_stamp(block);

	if (!stamp)
		return;
	l->clock_verified = true;
	if (stamp >= l->began_tsc - l->ahead_cycles && stamp <= now + l->ahead_cycles)
		return;
	rs_clock_guest(clock, "xen_tsc", clock->offset + (int64_t)(stamp - now),
		       clock->error_cycles + now - l->began_tsc, clock);
	l->began_tsc += stamp - now;
	l->next_tsc += stamp - now;
	l->events.decoder.clock = *clock;
	rs_xen_events_remark(&l->events,
			     "Xen's stamps are not this domain's TSC: times relative to "
			     "other sources have an error of about a tenth of a second");
}

/* Cuts off the invalid part of a block. Returns whether it had one. */
static bool block_mend(struct live *l, struct rs_xen_pcpu *pcpu, struct rs_xen_block *block,
		       uint64_t now)
{
	uint64_t records = 0;
	uint32_t end;
	const char *what;

	if (!l->clock_verified)
		clock_verify(l, block, now);
	pcpu->tsc_max = rs_clock_now(&l->foreign.clock) + l->ahead_cycles;
	what = rs_xen_block_check(pcpu, block, true, &end, &records);
	l->foreign.tally.records += records;
	if (!what && end == block->bytes)
		return false;
	block->bytes = rs_xen_block_believed(block, end);
	if (block->bytes < HEAD_WORDS * sizeof(uint32_t))
		block->bytes = HEAD_WORDS * sizeof(uint32_t);
	l->damaged++;
	return true;
}

static struct rs_error *buffer_read(struct live *l, uint32_t i, uint64_t now)
{
	struct rs_xen_tbuf *buf = &l->options.buffers[i];
	enum rs_xen_tbuf_status status;
	struct rs_xen_block *block;
	struct rs_xen_pcpu *pcpu;
	struct rs_error *err;
	uint32_t bytes, size;
	bool lost;

	if (l->broken[i])
		return NULL;
	err = rs_xen_records_pcpu(&l->records, buf->cpu, &pcpu);
	if (err)
		return err;
	rs_xen_records_round(&l->records, buf->cpu);
	status = rs_xen_tbuf_poll(buf, &bytes);
	if (!bytes && status == RS_XEN_TBUF_OK)
		return NULL;
	err = block_read(l, buf, bytes, &block);
	if (err)
		return err;
	l->broken[i] = status == RS_XEN_TBUF_BROKEN;
	l->damaged += status == RS_XEN_TBUF_BROKEN;
	l->taken += status == RS_XEN_TBUF_TAKEN;
	lost = block_mend(l, pcpu, block, now) || status != RS_XEN_TBUF_OK;
	if (lost) {
		/* The loss is later than all records before it, and stamps may restart. */
		uint64_t tsc = pcpu->read_tsc > pcpu->tsc ? pcpu->read_tsc : pcpu->tsc;

		tsc = tsc ? tsc : now;
		block->bytes += lost_write(block->data + block->bytes, tsc);
		pcpu->read_tsc = tsc; /* the block of this round */
		l->foreign.tally.gaps++;
	}
	size = block->bytes - HEAD_WORDS * (uint32_t)sizeof(uint32_t);
	memcpy(block->data + 2 * sizeof(uint32_t), &size, sizeof(size));
	l->bytes += block->bytes;
	rs_xen_records_add(&l->records, pcpu, block);
	return NULL;
}

/* Measures the skew of the TSCs, once enough records have been read and before any is returned. */
static struct rs_error *survey(struct live *l)
{
	struct rs_xen_survey found;
	struct rs_error *err;

	l->surveys++;
	if (l->surveys != SURVEY_ROUNDS && !l->stopped)
		return NULL;
	l->surveys = SURVEY_ROUNDS;
	err = rs_xen_survey_make(&l->records, cycles_of(l->options.clock, SKEW_NS_MAX), &found);
	if (err)
		return err;
	if (found.skew_most)
		rs_xen_records_correct(&l->records, found.skews);
	rs_xen_events_report_skew(&l->events, &found);
	rs_xen_survey_deinit(&found);
	return NULL;
}

static struct rs_error *round_make(struct live *l, uint64_t now)
{
	struct rs_error *err = NULL;

	l->round_tsc[1] = l->round_tsc[0];
	l->round_tsc[0] = now;
	l->next_tsc = now + l->poll_cycles;
	for (uint32_t i = 0; !err && i < l->options.n; i++)
		err = buffer_read(l, i, now);
	l->stopped = l->records.ended = l->stopping;
	if (!err && l->surveys < SURVEY_ROUNDS && (l->bytes || l->stopped))
		err = survey(l);
	return err;
}

/* ---- as a source ---------------------------------------------------------------------------- */

/* Returns the watermark: the start of the round before the last, or the earliest pending record. */
static int64_t watermark(struct live *l)
{
	const struct rs_xen_records *r = &l->records;
	uint64_t tsc = l->round_tsc[1];
	int64_t ns;

	if (r->n_heap && r->heap[0]->next_tsc < tsc)
		tsc = r->heap[0]->next_tsc;
	if (l->round_tsc[1] && tsc > l->records.taken_tsc) {
		l->records.taken_tsc = tsc; /* an earlier record is late */
		ns = rs_clock_ns(l->options.clock, tsc);
		if (ns > l->events.last_ns)
			l->events.last_ns = ns;
	}
	return l->events.last_ns;
}

static void remark_end(struct live *l)
{
	if (l->damaged)
		rs_xen_events_remark(&l->events,
				     "%s the content of a buffer was invalid, and was discarded",
				     RS_COUNT_OF(l->damaged, "time"));
	if (l->taken)
		rs_xen_events_remark(&l->events,
				     "%s another program read a buffer: those records are missing",
				     RS_COUNT_OF(l->taken, "time"));
	rs_xen_events_end(&l->events);
}

static struct rs_error *live_next(struct rs_source *source, struct rs_batch *batch)
{
	struct live *l = (struct live *)source;
	struct rs_xen_events *events = &l->events;
	uint64_t now = rs_clock_now(l->options.clock);
	struct rs_error *err = NULL;
	bool done;

	events->n = 0;
	if (l->surveys == SURVEY_ROUNDS)
		err = rs_xen_events_gather(events);
	if (!err && !events->n && !l->stopped && (now >= l->next_tsc || l->stopping)) {
		err = round_make(l, now);
		if (!err && l->surveys == SURVEY_ROUNDS)
			err = rs_xen_events_gather(events);
	}
	if (err)
		return err;
	done = l->stopped && rs_xen_records_done(&l->records);
	if (done && !events->n)
		rs_xen_events_flush(events);
	*batch = (struct rs_batch){ .kind = events->n ? RS_NEXT_EVENTS
					    : done    ? RS_NEXT_END
						      : RS_NEXT_IDLE,
				    .views = events->views,
				    .n = events->n,
				    .watermark_ns = events->n ? events->last_ns : watermark(l) };
	if (batch->kind == RS_NEXT_END)
		remark_end(l);
	return NULL;
}

static void live_destroy(struct rs_source *source)
{
	struct live *l = (struct live *)source;

	rs_xen_records_deinit(&l->records);
	rs_xen_events_deinit(&l->events);
	free(l->broken);
	free(l);
}

static const struct rs_source_ops ops = {
	.name = "xen",
	.next = live_next,
	.destroy = live_destroy,
};

static const char *name_of(void *ctx, uint32_t dom)
{
	return dom == RS_XEN_DOM_IDLE ? NULL : rs_xen_names_find(ctx, dom);
}

/* ---- creation ------------------------------------------------------------------------------- */

struct rs_error *rs_xen_live_create(const struct rs_xen_live_options *options,
				    struct rs_foreign **out)
{
	struct live *l = calloc(1, sizeof(*l));
	uint32_t poll_ms = options->poll_ms ? options->poll_ms : RS_XEN_POLL_MS;
	struct rs_error *err;

	if (!l)
		return rs_error_no_memory();
	l->foreign.source.ops = &ops;
	l->options = *options;
	l->foreign.clock = *options->clock;
	l->options.clock = &l->foreign.clock;
	l->poll_cycles = cycles_of(options->clock, UINT64_C(1000000) * poll_ms);
	l->ahead_cycles = cycles_of(options->clock, AHEAD_NS);
	l->began_tsc = rs_clock_now(options->clock);
	l->broken = calloc(options->n + 1, sizeof(*l->broken));
	err = l->broken ? rs_xen_events_init(&l->events, &l->records, &l->foreign.clock,
					     &l->foreign.tally, NULL)
			: rs_error_no_memory();
	if (err) {
		live_destroy(&l->foreign.source);
		return err;
	}
	l->events.decoder.clock = l->foreign.clock;
	l->events.decoder.isa = options->svm ? RS_XEN_SVM : RS_XEN_VMX;
	l->events.any_exit = l->events.freq_known = true;
	if (options->names) {
		l->events.vcpus.name = name_of;
		l->events.vcpus.name_ctx = options->names;
	}
	*out = &l->foreign;
	return NULL;
}

const struct rs_schema *rs_xen_live_schema(const struct rs_foreign *live)
{
	return ((const struct live *)live)->events.decoder.schema;
}

void rs_xen_live_stop(struct rs_foreign *live)
{
	((struct live *)live)->stopping = true;
}
