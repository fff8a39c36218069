/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Recovers a program's trace rings after its death. Each ring is copied into private memory and
 * drained there by a source; the merge of all sources is written to the store. The region is not
 * written, so that a recovery can begin again.
 */
#include "log/traces.h"

#include <stdlib.h>
#include <string.h>

#include "event/drain.h"
#include "event/view.h"
#include "ring/survive.h"
#include "store/sink.h"
#include "trace/trace.h"

#define BUFFER_BYTES (64u << 10)
#define VIEWS	     (BUFFER_BYTES / RS_SLOT_BYTES)
#define STAMP_END    (UINT64_MAX / 2)

/* A ring at rest, in private memory. */
struct rest {
	struct rs_source source;
	struct rs_stream stream;
	struct rs_sbuf *ring;
	struct rs_sbuf_consumer consumer;
	struct rs_drain drain;
	struct rs_layouts layouts;
	struct rs_log_traces *traces;
	char thread[17], vm[65];
	_Alignas(8) uint8_t buffer[BUFFER_BYTES];
	struct rs_view views[VIEWS];
};

static struct rs_error *rest_next(struct rs_source *source, struct rs_batch *batch)
{
	struct rest *r = (struct rest *)source;
	const struct rs_slot *slot = (const struct rs_slot *)(const void *)r->buffer;
	struct rs_drained got;
	size_t n = 0;
	uint32_t left;

	if (rs_drain_read(&r->drain, r->buffer, sizeof(r->buffer), STAMP_END, &got) != RS_DRAIN_OK)
		r->traces->damaged++;
	if (!got.bytes)
		rs_drain_end(&r->drain, r->buffer, sizeof(r->buffer), STAMP_END, &got);
	r->traces->records += got.records;
	for (left = got.bytes / RS_SLOT_BYTES; left;) {
		const struct rs_layout *layout;
		uint32_t slots = rs_layouts_check(&r->layouts, slot, left, &layout);

		if (!slots) /* impossible: the drain has checked it */
			break;
		rs_view_fill(&r->views[n++], &r->stream, slot, layout->event, slots);
		slot += slots;
		left -= slots;
	}
	*batch = (struct rs_batch){ .kind = n ? RS_NEXT_EVENTS : RS_NEXT_END,
				    .views = r->views,
				    .n = n,
				    .watermark_ns = n ? r->views[n - 1].ts_ns : INT64_MAX };
	return NULL;
}

static void rest_destroy(struct rs_source *source)
{
	struct rest *r = (struct rest *)source;

	free(r->ring);
	free(r);
}

static const struct rs_source_ops rest_ops = {
	.name = "rest",
	.next = rest_next,
	.destroy = rest_destroy,
};

static void copy_name(char *to, const char *from, size_t bytes)
{
	memcpy(to, from, bytes);
	to[bytes] = 0;
}

/* Creates a source of the ring in a place. Sets the source to NULL, without an error, if the place
 * has no valid ring. */
static struct rs_error *rest_create(struct rs_log_traces *t, const uint8_t *at, uint32_t bytes,
				    const struct rs_schema *schema, const struct rs_clock *clock,
				    struct rest **out)
{
	struct rs_survive_place place;
	struct rs_port port;
	struct rest *r;

	*out = NULL;
	memcpy(&place, at, sizeof(place));
	if (!place.used)
		return NULL;
	r = calloc(1, sizeof(*r));
	if (!r)
		return rs_error_no_memory();
	bytes -= sizeof(place);
	r->ring = malloc(bytes);
	if (!r->ring) {
		free(r);
		return rs_error_no_memory();
	}
	memcpy(r->ring, at + sizeof(place), bytes);
	if (rs_sbuf_attach(&r->consumer, r->ring, bytes) != RS_SBUF_OK ||
	    r->consumer.ele_size != RS_SLOT_BYTES) {
		t->damaged++;
		rest_destroy(&r->source);
		return NULL;
	}
	r->source.ops = &rest_ops;
	r->traces = t;
	copy_name(r->thread, place.thread, sizeof(place.thread));
	copy_name(r->vm, place.vm, sizeof(place.vm));
	r->stream = (struct rs_stream){ .vm = r->vm[0] ? r->vm : NULL,
					.thread = r->thread,
					.vcpu = place.vcpu < 0 ? RS_UNKNOWN : place.vcpu,
					.cpu = RS_UNKNOWN,
					.tid = place.tid,
					.dom = RS_UNKNOWN,
					.schema = schema,
					.clock = clock };
	port = rs_port_local(&r->consumer);
	rs_drain_init(&r->drain, &port, schema);
	rs_layouts_init(&r->layouts, schema);
	*out = r;
	return NULL;
}

/* Reads the program's definitions, up to the first invalid one. Records of the other definitions
 * count as damaged. */
static void define_all(struct rs_log_traces *t, const struct rs_survive_head *head,
		       struct rs_schema *schema)
{
	const uint8_t *at = t->mem + sizeof(*head);
	uint64_t left = head->defined_bytes;

	for (uint32_t id = 1; left >= sizeof(struct rs_survive_definition); id++) {
		struct rs_survive_definition d;
		const char *text = (const char *)at + sizeof(d);
		struct rs_error *err;
		uint64_t bytes;

		memcpy(&d, at, sizeof(d));
		bytes = (sizeof(d) + d.len + UINT64_C(7)) & ~UINT64_C(7);
		if (bytes > left) {
			t->damaged++;
			return;
		}
		if (d.kind == RS_SITE_EVENT)
			err = rs_schema_declare(schema, RS_ID(RS_IDS_USER, id), text, d.len);
		else if (d.kind == RS_SITE_SPAN)
			err = rs_schema_set_span(schema, id, text, d.len);
		else
			err = rs_schema_set_name(schema, id, text, d.len);
		rs_error_free(err);
		at += bytes;
		left -= bytes;
	}
}

/* Reads the head, once. Returns false if it is invalid. */
static bool head_read(const struct rs_log_traces *t, struct rs_survive_head *head)
{
	uint64_t room;

	if (t->bytes < sizeof(*head))
		return false;
	memcpy(head, t->mem, sizeof(*head));
	room = t->bytes - sizeof(*head);
	if (head->magic != RS_SURVIVE_MAGIC || head->definition_bytes > room ||
	    head->definition_bytes % 8 || head->defined_bytes > head->definition_bytes ||
	    head->places > RS_SURVIVE_PLACES_MAX || head->place_bytes % 64 ||
	    head->place_bytes <= sizeof(struct rs_survive_place) + sizeof(struct rs_sbuf))
		return false;
	room -= head->definition_bytes;
	head->provider[sizeof(head->provider) - 1] = 0;
	return (uint64_t)head->places * head->place_bytes <= room;
}

static struct rs_error *clock_of(const struct rs_log_half *half, struct rs_clock *clock)
{
	uint64_t freq = __atomic_load_n(&half->freq_hz, __ATOMIC_RELAXED);

	*clock = (struct rs_clock){ .name = "tsc",
				    .freq_hz = freq,
				    .origin = __atomic_load_n(&half->origin, __ATOMIC_RELAXED),
				    .wall_ns = __atomic_load_n(&half->wall_ns, __ATOMIC_RELAXED),
				    .invariant = true,
				    .freq_from = "log" };
	if (freq < 1000000 || freq > UINT64_C(1000000000000))
		clock->freq_hz = 1000000000; /* a cycle is shown as a ns */
	return rs_clock_init(clock);
}

static struct rs_error *sources_make(struct rs_log_traces *t, const struct rs_survive_head *head,
				     const struct rs_schema *schema, const struct rs_clock *clock,
				     struct rs_source **sources, uint32_t *n)
{
	const uint8_t *at = t->mem + sizeof(*head) + head->definition_bytes;
	struct rs_error *err = NULL;

	*n = 0;
	for (uint32_t i = 0; i < head->places && !err; i++, at += head->place_bytes) {
		struct rest *r;

		err = rest_create(t, at, head->place_bytes, schema, clock, &r);
		if (!err && r && !*n)
			r->stream.index = 0;
		if (!err && r) {
			r->stream.index = *n;
			sources[(*n)++] = &r->source;
		}
	}
	return err;
}

static struct rs_error *store(struct rs_source *source, const char *directory,
			      const struct rs_clock *clock)
{
	struct rs_store_summary sum;
	struct rs_sink *sink;
	struct rs_error *err, *close_err;

	err = rs_store_sink_create(directory, clock, NULL, "ringside log: recovered", &sink);
	if (err)
		return err;
	err = rs_run(source, NULL, sink, &(volatile bool){ false });
	close_err = rs_store_sink_close(sink, err, &sum);
	if (err)
		rs_error_free(close_err);
	return err ? err : close_err;
}

/* Merges the sources, which it owns, and writes their events to a trace directory. */
static struct rs_error *merge_and_store(struct rs_source **sources, uint32_t n,
					const char *directory, const struct rs_clock *clock)
{
	struct rs_source *merge;
	struct rs_error *err = rs_merge_create(sources, n, &merge);

	if (err) {
		for (uint32_t i = 0; i < n; i++)
			rs_source_destroy(sources[i]);
		return err;
	}
	err = store(merge, directory, clock);
	rs_source_destroy(merge);
	return err;
}

struct rs_error *rs_log_traces_recover(struct rs_log_traces *t, const char *directory)
{
	struct rs_source **sources;
	struct rs_schema *schema = NULL;
	struct rs_survive_head head;
	struct rs_clock clock;
	struct rs_error *err;
	uint32_t n = 0;

	if (t->bytes < sizeof(head) ||
	    !((const struct rs_survive_head *)(const void *)t->mem)->magic)
		return NULL; /* the program did not trace */
	if (!head_read(t, &head)) {
		t->damaged++;
		return NULL;
	}
	sources = calloc(head.places + 1, sizeof(struct rs_source *));
	if (!sources)
		return rs_error_no_memory();
	err = clock_of(t->half, &clock);
	if (!err)
		err = rs_schema_create(head.provider[0] ? head.provider : "app", &schema);
	if (!err && !strcmp(head.provider, "vmm"))
		err = rs_schema_add_catalogue(schema, "vmm");
	if (!err)
		err = rs_schema_add_catalogue(schema, "app");
	if (!err) {
		define_all(t, &head, schema);
		err = sources_make(t, &head, schema, &clock, sources, &n);
	}
	if (!err && n)
		err = merge_and_store(sources, n, directory, &clock);
	else
		for (uint32_t i = 0; i < n; i++)
			rs_source_destroy(sources[i]);
	free(sources);
	rs_schema_destroy(schema);
	return err;
}
