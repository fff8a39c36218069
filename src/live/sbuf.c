/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads other programs' rings as a live source, without a recorder. */
#include "live/sbuf.h"

#include <stdlib.h>
#include <time.h>

#include "base/now.h"
#include "source/ring.h"

#define POLL_NS INT64_C(10000000) /* between two polls for new rings */

/* A path, with the ring that is read, and its successor if there is one. */
struct feed {
	struct rs_sbuf_reading *of;
	struct rs_stream stream;
	struct rs_drain drain, next;
	bool has, has_next;
};

struct rs_sbuf_reading {
	struct rs_sbuf_recording *rings;
	const struct rs_clock *clock;
	struct feed *feeds;
	uint32_t n;
	bool open, shut;
	int64_t poll_ns; /* when to poll for rings again */
};

/* ---- new rings ------------------------------------------------------------------------------ */

static void drain_set(struct rs_drain *drain, const struct rs_recorder_port *port)
{
	rs_drain_init(drain, &port->port, port->schema);
	drain->refresh = port->refresh;
	drain->refresh_ctx = port->ctx;
}

static struct rs_error *ring_receive(void *ctx, uint32_t path, const struct rs_recorder_port *port)
{
	struct feed *feed = &((struct rs_sbuf_reading *)ctx)->feeds[path];

	drain_set(feed->has ? &feed->next : &feed->drain, port);
	feed->has_next = feed->has;
	feed->has = true;
	return NULL;
}

static struct rs_error *rings_poll(struct rs_sbuf_reading *reading)
{
	int64_t now = rs_now_ns(CLOCK_MONOTONIC);

	if (!reading->open || reading->shut || now < reading->poll_ns)
		return NULL;
	reading->poll_ns = now + POLL_NS;
	return rs_sbuf_recording_poll(reading->rings);
}

/* Returns whether the ring has been read completely. */
static bool is_empty(const struct rs_drain *drain)
{
	const struct rs_port *port = &drain->port;
	uint64_t refused;
	uint32_t tail;

	return !port->poll(port->ctx, &tail, &refused) || tail == port->head;
}

static struct rs_error *feed_drain(void *ctx, struct rs_drain **drain)
{
	struct feed *feed = ctx;
	struct rs_error *err = NULL;

	if (feed == feed->of->feeds) /* one poll for all of them */
		err = rings_poll(feed->of);
	if (feed->has_next && is_empty(&feed->drain)) {
		feed->drain = feed->next;
		feed->has_next = false;
	}
	*drain = feed->has ? &feed->drain : NULL;
	return err;
}

static bool feed_ended(void *ctx)
{
	const struct feed *feed = ctx;

	return feed->of->shut && !feed->has_next;
}

/* ---- as a source ---------------------------------------------------------------------------- */

struct rs_error *rs_sbuf_reading_source(struct rs_sbuf_reading *reading, struct rs_source **out)
{
	struct rs_source **sources = calloc(reading->n, sizeof(struct rs_source *));
	struct rs_error *err = sources ? NULL : rs_error_no_memory();
	uint32_t n = 0;

	while (!err && n < reading->n) {
		const struct rs_ring_feed feed = { .ctx = &reading->feeds[n],
						   .drain = feed_drain,
						   .ended = feed_ended };

		err = rs_ring_source_create(&feed, &reading->feeds[n].stream, &sources[n]);
		n += !err;
	}
	if (!err)
		err = rs_merge_create(sources, n, out);
	for (uint32_t i = 0; err && i < n; i++)
		rs_source_destroy(sources[i]);
	free(sources);
	return err;
}

struct rs_error *rs_sbuf_reading_gate(struct rs_sbuf_reading *reading, bool open)
{
	struct rs_error *err;

	if (open) {
		err = rs_sbuf_recording_attach_to(
			reading->rings, &(struct rs_sbuf_receiver){ reading, ring_receive },
			reading->clock);
		reading->open = true;
		return err ? err : rs_sbuf_recording_gate(reading->rings, true);
	}
	if (!reading->open || reading->shut)
		return NULL;
	reading->shut = true;
	return rs_sbuf_recording_gate(reading->rings, false);
}

/* ---- creation ------------------------------------------------------------------------------- */

static struct rs_error *feeds_make(struct rs_sbuf_reading *reading)
{
	struct rs_sbuf_result result;

	while (rs_sbuf_recording_result(reading->rings, reading->n, &result))
		reading->n++;
	reading->feeds = calloc(reading->n + 1, sizeof(*reading->feeds));
	if (!reading->feeds)
		return rs_error_no_memory();
	for (uint32_t i = 0; rs_sbuf_recording_result(reading->rings, i, &result); i++) {
		struct feed *feed = &reading->feeds[i];

		feed->of = reading;
		feed->stream =
			(struct rs_stream){ .index = i,
					    .thread = result.name,
					    .vcpu = RS_UNKNOWN,
					    .cpu = RS_UNKNOWN,
					    .tid = RS_UNKNOWN,
					    .dom = RS_UNKNOWN,
					    .schema = rs_sbuf_recording_schema(reading->rings),
					    .clock = reading->clock };
	}
	return NULL;
}

struct rs_error *rs_sbuf_reading_create(const struct rs_sbuf_options *options,
					const struct rs_clock *host, struct rs_sbuf_reading **out)
{
	struct rs_sbuf_reading *reading = calloc(1, sizeof(*reading));
	struct rs_error *err;

	if (!reading)
		return rs_error_no_memory();
	reading->clock = host;
	err = rs_sbuf_recording_create(options, &reading->rings);
	if (!err)
		err = feeds_make(reading);
	if (err)
		rs_sbuf_reading_destroy(reading);
	else
		*out = reading;
	return err;
}

void rs_sbuf_reading_destroy(struct rs_sbuf_reading *reading)
{
	if (!reading)
		return;
	rs_sbuf_recording_destroy(reading->rings);
	free(reading->feeds);
	free(reading);
}

const struct rs_stream *rs_sbuf_reading_stream(const struct rs_sbuf_reading *reading, uint32_t i)
{
	return i < reading->n ? &reading->feeds[i].stream : NULL;
}

const struct rs_sbuf_recording *rs_sbuf_reading_rings(const struct rs_sbuf_reading *reading)
{
	return reading->rings;
}
