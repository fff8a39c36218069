/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The recorder's part for this program's own threads: a feed for each ring. Events of threads
 * without a ring, and events in rings without a feed, count as lost. Both occur only for lack of
 * memory or another resource that a ring or feed needs.
 */
#include <string.h>

#include "base/now.h"
#include "event/catalogue.h"
#include "record/inside.h"

#define RESTING_TRIED	 64 /* idle feeds to try for a new ring */
#define WRITTEN_PAUSE_NS 100000 /* while another thread writes packets */

/* Adds the names and events that this program has defined to the schema. An error means that there
 * is no memory. */
static struct rs_error *schema_refresh(struct rs_recorder *r)
{
	struct rs_program *program = &r->program;
	struct rs_error *err;

	pthread_mutex_lock(&program->schema_lock);
	err = rs_trace_define(program->schema, &program->defined);
	pthread_mutex_unlock(&program->schema_lock);
	return err;
}

/* A failure is not reported, because the next call tries again. */
static struct rs_error *describe(void *ctx)
{
	rs_error_free(schema_refresh(ctx));
	return NULL;
}

/* Adds the catalogue's events of a provider, once: any program may emit them under its own name.
 * Returns whether the catalogue has any. */
static bool catalogue_add(struct rs_recorder *r, uint32_t number)
{
	struct rs_program *program = &r->program;
	const char *provider = number < 64 ? rs_catalogue_of(number) : NULL;
	struct rs_error *err = NULL;

	if (!provider)
		return false;
	pthread_mutex_lock(&program->schema_lock);
	if (!(program->catalogues >> number & 1))
		err = rs_schema_add_catalogue(program->schema, provider);
	program->catalogues |= UINT64_C(1) << number;
	pthread_mutex_unlock(&program->schema_lock);
	rs_error_free(err);
	return true;
}

/* The drain's callback: refreshes the schema, and returns whether it may have gained the event.
 * Later than the schema, this program defines its own events, and uses the catalogue's. */
static bool refresh(void *ctx, uint64_t head)
{
	struct rs_recorder *r = ctx;
	bool any;

	if (RS_ID_PROVIDER(rs_slot_id(head)) != RS_IDS_USER)
		return catalogue_add(r, RS_ID_PROVIDER(rs_slot_id(head)));
	rs_error_free(schema_refresh(r));
	pthread_mutex_lock(&r->program.schema_lock);
	any = r->program.defined > 0; /* another worker may have added the missing event */
	pthread_mutex_unlock(&r->program.schema_lock);
	return any;
}

/* Attaches a feed to a ring. Under its lock, or before it is published. */
static void feed_begin(struct rs_program_feed *f, struct rs_trace_ring *ring)
{
	struct rs_recorder *r = f->feed.recorder;
	struct rs_port port;

	ring->taken = true;
	rs_sbuf_attach(&f->consumer, ring->memory.mem, ring->memory.bytes);
	port = rs_port_local(&f->consumer);
	f->ring = ring;
	rs_survive_feed(f, &port);
	rs_drain_init(&f->drain, &port, r->program.schema);
	f->drain.reported_lost = ring->reported_lost;
	f->drain.reported_ahead = ring->reported_ahead;
	f->drain.refresh = refresh;
	f->drain.refresh_ctx = r;
	f->drain.clock = &r->clock;
	f->feed.drain = &f->drain;
	f->feed.describe = describe;
	f->feed.describe_ctx = r;
	f->feed.poll = true;
	f->feed.done = false;
	f->next = r->program.feeds;
	r->program.feeds = f;
}

/* A ring outlives its recorder. A later recorder continues from these counts. */
static void feed_end(const struct rs_program_feed *f)
{
	f->ring->reported_lost = f->drain.reported_lost;
	f->ring->reported_ahead = f->drain.reported_ahead;
}

/* Finds a feed whose thread has ended, and all of whose records precede the stamp. */
static struct rs_program_feed **resting_before(struct rs_program *program, uint64_t stamp)
{
	struct rs_program_feed **at = &program->resting;

	/* The list is roughly in the order of the stamps. */
	for (uint32_t i = 0; i < RESTING_TRIED && *at; i++, at = &(*at)->next) {
		if ((*at)->drain.last_tsc < stamp)
			return at;
	}
	return NULL;
}

/*
 * Resumes the stream of a thread that has ended, if all records of that stream precede the ring's
 * creation. So a trace has about as many streams as threads ran at the same time. Returns the
 * stream's feed in *resumed, or NULL.
 */
static struct rs_error *ring_resume(struct rs_recorder *r, struct rs_trace_ring *ring,
				    struct rs_program_feed **resumed)
{
	struct rs_program *program = &r->program;
	struct rs_program_feed **at = resting_before(program, ring->from), *f;
	struct rs_owner owner = { .thread = ring->thread,
				  .vm = ring->vm[0] ? ring->vm : NULL,
				  .vcpu = ring->vcpu,
				  .tid = ring->tid,
				  .from = ring->from };
	struct rs_error *err;

	*resumed = NULL;
	if (!at)
		return NULL;
	f = *at;
	err = rs_store_resume_stream(f->feed.out, &owner);
	if (err)
		return err;
	*at = f->next;
	if (!*at)
		program->last_resting = at;
	pthread_mutex_lock(&f->feed.lock);
	feed_begin(f, ring);
	rs_survive_stream(f);
	f->drain.last_tsc = ring->from;
	pthread_mutex_unlock(&f->feed.lock);
	*resumed = f;
	return NULL;
}

static struct rs_error *ring_add(struct rs_recorder *r, struct rs_trace_ring *ring,
				 struct rs_program_feed **out)
{
	struct rs_stream stream = { .thread = ring->thread,
				    .vm = ring->vm[0] ? ring->vm : NULL,
				    .vcpu = ring->vcpu,
				    .cpu = RS_UNKNOWN,
				    .tid = ring->tid,
				    .schema = r->program.schema,
				    .clock = &r->clock };
	struct rs_error *err = schema_refresh(r); /* names and events of the sites known so far */
	struct rs_program_feed *f;

	if (!err)
		err = ring_resume(r, ring, out);
	if (err || *out)
		return err;
	err = rs_feed_create(r, sizeof(*f), r->program.class_index, &stream, &f);
	if (err)
		return err;
	feed_begin(f, ring);
	rs_survive_stream(f);
	rs_feed_publish(&f->feed);
	*out = f;
	return NULL;
}

/* ---- records without a feed ---------------------------------------------------------------- */

/* Empties a ring. Returns the number of its records and of refused records. The ring is this
 * program's own, so its fields need no check. */
static uint64_t ring_empty(struct rs_trace_ring *ring)
{
	struct rs_sbuf_consumer consumer;
	struct rs_port port;
	uint64_t records = 0, refused;
	uint32_t tail;

	if (rs_sbuf_attach(&consumer, ring->memory.mem, ring->memory.bytes) != RS_SBUF_OK)
		return 0;
	port = rs_port_local(&consumer);
	port.poll(port.ctx, &tail, &refused);
	for (uint32_t at = port.head; at != tail;) {
		const struct rs_slot *slot = (const void *)(consumer.data + at);
		uint32_t slots = rs_slot_count(slot->head);
		uint64_t id = rs_slot_id(slot->head);

		records += id != RS_ID_FILLER && id != RS_ID_LOST;
		at += (slots ? slots : 1) * RS_SLOT_BYTES;
		if (at >= port.size)
			at = 0;
	}
	port.release(port.ctx, tail);
	refused -= ring->reported_lost;
	ring->reported_lost += refused;
	ring->reported_ahead += refused;
	return records + refused;
}

/* Counts the records of a ring without a feed as lost. */
static void ring_discard(struct rs_recorder *r, struct rs_trace_ring *ring)
{
	uint64_t lost = ring_empty(ring);

	if (lost)
		rs_store_add_unsaid(r->store, lost,
				    "a thread's events could not be recorded for lack of memory");
}

/* Reports the events of threads without a ring that were lost since the last report, as one
 * records-lost record in a separate stream. */
static void ringless_report(struct rs_recorder *r)
{
	static const struct rs_stream identity = { .thread = "threads without a ring",
						   .vcpu = RS_UNKNOWN,
						   .cpu = RS_UNKNOWN,
						   .tid = RS_UNKNOWN };
	struct rs_program *program = &r->program;
	uint64_t now = rs_clock_now(&r->clock), before = program->ringless_tsc;
	uint64_t n = program->ringless_pending + rs_trace_ringless_take();
	struct rs_drained put = { .bytes = RS_LOST_SLOTS * RS_SLOT_BYTES,
				  .lost = n,
				  .padding = RS_LOST_PADDING };
	struct rs_error *err = NULL;
	uint32_t room;
	uint8_t *at;

	program->ringless_pending = n;
	if (!n) {
		program->ringless_tsc = now;
		return;
	}
	if (!program->ringless)
		err = rs_store_add_stream(r->store, program->class_index, &identity,
					  &program->ringless);
	if (err) { /* the next call reports it */
		rs_recorder_keep_error(r, err);
		return;
	}
	rs_recorder_keep_error(r, rs_store_room(program->ringless, &at, &room));
	rs_record_write_lost(at, (uint64_t)RS_CPU_UNKNOWN << RS_CPU_SHIFT,
			     &(struct rs_lost){ n, before, now, RS_LOST_FULL }, now);
	put.first_tsc = put.last_tsc = now;
	rs_store_commit(program->ringless, &put);
	rs_recorder_keep_error(r, rs_store_flush(program->ringless, 0, 0));
	program->ringless_pending = 0;
	program->ringless_tsc = now;
	rs_recorder_keep_error(r, rs_error_create(RS_NO_MEMORY,
						  "events of threads are lost: there was no memory "
						  "for the threads' rings, or too many ended rings "
						  "waited for this recorder"));
}

/* ---- polling ------------------------------------------------------------------------------- */

/* Frees the ring of a feed, which then waits for a new ring. */
static void feed_rest(struct rs_recorder *r, struct rs_program_feed *f)
{
	pthread_mutex_lock(&f->feed.lock);
	f->progress = NULL;
	f->feed.survives = false;
	pthread_mutex_unlock(&f->feed.lock);
	rs_trace_ring_free(f->ring);
	f->ring = NULL;
	f->next = NULL;
	*r->program.last_resting = f;
	r->program.last_resting = &f->next;
}

/* Drains a ring that its thread has left for another one, and frees it. The stream continues with
 * the other ring. `at` points to the feed in the list of feeds with a ring. */
static void feed_follow(struct rs_recorder *r, struct rs_program_feed **at)
{
	struct rs_program_feed *f = *at;
	struct rs_trace_ring *old = f->ring, *heir = old->heir;
	uint64_t last_tsc;

	pthread_mutex_lock(&f->feed.lock);
	rs_recorder_keep_error(r, rs_feed_finish_ring(&f->feed, heir->from));
	last_tsc = f->drain.last_tsc;
	rs_recorder_keep_error(r, rs_store_flush(f->feed.out, 0, 0));
	*at = f->next;
	feed_begin(f, heir);
	rs_survive_stream(f);
	f->drain.last_tsc = last_tsc > heir->from ? last_tsc : heir->from;
	pthread_mutex_unlock(&f->feed.lock);
	rs_trace_ring_free(old);
}

/* Drains a ring whose thread has ended, and frees it. A ring that survives a crash is freed only
 * when all drained records are written. `at` points to the feed in the list of feeds with a
 * ring. */
static void feed_end_thread(struct rs_recorder *r, struct rs_program_feed **at)
{
	struct rs_program_feed *f = *at;

	pthread_mutex_lock(&f->feed.lock);
	rs_recorder_keep_error(r, rs_feed_finish(&f->feed));
	pthread_mutex_unlock(&f->feed.lock);
	*at = f->next;
	if (!f->progress) {
		feed_rest(r, f);
		return;
	}
	f->next = r->program.leaving;
	r->program.leaving = f;
}

/* Retires the ring of a feed that no thread puts into any more. */
static void feed_retire(struct rs_recorder *r, struct rs_program_feed **at)
{
	if ((*at)->ring->heir)
		feed_follow(r, at);
	else
		feed_end_thread(r, at);
}

/* Frees the rings of ended threads whose packets are written; at the end, all rings. */
static void rings_leave(struct rs_recorder *r, bool all)
{
	struct rs_program_feed **at = &r->program.leaving, *f;

	while ((f = *at)) {
		if (!all && rs_store_is_behind(f->feed.out)) {
			at = &f->next;
			continue;
		}
		*at = f->next;
		feed_rest(r, f);
	}
}

/*
 * Creates a feed for a new ring. If its thread has already ended, the stream becomes free
 * immediately for the next rings. A ring without a feed waits for the next poll, unless its thread
 * has ended: then freeing it may provide the missing memory.
 */
static void ring_collect(struct rs_recorder *r, struct rs_trace_ring *ring)
{
	/* Pairs with the thread's release at its end. */
	bool ended = __atomic_load_n(&ring->ended, __ATOMIC_ACQUIRE);
	struct rs_program_feed *f = NULL;
	struct rs_error *err = ring_add(r, ring, &f);

	if (!err && ended) {
		feed_retire(r, &r->program.feeds); /* the newest */
	} else if (err && ended) {
		ring_discard(r, ring);
		rs_trace_ring_free(ring);
	}
	rs_recorder_keep_error(r, err);
}

/* Creates feeds for new rings, the oldest ring first, so that it resumes the stream of the thread
 * that ended first. */
static void rings_collect(struct rs_recorder *r)
{
	struct rs_trace_ring *fresh = NULL, *next;

	for (struct rs_trace_ring *ring = rs_trace_rings(); ring; ring = ring->next) {
		if (ring->next) /* so that its removal needs no search */
			ring->next->before = ring;
		if (ring->taken || ring->inherits)
			continue;
		ring->newer = fresh;
		fresh = ring;
	}
	for (; fresh; fresh = next) {
		next = fresh->newer;
		ring_collect(r, fresh);
	}
}

/* Retires the feeds of threads that have ended. */
static void rings_retire(struct rs_recorder *r)
{
	struct rs_program_feed **at = &r->program.feeds;

	while (*at) {
		/* Pairs with the thread's release at its end. */
		if (__atomic_load_n(&(*at)->ring->ended, __ATOMIC_ACQUIRE))
			feed_retire(r, at);
		else
			at = &(*at)->next;
	}
}

/*
 * Asks threads to leave rings that do not survive a crash. Of rings for which the file has no room,
 * and of all without a file, notes in the trace that they do not survive.
 */
static void rings_secure(struct rs_recorder *r)
{
	bool any = false;

	for (struct rs_program_feed *f = r->program.feeds; f; f = f->next) {
		bool unsafe = __atomic_load_n(&f->ring->leave, __ATOMIC_RELAXED) == RS_TRACE_UNSAFE;

		if (f->progress || f->private)
			continue;
		if (r->program.file && !unsafe) {
			any = true;
			continue;
		}
		pthread_mutex_lock(&f->feed.lock);
		f->private = true;
		f->feed.hurries = false;
		pthread_mutex_unlock(&f->feed.lock);
		rs_store_note_private(r->store, rs_store_stream_index(f->feed.out),
				      r->program.no_file);
	}
	if (any && !r->program.stopping)
		rs_trace_rings_ask();
}

/* Writes the packets of a list of feeds, or waits until other threads have. */
static void feeds_write(const struct rs_program_feed *f)
{
	for (; f; f = f->next) {
		rs_store_write(f->feed.out);
		while (rs_store_is_behind(f->feed.out)) {
			rs_sleep_ns(WRITTEN_PAUSE_NS);
			rs_store_write(f->feed.out);
		}
	}
}

/*
 * Writes what threads have put before the recorder collects them, because their rings die with
 * this process. First asks the threads to leave these rings, so that they put the rest elsewhere.
 * Called before the workers poll the program.
 */
static void rings_write(struct rs_recorder *r)
{
	rings_collect(r);
	rings_secure(r);
	for (struct rs_program_feed *f = r->program.feeds; f; f = f->next) {
		pthread_mutex_lock(&f->feed.lock);
		rs_recorder_keep_error(r, rs_feed_empty(&f->feed));
		rs_recorder_keep_error(r, rs_store_flush(f->feed.out, 0, 0));
		rs_survive_finished(&f->feed);
		pthread_mutex_unlock(&f->feed.lock);
	}
	feeds_write(r->program.feeds);
	feeds_write(r->program.resting); /* of threads that have ended */
}

void rs_program_stop(struct rs_recorder *r)
{
	r->program.stopping = true;
	if (r->program.on)
		rs_trace_rings_keep();
}

void rs_program_poll(struct rs_recorder *r)
{
	/* Pairs with the release in rs_recorder_add_trace(). */
	if (!__atomic_load_n(&r->program.on, __ATOMIC_ACQUIRE))
		return;
	if (!r->program.named && rs_trace_addresses()) {
		rs_program_name_binaries(r);
		r->program.named = true;
	}
	ringless_report(r);
	rings_leave(r, false);
	rings_collect(r);
	rings_retire(r);
	rings_secure(r);
}

void rs_program_end(struct rs_recorder *r)
{
	struct rs_program *program = &r->program;
	uint64_t ringless;

	if (!program->on)
		return;
	if (rs_trace_addresses()) /* also libraries that dlopen() has loaded since */
		rs_program_name_binaries(r);
	for (const struct rs_program_feed *f = program->feeds; f; f = f->next)
		feed_end(f);
	for (struct rs_trace_ring *ring = rs_trace_rings(); ring; ring = ring->next) {
		if (!ring->taken)
			ring_discard(r, ring);
	}
	ringless = program->ringless_pending + rs_trace_ringless_take();
	if (ringless)
		rs_store_add_unsaid(r->store, ringless,
				    "there was no memory for the rings of threads");
}

void rs_program_release(struct rs_recorder *r)
{
	if (!r->program.on)
		return;
	rings_leave(r, true);
	rs_trace_file_destroy(r->program.file);
	rs_error_free(r->program.no_file);
	rs_trace_collect(false);
}

struct rs_error *rs_recorder_add_trace(struct rs_recorder *r)
{
	struct rs_program *program = &r->program;
	struct rs_error *err;

	if (!rs_trace_collect(true))
		return rs_error_create(RS_USAGE, "this program's trace is already recorded");
	err = rs_schema_create(rs_trace_provider(), &program->schema);
	/* The catalogue of another provider is added at its first event. */
	if (!err && !strcmp(rs_trace_provider(), "vmm"))
		err = rs_schema_add_catalogue(program->schema, "vmm");
	if (!err)
		err = rs_schema_add_catalogue(program->schema, "app");
	if (!err)
		err = rs_store_add_class(r->store, program->schema, &r->clock,
					 &program->class_index);
	if (err) {
		rs_trace_collect(false);
		return err;
	}
	rs_survive_begin(r);
	program->last_resting = &program->resting;
	program->ringless_tsc = rs_clock_now(&r->clock);
	if (rs_store_uuid(r->store)) /* it has a directory */
		rings_write(r);
	/* Pairs with the acquire in rs_program_poll(). */
	__atomic_store_n(&program->on, true, __ATOMIC_RELEASE);
	return NULL;
}
