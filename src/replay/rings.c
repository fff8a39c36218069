/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the rings of a replayed guest, reads them, and gives their records the times of the
 * replay. */
#include "replay/rings.h"

#include <stdlib.h>
#include <string.h>

#include "base/vector.h"
#include "host/guest.h"
#include "host/guest_ram.h"
#include "replay/ram.h"
#include "replay/rr_log.h"
#include "source/ring.h"
#include <ringside/guest_abi.h>

#define LOOK_NS	     UINT64_C(1000000) /* guest time before the first search; then doubles */
#define PERIOD_MIN   4096u	       /* instructions between two reads */
#define BUFFER_BYTES (64u << 10)
#define VIEWS	     (BUFFER_BYTES / RS_SLOT_BYTES)

/* From an instruction on, up to the next segment, the guest's TSC counts instructions. */
struct segment {
	uint64_t icount, tsc;
};

struct rs_replay_rings {
	const struct rs_recording *recording;
	struct rs_session *session;
	struct rs_memory *memory; /* memory of the machine that is read now */
	struct rs_host_guest *guest;
	struct rs_stream stream;
	struct rs_layouts layouts;
	uint64_t area; /* guest-physical */
	bool is_set_up;
	char *refused, *broken;
	/* Instructions after which the machine may have slept, ascending. */
	uint64_t *sleeps;
	size_t n_sleeps, sleeps_room, sleep;
	struct segment *segments;
	size_t n_segments, segments_room, segment;
	bool exact;
	/* State of the present stop. */
	uint64_t icount, period, read_at;
	bool ended, end_reported;
	uint64_t last_ns; /* state of the previous stop */
	uint64_t from_ns, to_ns, records;
	_Alignas(64) uint8_t buffer[BUFFER_BYTES];
	struct rs_view views[VIEWS];
};

/* ---- guest memory ------------------------------------------------------------------------- */

static bool guest_read(void *ctx, uint64_t gpa, void *to, size_t bytes)
{
	struct rs_replay_rings *r = ctx;

	return rs_memory_read_phys(r->memory, gpa, to, bytes) == RS_FAULT_NONE;
}

/* Rejects writing a ring's head, which a replay must not do. */
static bool guest_write(void *ctx, uint64_t gpa, const void *from, size_t bytes)
{
	(void)ctx;
	(void)gpa;
	(void)from;
	(void)bytes;
	return true;
}

/* ---- finding the area --------------------------------------------------------------------- */

static struct rs_error *guest_create(struct rs_replay_rings *r)
{
	const struct rs_host_options options = {
		.vm = r->stream.vm,
		.memory = { r, guest_read, guest_write },
		.clock = r->stream.clock,
		.vcpus = 1, /* a recording's machine has one piece of RAM */
	};
	struct rs_error *err = rs_host_guest_create(&options, &r->guest);

	if (!err)
		rs_host_set_area(r->guest, r->area);
	return err;
}

/* Returns whether an area has this address as its own. Older runtimes do not store it. */
static bool area_is_at(struct rs_replay_rings *r, uint64_t gpa)
{
	struct rs_guest_area area;

	return guest_read(r, gpa, &area, offsetof(struct rs_guest_area, ring)) &&
	       area.magic == RS_GUEST_AREA_MAGIC && (!area.self || area.self == gpa);
}

/* Tries a page that begins with an area's magic. RAM begins at offset 0 of the file. */
static void place_found(void *ctx, const struct rs_guest_place *place)
{
	struct rs_replay_rings *r = ctx;
	bool there = false;
	struct rs_error *err;

	if (r->guest || !area_is_at(r, place->at))
		return;
	r->area = place->at;
	err = guest_create(r);
	if (!err)
		err = rs_host_guest_read_area(r->guest, &there);
	if (!err && there)
		return;
	rs_host_guest_destroy(r->guest);
	r->guest = NULL;
	free(r->refused);
	r->refused = err ? strdup(rs_error_text(err)) : NULL;
	rs_error_free(err);
}

/* Searches for the area from time to time, up to the end. */
static struct rs_error *area_search(struct rs_replay_rings *r,
				    const struct rs_replay_options *options,
				    struct rs_session *session, struct rs_guest_ram *ram)
{
	struct rs_session_run run = { .icount = LOOK_NS >> r->recording->shift,
				      .stop = options->stop };
	struct rs_error *err = NULL;
	bool ended = false;

	while (!err && !r->guest && !ended) {
		err = rs_session_run(session, &run);
		ended = !run.at_target;
		if (!err)
			err = rs_guest_ram_scan(ram, place_found, r);
		run.icount *= 2;
	}
	return err;
}

static struct rs_error *find_area(struct rs_replay_rings *r,
				  const struct rs_replay_options *options,
				  struct rs_session *session)
{
	const struct rs_session_ram ram = rs_session_ram(session);
	struct rs_memory memory = { 0 };
	struct rs_guest_ram file;
	struct rs_error *err = rs_guest_ram_open_fd(ram.fd, "guest RAM", &file);

	if (err)
		return err;
	rs_replay_ram_set(&memory, ram.mem, ram.bytes);
	r->memory = &memory;
	err = area_search(r, options, session, &file);
	r->memory = NULL;
	rs_guest_ram_close(&file);
	return err;
}

/* Reads from the log where the machine may sleep: kinds of checkpoints of QEMU's
 * softmmu/icount.c. */
static struct rs_error *sleeps_read(struct rs_replay_rings *r)
{
	struct rs_rr_event event;
	struct rs_rr_log log;
	uint8_t *bytes = NULL;
	size_t size = 0;
	struct rs_error *err = rs_rr_log_load(r->recording->files[RS_RECORDING_LOG],
					      r->recording->folder.path, &bytes, &size);

	if (!err)
		err = rs_rr_log_begin(bytes, size, &log);
	while (!err && rs_rr_log_next(&log, &event) == RS_RR_EVENT) {
		if (!rs_rr_kind_may_sleep(event.kind) ||
		    (r->n_sleeps && r->sleeps[r->n_sleeps - 1] >= event.icount))
			continue;
		if (!RS_VECTOR_RESERVE(r->sleeps, r->sleeps_room, r->n_sleeps + 1))
			err = rs_error_no_memory();
		else
			r->sleeps[r->n_sleeps++] = event.icount;
	}
	free(bytes);
	return err;
}

struct rs_error *rs_replay_rings_find(const struct rs_recording *recording,
				      const struct rs_replay_options *options,
				      const struct rs_clock *clock, const char *vm,
				      struct rs_replay_rings **rings)
{
	const struct rs_session_options how = { .slow = options->slow };
	struct rs_replay_rings *r = aligned_alloc(64, (sizeof(*r) + 63) & ~(size_t)63);
	struct rs_session *session = NULL;
	struct rs_error *err;

	if (!r)
		return rs_error_no_memory();
	memset(r, 0, sizeof(*r));
	r->recording = recording;
	r->stream = (struct rs_stream){ .vm = vm, .clock = clock };
	r->period = PERIOD_MIN;
	err = sleeps_read(r);
	if (!err)
		err = rs_session_open(recording, &how, &session);
	if (!err)
		err = find_area(r, options, session);
	rs_session_close(session);
	if (!err && !r->guest && r->refused)
		err = rs_error_create(RS_ABSENT, "its trace area was rejected: %s", r->refused);
	else if (!err && !r->guest)
		err = rs_error_create(RS_ABSENT, "no trace area is in its RAM (does it use "
						 "ringside/guest.h?)");
	if (err) {
		rs_replay_rings_destroy(r);
		return rs_error_wrap(err, "the guest's rings");
	}
	r->stream = *rs_host_guest_stream(r->guest, 0);
	r->stream.clock = clock;
	rs_layouts_init(&r->layouts, r->stream.schema);
	*rings = r;
	return NULL;
}

void rs_replay_rings_destroy(struct rs_replay_rings *r)
{
	if (!r)
		return;
	rs_host_guest_destroy(r->guest);
	free(r->refused);
	free(r->broken);
	free(r->sleeps);
	free(r->segments);
	free(r);
}

const struct rs_stream *rs_replay_rings_stream(const struct rs_replay_rings *r)
{
	return &r->stream;
}

/* ---- time --------------------------------------------------------------------------------- */

/* Adds a segment that begins at the present instruction, if QEMU provides the TSC. */
static struct rs_error *segment_add(struct rs_replay_rings *r)
{
	struct segment segment = { .icount = r->icount };
	bool known = false;
	struct rs_error *err = rs_session_tsc(r->session, &segment.tsc, &known);

	r->exact &= known;
	if (err || !r->exact)
		return err;
	if (!RS_VECTOR_RESERVE(r->segments, r->segments_room, r->n_segments + 1))
		return rs_error_no_memory();
	r->segments[r->n_segments++] = segment;
	return NULL;
}

/* Returns the upper bound of stamps at the present instruction. */
static uint64_t now_tsc(const struct rs_replay_rings *r)
{
	const struct segment *last = &r->segments[r->n_segments - 1];

	/* At the end, only the last possible stop is known. */
	return last->tsc + ((r->icount - last->icount + 1) << r->recording->shift) +
	       (r->ended ? RS_STAMP_SLACK : 0);
}

/* Returns the TSC at the beginning of a segment, before the instruction after the sleep. */
static uint64_t segment_tsc(const struct rs_replay_rings *r, size_t i)
{
	uint64_t step = UINT64_C(1) << r->recording->shift;

	return r->segments[i].tsc > step ? r->segments[i].tsc - step : 0;
}

/* Converts a stamp, which must not be later than the present, to the replay's time. Stamps arrive
 * almost in order. */
static uint64_t stamp_ns(void *ctx, uint64_t tsc)
{
	struct rs_replay_rings *r = ctx;
	const uint64_t now_ns = r->icount << r->recording->shift;
	const struct segment *in;
	uint64_t ns = now_ns;

	if (r->exact) {
		while (r->segment && segment_tsc(r, r->segment) > tsc)
			r->segment--;
		while (r->segment + 1 < r->n_segments && segment_tsc(r, r->segment + 1) <= tsc)
			r->segment++;
		in = &r->segments[r->segment];
		ns = (in->icount << r->recording->shift) + (tsc - in->tsc);
	}
	return ns < now_ns ? ns : now_ns;
}

/* ---- stops -------------------------------------------------------------------------------- */

struct rs_error *rs_replay_rings_begin(struct rs_replay_rings *r, struct rs_session *session,
				       struct rs_memory *memory, uint64_t from, uint64_t to)
{
	const uint32_t shift = r->recording->shift;
	struct rs_error *err;

	r->session = session;
	r->memory = memory;
	r->from_ns = from << shift;
	r->to_ns = to > UINT64_MAX >> shift ? UINT64_MAX : to << shift;
	r->exact = true;
	err = rs_session_icount(session, &r->icount);
	r->read_at = r->icount + r->period;
	return err ? err : segment_add(r);
}

uint64_t rs_replay_rings_next(const struct rs_replay_rings *r)
{
	uint64_t next = r->broken ? UINT64_MAX : r->read_at;

	if (!r->broken && r->exact && r->sleep < r->n_sleeps && r->sleeps[r->sleep] + 1 < next)
		next = r->sleeps[r->sleep] + 1;
	return next;
}

struct rs_error *rs_replay_rings_stopped(struct rs_replay_rings *r, uint64_t icount, bool ended)
{
	bool slept = false;

	r->ended = ended;
	r->last_ns = r->icount << r->recording->shift;
	if (icount > r->icount)
		r->icount = icount;
	r->read_at = r->icount + r->period;
	for (; r->sleep < r->n_sleeps && r->sleeps[r->sleep] < r->icount; r->sleep++)
		slept = true;
	return slept && r->exact && !ended ? segment_add(r) : NULL;
}

/* ---- reading ------------------------------------------------------------------------------ */

static uint32_t distance(uint32_t from, uint32_t to, uint32_t size)
{
	return to >= from ? to - from : to - from + size;
}

/* Skips records that the guest has dropped unread, and counts them. */
static void keep_up(struct rs_replay_rings *r, struct rs_drain *drain)
{
	const uint32_t size = drain->port.size;
	struct rs_guest_ring ring;
	struct rs_sbuf header;
	uint32_t dropped;

	if (!guest_read(r, r->area + offsetof(struct rs_guest_area, ring), &ring, sizeof(ring)) ||
	    !guest_read(r, ring.gpa, &header, sizeof(header)) || header.head >= size ||
	    header.head % RS_SLOT_BYTES || header.tail >= size ||
	    distance(header.head, drain->port.head, size) <=
		    distance(header.head, header.tail, size))
		return;
	dropped = distance(drain->port.head, header.head, size) / RS_SLOT_BYTES;
	drain->damaged += dropped;
	drain->damaged_total += dropped;
	drain->port.head = header.head;
}

/* Drains once. After the end, also adds the losses that no record reports. */
static struct rs_error *drain_once(struct rs_replay_rings *r, struct rs_drained *got)
{
	const uint64_t now = r->exact ? now_tsc(r) : UINT64_MAX;
	enum rs_drain_status status;
	struct rs_host_ring ring;
	struct rs_error *err;

	*got = (struct rs_drained){ 0 };
	err = rs_host_ring_poll(r->guest, 0, &ring);
	if (err || !ring.drain)
		return err;
	ring.drain->clock = NULL;
	/* The guest cannot fill more than half of the ring before that. */
	r->period = ring.drain->port.size / RS_SLOT_BYTES;
	if (r->period < PERIOD_MIN)
		r->period = PERIOD_MIN;
	keep_up(r, ring.drain);
	status = rs_drain_read(ring.drain, r->buffer, sizeof(r->buffer), now, got);
	if (status != RS_DRAIN_OK)
		return rs_error_create(RS_DAMAGED, "%s", rs_drain_status_text(status));
	if (got->bytes || !r->ended || r->end_reported)
		return NULL;
	r->end_reported = true;
	rs_drain_end(ring.drain, r->buffer, sizeof(r->buffer),
		     r->exact ? now : ring.drain->last_tsc, got);
	return NULL;
}

/* Creates views of the drained records, and removes those outside the requested time. */
static size_t views_make(struct rs_replay_rings *r, const struct rs_drained *got)
{
	size_t n = rs_ring_views(&r->layouts, &r->stream, r->buffer, got->bytes, stamp_ns, r,
				 r->views),
	       kept = 0;

	for (size_t i = 0; i < n; i++) {
		if (r->views[i].tsc < r->last_ns) {
			r->views[i].tsc = r->last_ns;
			r->views[i].ts_ns = rs_clock_ns(r->stream.clock, r->last_ns);
		}
		if (r->views[i].tsc >= r->from_ns && r->views[i].tsc <= r->to_ns)
			r->views[kept++] = r->views[i];
	}
	r->records += kept;
	return kept;
}

struct rs_error *rs_replay_rings_read(struct rs_replay_rings *r, const struct rs_view **views,
				      size_t *n)
{
	struct rs_error *err = NULL;
	struct rs_drained got;

	*views = r->views;
	*n = 0;
	r->is_set_up = r->is_set_up || area_is_at(r, r->area);
	if (!r->is_set_up || r->broken)
		return NULL;
	do {
		err = drain_once(r, &got);
		if (!err)
			*n = views_make(r, &got);
	} while (!err && got.bytes && !*n);
	if (!err)
		return NULL;
	r->broken = strdup(rs_error_text(err));
	rs_error_free(err);
	return r->broken ? NULL : rs_error_no_memory();
}

struct rs_replay_rings_result rs_replay_rings_result(const struct rs_replay_rings *r)
{
	return (struct rs_replay_rings_result){
		.records = r->records,
		.found = rs_host_guest_found(r->guest),
		.exact = r->exact,
		.within_ns = r->period << r->recording->shift,
		.broken = r->broken,
	};
}
