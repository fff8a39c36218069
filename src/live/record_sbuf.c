/* SPDX-License-Identifier: BSD-2-Clause */
/* Records the rings of ACRN's layout that other programs write. */
#include "live/record_sbuf.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "live/ring.h"
#include "record/port.h"
#include "ring/shared.h"
#include "import/acrn/trace.h"

#define PATIENCE_MS 1000 /* wait for borrowers that are writing */

/* One of a path's rings, and its stream. */
struct ring {
	struct ring *before;
	struct rs_live_ring *live;
	struct rs_stream stream;
};

struct place {
	char *path, *name; /* name: its last part */
	struct ring *ring; /* the newest ring; NULL: none yet */
	uint32_t rings;
	uint64_t skipped;
	struct rs_error *error; /* of the last poll */
};

struct rs_sbuf_recording {
	struct place *places;
	uint32_t n;
	bool keep, attached;
	struct rs_lender *lender; /* NULL: no rings are lent */
	struct rs_sbuf_receiver receiver;
	const struct rs_clock *clock;
	struct rs_schema *schema;
	pthread_mutex_t refresh_lock; /* several recorder threads may find new ids concurrently */
	uint32_t defined;
	struct rs_log_epoch epoch;
};

/* ---- creation ------------------------------------------------------------------------------- */

static struct rs_error *place_fill(struct place *place, const char *name)
{
	struct rs_error *err = rs_shared_path(name, false, &place->path);
	const char *slash = err ? NULL : strrchr(place->path, '/');

	if (err)
		return err;
	place->name = strdup(slash && slash[1] ? slash + 1 : place->path);
	return place->name ? NULL : rs_error_no_memory();
}

static struct rs_error *places_fill(struct rs_sbuf_recording *r,
				    const struct rs_sbuf_options *options)
{
	uint32_t n = options->create ? options->create : options->n_paths;

	r->places = calloc(n + 1, sizeof(*r->places));
	if (!r->places)
		return rs_error_no_memory();
	while (r->n < n) {
		struct place *place = &r->places[r->n];
		struct rs_error *err =
			place_fill(place, options->create ? rs_lender_path(r->lender, r->n)
							  : options->paths[r->n]);

		for (uint32_t i = 0; !err && i < r->n; i++) {
			if (!strcmp(place->path, r->places[i].path))
				err = rs_error_create(RS_USAGE, "%s is given twice", place->path);
		}
		r->n++; /* counted even if it failed, since it may be partly initialised */
		if (err)
			return err;
	}
	return NULL;
}

struct rs_error *rs_sbuf_recording_create(const struct rs_sbuf_options *options,
					  struct rs_sbuf_recording **out)
{
	struct rs_sbuf_recording *r = calloc(1, sizeof(*r));
	struct rs_error *err;

	if (!r)
		return rs_error_no_memory();
	r->keep = options->keep;
	pthread_mutex_init(&r->refresh_lock, NULL);
	err = rs_schema_create("acrn", &r->schema);
	if (!err)
		err = rs_schema_add_catalogue(r->schema, "acrn");
	if (!err && options->create)
		err = rs_lender_create(&(struct rs_lend_options){ .path = options->paths[0],
								  .n = options->create,
								  .ring_bytes = options->ring_bytes,
								  .keep = options->keep },
				       &r->lender);
	if (!err)
		err = places_fill(r, options);
	if (err)
		rs_sbuf_recording_destroy(r);
	else
		*out = r;
	return err;
}

void rs_sbuf_recording_destroy(struct rs_sbuf_recording *r)
{
	if (!r)
		return;
	for (uint32_t i = 0; i < r->n; i++) {
		struct place *place = &r->places[i];

		while (place->ring) {
			struct ring *before = place->ring->before;

			rs_live_ring_close(place->ring->live);
			free(place->ring);
			place->ring = before;
		}
		rs_error_free(place->error);
		free(place->path);
		free(place->name);
	}
	rs_lender_destroy(r->lender);
	free(r->places);
	rs_schema_destroy(r->schema);
	pthread_mutex_destroy(&r->refresh_lock);
	free(r);
}

/* ---- new rings ------------------------------------------------------------------------------ */

/* Adds an event for an id that the catalogue lacks, as the reader of ACRN's files does. Returns
 * whether the schema has the event. */
static bool refresh(void *ctx, uint64_t head)
{
	struct rs_sbuf_recording *r = ctx;
	bool known = true;

	if (!rs_acrn_is_record(head))
		return false;
	pthread_mutex_lock(&r->refresh_lock);
	if (!rs_schema_find(r->schema, rs_slot_id(head))) {
		known = r->defined < RS_ACRN_RAW_MAX && rs_acrn_declare_raw(r->schema, head);
		r->defined += known;
	}
	pthread_mutex_unlock(&r->refresh_lock);
	return known;
}

static struct rs_error *add(struct rs_sbuf_recording *r, struct place *place,
			    struct rs_live_ring *live)
{
	struct ring *ring = calloc(1, sizeof(*ring));
	struct rs_error *err;

	if (!ring)
		return rs_error_no_memory();
	*ring = (struct ring){ .before = place->ring,
			       .live = live,
			       .stream = { .thread = place->name,
					   .vcpu = RS_UNKNOWN,
					   .cpu = RS_UNKNOWN,
					   .tid = RS_UNKNOWN,
					   .dom = RS_UNKNOWN,
					   .schema = r->schema,
					   .clock = r->clock } };
	err = r->receiver.receive(r->receiver.ctx, (uint32_t)(place - r->places),
				  &(struct rs_recorder_port){ .port = rs_live_ring_port(live),
							      .schema = r->schema,
							      .clock = r->clock,
							      .stream = &ring->stream,
							      .refresh = refresh,
							      .ctx = r });
	if (err) {
		free(ring);
		return err;
	}
	if (!place->rings++)
		place->skipped = rs_live_ring_skipped(live);
	place->ring = ring;
	return NULL;
}

/* Returns whether the ring of a path is still valid. */
static bool is_sound(const struct place *place)
{
	return place->ring && rs_live_ring_state(place->ring->live) == RS_LIVE_RUNS &&
	       !rs_live_ring_is_replaced(place->ring->live, place->path);
}

static struct rs_error *place_poll(struct rs_sbuf_recording *r, struct place *place)
{
	struct rs_live_ring *live = NULL;
	struct rs_error *err;

	if (is_sound(place))
		return NULL;
	rs_error_free(place->error);
	place->error = NULL;
	if (place->rings == RS_SBUF_RESTARTS_MAX) {
		place->error = rs_error_create(
			RS_DAMAGED, "%s: its ring was restarted %u times, and is no longer read",
			place->path, RS_SBUF_RESTARTS_MAX);
		return NULL;
	}
	/* Only a ring that existed at the start can contain earlier records. */
	place->error = rs_live_ring_open(place->path, r->keep || r->attached,
					 place->ring ? place->ring->live : NULL, &r->epoch, &live);
	if (!live)
		return NULL;
	err = add(r, place, live);
	if (err)
		rs_live_ring_close(live);
	return err;
}

struct rs_error *rs_sbuf_recording_poll(struct rs_sbuf_recording *r)
{
	struct rs_error *err = NULL;

	for (uint32_t i = 0; !err && i < r->n; i++)
		err = place_poll(r, &r->places[i]);
	return err;
}

static struct rs_error *to_recorder(void *ctx, uint32_t path, const struct rs_recorder_port *port)
{
	(void)path;
	return rs_recorder_add_port(ctx, port);
}

struct rs_error *rs_sbuf_recording_attach(struct rs_sbuf_recording *r, struct rs_recorder *recorder,
					  const struct rs_clock *host)
{
	return rs_sbuf_recording_attach_to(r, &(struct rs_sbuf_receiver){ recorder, to_recorder },
					   host);
}

struct rs_error *rs_sbuf_recording_attach_to(struct rs_sbuf_recording *r,
					     const struct rs_sbuf_receiver *receiver,
					     const struct rs_clock *host)
{
	struct rs_error *err;

	r->receiver = *receiver;
	r->clock = host;
	r->epoch = (struct rs_log_epoch){ .clock = host, .from = rs_clock_now(host) };
	err = rs_sbuf_recording_poll(r);
	r->attached = true;
	return err;
}

const struct rs_schema *rs_sbuf_recording_schema(const struct rs_sbuf_recording *r)
{
	return r->schema;
}

struct rs_error *rs_sbuf_recording_gate(struct rs_sbuf_recording *r, bool open)
{
	struct rs_error *err = NULL;

	if (open)
		return r->lender ? rs_lender_lend(r->lender) : NULL;
	if (r->lender)
		err = rs_lender_reclaim(r->lender, PATIENCE_MS);
	/* rings that appeared since the last poll */
	return rs_error_first(err, rs_sbuf_recording_poll(r));
}

/* ---- results -------------------------------------------------------------------------------- */

static const char *state_text(const struct place *place)
{
	if (!place->ring)
		return NULL;
	switch (rs_live_ring_state(place->ring->live)) {
	case RS_LIVE_RUNS:
		return NULL;
	case RS_LIVE_ANEW:
		return "its header is no longer a ring's, or another reader consumed from "
		       "it";
	case RS_LIVE_CUT:
		return "the file was truncated";
	case RS_LIVE_FAILED:
		return "it can no longer be read";
	}
	return NULL;
}

bool rs_sbuf_recording_result(const struct rs_sbuf_recording *r, uint32_t i,
			      struct rs_sbuf_result *result)
{
	const struct place *place;

	if (i >= r->n)
		return false;
	place = &r->places[i];
	*result = (struct rs_sbuf_result){
		.path = place->path,
		.name = place->name,
		.runs = place->ring && rs_live_ring_state(place->ring->live) == RS_LIVE_RUNS,
		.rings = place->rings,
		.is_log = place->ring && rs_live_ring_log(place->ring->live),
		.skipped = place->skipped,
		.error = place->error ? rs_error_text(place->error) : state_text(place)
	};
	return true;
}

struct rs_sbuf_lines rs_sbuf_recording_lines(const struct rs_sbuf_recording *r)
{
	struct rs_sbuf_lines sum = { .moves = __atomic_load_n(&r->epoch.moves, __ATOMIC_RELAXED) };
	uint64_t first = UINT64_MAX, last = 0, n;

	for (uint32_t i = 0; i < r->n; i++) {
		for (const struct ring *ring = r->places[i].ring; ring; ring = ring->before) {
			const struct rs_log_port *log = rs_live_ring_log(ring->live);

			if (!log || !log->lines || log->last)
				continue;
			sum.lines += log->lines;
			first = log->first_seq < first ? log->first_seq : first;
			last = log->last_seq > last ? log->last_seq : last;
		}
	}
	n = last >= first ? last - first + 1 : 0;
	sum.missing = n > sum.lines ? n - sum.lines : 0;
	return sum;
}
