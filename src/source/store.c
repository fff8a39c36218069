/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The trace directory as a source: one source for each stream, which makes views packet by packet;
 * all are merged.
 *
 * Damage: a packet with a wrong checksum is a loss of its records. After an invalid header, or at a
 * cut, no further packet can be found. In both cases the stream returns the valid records, and its
 * error at its end.
 */
#include <ringside/reader.h>

#include <stdlib.h>

#include "base/count.h"
#include "base/search.h"
#include "event/query.h"
#include "event/view.h"
#include "source/threads.h"
#include "xen/vcpus.h"
#include "store/check.h"
#include "store/reader.h"

#define VIEWS 256

struct stream_source {
	struct rs_source source;
	struct rs_packets packets;
	const struct rs_stream *stream; /* the file's stream, then its owners' in sequence */
	struct rs_owner_entry *const *owners; /* the next owner, by stamp */
	uint32_t n_owners;
	uint64_t owner_from;		 /* the next owner's stamp; UINT64_MAX: none */
	struct rs_threads_class threads; /* of streams whose events name their thread */
	struct rs_xen_vcpus vcpus;	 /* of streams of Xen's records */
	const struct rs_describe *describe;
	struct rs_layouts layouts;
	int64_t from_ns, to_ns;
	struct rs_packet packet;
	uint32_t at; /* bytes of the packet's content that were read */
	uint64_t last_tsc;
	int64_t last_ns;
	bool in_packet, ended;
	uint64_t pending;		    /* records of skipped packets, not reported yet */
	struct rs_error *error;		    /* returned at the end */
	struct rs_slot loss[RS_LOST_SLOTS]; /* the loss that reports the pending records */
	struct rs_view views[VIEWS];
};

static void keep_error(struct stream_source *s, struct rs_error *err)
{
	if (!s->error)
		s->error = err;
	else
		rs_error_free(err);
}

static struct rs_error *damage(const struct stream_source *s, const char *what, uint64_t at)
{
	return rs_error_create(RS_DAMAGED, "%s: packet %llu at 0x%llx: %s at 0x%llx",
			       s->packets.path, (unsigned long long)s->packets.number - 1,
			       (unsigned long long)s->packet.offset, what, (unsigned long long)at);
}

/* The content's place in the file. */
static uint64_t place(const struct stream_source *s)
{
	return s->packet.offset + sizeof(struct rs_packet_head) + s->at;
}

/* Makes a view of the loss of skipped packets, up to the first stamp after them or the last before
 * them. */
static void view_loss(struct stream_source *s, struct rs_view *view, uint64_t to)
{
	struct rs_lost lost = { .count = s->pending,
				.from = s->last_tsc ? s->last_tsc : to,
				.to = to,
				.why = RS_LOST_DAMAGED };
	const struct rs_event *event = rs_schema_find(s->stream->schema, RS_ID_LOST);

	rs_record_write_lost(s->loss, (uint64_t)RS_CPU_UNKNOWN << RS_CPU_SHIFT, &lost, to);
	rs_view_fill(view, s->stream, s->loss, event, RS_LOST_SLOTS);
	s->pending = 0;
}

/* Ends the stream at an invalid record, or one whose stamp is before that of its predecessor. */
static void stop_here(struct stream_source *s, bool backward)
{
	s->in_packet = false;
	s->ended = true;
	if (!s->packet.cut || backward)
		keep_error(s,
			   damage(s,
				  backward ? "time goes backward" : "no described record",
				  place(s)));
}

/* Completes the view of a record of Xen's. Returns false if the record is invalid. */
static bool view_xen(struct stream_source *s, struct rs_view *view)
{
	const struct rs_xen_record *record = rs_view_xen(view);
	const struct rs_xen_vcpu *vcpu = &s->vcpus.unknown;

	if (record->n > RS_XEN_WORDS_MAX || record->stamped > 1 || record->event >> 28)
		return false;
	view->cpu = record->cpu == UINT16_MAX ? RS_UNKNOWN : record->cpu;
	if (view->event->kind == RS_KIND_LOSS) /* of any thread: keeps the file's stream */
		return true;
	if (record->dom != UINT16_MAX && record->vcpu != UINT16_MAX)
		vcpu = rs_xen_vcpus_find(&s->vcpus, record->dom, record->vcpu);
	view->stream = &vcpu->stream;
	return true;
}

/* Returns a domain's name. */
static const char *domain_name(void *ctx, uint32_t dom)
{
	const struct stream_source *s = ctx;

	return rs_describe_domain(s->describe, s->describe->stream_class[s->packets.stream->index],
				  dom);
}

/* Advances to the owner of a stamp. */
static void owner_next(struct stream_source *s, uint64_t stamp)
{
	while (s->n_owners && s->owners[0]->from <= stamp) {
		s->stream = &s->owners[0]->stream;
		s->owners++;
		s->n_owners--;
	}
	s->owner_from = s->n_owners ? s->owners[0]->from : UINT64_MAX;
}

/* Begins with the first of a stream's owners. */
static void owners_init(struct stream_source *s, const struct rs_describe *describe, uint32_t index)
{
	uint32_t low = (uint32_t)RS_SEARCH(i, describe->n_owners,
					   describe->owners[i]->file < index);
	uint32_t high = low;

	while (high < describe->n_owners && describe->owners[high]->file == index)
		high++;
	s->owners = high > low ? describe->owners + low : NULL;
	s->n_owners = high - low;
	s->owner_from = s->n_owners ? s->owners[0]->from : UINT64_MAX;
}

/* Makes views of the packet's next records. */
static size_t view_packet(struct stream_source *s)
{
	size_t n = 0;

	while (n < VIEWS - 1) { /* a loss may precede a record */
		uint32_t left = (s->packet.bytes - s->at) / RS_SLOT_BYTES;
		const struct rs_layout *layout;
		const struct rs_slot *slot;
		uint32_t slots;

		if (!left) { /* an empty packet may have no content to point into */
			s->in_packet = false;
			s->ended |= s->packet.cut;
			break;
		}
		slot = (const struct rs_slot *)(const void *)(s->packet.at + s->at);
		slots = rs_layouts_check(&s->layouts, slot, left, &layout);
		if (__builtin_expect(!slots || slot->tsc < s->last_tsc, 0)) {
			stop_here(s, slots != 0);
			break;
		}
		if (__builtin_expect(s->pending != 0, 0))
			view_loss(s, &s->views[n++], slot->tsc);
		if (__builtin_expect(slot->tsc >= s->owner_from, 0))
			owner_next(s, slot->tsc);
		rs_view_fill(&s->views[n], s->stream, slot, layout->event, slots);
		if (s->threads.n || s->threads.has_idle)
			s->views[n].stream = rs_threads_find(&s->threads, s->stream, layout->event,
							     slot->payload, slot->tsc);
		if (layout->event->lead_bytes && !view_xen(s, &s->views[n])) {
			stop_here(s, false);
			break;
		}
		if (__builtin_expect(s->views[n].ts_ns < s->last_ns, 0)) { /* not a time */
			stop_here(s, true);
			break;
		}
		s->last_tsc = slot->tsc;
		s->last_ns = s->views[n++].ts_ns;
		s->at += slots * RS_SLOT_BYTES;
	}
	if (s->ended && s->packet.cut && !s->error)
		s->error = damage(s, "the file is cut; it is valid up to here,", place(s));
	return n;
}

/* Skips a packet with a wrong checksum: its records are lost. */
static void packet_skip(struct stream_source *s)
{
	uint32_t most = s->packet.bytes / RS_SLOT_BYTES;

	s->at = 0;
	s->pending += s->packet.head.records < most ? s->packet.head.records : most;
	keep_error(s, damage(s, "its checksum is wrong; its records are lost,", place(s)));
}

/* Returns whether a packet is outside the query's time. */
static bool too_early(const struct stream_source *s)
{
	return !s->packet.cut && rs_clock_ns(s->stream->clock, s->packet.head.ts_end) < s->from_ns;
}

static bool too_late(const struct stream_source *s)
{
	return rs_clock_ns(s->stream->clock, s->packet.head.ts_begin) >= s->to_ns;
}

/* Advances to the next packet within the query's time. Returns false at the end. */
static bool next_packet(struct stream_source *s)
{
	bool more;

	for (;;) {
		struct rs_error *err = rs_packets_next(&s->packets, &s->packet, &more);

		if (err)
			keep_error(s, err);
		if (!more)
			break;
		if (s->packet.mismatch)
			packet_skip(s);
		else if (too_late(s))
			break;
		else if (!too_early(s))
			break;
	}
	s->ended = !more || too_late(s);
	s->in_packet = !s->ended;
	s->at = 0;
	return s->in_packet;
}

static struct rs_error *stream_next(struct rs_source *source, struct rs_batch *batch)
{
	struct stream_source *s = (struct stream_source *)source;
	struct rs_error *err;
	size_t n = 0;

	while (!n && (s->in_packet || (!s->ended && next_packet(s))))
		n = view_packet(s);
	if (!n && s->pending)
		view_loss(s, &s->views[n++],
			  s->last_tsc ? s->last_tsc : rs_stamp_begin(s->stream->clock));
	*batch = (struct rs_batch){ .kind = n ? RS_NEXT_EVENTS : RS_NEXT_END,
				    .views = s->views,
				    .n = n,
				    .watermark_ns = n ? s->views[n - 1].ts_ns : INT64_MAX };
	if (n)
		return NULL;
	err = s->error ? s->error : s->packets.is_there ? rs_packets_check_end(&s->packets) : NULL;
	s->error = NULL;
	rs_packets_rest(&s->packets);
	return err;
}

static struct rs_error *stream_open(struct rs_source *source, const struct rs_query *query,
				    uint32_t *pushed)
{
	struct stream_source *s = (struct stream_source *)source;

	s->from_ns = query->from_ns;
	s->to_ns = query->to_ns;
	if (s->from_ns > 0) {
		/* Two cycles early: the conversion to ns rounds down. A counter that began after
		 * the trace has stamps below zero there: then nothing is skipped. */
		__int128 stamp = (((__int128)s->from_ns << RS_CLOCK_SHIFT) /
				  (__int128)s->stream->clock->ns_mult) +
				 (__int128)s->stream->clock->origin + s->stream->clock->offset - 2;

		if (stamp > 0 && stamp <= UINT64_MAX)
			rs_packets_seek(&s->packets, (uint64_t)stamp);
	}
	*pushed = 0; /* whole packets are skipped; the merge filters single events */
	return NULL;
}

static void stream_destroy(struct rs_source *source)
{
	struct stream_source *s = (struct stream_source *)source;

	rs_packets_close(&s->packets);
	rs_xen_vcpus_deinit(&s->vcpus);
	rs_error_free(s->error);
	free(s);
}

static const struct rs_source_ops stream_ops = {
	.name = "stream",
	.open = stream_open,
	.next = stream_next,
	.destroy = stream_destroy,
};

static struct rs_error *stream_create(struct rs_trace *trace, struct rs_threads *threads,
				      uint32_t index, struct rs_source **out)
{
	struct stream_source *s = calloc(1, sizeof(*s));
	struct rs_error *err;

	if (!s)
		return rs_error_no_memory();
	s->source.ops = &stream_ops;
	s->from_ns = s->last_ns = INT64_MIN;
	s->to_ns = INT64_MAX;
	s->stream = trace->describe.streams[index];
	s->describe = &trace->describe;
	owners_init(s, &trace->describe, index);
	rs_layouts_init(&s->layouts, s->stream->schema);
	rs_xen_vcpus_init(&s->vcpus, s->stream->schema, s->stream->clock);
	s->vcpus.name = domain_name;
	s->vcpus.name_ctx = s;
	rs_threads_of_class(threads, trace->describe.stream_class[index], &s->threads);
	if (rs_describe_lost(&trace->describe, index)) { /* reported for the whole trace */
		s->ended = true;
		*out = &s->source;
		return NULL;
	}
	err = rs_packets_open(trace, index, &s->packets);
	if (err) {
		/* A stream without its file is damage like any other: the other streams can be
		 * read. */
		s->ended = true;
		s->error = rs_error_create(RS_DAMAGED, "%s", rs_error_text(err));
		rs_error_free(err);
	}
	*out = &s->source;
	return NULL;
}

/* ---- the whole trace ---------------------------------------------------------------------- */

/* The merge of all streams. It returns the trace's own error after those of the streams. */
struct trace_source {
	struct rs_source source;
	struct rs_trace *trace;
	struct rs_source *merge;
	struct rs_threads *threads;
	bool bad_reported; /* damage of the description was reported */
};

static struct rs_error *trace_end(const struct rs_trace *trace)
{
	const char *dir = trace->folder.path;

	if (trace->unsaid)
		return rs_error_create(RS_DAMAGED, "%s: %s lost at its end: %s", dir,
				       RS_COUNT_OF(trace->unsaid, "record"),
				       trace->end_error ? trace->end_error : "reason unknown");
	if (trace->end_error)
		return rs_error_create(RS_DAMAGED, "%s: the recording is incomplete: %s", dir,
				       trace->end_error);
	if (trace->end == RS_TRACE_CUT)
		return rs_error_create(RS_DAMAGED,
				       "%s: its recorder did not close it; this is the part on the "
				       "disk (ringside repair makes it whole for other tools)",
				       dir);
	if (!trace->describe.bad.cost && trace->check_known &&
	    trace->check != trace->describe.check && trace->end != RS_TRACE_RECORDING)
		return rs_error_create(RS_DAMAGED,
				       "%s/ringside/describe has a wrong checksum: streams may "
				       "be missing, names and fields wrong",
				       dir);
	return NULL;
}

static struct rs_error *trace_open(struct rs_source *source, const struct rs_query *query,
				   uint32_t *pushed)
{
	struct trace_source *t = (struct trace_source *)source;

	return t->merge->ops->open(t->merge, query, pushed);
}

static struct rs_error *trace_next(struct rs_source *source, struct rs_batch *batch)
{
	struct trace_source *t = (struct trace_source *)source;
	struct rs_error *err = t->merge->ops->next(t->merge, batch);

	const char *bad = t->trace->describe.bad.cost;

	if (!err && batch->kind == RS_NEXT_END)
		err = trace_end(t->trace);
	else if (!err)
		return NULL;
	if (err && bad && !t->bad_reported)
		err = rs_error_wrap(err, "%s; and", bad);
	else if (bad && !t->bad_reported)
		err = rs_error_create(RS_DAMAGED, "%s", bad);
	t->bad_reported = true;
	return err;
}

static void trace_destroy(struct rs_source *source)
{
	struct trace_source *t = (struct trace_source *)source;

	rs_source_destroy(t->merge);
	rs_threads_destroy(t->threads);
	free(t);
}

static const struct rs_source_ops trace_ops = {
	.name = "trace",
	.open = trace_open,
	.next = trace_next,
	.destroy = trace_destroy,
};

struct rs_error *rs_trace_source(struct rs_trace *trace, struct rs_source **out)
{
	uint32_t n = trace->describe.n_streams;
	struct rs_source **streams = calloc(n ? n : 1, sizeof(struct rs_source *));
	struct trace_source *t = calloc(1, sizeof(*t));
	struct rs_error *err = streams && t ? NULL : rs_error_no_memory();
	uint32_t made = 0;

	if (!err)
		err = rs_threads_create(&trace->describe, &t->threads);
	while (!err && made < n) {
		err = stream_create(trace, t->threads, made, &streams[made]);
		if (!err)
			made++;
	}
	if (!err) {
		t->source.ops = &trace_ops;
		t->trace = trace;
		err = rs_merge_create(streams, n, &t->merge);
		made = err ? made : 0; /* the merge owns them */
	}
	for (uint32_t i = 0; i < made; i++)
		rs_source_destroy(streams[i]);
	free(streams);
	if (err && t)
		rs_threads_destroy(t->threads);
	if (err)
		free(t);
	else
		*out = &t->source;
	return err;
}
