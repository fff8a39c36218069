/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stores what a recovery needs after a recorder was killed (ring/survive.h): the stream of each
 * ring's records, and the positions in the ring at which the stream's packets end.
 *
 *	ring	| ... written | in finished packets | in the packet being filled | not drained |
 *	mark:	              ^ one for each finished packet                     ^ now
 *
 * `now` is written before the ring's room is released, so the records after it were not
 * overwritten.
 */
#include <string.h>

#include "record/inside.h"
#include "ring/survive.h"

static bool survive_poll(void *ctx, uint32_t *tail, uint64_t *refused)
{
	struct rs_program_feed *f = ctx;

	return f->local.poll(f->local.ctx, tail, refused);
}

static bool survive_copy(void *ctx, uint32_t offset, void *to, uint32_t bytes)
{
	struct rs_program_feed *f = ctx;

	return f->local.copy(f->local.ctx, offset, to, bytes);
}

static struct rs_survive_mark mark_of(const struct rs_program_feed *f, uint64_t accounted)
{
	return (struct rs_survive_mark){ .accounted = accounted,
					 .position = f->position,
					 .lost = f->drain.reported_lost,
					 .ahead = f->drain.reported_ahead };
}

static void now_put(struct rs_program_feed *f, uint64_t accounted)
{
	uint32_t other = !f->progress->current;

	f->progress->now[other] = mark_of(f, accounted);
	/* A recovery reads it after this process's death. */
	__atomic_store_n(&f->progress->current, other, __ATOMIC_RELEASE);
}

static bool survive_release(void *ctx, uint32_t head)
{
	struct rs_program_feed *f = ctx;
	const struct rs_drained *got = f->feed.filling;
	uint32_t from = f->consumer.head;

	f->position += head >= from ? head - from : f->consumer.size - from + head;
	now_put(f, f->accounted + (got ? got->records + got->lost : 0));
	return f->local.release(f->local.ctx, head);
}

static void mark_put(struct rs_program_feed *f)
{
	struct rs_survive_progress *progress = f->progress;
	uint64_t n = progress->n_marks;

	progress->mark[n % RS_SURVIVE_MARKS] = mark_of(f, rs_store_finished(f->feed.out));
	__atomic_store_n(&progress->n_marks, n + 1, __ATOMIC_RELEASE);
}

void rs_survive_begin(struct rs_recorder *r)
{
	const uint8_t *uuid = rs_store_uuid(r->store);
	struct rs_program *program = &r->program;

	/* Without the file the rings are in memory that dies with this process. */
	if (uuid)
		program->no_file =
			rs_trace_file_create(uuid, rs_store_place(r->store), &program->file);
	if (!program->file)
		return;
	rs_store_sync(r->store);
	rs_trace_file_set(program->file, program->class_index);
}

/* The ring is not in the file: its thread may be asked to leave it. */
static bool leaving_release(void *ctx, uint32_t head)
{
	struct rs_program_feed *f = ctx;

	f->consumer.head = head;
	rs_trace_ring_release(f->ring, head);
	return true;
}

void rs_survive_feed(struct rs_program_feed *f, struct rs_port *port)
{
	const struct rs_trace_file *file = f->feed.recorder->program.file;

	f->progress = rs_trace_ring_is_in(f->ring, file) ? rs_trace_ring_progress(f->ring) : NULL;
	f->feed.survives = f->progress != NULL;
	f->feed.hurries = file && !f->progress;
	f->feed.filling = NULL;
	f->ring->head = f->consumer.head;
	f->local = *port;
	port->ctx = f;
	port->poll = survive_poll;
	port->copy = survive_copy;
	port->release = leaving_release;
	if (!f->progress)
		return;
	f->position = 0;
	port->release = survive_release;
}

void rs_survive_committed(struct rs_feed *feed, const struct rs_drained *got)
{
	struct rs_program_feed *f = (struct rs_program_feed *)feed;

	if (!feed->survives)
		return;
	feed->filling = NULL;
	f->accounted += got->records + got->lost;
	now_put(f, f->accounted);
}

void rs_survive_finished(struct rs_feed *feed)
{
	struct rs_program_feed *f = (struct rs_program_feed *)feed;
	const struct rs_survive_progress *progress;

	if (!feed->survives) /* else it may be another kind of feed */
		return;
	progress = f->progress;
	if (progress->mark[(progress->n_marks - 1) % RS_SURVIVE_MARKS].accounted !=
	    rs_store_finished(feed->out))
		mark_put(f);
}

void rs_survive_stream(struct rs_program_feed *f)
{
	if (!f->progress)
		return;
	rs_store_sync(f->feed.recorder->store);
	f->accounted = rs_store_finished(f->feed.out);
	now_put(f, f->accounted);
	mark_put(f);
	__atomic_store_n(&f->progress->stream, rs_store_stream_index(f->feed.out) + 1,
			 __ATOMIC_RELEASE);
}
