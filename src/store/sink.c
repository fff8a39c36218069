/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes the events of any source to a new trace directory. */
#include "store/sink.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/vector.h"

#define CPUS_MAX 65536 /* number of host CPUs with an own stream; all others share one */

/* A stream of the new trace. */
struct out {
	struct rs_store_stream *stream;
	uint32_t number;
	uint64_t last_tsc;
};

/* A producer: a schema and its clock. */
struct class
{
	struct class *next;
	const struct rs_schema *schema;
	const struct rs_clock *clock;
	uint32_t index;
	struct out *xen;     /* stream of all Xen records, in their order */
	struct out **by_cpu; /* streams of threads' records, by host CPU + 1; 0: unknown */
	uint32_t n_by_cpu, by_cpu_room;
};

/* A source's stream, and the output stream of its records. */
struct origin {
	const struct rs_stream *stream; /* NULL: free */
	struct class *class;
	struct out *out;    /* its own output; NULL until a record that belongs to no thread */
	bool is_described;  /* a line describes its thread or domain */
	int described_vcpu; /* of a thread, whose name may become known later */
};

struct store_sink {
	struct rs_sink sink;
	struct rs_store *store;
	struct class *classes;
	struct rs_clock *clocks;
	uint32_t n_clocks, clocks_room;
	struct rs_map origins; /* by stream */
	struct out **outs;
	uint32_t n_outs, outs_room;
	struct origin *last;
};

/* ---- clocks and classes ------------------------------------------------------------------- */

/* Returns whether two clocks give every stamp the same time. */
static bool same_clock(const struct rs_clock *a, const struct rs_clock *b)
{
	return a->freq_hz == b->freq_hz && a->origin == b->origin && a->offset == b->offset &&
	       a->wall_ns == b->wall_ns && a->error_cycles == b->error_cycles &&
	       a->invariant == b->invariant && a->monotonic == b->monotonic;
}

/* Sets *written to the first clock of this name and these values, since sources that were recorded
 * together each have a copy. */
static struct rs_error *clock_add(struct store_sink *s, const struct rs_clock *clock,
				  struct rs_clock *written)
{
	struct rs_error *err;

	for (uint32_t i = 0; i < s->n_clocks; i++) {
		if (!strcmp(s->clocks[i].name, clock->name) && same_clock(&s->clocks[i], clock)) {
			*written = s->clocks[i];
			return NULL;
		}
	}
	if (!RS_VECTOR_RESERVE(s->clocks, s->clocks_room, s->n_clocks + 1))
		return rs_error_no_memory();
	*written = *clock;
	written->id = 0; /* the source may have used this id for a clock with other values */
	err = rs_clock_init(written);
	if (!err)
		s->clocks[s->n_clocks++] = *written;
	return err;
}

static struct rs_error *class_of(struct store_sink *s, const struct rs_stream *stream,
				 struct class **out)
{
	struct rs_clock clock;
	struct class *class;
	struct rs_error *err;

	for (class = s->classes; class; class = class->next) {
		if (class->schema == stream->schema && class->clock == stream->clock) {
			*out = class;
			return NULL;
		}
	}
	class = calloc(1, sizeof(*class));
	if (!class)
		return rs_error_no_memory();
	class->schema = stream->schema;
	class->clock = stream->clock;
	err = clock_add(s, stream->clock, &clock);
	/* the store only reads this schema, but adds to a recorder's, so the parameter is not
	 * const */
	if (!err)
		err = rs_store_add_class(s->store, (struct rs_schema *)stream->schema, &clock,
					 &class->index);
	if (err) {
		free(class);
		return err;
	}
	class->next = s->classes;
	s->classes = class;
	*out = class;
	return NULL;
}

/* ---- streams ------------------------------------------------------------------------------ */

static struct rs_error *out_add(struct store_sink *s, const struct class *class,
				const struct rs_stream *identity, struct out **result)
{
	struct out *out = calloc(1, sizeof(*out));
	struct rs_error *err;

	if (!out || !RS_VECTOR_RESERVE(s->outs, s->outs_room, s->n_outs + 1)) {
		free(out);
		return rs_error_no_memory();
	}
	err = rs_store_add_stream(s->store, class->index, identity, &out->stream);
	if (err) {
		free(out);
		return err;
	}
	out->number = s->n_outs;
	s->outs[s->n_outs++] = out;
	*result = out;
	return NULL;
}

/* Finds or adds the stream for the threads of a host CPU. */
static struct rs_error *cpu_out(struct store_sink *s, struct class *class, int cpu,
				struct out **result)
{
	uint32_t at = cpu >= 0 && cpu < CPUS_MAX ? (uint32_t)cpu + 1 : 0;
	struct rs_stream identity = {
		.cpu = at ? cpu : RS_UNKNOWN, .vcpu = RS_UNKNOWN, .tid = RS_UNKNOWN, .mixed = true
	};

	if (at >= class->n_by_cpu) {
		if (!RS_VECTOR_RESERVE(class->by_cpu, class->by_cpu_room, at + 1))
			return rs_error_no_memory();
		memset(class->by_cpu + class->n_by_cpu, 0,
		       (at + 1 - class->n_by_cpu) * sizeof(*class->by_cpu));
		class->n_by_cpu = at + 1;
	}
	if (!class->by_cpu[at]) {
		struct rs_error *err = out_add(s, class, &identity, &class->by_cpu[at]);

		if (err)
			return err;
	}
	*result = class->by_cpu[at];
	return NULL;
}

static bool same_stream(const void *item, const void *key)
{
	return ((const struct origin *)item)->stream == key;
}

static struct rs_error *origin_find(struct store_sink *s, const struct rs_stream *stream,
				    struct origin **result)
{
	uint64_t hash = rs_hash_pair((uintptr_t)stream, 0);
	struct origin *origin;
	struct class *class;
	struct rs_error *err;

	if (s->last && s->last->stream == stream) {
		*result = s->last;
		return NULL;
	}
	origin = rs_map_find(&s->origins, hash, same_stream, stream);
	if (!origin) {
		err = class_of(s, stream, &class);
		if (err)
			return err;
		origin = rs_map_reserve(&s->origins) ? calloc(1, sizeof(*origin)) : NULL;
		if (!origin)
			return rs_error_no_memory();
		origin->stream = stream;
		origin->class = class;
		rs_map_add(&s->origins, hash, origin);
	}
	*result = s->last = origin;
	return NULL;
}

/* Returns whether the view's thread shares its file with other threads: the view's stream is the
 * thread's own, and the event has the same tid. */
static bool is_of_thread(const struct rs_view *view)
{
	const struct rs_field *field = view->event->fields;
	const struct rs_stream *stream = view->stream;

	return stream->cpu < 0 && stream->tid >= 0 && !stream->mixed && view->event->n_fields &&
	       field->type == RS_TYPE_U32 && !strcmp(field->name, "tid") &&
	       rs_field_value(field, view->payload) == (uint64_t)stream->tid;
}

static struct rs_error *thread_describe(struct store_sink *s, struct origin *origin, uint64_t tsc)
{
	const struct rs_stream *stream = origin->stream;
	struct rs_thread thread = { .tid = stream->tid,
				    .pid = stream->pid,
				    .vm = stream->vm,
				    .name = stream->thread,
				    .vcpu = stream->vcpu,
				    .from = tsc };

	origin->is_described = true;
	origin->described_vcpu = stream->vcpu;
	return rs_store_add_thread(s->store, origin->class->index, &thread);
}

/* Finds or adds the stream of Xen's records. Adds a domain's name before the domain's first. */
static struct rs_error *xen_out(struct store_sink *s, struct origin *origin, struct out **result)
{
	static const struct rs_stream identity = {
		.cpu = RS_CPU_EACH, .vcpu = RS_UNKNOWN, .tid = RS_UNKNOWN, .mixed = true
	};
	const struct rs_stream *stream = origin->stream;
	struct class *class = origin->class;
	struct rs_error *err = NULL;

	if (!class->xen)
		err = out_add(s, class, &identity, &class->xen);
	if (!err && !origin->is_described && stream->dom >= 0 && stream->vm)
		err = rs_store_add_domain(s->store, class->index, (uint32_t)stream->dom,
					  stream->vm);
	origin->is_described = true;
	*result = class->xen;
	return err;
}

/* Finds the stream of a view's record. describe: also adds the line of its thread, if there is none
 * yet. */
static struct rs_error *out_of(struct store_sink *s, const struct rs_view *view, bool describe,
			       struct out **out)
{
	struct rs_error *err;
	struct origin *o;

	err = origin_find(s, view->stream, &o);
	if (err)
		return err;
	if (view->stream->xen)
		return xen_out(s, o, out);
	if (is_of_thread(view)) {
		/* A CPU's idle thread, 0, needs no line. */
		if (describe && view->stream->tid &&
		    (!o->is_described || o->described_vcpu != view->stream->vcpu))
			err = thread_describe(s, o, view->tsc);
		return err ? err : cpu_out(s, o->class, view->cpu, out);
	}
	if (!o->out && view->stream->mixed)
		err = cpu_out(s, o->class, view->stream->cpu, &o->out);
	else if (!o->out)
		err = out_add(s, o->class, view->stream, &o->out);
	*out = o->out;
	return err;
}

/* ---- records ------------------------------------------------------------------------------ */

/* Returns the 8 bits of a slot's CPU: the host CPU or, in a guest's stream, the vCPU. */
static uint64_t cpu_bits(const struct rs_view *view)
{
	int cpu = view->cpu;

	if (cpu < 0 && view->stream->cpu == RS_UNKNOWN)
		cpu = view->stream->vcpu;
	if (cpu < 0 || cpu >= (int)RS_CPU_UNKNOWN)
		cpu = RS_CPU_UNKNOWN;
	return (uint64_t)cpu << RS_CPU_SHIFT;
}

/* Returns the bytes of a view's event: with Xen's record before it, but without what a source may
 * have put after it. */
static uint32_t payload_bytes(const struct rs_view *view)
{
	const struct rs_event *event = view->event;
	uint32_t fixed = (uint32_t)event->lead_bytes + event->fixed_bytes;
	uint32_t len = rs_tails_bytes(event, view->payload + event->fixed_bytes);

	if (len > view->payload_bytes - event->fixed_bytes)
		len = view->payload_bytes - event->fixed_bytes;
	if (fixed + len > RS_RECORD_PAYLOAD_MAX)
		len = RS_RECORD_PAYLOAD_MAX - fixed;
	return fixed + (len >> event->tail_shift << event->tail_shift);
}

/* Shortens the lengths of texts or of a stack, whose fields end at `end`, to at most `left`
 * elements in all. */
static void tails_cut(uint8_t *end, uint32_t n, uint32_t left)
{
	uint16_t len;

	for (; n > 0; n--) {
		memcpy(&len, end - n * sizeof(len), sizeof(len));
		if (len > left)
			len = (uint16_t)left;
		memcpy(end - n * sizeof(len), &len, sizeof(len));
		left -= len;
	}
}

/* Writes the vCPU of a Xen record, which only the view has. */
static void context_write(uint8_t *at, const struct rs_view *view)
{
	struct rs_xen_record record;

	memcpy(&record, at, sizeof(record));
	record.cpu = (uint16_t)view->cpu;
	record.dom = (uint16_t)view->stream->dom;
	record.vcpu = (uint16_t)view->stream->vcpu;
	memcpy(at, &record, sizeof(record));
}

/* Writes a record at `at`, padded with zeros to its slot's end. Returns its size in bytes. */
static uint32_t record_write(uint8_t *at, const struct rs_view *view, uint64_t tsc)
{
	uint32_t payload = payload_bytes(view), slots = RS_RECORD_SLOTS(payload);
	uint32_t fixed = (uint32_t)view->event->lead_bytes + view->event->fixed_bytes;
	uint64_t head = rs_record_head(view->event->id, slots) | cpu_bits(view);

	memcpy(at, &tsc, sizeof(tsc));
	memcpy(at + sizeof(tsc), &head, sizeof(head));
	memcpy(at + RS_RECORD_HEAD, view->payload - view->event->lead_bytes, payload);
	if (view->event->lead_bytes)
		context_write(at + RS_RECORD_HEAD, view);
	memset(at + RS_RECORD_HEAD + payload, 0, slots * RS_SLOT_BYTES - RS_RECORD_HEAD - payload);
	tails_cut(at + RS_RECORD_HEAD + fixed, view->event->n_tails,
		  (payload - fixed) >> view->event->tail_shift);
	return slots * RS_SLOT_BYTES;
}

/* Writes a clock-back record with the last stamp, before a record whose stamp is earlier. */
static uint32_t clock_back_write(uint8_t *at, uint64_t tsc, uint64_t said)
{
	struct rs_slot slot = {
		.tsc = tsc,
		.head = rs_record_head(RS_ID_CLOCK_BACK, 1) | (uint64_t)RS_CPU_UNKNOWN
								      << RS_CPU_SHIFT,
	};

	memcpy(slot.payload, &said, sizeof(said));
	memcpy(at, &slot, sizeof(slot));
	return sizeof(slot);
}

struct rs_error *rs_store_put_view(struct rs_store_stream *stream, uint64_t *last_tsc,
				   const struct rs_view *view)
{
	struct rs_drained put = { 0 };
	uint64_t tsc = view->tsc;
	struct rs_error *err;
	uint32_t room;
	uint8_t *at;

	err = rs_store_room(stream, &at, &room);
	if (err)
		return err;
	if (tsc < *last_tsc) {
		tsc = *last_tsc;
		put.bytes = clock_back_write(at, tsc, view->tsc);
	}
	put.bytes += record_write(at + put.bytes, view, tsc);
	put.first_tsc = put.last_tsc = *last_tsc = tsc;
	put.padding = (0u - RS_RECORD_HEAD - payload_bytes(view)) % RS_SLOT_BYTES;
	if (view->event->kind == RS_KIND_LOSS)
		put.lost = rs_view_loss(view).count;
	else if (view->event->id != RS_ID_CLOCK_BACK)
		put.records = 1;
	rs_store_commit(stream, &put);
	return NULL;
}

static struct rs_error *view_write(struct store_sink *s, const struct rs_view *view)
{
	struct rs_error *err;
	struct out *out;

	err = out_of(s, view, true, &out);
	return err ? err : rs_store_put_view(out->stream, &out->last_tsc, view);
}

/* ---- as a sink ---------------------------------------------------------------------------- */

static struct rs_error *store_events(struct rs_sink *sink, const struct rs_view *views, size_t n)
{
	struct store_sink *s = (struct store_sink *)sink;
	struct rs_error *err = NULL;

	for (size_t i = 0; !err && i < n; i++)
		err = view_write(s, &views[i]);
	return err;
}

static const struct rs_sink_ops ops = { .name = "store", .events = store_events };

static void sink_free(struct store_sink *s)
{
	struct class *class, *next;
	struct origin *origin;
	size_t at = 0;

	for (class = s->classes; class; class = next) {
		next = class->next;
		free(class->by_cpu);
		free(class);
	}
	for (uint32_t i = 0; i < s->n_outs; i++)
		free(s->outs[i]);
	free(s->outs);
	while ((origin = rs_map_next(&s->origins, &at)))
		free(origin);
	rs_map_deinit(&s->origins);
	free(s->clocks);
	free(s);
}

struct rs_error *rs_store_sink_create(const char *directory, const struct rs_clock *clock,
				      const char *host, const char *command, struct rs_sink **sink)
{
	struct store_sink *s = calloc(1, sizeof(*s));
	struct rs_clock written;
	struct rs_error *err;

	if (!s)
		return rs_error_no_memory();
	s->sink.ops = &ops;
	err = clock_add(s, clock, &written);
	if (!err)
		err = host ? rs_store_create_of(directory, &written, host, command, &s->store)
			   : rs_store_create(directory, &written, command, &s->store);
	if (err)
		sink_free(s);
	else
		*sink = &s->sink;
	return err;
}

struct rs_error *rs_store_sink_add(struct rs_sink *sink, const struct rs_stream *stream)
{
	struct store_sink *s = (struct store_sink *)sink;
	struct origin *origin;
	struct rs_error *err = origin_find(s, stream, &origin);

	if (err || origin->out)
		return err;
	if (stream->xen)
		return xen_out(s, origin, &origin->out);
	if (stream->mixed)
		return cpu_out(s, origin->class, stream->cpu, &origin->out);
	return out_add(s, origin->class, stream, &origin->out);
}

struct rs_error *rs_store_sink_place(struct rs_sink *sink, const struct rs_view *view,
				     struct rs_store_place *place)
{
	struct out *out = NULL;
	struct rs_error *err = out_of((struct store_sink *)sink, view, false, &out);

	if (!err)
		*place = (struct rs_store_place){ .stream = out->number, .last = out->last_tsc };
	return err;
}

void rs_store_sink_set_closed(struct rs_sink *sink, int64_t at_ns)
{
	rs_store_set_closed(((struct store_sink *)sink)->store, at_ns);
}

struct rs_error *rs_store_sink_close(struct rs_sink *sink, const struct rs_error *damage,
				     struct rs_store_summary *summary)
{
	struct store_sink *s = (struct store_sink *)sink;
	struct rs_error *err;

	if (damage)
		rs_store_note(s->store, damage);
	err = rs_store_close(s->store, NULL, summary);
	sink_free(s);
	if (err && damage && !strcmp(rs_error_text(err), rs_error_text(damage))) {
		/* the error is the caller's own `damage`, which the trace notes */
		rs_error_free(err);
		err = NULL;
	}
	return err;
}
