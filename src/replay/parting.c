/* SPDX-License-Identifier: BSD-2-Clause */
/* Searches for the first instruction at which two replays differ. */
#include "replay/parting.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "replay/snapshots.h"

#define REGS_MAX  8192u
#define SNAP_FROM (UINT64_C(1) << 24) /* repeating fewer instructions is faster */

/* The position on the console at a snapshot. */
struct mark {
	uint64_t icount, console;
};

/* One of the two replays. The main thread owns its session, because QEMU ends with the thread that
 * started it. Long operations run on another thread. */
struct side {
	const struct rs_recording *recording;
	const volatile bool *stop;
	struct rs_session *session;
	int console;   /* memfd: the console's output, partly repeated */
	uint64_t size; /* of that */
	uint64_t at,
		written; /* the present instruction; bytes that the guest had written by then */
	struct mark marks[RS_SNAPSHOTS_MAX];
	uint32_t n_marks;
	uint8_t regs[REGS_MAX];
	size_t regs_bytes;
	/* Arguments of its thread. */
	uint64_t to;
	bool snapshot;
	struct rs_error *err;
};

struct pair {
	struct side sides[2];
	struct rs_session_ram ram[2]; /* the mappings at the last comparison */
	const struct rs_parting_options *options;
	struct rs_parting *parting;
};

/* ---- one side ----------------------------------------------------------------------------- */

static struct rs_error *side_open(struct side *s)
{
	/* Going back hangs if the machine has a kernel's ROM for APICs. The replay is then
	 * restarted instead. */
	struct rs_session_options options = { .snapshots = !s->recording->vapic };
	char path[64];

	s->console = memfd_create("console", 0);
	if (s->console < 0)
		return rs_error_errno(errno, "memory for the console");
	snprintf(path, sizeof(path), "/proc/self/fd/%d", s->console);
	options.console = path;
	s->size = s->at = s->written = 0;
	s->n_marks = 1; /* the start's */
	s->marks[0] = (struct mark){ 0, 0 };
	return rs_session_open(s->recording, &options, &s->session);
}

static void side_close(struct side *s)
{
	rs_session_close(s->session);
	s->session = NULL;
	if (s->console >= 0)
		close(s->console);
	s->console = -1;
}

/* Returns the snapshot that rs_session_seek() uses, or the present place. */
static struct mark start_of(const struct side *s, uint64_t to)
{
	struct mark best = { 0, 0 };

	for (uint32_t i = 0; i < s->n_marks; i++)
		if (s->marks[i].icount <= to && s->marks[i].icount >= best.icount)
			best = s->marks[i];
	if (s->at <= to && s->at >= best.icount)
		best = (struct mark){ s->at, s->written };
	return best;
}

static struct rs_error *side_go(struct side *s)
{
	struct mark begin = start_of(s, s->to);
	struct rs_error *err;
	struct stat st;

	if (s->at == s->to && !s->snapshot)
		return NULL;
	err = rs_session_seek(s->session, s->to, s->stop);
	if (!err && fstat(s->console, &st))
		err = rs_error_errno(errno, "the console");
	if (err)
		return rs_error_wrap(err, "%s", s->recording->folder.path);
	s->written = begin.console + ((uint64_t)st.st_size - s->size);
	s->size = (uint64_t)st.st_size;
	s->at = s->to;
	if (s->snapshot && s->n_marks < RS_SNAPSHOTS_MAX) {
		err = rs_session_snapshot(s->session);
		s->marks[s->n_marks++] = (struct mark){ s->at, s->written };
	}
	return err;
}

static void *side_thread(void *of)
{
	struct side *s = of;

	s->err = side_go(s);
	return NULL;
}

/* ---- both --------------------------------------------------------------------------------- */

static struct rs_error *begin_anew(struct side *s, uint64_t to)
{
	if (!s->recording->vapic || s->at <= to)
		return NULL;
	side_close(s);
	return side_open(s);
}

static struct rs_error *go(struct pair *p, uint64_t to, bool snapshot)
{
	struct rs_error *err = NULL;
	pthread_t thread;

	for (int i = 0; !err && i < 2; i++) {
		err = begin_anew(&p->sides[i], to);
		p->sides[i].to = to;
		p->sides[i].snapshot = snapshot && !p->sides[i].recording->vapic;
	}
	if (err)
		return err;
	if (pthread_create(&thread, NULL, side_thread, &p->sides[1]))
		return rs_error_create(RS_FAILED, "no thread for the second replay");
	err = side_go(&p->sides[0]);
	pthread_join(thread, NULL);
	err = rs_error_first(err, p->sides[1].err);
	p->sides[1].err = NULL;
	return err;
}

/* Moves both replays to an instruction. Sets *same to whether they are equal there. */
static struct rs_error *sides_compare(struct pair *p, uint64_t icount, bool *same)
{
	struct side *a = &p->sides[0], *b = &p->sides[1];
	const struct rs_session_ram *const ram = p->ram;
	struct rs_error *err = go(p, icount, false);

	for (int i = 0; !err && i < 2; i++)
		err = rs_gdb_registers_raw(rs_session_gdb(p->sides[i].session), p->sides[i].regs,
					   REGS_MAX, &p->sides[i].regs_bytes);
	if (err)
		return err;
	p->parting->looked++;
	*same = a->regs_bytes == b->regs_bytes && !memcmp(a->regs, b->regs, a->regs_bytes) &&
		a->written == b->written;
	for (int i = 0; i < 2; i++)
		p->ram[i] = rs_session_ram(p->sides[i].session);
	*same = *same && ram[0].bytes == ram[1].bytes &&
		!memcmp(ram[0].mem, ram[1].mem, ram[0].bytes);
	return NULL;
}

static void progress_report(const struct pair *p, uint64_t same, uint64_t differs)
{
	if (p->options->progress)
		p->options->progress(p->options->ctx, same, differs);
}

/* Checks that the replays are equal at the instruction where the search starts. */
static struct rs_error *begin(struct pair *p, uint64_t end, uint64_t *same)
{
	bool are = false;
	struct rs_error *err = NULL;

	*same = p->options->from < end ? p->options->from : end;
	err = sides_compare(p, *same, &are);
	if (!err && !are && *same) {
		*same = 0;
		err = sides_compare(p, 0, &are);
	}
	if (!err && !are)
		err = rs_error_create(RS_USAGE,
				      "the machines differ before their first instruction");
	return err;
}

/* Searches ahead from *same, in steps that double. Sets *same and *differs to places where the
 * replays are equal and differ; *differs is UINT64_MAX if they are equal up to the end. */
static struct rs_error *search_ahead(struct pair *p, uint64_t end, uint64_t *same,
				     uint64_t *differs)
{
	uint64_t step = 1;
	struct rs_error *err = NULL;
	bool are = true;

	*differs = UINT64_MAX;
	while (!err && *differs == UINT64_MAX && *same < end) {
		uint64_t next = step < end - *same ? *same + step : end;

		err = sides_compare(p, next, &are);
		if (!err && are)
			*same = next;
		else if (!err)
			*differs = next;
		progress_report(p, *same, *differs);
		step *= 2;
	}
	return err;
}

/* Bisects until *same and *differs are adjacent. */
static struct rs_error *narrow(struct pair *p, uint64_t *same, uint64_t *differs)
{
	struct rs_error *err = NULL;
	uint64_t snapshot = UINT64_MAX; /* place of the last snapshot */
	bool are = true;

	while (!err && *differs - *same > 1) {
		uint64_t middle = *same + (*differs - *same) / 2;

		if (snapshot != *same && *differs - *same >= SNAP_FROM) {
			err = go(p, *same, true);
			snapshot = *same;
		}
		if (!err)
			err = sides_compare(p, middle, &are);
		if (!err)
			*(are ? same : differs) = middle;
		progress_report(p, *same, *differs);
	}
	return err;
}

/* ---- differences ---------------------------------------------------------------------------- */

/* Compares RAM, which is in one piece below 4 GiB (recording.h), so that file offsets are physical
 * addresses. */
static void compare_ram(struct pair *p)
{
	const struct rs_session_ram a = p->ram[0], b = p->ram[1];
	struct rs_parting *to = p->parting;

	for (uint64_t at = 0; at + RS_PARTING_PAGE <= a.bytes && at < b.bytes;
	     at += RS_PARTING_PAGE) {
		if (!memcmp(a.mem + at, b.mem + at, RS_PARTING_PAGE))
			continue;
		if (to->n_pages < RS_PARTING_PAGES_MAX)
			to->pages[to->n_pages] = at;
		to->n_pages++;
	}
}

/* Returns whether registers of the stub differ that are not in struct rs_x86_regs. */
static bool others_differ(const struct rs_parting *to, const struct side sides[2])
{
	bool known = !memcmp(&to->after[0], &to->after[1], sizeof(to->after[0]));

	return known && (sides[0].regs_bytes != sides[1].regs_bytes ||
			 memcmp(sides[0].regs, sides[1].regs, sides[0].regs_bytes) != 0);
}

static struct rs_error *find_difference(struct pair *p, uint64_t same, uint64_t differs)
{
	struct rs_parting *to = p->parting;
	bool are = true;
	struct rs_error *err = sides_compare(p, same, &are);

	if (!err)
		err = rs_gdb_registers(rs_session_gdb(p->sides[0].session), &to->before);
	if (!err && p->options->program)
		to->in_program = rs_program_is_executed(p->options->program,
							rs_session_gdb(p->sides[0].session),
							to->before.rip, &to->base);
	to->same = same;
	to->console_bytes = p->sides[0].written;
	if (err || differs == UINT64_MAX)
		return err;
	to->parted = true;
	err = sides_compare(p, differs, &are);
	for (int i = 0; !err && i < 2; i++)
		err = rs_gdb_registers(rs_session_gdb(p->sides[i].session), &to->after[i]);
	if (err)
		return err;
	to->raw = others_differ(to, p->sides);
	compare_ram(p);
	return NULL;
}

struct rs_error *rs_parting_find(const struct rs_recording *const two[2],
				 const struct rs_parting_options *options,
				 struct rs_parting *parting)
{
	const uint64_t end = two[0]->icount < two[1]->icount ? two[0]->icount : two[1]->icount;
	struct pair *p = calloc(1, sizeof(*p));
	uint64_t same = 0, differs = UINT64_MAX;
	struct rs_error *err = NULL;

	if (!p)
		return rs_error_no_memory();
	*parting = (struct rs_parting){ .parted = false };
	p->options = options;
	p->parting = parting;
	if (two[0]->memory_mib != two[1]->memory_mib)
		err = rs_error_create(RS_USAGE,
				      "machines of %u and of %u MiB have no states to "
				      "compare",
				      two[0]->memory_mib, two[1]->memory_mib);
	for (int i = 0; i < 2; i++) {
		p->sides[i] =
			(struct side){ .recording = two[i], .stop = options->stop, .console = -1 };
		if (!err)
			err = side_open(&p->sides[i]);
	}
	if (!err)
		err = begin(p, end, &same);
	if (!err)
		err = search_ahead(p, end, &same, &differs);
	if (!err && differs != UINT64_MAX)
		err = narrow(p, &same, &differs);
	if (!err)
		err = find_difference(p, same, differs);
	for (int i = 0; i < 2; i++)
		side_close(&p->sides[i]);
	free(p);
	return err;
}
