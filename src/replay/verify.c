/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Verifies that observing a replay changes nothing. It replays the recording twice, once
 * undisturbed and once observed, by stops that read or by a program's probes, and compares the
 * state of the whole machine at the same instructions, and the guest's output.
 *
 *	left alone   |----p----p----p----p----p----p|   p: hash; a snapshot where a segment begins
 *	observed     |-s-s-p-s-s-p|                     s: sample
 *	  by jobs, side by side   |s-s-p-s-s-p|
 *	                                      |s-s-p-s-s-p|
 */
#include "replay/verify.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "introspect/memory.h"
#include "replay/moment.h"
#include "replay/ram.h"

#define STACK_BYTES 64 /* size of its top; there may be less */

/* ---- one replay --------------------------------------------------------------------------- */

struct replayed {
	const struct rs_verify_options *o;
	const struct rs_recording *recording;
	struct rs_session *session;
	/* the replay with the snapshots from which it begins; NULL: it begins at 0 */
	struct replayed *like;
	struct rs_memory memory;
	uint64_t from, end; /* it stops between these instructions */
	uint64_t *stops;
	uint32_t n_stops;
	uint64_t n_samples, sample; /* the number of samples, and the next one, from 1 */
	/* its own points, from 0, excluding the last; the next point */
	uint64_t first, last, point;
	struct rs_state_hash *hashes; /* number of all points */
	uint64_t fired, errors;	      /* results of a program's probes */
	uint64_t samples;	      /* number taken so far */
	uint64_t read;		      /* bytes that the samples have read */
	uint64_t missing;	      /* samples whose stack was not in memory */
	uint8_t *buffer;	      /* of o->bytes */
	char *slow;		      /* why it has no fast path; allocated, or NULL */
	int console;		      /* memfd */
	bool shows;		      /* progress */
};

static void map_ram(struct replayed *r)
{
	const struct rs_session_ram ram = rs_session_ram(r->session);

	rs_replay_ram_set(&r->memory, ram.mem, ram.bytes);
}

/* Reads everything that a probe can read: registers, the stack through the guest's tables, and
 * memory. */
static struct rs_error *sample(struct replayed *r)
{
	const struct rs_session_ram ram = rs_session_ram(r->session);
	uint64_t bytes = r->o->bytes < ram.bytes ? r->o->bytes : ram.bytes;
	struct rs_x86_regs regs;
	struct rs_error *err = rs_session_registers(r->session, &regs);
	uint8_t stack[STACK_BYTES];

	if (err)
		return err;
	rs_memory_stopped(&r->memory, &(struct rs_paging){ .cr0 = regs.cr0,
							   .cr3 = regs.cr3,
							   .cr4 = regs.cr4,
							   .efer = regs.efer });
	if (rs_memory_read(&r->memory, regs.gpr[7], stack, sizeof(stack), NULL))
		r->missing++;
	memcpy(r->buffer, ram.mem + r->read % (ram.bytes - bytes + 1), bytes);
	r->read += bytes;
	r->samples++;
	return NULL;
}

/* Returns the instruction of the i-th of n stops, from 1; the 0th is the start. */
static uint64_t place(const struct replayed *r, uint64_t i, uint64_t n)
{
	return r->from + (uint64_t)((unsigned __int128)(r->end - r->from) * i / n);
}

/* Returns the number of points before a segment. */
static uint64_t before(const struct rs_verify_options *o, uint64_t segment)
{
	return o->points * segment / o->jobs;
}

/* Returns whether a segment that is replayed separately begins after this point. */
static bool begins_segment(const struct replayed *r, uint64_t point)
{
	for (uint64_t i = 1; !r->like && i < r->o->jobs; i++)
		if (before(r->o, i) == point)
			return true;
	return false;
}

/* Lists the instructions to stop at: each point and, between them, each sample. */
static struct rs_error *plan(struct replayed *r, uint64_t samples)
{
	uint64_t points = r->o->points, point = r->first + 1, next = 1;
	uint64_t begin = r->first ? place(r, r->first, points) : 0;

	r->stops = calloc(points + samples, sizeof(*r->stops));
	if (!r->stops)
		return rs_error_no_memory();
	while (r->first && next <= samples && place(r, next, samples + 1) <= begin)
		next++;
	r->n_samples = samples;
	r->sample = next;
	r->point = r->first;
	while (point <= r->last) {
		uint64_t to = place(r, point, points);
		uint64_t at = next <= samples ? place(r, next, samples + 1) : UINT64_MAX;
		uint64_t stop = at < to ? at : to;

		point += stop == to;
		next += stop == at;
		if (stop && (!r->n_stops || r->stops[r->n_stops - 1] != stop))
			r->stops[r->n_stops++] = stop;
	}
	return NULL;
}

/* Takes the sample, the hash and the snapshot that are due at the i-th stop. */
static struct rs_error *stopped(void *ctx, uint32_t i, struct rs_session *session)
{
	struct replayed *r = ctx;
	uint64_t points = r->o->points;
	struct rs_error *err = NULL;

	r->session = session;
	if (!r->memory.n_ram)
		map_ram(r);
	if (r->sample <= r->n_samples && place(r, r->sample, r->n_samples + 1) == r->stops[i]) {
		r->sample++;
		err = sample(r);
	}
	if (!err && place(r, r->point + 1, points) == r->stops[i]) {
		err = rs_session_hash(session, &r->hashes[r->point++]);
		if (!err && begins_segment(r, r->point))
			err = rs_session_snapshot(session);
	}
	if (r->shows && r->o->progress && !(i % 64))
		r->o->progress(r->o->ctx, r->n_samples > 0, (double)r->stops[i] / (double)r->end);
	return err;
}

/* Runs to an instruction, which the replay must reach. */
static struct rs_error *run_to(struct replayed *r, uint64_t icount)
{
	struct rs_session_run run = { .icount = icount, .stop = r->o->stop };
	struct rs_error *err = rs_session_run(r->session, &run);

	if (!err && *r->o->stop)
		err = rs_error_create(RS_FAILED, "stopped");
	if (!err && !run.at_target)
		err = rs_error_create(RS_FAILED, "the replay does not reach instruction %" PRIu64,
				      icount);
	return err;
}

/* Runs through the stops of its segment. Leaves the session open, since other segments begin with
 * its snapshots. */
static struct rs_error *go_through(struct replayed *r, const char *console)
{
	const struct rs_session_options options = {
		.console = console,
		.snapshots = r->o->jobs > 1 && !r->like,
		.like = r->like ? r->like->session : NULL,
		.slow = r->o->slow,
	};
	struct rs_session_run rest = { .icount = UINT64_MAX, .stop = r->o->stop };
	struct rs_error *err = rs_session_open(r->recording, &options, &r->session);

	if (!err && r->first)
		err = rs_session_seek(r->session, place(r, r->first, r->o->points), r->o->stop);
	for (uint32_t i = 0; !err && i < r->n_stops; i++) {
		err = run_to(r, r->stops[i]);
		if (!err)
			err = stopped(r, i, r->session);
	}
	if (!err && r->last == r->o->points && r->o->to_end)
		err = rs_session_run(r->session, &rest);
	if (!err && !r->like && !r->n_samples && !r->o->probe && rs_session_slow(r->session)) {
		r->slow = strdup(rs_session_slow(r->session));
		err = r->slow ? NULL : rs_error_no_memory();
	}
	return err;
}

/* ---- a program's probes ------------------------------------------------------------------- */

static struct rs_error *with_probes(struct replayed *r, const char *console)
{
	uint64_t begin = r->first ? place(r, r->first, r->o->points) : 0;
	bool to_end = r->last == r->o->points && r->o->to_end;
	/* Each segment has its own probes, since the program's state starts from the beginning in
	 * each. */
	const struct rs_verify_part part = {
		.from_ns = (r->first ? begin : r->from) << r->recording->shift,
		.to_ns = to_end ? 0 : place(r, r->last, r->o->points) << r->recording->shift,
		.like = r->like ? r->like->session : NULL,
		.begin = begin,
		.console = console,
		.pauses = { r->stops, r->n_stops, stopped, r },
	};
	struct rs_error *err = r->o->probe(r->o->ctx, &part, &r->fired, &r->errors);

	if (!err && r->point < r->last && !*r->o->stop)
		err = rs_error_create(RS_FAILED, "the replay ended before instruction %" PRIu64,
				      place(r, r->point + 1, r->o->points));
	r->session = NULL; /* the program's replay has closed the session */
	return err;
}

static struct rs_error *replay(struct replayed *r, uint64_t samples, bool probed)
{
	struct rs_error *err = plan(r, samples);
	char path[64];

	if (err)
		return err;
	r->console = memfd_create("console", 0);
	if (r->console < 0)
		return rs_error_errno(errno, "memory for the console");
	snprintf(path, sizeof(path), "/proc/self/fd/%d", r->console);
	err = probed ? with_probes(r, path) : go_through(r, path);
	if (!err && *r->o->stop)
		err = rs_error_create(RS_FAILED, "stopped");
	return err;
}

static void replayed_deinit(struct replayed *r)
{
	rs_session_close(r->session);
	r->session = NULL;
	if (r->console >= 0)
		close(r->console);
	r->console = -1;
	free(r->stops);
	r->stops = NULL;
	free(r->buffer);
	r->buffer = NULL;
}

/* ---- segments side by side ---------------------------------------------------------------- */

struct segment {
	struct replayed r;
	struct rs_error *err;
	pthread_t thread;
	bool runs;
};

/* QEMU ends with the thread that started it, so this thread closes the session. */
static void *replay_segment(void *of)
{
	struct segment *s = of;

	s->err = replay(&s->r, s->r.o->samples, s->r.o->probe);
	rs_session_close(s->r.session);
	s->r.session = NULL;
	return NULL;
}

/* Adds a segment's results to the results of the segments before it. */
static struct rs_error *gather(struct replayed *to, const struct segment *s)
{
	char part[4096];
	off_t at = 0;
	ssize_t n;

	to->fired += s->r.fired;
	to->errors += s->r.errors;
	to->samples += s->r.samples;
	to->read += s->r.read;
	to->missing += s->r.missing;
	while ((n = pread(s->r.console, part, sizeof(part), at)) > 0 &&
	       write(to->console, part, (size_t)n) == n)
		at += n;
	return n ? rs_error_errno(errno, "memory for the console") : NULL;
}

static struct rs_error *begin_segment(struct segment *s, const struct replayed *all, uint64_t i)
{
	s->r = *all;
	s->r.console = -1;
	s->r.first = before(all->o, i);
	s->r.last = before(all->o, i + 1);
	s->r.shows = all->shows && !i;
	s->r.buffer = malloc(all->o->bytes);
	if (!s->r.buffer)
		return rs_error_no_memory();
	s->runs = s->r.first < s->r.last && !pthread_create(&s->thread, NULL, replay_segment, s);
	if (!s->runs && s->r.first < s->r.last)
		return rs_error_create(RS_FAILED, "no thread for a segment");
	return NULL;
}

static struct rs_error *replay_segments(struct replayed *all)
{
	struct segment *segments = calloc(all->o->jobs, sizeof(*segments));
	struct rs_error *err = segments ? NULL : rs_error_no_memory();

	all->console = memfd_create("console", MFD_CLOEXEC);
	if (!err && all->console < 0)
		err = rs_error_errno(errno, "memory for the console");
	for (uint64_t i = 0; !err && i < all->o->jobs; i++)
		err = begin_segment(&segments[i], all, i);
	for (uint64_t i = 0; segments && i < all->o->jobs; i++) {
		struct segment *s = &segments[i];

		if (s->runs) {
			pthread_join(s->thread, NULL);
			err = rs_error_first(err, s->err);
		}
		if (!err && s->runs)
			err = gather(all, s);
		if (s->r.o)
			replayed_deinit(&s->r);
	}
	free(segments);
	return err;
}

/* ---- comparing ---------------------------------------------------------------------------- */

/* Compares two files. With `begins`, compares the second only with the beginning of the first. */
static struct rs_error *same_files(int a, int b, bool begins, bool *same, uint64_t *bytes)
{
	char one[4096], other[4096];
	off_t at = 0;

	*same = true;
	for (;;) {
		ssize_t n = pread(a, one, sizeof(one), at), m = pread(b, other, sizeof(other), at);

		if (n < 0 || m < 0)
			return rs_error_errno(errno, "reading a console");
		if (begins && n > m)
			n = m;
		*bytes = (uint64_t)at + (uint64_t)n;
		if (n != m || memcmp(one, other, (size_t)n) != 0)
			*same = false;
		if (n != m || !n || !*same)
			return NULL;
		at += n;
	}
}

static struct rs_error *compare(const struct replayed *alone, const struct replayed *observed,
				struct rs_verified *v)
{
	const struct rs_recording *recording = alone->recording;
	struct rs_error *err;
	uint64_t bytes = 0;
	int fd = -1;

	for (uint64_t i = 0; i < alone->o->points; i++)
		v->same_points += rs_verify_same(&alone->hashes[i], &observed->hashes[i]);
	err = same_files(alone->console, observed->console, false, &v->same_console,
			 &v->console_bytes);
	if (err)
		return err;
	err = rs_folder_fd(&recording->folder, "console", O_RDONLY, &fd);
	if (!err)
		err = same_files(fd, alone->console, !alone->o->to_end || recording->mended,
				 &v->same_as_recorded, &bytes);
	if (fd >= 0)
		close(fd);
	return err;
}

/* ---- both replays ------------------------------------------------------------------------- */

static struct rs_error *prepare(struct replayed *r, const struct rs_recording *recording)
{
	const struct rs_verify_options *o = r->o;
	uint64_t to = o->to_end ? UINT64_MAX : o->to_ns >> recording->shift;
	char text[RS_MOMENT_TEXT_MAX];

	r->recording = recording;
	r->last = o->points;
	r->from = o->from_ns >> recording->shift;
	r->end = to < recording->icount ? to : recording->icount;
	if (!recording->icount)
		return rs_error_create(RS_USAGE, "%s: nothing was recorded",
				       recording->folder.path);
	if (r->from >= r->end)
		return rs_error_create(RS_USAGE, "%s ends at %s of the guest's time",
				       recording->folder.path,
				       rs_moment_text(recording->icount << recording->shift, text));
	r->hashes = calloc(o->points, sizeof(*r->hashes));
	r->buffer = malloc(o->bytes);
	return r->hashes && r->buffer ? NULL : rs_error_no_memory();
}

static struct rs_error *replay_both(struct replayed *alone, struct replayed *observed,
				    const struct rs_recording *recording)
{
	const struct rs_verify_options *o = alone->o;
	struct rs_error *err = prepare(alone, recording);

	if (!err)
		err = prepare(observed, recording);
	if (!err)
		err = replay(alone, 0, false);
	if (err)
		return err;
	if (o->jobs == 1)
		return replay(observed, o->samples, o->probe);
	observed->like = alone;
	return replay_segments(observed);
}

/* Moves the replays' results to *verified. */
static struct rs_error *conclude(struct replayed *alone, struct replayed *observed,
				 struct rs_verified *v)
{
	uint64_t points = alone->o->points;

	v->places = calloc(points, sizeof(*v->places));
	if (!v->places)
		return rs_error_no_memory();
	for (uint64_t i = 0; i < points; i++)
		v->places[i] = place(alone, i + 1, points);
	v->points = points;
	v->alone = alone->hashes;
	v->observed = observed->hashes;
	alone->hashes = observed->hashes = NULL;
	v->fired = observed->fired;
	v->errors = observed->errors;
	v->samples = observed->samples;
	v->read_bytes = observed->read;
	v->stacks_missing = observed->missing;
	return NULL;
}

struct rs_error *rs_verify_run(const struct rs_recording *recording,
			       const struct rs_verify_options *options, struct rs_verified *v)
{
	struct replayed alone = { .o = options, .console = -1, .shows = true }, observed = alone;
	struct rs_error *err = replay_both(&alone, &observed, recording);

	if (!err)
		err = compare(&alone, &observed, v);
	if (!err)
		err = conclude(&alone, &observed, v);
	v->slow = alone.slow;
	free(observed.slow);
	replayed_deinit(&observed);
	replayed_deinit(&alone);
	free(alone.hashes);
	free(observed.hashes);
	return err;
}

bool rs_verify_same(const struct rs_state_hash *a, const struct rs_state_hash *b)
{
	return a->low == b->low && a->high == b->high;
}

void rs_verified_deinit(struct rs_verified *v)
{
	free(v->places);
	free(v->alone);
	free(v->observed);
	free(v->slow);
}
