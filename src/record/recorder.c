/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The recorder. A feed connects a ring to a stream of the store:
 *
 *	this program's thread rings (program.c) --+
 *	guests' rings (guests.c) -----------------+-- feed: drain --> packet --> queue --> stream_N
 *	rings of other producers -----------------+
 *
 * Feeds are added to the front of a list that only grows. A feed's lock is held while the feed is
 * drained or flushed: by its recorder's thread, and for a guest with doorbells also by the VMM's
 * thread.
 *
 * A worker drains its feeds and writes their packets while these are in the cache. While the disk
 * blocks a worker, a stand-in drains the worker's feeds, and packets wait in the store's queues. If
 * the disk is fast enough, the stand-in only checks the workers at intervals.
 */
#include <ringside/recorder.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/now.h"
#include "record/inside.h"
#include "record/port.h"
#include "store/sink.h"

#define POLL_US_DEFAULT	 1000
#define FLUSH_MS_DEFAULT 100
#define FINISH_ROUNDS	 4 /* bounds the closing drain while a producer still writes */
#define PAUSE_NS_MIN	 100000
#define URGENT_NICE	 (-20)
#define BEHIND_BYTES	 (UINT64_C(64) << 20) /* bytes of packets that wait for the disk */
#define STAND_IN_NS	 4000000 /* the stand-in drains for a worker that writes for longer */
#define FILL_WHOLE	 256u

/* The feed of another producer's ring. */
struct port_feed {
	struct rs_feed feed;
	struct rs_sbuf_consumer consumer; /* of a ring in this process's memory */
	struct rs_drain drain;
};

/* A stream that its owner fills: a feed without a drain. */
struct rs_recorder_stream {
	struct rs_feed feed;
	struct rs_layouts layouts;
	uint64_t last_stamp;
};

/* A class that the rings of other producers share. */
struct producer {
	struct producer *next;
	const struct rs_schema *schema;
	struct rs_clock clock;
	uint32_t class_index;
};

void rs_recorder_keep_error(struct rs_recorder *r, struct rs_error *err)
{
	if (!err)
		return;
	rs_store_note(r->store, err);
	pthread_mutex_lock(&r->lock);
	if (!r->error) {
		r->error = err;
		err = NULL;
	}
	pthread_mutex_unlock(&r->lock);
	rs_error_free(err);
}

/* ---- feeds -------------------------------------------------------------------------------- */

struct rs_error *rs_feed_create(struct rs_recorder *r, size_t bytes, uint32_t class_index,
				const struct rs_stream *stream, void *out)
{
	struct rs_feed *feed = calloc(1, bytes);
	struct rs_error *err;

	if (!feed)
		return rs_error_no_memory();
	err = rs_store_add_stream(r->store, class_index, stream, &feed->out);
	if (err) {
		free(feed);
		return err;
	}
	feed->recorder = r;
	pthread_mutex_init(&feed->lock, NULL);
	*(void **)out = feed;
	return NULL;
}

void rs_feed_publish(struct rs_feed *feed)
{
	struct rs_recorder *r = feed->recorder;

	pthread_mutex_lock(&r->lock);
	feed->number = r->n_feeds++;
	feed->next = r->feeds;
	/* Pairs with the acquire in worker_round(). */
	__atomic_store_n(&r->feeds, feed, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&r->lock);
}

/* Returns the number of bytes that can wait in a feed's ring. */
static uint64_t feed_capacity(const struct rs_feed *feed)
{
	const struct rs_port *port = &feed->drain->port;

	return port->holds > port->size ? port->holds : port->size;
}

/* Writes a stream's packets, or a worker's whole queue for NULL. The caller holds the lock of no
 * feed, so that the stand-in can drain them. */
static void worker_write(struct rs_worker *w, const struct rs_store_stream *stream)
{
	/* Pairs with the acquire in stand_in_main(). */
	__atomic_store_n(&w->writes_from, rs_now_ns(CLOCK_MONOTONIC), __ATOMIC_RELEASE);
	if (stream)
		rs_store_write(stream);
	else
		rs_store_write_queue(w->recorder->store, w->number);
	__atomic_store_n(&w->writes_from, 0, __ATOMIC_RELEASE);
}

static struct rs_error *feed_describe(const struct rs_feed *feed)
{
	return feed->describe ? feed->describe(feed->describe_ctx) : NULL;
}

static struct rs_error *drain_run(struct rs_feed *feed, struct rs_worker *writer, uint64_t *drained)
{
	uint64_t total = 0, most = feed_capacity(feed);
	struct rs_error *err = NULL;

	while (!feed->done && total < most) {
		enum rs_drain_status status;
		struct rs_drained got;
		uint32_t room;
		uint8_t *at;

		err = rs_error_first(err, rs_store_room(feed->out, &at, &room));
		rs_survive_finished(feed);
		if (writer && rs_store_waits(feed->out)) {
			pthread_mutex_unlock(&feed->lock);
			worker_write(writer, feed->out);
			pthread_mutex_lock(&feed->lock);
			if (feed->done)
				break;
			err = rs_error_first(err, rs_store_room(feed->out, &at, &room));
			rs_survive_finished(feed);
		}
		feed->filling = &got;
		status = rs_drain_read(feed->drain, at, room, 0, &got);
		rs_store_commit(feed->out, &got);
		rs_survive_committed(feed, &got);
		if (got.bytes) /* before the packet is written */
			err = rs_error_first(err, feed_describe(feed));
		total += got.bytes;
		if (status != RS_DRAIN_OK) {
			feed->done = true;
			rs_error_free(err);
			return rs_error_create(RS_DAMAGED, "%s", rs_drain_status_text(status));
		}
		if (!got.bytes)
			break;
	}
	*drained = total;
	return err;
}

struct rs_error *rs_feed_drain(struct rs_feed *feed, struct rs_worker *writer, uint64_t *drained)
{
	struct rs_error *err = drain_run(feed, writer, drained);

	return feed->name ? rs_error_wrap(err, "%s", feed->name) : err;
}

struct rs_error *rs_feed_empty(struct rs_feed *feed)
{
	struct rs_error *err = NULL;
	uint64_t drained = 1;

	for (int i = 0; drained && !feed->done && i < FINISH_ROUNDS; i++)
		err = rs_error_first(err, rs_feed_drain(feed, NULL, &drained));
	return err;
}

struct rs_error *rs_feed_finish_ring(struct rs_feed *feed, uint64_t now)
{
	struct rs_error *err = rs_feed_empty(feed);
	struct rs_drained got;
	uint32_t room;
	uint8_t *at;

	err = rs_error_first(err, feed_describe(feed));
	rs_error_free(rs_store_room(feed->out, &at, &room));
	rs_survive_finished(feed);
	rs_drain_end(feed->drain, at, room, now, &got);
	rs_store_commit(feed->out, &got);
	rs_survive_committed(feed, &got);
	return err;
}

struct rs_error *rs_feed_finish(struct rs_feed *feed)
{
	struct rs_error *err = NULL;

	if (!feed->done && feed->drain)
		err = rs_feed_finish_ring(feed, rs_drain_now(feed->drain->clock));
	feed->done = true;
	err = rs_error_first(err, rs_store_end_stream(feed->out));
	rs_survive_finished(feed);
	return err;
}

/* ---- other producers' rings --------------------------------------------------------------- */

/* Called under the lock. */
static struct producer *producer_find(struct rs_recorder *r, const struct rs_schema *schema,
				      const struct rs_clock *clock)
{
	struct producer *p;

	for (p = r->producers; p; p = p->next) {
		if (p->schema == schema && (!clock || p->clock.id == clock->id))
			break;
	}
	return p;
}

static struct rs_error *producer_of(struct rs_recorder *r, struct rs_schema *schema,
				    const struct rs_clock *clock, uint32_t *class_index)
{
	struct rs_error *err;
	struct producer *p;

	pthread_mutex_lock(&r->lock);
	p = producer_find(r, schema, clock);
	pthread_mutex_unlock(&r->lock);
	if (p) {
		*class_index = p->class_index;
		return NULL;
	}
	p = calloc(1, sizeof(*p));
	if (!p)
		return rs_error_no_memory();
	*p = (struct producer){ .schema = schema, .clock = *clock };
	err = rs_store_add_class(r->store, schema, clock, &p->class_index);
	if (err) {
		free(p);
		return err;
	}
	*class_index = p->class_index;
	pthread_mutex_lock(&r->lock);
	p->next = r->producers;
	r->producers = p;
	pthread_mutex_unlock(&r->lock);
	return NULL;
}

/* Describes a ring for errors. Returns NULL for lack of memory; the caller frees it. */
static char *ring_words(const struct rs_stream *stream)
{
	const char *thread = stream->thread ? stream->thread : "no name";
	char *words;
	int n = stream->cpu >= 0 ? asprintf(&words, "the ring of CPU %d", stream->cpu)
				 : asprintf(&words, "the ring of %.32s", thread);

	return n < 0 ? NULL : words;
}

/* Creates the feed of a ring. The caller adds the drain's port, which needs the feed's address. */
static struct rs_error *port_feed_create(struct rs_recorder *r, struct rs_schema *schema,
					 const struct rs_clock *clock,
					 const struct rs_stream *stream, struct port_feed **out)
{
	uint32_t class_index;
	struct rs_error *err = producer_of(r, schema, clock, &class_index);

	if (!err)
		err = rs_feed_create(r, sizeof(**out), class_index, stream, out);
	if (!err)
		(*out)->feed.name = ring_words(stream);
	return err;
}

static void port_feed_publish(struct port_feed *f, const struct rs_recorder_port *port)
{
	rs_drain_init(&f->drain, &port->port, port->schema);
	f->drain.refresh = port->refresh;
	f->drain.refresh_ctx = port->ctx;
	f->drain.clock = port->clock;
	f->feed.describe = port->describe;
	f->feed.describe_ctx = port->ctx;
	f->feed.drain = &f->drain;
	f->feed.poll = true;
	rs_feed_publish(&f->feed);
}

/* Attaches to the sbuf of a ring. The caller adds the ring's name to the error. */
static struct rs_error *ring_attach(const struct rs_recorder_ring *ring,
				    struct rs_sbuf_consumer *consumer)
{
	enum rs_sbuf_status status = rs_sbuf_attach(consumer, ring->mem, ring->bytes);

	if (status != RS_SBUF_OK)
		return rs_error_create(RS_DAMAGED, "%s", rs_sbuf_status_text(status));
	if (consumer->ele_size != RS_SLOT_BYTES)
		return rs_error_create(RS_DAMAGED, "its elements have %u bytes, not %u",
				       consumer->ele_size, RS_SLOT_BYTES);
	return NULL;
}

struct rs_error *rs_recorder_add_ring(struct rs_recorder *r, const struct rs_recorder_ring *ring)
{
	struct rs_sbuf_consumer consumer;
	struct rs_error *err = ring_attach(ring, &consumer);
	struct port_feed *f;

	if (err) {
		char *words = ring_words(ring->stream);

		err = rs_error_wrap(err, "%s", words ? words : "a ring");
		free(words);
		return err;
	}
	err = port_feed_create(r, ring->schema, ring->clock, ring->stream, &f);
	if (err)
		return err;
	f->consumer = consumer;
	port_feed_publish(f, &(struct rs_recorder_port){ .port = rs_port_local(&f->consumer),
							 .schema = ring->schema,
							 .clock = ring->clock });
	return NULL;
}

struct rs_error *rs_recorder_add_port(struct rs_recorder *r, const struct rs_recorder_port *port)
{
	struct port_feed *f;
	struct rs_error *err = port_feed_create(r, port->schema, port->clock, port->stream, &f);

	if (!err)
		port_feed_publish(f, port);
	return err;
}

struct rs_error *rs_recorder_add_stream(struct rs_recorder *r, struct rs_schema *schema,
					const struct rs_clock *clock,
					const struct rs_stream *identity,
					struct rs_recorder_stream **out)
{
	uint32_t class_index;
	struct rs_error *err = producer_of(r, schema, clock, &class_index);
	struct rs_recorder_stream *stream;

	if (!err)
		err = rs_feed_create(r, sizeof(*stream), class_index, identity, &stream);
	if (err)
		return err;
	rs_layouts_init(&stream->layouts, schema);
	rs_feed_publish(&stream->feed);
	*out = stream;
	return NULL;
}

struct rs_error *rs_recorder_put(struct rs_recorder_stream *stream, uint64_t stamp, uint64_t id,
				 const void *payload, uint32_t bytes)
{
	struct rs_feed *feed = &stream->feed;
	const struct rs_layout *layout;
	uint32_t slots = RS_RECORD_SLOTS(bytes), room;
	struct rs_drained got = { .bytes = slots * RS_SLOT_BYTES, .records = 1 };
	struct rs_error *err;
	struct rs_slot *slot;
	uint8_t *at;

	if (bytes > RS_RECORD_PAYLOAD_MAX)
		return rs_error_create(RS_USAGE, "a record of %u bytes is too long", bytes);
	pthread_mutex_lock(&feed->lock);
	err = rs_store_room(feed->out, &at, &room);
	if (err) /* from the previous packet; this record has room */
		rs_recorder_keep_error(feed->recorder, err);
	slot = memset(at, 0, got.bytes);
	slot->tsc = stamp > stream->last_stamp ? stamp : stream->last_stamp;
	slot->head = rs_record_head(id, slots) | (uint64_t)RS_CPU_UNKNOWN << RS_CPU_SHIFT;
	if (bytes)
		memcpy(at + RS_RECORD_HEAD, payload, bytes);
	if (rs_layouts_check(&stream->layouts, slot, slots, &layout) == slots) {
		got.first_tsc = got.last_tsc = stream->last_stamp = slot->tsc;
		got.padding = rs_layout_padding(layout->event, slot);
		rs_store_commit(feed->out, &got);
		err = NULL;
	} else {
		err = rs_error_create(RS_USAGE, "event 0x%llx of %u bytes is not in the schema",
				      (unsigned long long)id, bytes);
	}
	pthread_mutex_unlock(&feed->lock);
	return err;
}

struct rs_error *rs_recorder_put_view(struct rs_recorder_stream *stream, const struct rs_view *view)
{
	struct rs_feed *feed = &stream->feed;
	struct rs_error *err;

	pthread_mutex_lock(&feed->lock);
	err = rs_store_put_view(feed->out, &stream->last_stamp, view);
	pthread_mutex_unlock(&feed->lock);
	return err;
}

struct rs_error *rs_recorder_add_thread(struct rs_recorder *r, const struct rs_schema *schema,
					const struct rs_thread *thread)
{
	struct producer *p;

	pthread_mutex_lock(&r->lock);
	p = producer_find(r, schema, NULL);
	pthread_mutex_unlock(&r->lock);
	if (!p)
		return rs_error_create(RS_USAGE, "thread %d: no ring of its events is recorded",
				       thread->tid);
	return rs_store_add_thread(r->store, p->class_index, thread);
}

struct rs_error *rs_recorder_add_domain(struct rs_recorder *r, const struct rs_schema *schema,
					uint32_t dom, const char *vm)
{
	struct producer *p;

	pthread_mutex_lock(&r->lock);
	p = producer_find(r, schema, NULL);
	pthread_mutex_unlock(&r->lock);
	if (!p)
		return rs_error_create(RS_USAGE, "domain %u: no Xen events are recorded", dom);
	return rs_store_add_domain(r->store, p->class_index, dom, vm);
}

/* Adds the drift between CLOCK_MONOTONIC and the host's clock to the error of each clock that is
 * based on the former. */
static void producers_drift(struct rs_recorder *r, const struct rs_clock *host)
{
	for (struct producer *p = r->producers; p; p = p->next) {
		int64_t drift = rs_clock_monotonic_drift(host, &p->clock);
		struct rs_clock clock = p->clock;

		if (!clock.monotonic)
			continue;
		clock.error_cycles += (uint64_t)(drift < 0 ? -drift : drift);
		rs_recorder_keep_error(r, rs_store_set_clock(r->store, &clock));
	}
}

struct rs_error *rs_recorder_set_clock(struct rs_recorder *r, const struct rs_clock *clock)
{
	return rs_store_set_clock(r->store, clock);
}

struct rs_error *rs_recorder_add_binary(struct rs_recorder *r, const struct rs_trace_binary *binary)
{
	return rs_store_add_binary(r->store, binary);
}

/* ---- threads ------------------------------------------------------------------------------ */

/* Drains each feed of a worker once. w is that worker, or the stand-in for it. */
static void worker_feeds(struct rs_worker *w, uint32_t number, uint64_t now)
{
	struct rs_recorder *r = w->recorder;
	struct rs_worker *writer = w == &r->stand_in ? NULL : w;

	for (struct rs_feed *feed = __atomic_load_n(&r->feeds, __ATOMIC_ACQUIRE); feed;
	     feed = feed->next) {
		uint64_t drained = 0;

		if (feed->number % r->n_threads != number)
			continue;
		pthread_mutex_lock(&feed->lock);
		if (!feed->done && feed->poll)
			rs_recorder_keep_error(r, rs_feed_drain(feed, writer, &drained));
		if (!feed->done)
			rs_recorder_keep_error(
				r, rs_store_flush(feed->out, now, feed->hurries ? 1 : r->flush_ns));
		rs_survive_finished(feed);
		/* A feed without a ring drains nothing. It may have lost its ring while the lock
		 * was released for a write. */
		if (drained && feed->drain && drained * FILL_WHOLE > w->fill * feed_capacity(feed))
			w->fill = (uint32_t)(drained * FILL_WHOLE / feed_capacity(feed));
		pthread_mutex_unlock(&feed->lock);
	}
}

static void worker_round(struct rs_worker *w)
{
	struct rs_recorder *r = w->recorder;
	uint64_t now = rs_now_ns(CLOCK_MONOTONIC);

	if (w->number == 0) {
		rs_program_poll(r);
		rs_guests_poll(r);
	}
	worker_feeds(w, w->number, now);
	worker_write(w, NULL);
}

/*
 * Pauses before the next round. The pause halves when a ring was more than a quarter full, and
 * doubles while no ring is an eighth full. There is no pause after a ring was nearly full.
 */
static void worker_pause(struct rs_worker *w)
{
	uint64_t most = w->recorder->poll_ns;

	if (w->fill > FILL_WHOLE / 4)
		w->pause_ns /= 2;
	else if (w->fill < FILL_WHOLE / 8)
		w->pause_ns *= 2;
	if (w->pause_ns < PAUSE_NS_MIN)
		w->pause_ns = PAUSE_NS_MIN;
	if (w->pause_ns > most)
		w->pause_ns = most;
	if (w->fill > FILL_WHOLE / 4 * 3)
		return;
	rs_sleep_ns(w->pause_ns);
}

static void *worker_main(void *arg)
{
	struct rs_worker *w = arg;
	struct rs_recorder *r = w->recorder;

	/* Linux applies this to the thread alone. Without the privilege, the priority stays. */
	if (r->urgent)
		setpriority(PRIO_PROCESS, (id_t)gettid(), URGENT_NICE);
	/* Pairs with the release in rs_recorder_close(). */
	while (!__atomic_load_n(&r->stop, __ATOMIC_ACQUIRE)) {
		w->fill = 0;
		worker_round(w);
		worker_pause(w);
	}
	return NULL;
}

/* Drains for workers that the disk blocks. Checks the workers less often than it drains. */
static void *stand_in_main(void *arg)
{
	struct rs_worker *self = arg;
	struct rs_recorder *r = self->recorder;

	if (r->urgent)
		setpriority(PRIO_PROCESS, (id_t)gettid(), URGENT_NICE);
	while (!__atomic_load_n(&r->stop, __ATOMIC_ACQUIRE)) {
		uint64_t now = rs_now_ns(CLOCK_MONOTONIC);
		bool any = false;

		self->fill = 0;
		for (uint32_t i = 0; i < r->n_threads; i++) {
			/* Pairs with the release in worker_write(). */
			uint64_t from =
				__atomic_load_n(&r->workers[i].writes_from, __ATOMIC_ACQUIRE);

			if (from && now > from + STAND_IN_NS) {
				worker_feeds(self, i, now);
				any = true;
			}
		}
		if (any)
			worker_pause(self);
		else
			rs_sleep_ns(STAND_IN_NS);
	}
	return NULL;
}

static struct rs_error *worker_start(struct rs_recorder *r, struct rs_worker *w, uint32_t number,
				     void *(*run)(void *))
{
	int failed;

	*w = (struct rs_worker){ .recorder = r, .number = number, .pause_ns = PAUSE_NS_MIN };
	failed = pthread_create(&w->thread, NULL, run, w);
	w->runs = !failed;
	return failed ? rs_error_errno(failed, "cannot start a recorder thread") : NULL;
}

static void workers_stop(struct rs_recorder *r)
{
	/* Pairs with the acquire in worker_main(). */
	__atomic_store_n(&r->stop, true, __ATOMIC_RELEASE);
	for (uint32_t i = 0; i < r->n_threads; i++) {
		if (r->workers[i].runs)
			pthread_join(r->workers[i].thread, NULL);
	}
	if (r->stand_in.runs)
		pthread_join(r->stand_in.thread, NULL);
}

static struct rs_error *store_create(const struct rs_recorder_options *options, uint32_t threads,
				     struct rs_store **store)
{
	struct rs_store_keep keep = { .age_ns = options->keep_ns, .bytes = options->keep_bytes };
	struct rs_error *err;

	if (!options->directory)
		return rs_store_create_keeping(&keep, &options->clock, options->command, store);
	err = rs_store_create(options->directory, &options->clock, options->command, store);
	if (err)
		return err;
	err = rs_store_set_behind(*store, threads, BEHIND_BYTES, options->urgent);
	if (err)
		rs_error_free(rs_store_close(*store, NULL, NULL));
	return err;
}

struct rs_error *rs_recorder_create(const struct rs_recorder_options *options,
				    struct rs_recorder **out)
{
	struct rs_recorder *r = calloc(1, sizeof(*r));
	uint32_t threads = options->threads ? options->threads : 1;
	struct rs_error *err;

	if (!r)
		return rs_error_no_memory();
	r->clock = options->clock;
	r->poll_ns = (uint64_t)(options->poll_us ? options->poll_us : POLL_US_DEFAULT) * 1000;
	r->urgent = options->urgent;
	r->flush_ns =
		(uint64_t)(options->flush_ms ? options->flush_ms : FLUSH_MS_DEFAULT) * 1000000;
	r->n_threads = threads < RS_RECORDER_THREADS_MAX ? threads : RS_RECORDER_THREADS_MAX;
	pthread_mutex_init(&r->lock, NULL);
	pthread_mutex_init(&r->guests_lock, NULL);
	pthread_mutex_init(&r->program.schema_lock, NULL);
	err = store_create(options, r->n_threads, &r->store);
	if (err) {
		free(r);
		return err;
	}
	for (uint32_t i = 0; !err && i < r->n_threads; i++)
		err = worker_start(r, &r->workers[i], i, worker_main);
	if (!err &&
	    /* a recorder that keeps its packets in memory never waits for the disk */
	    options->directory)
		err = worker_start(r, &r->stand_in, 0, stand_in_main);
	if (err) {
		rs_error_free(rs_recorder_close(r, NULL));
		return err;
	}
	*out = r;
	return NULL;
}

/* ---- closing ------------------------------------------------------------------------------ */

static void finish_all(struct rs_recorder *r)
{
	rs_program_poll(r);
	rs_guests_poll(r);
	for (struct rs_feed *feed = __atomic_load_n(&r->feeds, __ATOMIC_ACQUIRE); feed;
	     feed = feed->next) {
		pthread_mutex_lock(&feed->lock);
		rs_recorder_keep_error(r, rs_feed_finish(feed));
		pthread_mutex_unlock(&feed->lock);
	}
}

static void recorder_free(struct rs_recorder *r)
{
	struct rs_feed *feed, *next_feed;
	struct producer *producer, *next_producer;

	for (feed = r->feeds; feed; feed = next_feed) {
		next_feed = feed->next;
		pthread_mutex_destroy(&feed->lock);
		free(feed->name);
		free(feed);
	}
	rs_guests_free(r);
	for (producer = r->producers; producer; producer = next_producer) {
		next_producer = producer->next;
		free(producer);
	}
	rs_schema_destroy(r->program.schema);
	pthread_mutex_destroy(&r->lock);
	pthread_mutex_destroy(&r->program.schema_lock);
	free(r);
}

/* ---- packets kept in memory --------------------------------------------------------------- */

static struct rs_recorder_summary summary_of(const struct rs_store_summary *sum)
{
	return (struct rs_recorder_summary){ .records = sum->records,
					     .lost = sum->lost,
					     .bytes = sum->bytes,
					     .streams = sum->streams };
}

void rs_recorder_progress(const struct rs_recorder *r, struct rs_recorder_summary *summary)
{
	struct rs_store_summary sum;

	rs_store_progress(r->store, &sum);
	*summary = summary_of(&sum);
}

/* Drains the rings, and finishes the packets that are not yet full. */
static void finish_packets(struct rs_recorder *r)
{
	for (struct rs_feed *feed = __atomic_load_n(&r->feeds, __ATOMIC_ACQUIRE); feed;
	     feed = feed->next) {
		uint64_t drained;

		pthread_mutex_lock(&feed->lock);
		if (!feed->done && feed->poll)
			rs_recorder_keep_error(r, rs_feed_drain(feed, NULL, &drained));
		if (!feed->done)
			rs_recorder_keep_error(r, rs_store_flush(feed->out, 0, 0));
		rs_survive_finished(feed);
		pthread_mutex_unlock(&feed->lock);
	}
}

struct rs_error *rs_recorder_write_kept(struct rs_recorder *r, const char *directory,
					const char *why, struct rs_recorder_kept *kept)
{
	struct rs_clock clock = r->clock;
	bool refined = rs_clock_refine(&clock);
	struct rs_store_kept got;
	struct rs_error *err;
	int64_t at_ns;

	finish_packets(r);
	producers_drift(r, &clock);
	at_ns = rs_clock_ns(&clock, rs_clock_now(&clock));
	err = rs_store_write_kept(r->store, directory, why, at_ns, refined ? &clock : NULL, &got);
	if (!err)
		*kept = (struct rs_recorder_kept){ .sum = summary_of(&got.sum),
						   .from_ns = got.whole_from_ns,
						   .at_ns = at_ns,
						   .short_of_bytes = got.short_of_bytes };
	return err;
}

struct rs_error *rs_recorder_close(struct rs_recorder *r, struct rs_recorder_summary *summary)
{
	struct rs_store_summary sum = { 0 };
	struct rs_error *err, *store_err;
	uint64_t silent;
	bool refined;

	if (!r)
		return NULL;
	workers_stop(r);
	rs_program_stop(r);
	finish_all(r);
	silent = rs_guests_end(r);
	rs_program_end(r);
	refined = rs_clock_refine(&r->clock);
	producers_drift(r, &r->clock);
	store_err = rs_store_close(r->store, refined ? &r->clock : NULL, &sum);
	rs_program_release(r);
	if (summary) {
		*summary = summary_of(&sum);
		summary->silent_guests = silent;
	}
	err = r->error;
	recorder_free(r);
	return rs_error_first(err, store_err);
}
