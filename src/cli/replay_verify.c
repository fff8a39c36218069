/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ringside replay verify: the proof that looking changes nothing. The recording is replayed twice,
 * once left alone and once looked at, by stops that read or by a program's probes, and the state of
 * the whole machine is compared at the same instructions, and what the guest wrote.
 *
 *	left alone   |----p----p----p----p----p----p|   p: hash; a snapshot where a segment begins
 *	looked at    |-s-s-p-s-s-p|                     s: sample
 *	  by --jobs, side by side |s-s-p-s-s-p|
 *	                                      |s-s-p-s-s-p|
 */
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/count.h"
#include "base/duration.h"
#include "base/json.h"
#include "cli/numbers.h"
#include "cli/program.h"
#include "cli/replay.h"
#include "cli/script_quiet.h"
#include "cli/script_replay.h"
#include "cli/shared.h"
#include "introspect/memory.h"
#include "replay/session.h"

#define POINTS	       8
#define SAMPLES	       1000 /* where no program is given */
#define POINTS_MAX     1000
#define JOBS_MAX       64
#define NS_PER_SEC     UINT64_C(1000000000)
#define BYTES	       4096
#define STACK_BYTES    64 /* its top: there may be no more */
#define LIVE_BYTES_MAX (UINT64_C(1) << 20)
#define LIVE_PIECE     (UINT64_C(32) << 10) /* what a clause may have of memory */
#define LIVE_FROM      (UINT64_C(1) << 20)  /* RAM, in each machine that is recorded */
#define GUESTS_END     "the guest's end"    /* replay_record.c: why it ended, and its status */
#define HOLE	       UINT64_C(0xa0000)    /* devices, up to: */
#define HOLE_END       UINT64_C(0xc0000)

struct verify_arguments {
	const char *directory;
	struct rs_cli_program program;
	struct rs_script_replay replay;
	uint64_t points, samples, bytes, jobs;
	struct rs_cli_moments times;
	bool quiet, json, live; /* live: the same probes on the machine booted anew, besides */
};

/* ---- arguments ---------------------------------------------------------------------------- */

enum { KEY_POINTS = 256, KEY_SAMPLES, KEY_BYTES, KEY_FROM, KEY_TO };

static const struct argp_option options[] = {
	{ "points", KEY_POINTS, "N", 0, "Compare states at this many instructions (8)", 1 },
	{ "samples", KEY_SAMPLES, "N", 0,
	  "Stop the second replay so often, and read registers, stack and memory; 1000, or none "
	  "with a program",
	  1 },
	{ "bytes", KEY_BYTES, "SIZE", 0,
	  "With --samples: read this much memory at each, with K or M (4K)", 1 },
	{ "jobs", 'J', "N", 0,
	  "Replay N segments side by side when looked at, each from a snapshot; 1", 2 },
	{ 0 },
};

static const char doc[] =
	"Prove that a replay does what was recorded, looked at or not.\v"
	"Replays twice: once left alone, once stopped at --samples instructions to read, or by the "
	"probes of a program, as replay run has them, whose words go nowhere. At "
	"--points instructions all registers and all RAM are hashed; hashes and the guest's "
	"console must be the same in both, and the console the same as the recorded one: its "
	"beginning, with --to, or when the recording was cut by a kill. With --live the "
	"recording's "
	"machine is booted besides, and the same probes stop it while it runs: how far its clock "
	"comes behind by that is shown beside.\n\n"
	"Exit codes: 0 the same; 1 not, or failed; 2 usage error.\n\n"
	"Example:\n"
	"  ringside replay verify rec --samples 10000 --bytes 1M\n"
	"  ringside replay verify rec --from 2s --to 3s --jobs 2\n"
	"  ringside replay verify rec -n 'guest:timer::100us { tracemem(copyin(uregs[R_RSP], 64), "
	"64); }'\n";

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct verify_arguments *a = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->program;
		state->child_inputs[1] = &a->replay;
		state->child_inputs[2] = &a->times;
		state->child_inputs[3] = &a->json;
		state->child_inputs[4] = &a->quiet;
		break;
	case KEY_POINTS:
		a->points = rs_cli_number(state, "--points", text, 1, POINTS_MAX);
		break;
	case KEY_SAMPLES:
		a->samples = rs_cli_number(state, "--samples", text, 0, UINT32_MAX);
		break;
	case KEY_BYTES:
		if (!rs_cli_read_size(text, 1, UINT64_C(1) << 32, &a->bytes))
			argp_error(state, "--bytes '%s': expected bytes, as in 4K or 1M", text);
		break;
	case 'J':
		a->jobs = rs_cli_number(state, "--jobs", text, 1, JOBS_MAX);
		break;
	case ARGP_KEY_ARG:
		if (!a->directory)
			a->directory = text;
		else if (!rs_cli_program_given(&a->program))
			argp_error(state, "only one recording is allowed, got '%s'", text);
		else
			rs_cli_word_add(state, &a->program.args, text);
		break;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "which recording?");
		break;
	case ARGP_KEY_END:
		if (rs_script_replay_attaches(&a->replay))
			argp_error(state,
				   "--live boots the recording's machine here: leave out the GDB");
		if (a->replay.live && a->bytes > LIVE_BYTES_MAX)
			argp_error(state, "--live reads at most 1M at a stop");
		a->live = a->replay.live;
		a->replay.live = NULL;
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

/* ---- one replay --------------------------------------------------------------------------- */

struct replayed {
	const struct verify_arguments *a;
	const struct rs_recording *recording;
	struct rs_session *session;
	struct replayed *like; /* whose snapshots it begins with; NULL: it begins at 0 */
	struct rs_guest_memory memory;
	uint64_t from, end; /* the instructions between which is stopped */
	uint64_t *stops;
	uint32_t n_stops;
	uint64_t n_samples, sample;   /* those that are due in all, and the next one from 1 */
	uint64_t first, last, point;  /* points of its own, from 0, without the last; the next */
	struct rs_state_hash *hashes; /* of all points */
	uint64_t fired, told;	      /* a program's probes; what it had to say */
	uint64_t samples;	      /* that were taken, */
	uint64_t read;		      /* bytes that they read, */
	uint64_t missing;	      /* and how often a stack was not there */
	uint8_t *buffer;	      /* of a->bytes */
	int console;		      /* memfd */
	bool shows;
};

/* All of it is below 4 GiB (recording.h). */
static void map_ram(struct replayed *r)
{
	const struct rs_session_ram ram = rs_session_ram(r->session);
	struct rs_guest_memory *m = &r->memory;

	m->ram[m->n_ram++] = (struct rs_ram){ 0, ram.bytes < HOLE ? ram.bytes : HOLE, ram.mem };
	if (ram.bytes > HOLE_END)
		m->ram[m->n_ram++] =
			(struct rs_ram){ HOLE_END, ram.bytes - HOLE_END, ram.mem + HOLE_END };
}

/* What a probe does at most: registers, the stack through the guest's tables, and memory. */
static struct rs_error *sample(struct replayed *r)
{
	const struct rs_session_ram ram = rs_session_ram(r->session);
	uint64_t bytes = r->a->bytes < ram.bytes ? r->a->bytes : ram.bytes;
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

/* Where the i-th of n stops is, from 1; the 0th is where it begins. */
static uint64_t place(const struct replayed *r, uint64_t i, uint64_t n)
{
	return r->from + (uint64_t)((unsigned __int128)(r->end - r->from) * i / n);
}

/* How many points are before a segment. */
static uint64_t before(const struct verify_arguments *a, uint64_t segment)
{
	return a->points * segment / a->jobs;
}

/* Returns whether a segment that is replayed apart begins behind this point. */
static bool begins_segment(const struct replayed *r, uint64_t point)
{
	for (uint64_t i = 1; !r->like && i < r->a->jobs; i++)
		if (before(r->a, i) == point)
			return true;
	return false;
}

/* The instructions to stop at: each point and, between them, each sample. */
static struct rs_error *plan(struct replayed *r, uint64_t samples)
{
	uint64_t points = r->a->points, point = r->first + 1, next = 1;
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

/* It stands at the i-th stop: what is due there. */
static struct rs_error *stopped(void *ctx, uint32_t i, struct rs_session *session)
{
	struct replayed *r = ctx;
	uint64_t points = r->a->points;
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
	if (r->shows && !(i % 64))
		fprintf(stderr, "\r\033[K%s: %.0f %%", r->n_samples ? "looked at" : "left alone",
			100.0 * (double)r->stops[i] / (double)r->end);
	return err;
}

/* To an instruction, where it must come. */
static struct rs_error *run_to(struct replayed *r, uint64_t icount)
{
	struct rs_session_run run = { .icount = icount, .stop = &rs_cli_stop };
	struct rs_error *err = rs_session_run(r->session, &run);

	if (!err && rs_cli_stop)
		err = rs_error_create(RS_FAILED, "stopped");
	if (!err && !run.at_target)
		err = rs_error_create(RS_FAILED, "the replay does not come to instruction %" PRIu64,
				      icount);
	return err;
}

/* Stops alone, those of its segment. The session is left open: others begin with its snapshots. */
static struct rs_error *go_through(struct replayed *r, const char *console)
{
	const struct rs_session_options options = {
		.console = console,
		.snapshots = r->a->jobs > 1 && !r->like,
		.like = r->like ? r->like->session : NULL,
		.slow = r->a->replay.options.slow,
	};
	struct rs_session_run rest = { .icount = UINT64_MAX, .stop = &rs_cli_stop };
	struct rs_error *err = rs_session_open(r->recording, &options, &r->session);

	if (!err && r->first)
		err = rs_session_seek(r->session, place(r, r->first, r->a->points), &rs_cli_stop);
	for (uint32_t i = 0; !err && i < r->n_stops; i++) {
		err = run_to(r, r->stops[i]);
		if (!err)
			err = stopped(r, i, r->session);
	}
	if (!err && r->last == r->a->points && !r->a->times.to.ns)
		err = rs_session_run(r->session, &rest);
	if (!err && !r->like && !r->n_samples && !rs_cli_program_given(&r->a->program))
		rs_script_replay_told_slow(&r->a->replay, "replay verify",
					   rs_session_slow(r->session));
	return err;
}

/* ---- with a program's probes -------------------------------------------------------------- */

static struct rs_error *with_program(struct replayed *r, const char *console)
{
	struct rs_script_replay replay = r->a->replay;
	struct rs_error *err;

	/* A segment's probes are its own: what the program keeps begins anew in each. */
	replay.times.from.ns = (r->first ? place(r, r->first, r->a->points) : r->from)
			       << r->recording->shift;
	if (r->last < r->a->points || r->a->times.to.ns)
		replay.times.to.ns = place(r, r->last, r->a->points) << r->recording->shift;
	replay.options.like = r->like ? r->like->session : NULL;
	replay.options.begin = r->first ? place(r, r->first, r->a->points) : 0;
	replay.options.console = console;
	replay.options.pauses = (struct rs_replay_pauses){ r->stops, r->n_stops, stopped, r };
	err = rs_script_replay_open(&replay, r->a->directory);
	if (!err) {
		err = rs_script_quiet_run(&replay, "replay verify", &r->a->program, &r->told);
		r->fired = rs_replay_source_counts(replay.source).fired;
	}
	if (!err && r->point < r->last && !rs_cli_stop)
		err = rs_error_create(RS_FAILED, "the replay ended before instruction %" PRIu64,
				      place(r, r->point + 1, r->a->points));
	rs_script_replay_close(&replay);
	r->session = NULL; /* was the source's */
	return err;
}

static struct rs_error *replay(struct replayed *r, uint64_t samples, bool program)
{
	struct rs_error *err = plan(r, samples);
	char path[64];

	if (err)
		return err;
	r->console = memfd_create("console", 0);
	if (r->console < 0)
		return rs_error_errno(errno, "memory for the console");
	snprintf(path, sizeof(path), "/proc/self/fd/%d", r->console);
	err = program ? with_program(r, path) : go_through(r, path);
	if (!err && rs_cli_stop)
		err = rs_error_create(RS_FAILED, "stopped");
	if (r->shows)
		fputs("\r\033[K", stderr);
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

/* ---- segments side by side ----------------------------------------------------------------- */

struct segment {
	struct replayed r;
	struct rs_error *err;
	pthread_t thread;
	bool runs;
};

/* QEMU ends with the thread that started it, so that one closes, too. */
static void *replay_segment(void *of)
{
	struct segment *s = of;

	s->err = replay(&s->r, s->r.a->samples, rs_cli_program_given(&s->r.a->program));
	rs_session_close(s->r.session);
	s->r.session = NULL;
	return NULL;
}

/* What a segment found, behind what those before it found. */
static struct rs_error *gather(struct replayed *to, const struct segment *s)
{
	char part[4096];
	off_t at = 0;
	ssize_t n;

	to->fired += s->r.fired;
	to->told += s->r.told;
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
	s->r.first = before(all->a, i);
	s->r.last = before(all->a, i + 1);
	s->r.shows = all->shows && !i;
	s->r.buffer = malloc(all->a->bytes);
	if (!s->r.buffer)
		return rs_error_no_memory();
	s->runs = s->r.first < s->r.last && !pthread_create(&s->thread, NULL, replay_segment, s);
	if (!s->runs && s->r.first < s->r.last)
		return rs_error_create(RS_FAILED, "no thread for a segment");
	return NULL;
}

static struct rs_error *replay_segments(struct replayed *all)
{
	struct segment *segments = calloc(all->a->jobs, sizeof(*segments));
	struct rs_error *err = segments ? NULL : rs_error_no_memory();

	all->console = memfd_create("console", MFD_CLOEXEC);
	if (!err && all->console < 0)
		err = rs_error_errno(errno, "memory for the console");
	for (uint64_t i = 0; !err && i < all->a->jobs; i++)
		err = begin_segment(&segments[i], all, i);
	for (uint64_t i = 0; segments && i < all->a->jobs; i++) {
		struct segment *s = &segments[i];

		if (s->runs) {
			pthread_join(s->thread, NULL);
			err = rs_error_first(err, s->err);
		}
		if (!err && s->runs)
			err = gather(all, s);
		if (s->r.a)
			replayed_deinit(&s->r);
	}
	free(segments);
	return err;
}

/* ---- comparing ---------------------------------------------------------------------------- */

/* Whether two files hold the same; with `begins`, whether the first begins with the second. */
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

struct verdict {
	uint64_t same_points, console_bytes;
	bool same_console, same_as_recorded;
	/* With --live: what the probes did to a machine that ran. */
	struct rs_distortion live;
	char live_text[RS_DISTORTION_BYTES];
};

static struct rs_error *compare(const struct replayed *alone, const struct replayed *looked_at,
				const struct rs_recording *recording, struct verdict *v)
{
	struct rs_error *err;
	uint64_t bytes = 0;
	int fd = -1;

	for (uint64_t i = 0; i < alone->a->points; i++)
		v->same_points += alone->hashes[i].low == looked_at->hashes[i].low &&
				  alone->hashes[i].high == looked_at->hashes[i].high;
	err = same_files(alone->console, looked_at->console, false, &v->same_console,
			 &v->console_bytes);
	if (err)
		return err;
	err = rs_folder_fd(&recording->folder, "console", O_RDONLY, &fd);
	if (!err)
		err = same_files(fd, alone->console, alone->a->times.to.ns || recording->mended,
				 &v->same_as_recorded, &bytes);
	if (fd >= 0)
		close(fd);
	return err;
}

static void show_text(const struct replayed *alone, const struct replayed *looked_at,
		      const struct verdict *v)
{
	uint64_t points = alone->a->points;

	printf("%-16s %-32s %-32s\n", "INSTRUCTION", "LEFT ALONE", "LOOKED AT");
	for (uint64_t i = 0; i < points; i++) {
		const struct rs_state_hash *a = &alone->hashes[i], *b = &looked_at->hashes[i];

		printf("%-16" PRIu64 " %016" PRIx64 "%016" PRIx64 " %016" PRIx64 "%016" PRIx64
		       "%s\n",
		       place(alone, i + 1, points), a->high, a->low, b->high, b->low,
		       a->low == b->low && a->high == b->high ? "" : "  DIFFERS");
	}
	printf("%" PRIu64 " of %" PRIu64 " states are the same, with %" PRIu64
	       " stops that read %s (no stack at %" PRIu64 " of them)",
	       v->same_points, points, looked_at->samples, RS_COUNT_OF(looked_at->read, "byte"),
	       looked_at->missing);
	if (rs_cli_program_given(&looked_at->a->program))
		printf(", %" PRIu64 " probes that fired (%" PRIu64 " errors)", looked_at->fired,
		       looked_at->told);
	putchar('\n');
	printf("console, %s: %s; %s as recorded\n", RS_COUNT_OF(v->console_bytes, "byte"),
	       v->same_console ? "the same" : "DIFFERS",
	       v->same_as_recorded ? "the same" : "NOT the same");
	if (looked_at->a->live)
		printf("replayed: %s; live, by the same probes: %s\n",
		       v->same_points == points ? "the guest's clock is 0 s behind"
						: "the guest DIFFERS",
		       v->live_text);
}

static void put_live(struct rs_json *json, const struct verdict *v)
{
	rs_json_open(rs_json_key(json, "live"), '{');
	rs_json_unsigned(rs_json_key(json, "host_ns"), v->live.host_ns);
	rs_json_unsigned(rs_json_key(json, "guest_ns"), v->live.guest_ns);
	rs_json_signed(rs_json_key(json, "behind_ns"), (int64_t)v->live.behind_ns);
	rs_json_real(rs_json_key(json, "factor"), v->live.factor, 6);
	rs_json_unsigned(rs_json_key(json, "stops"), v->live.stops);
	rs_json_unsigned(rs_json_key(json, "stopped_ns"), v->live.stopped_ns);
	rs_json_bool(rs_json_key(json, "clock"), v->live.clock);
	rs_json_close(json, '}');
}

/* What was compared, and what came of it. */
struct verified {
	const struct replayed *alone, *looked_at;
	const struct verdict *verdict;
};

static void put_verified(struct rs_json *json, const void *about)
{
	const struct verified *verified = about;
	const struct replayed *alone = verified->alone, *looked_at = verified->looked_at;
	const struct verdict *v = verified->verdict;

	rs_json_open(rs_json_key(json, "states"), '[');
	for (uint64_t i = 0; i < alone->a->points; i++) {
		const struct rs_state_hash *a = &alone->hashes[i], *b = &looked_at->hashes[i];
		char one[33], other[33];

		snprintf(one, sizeof(one), "%016" PRIx64 "%016" PRIx64, a->high, a->low);
		snprintf(other, sizeof(other), "%016" PRIx64 "%016" PRIx64, b->high, b->low);
		rs_json_open(json, '{');
		rs_json_unsigned(rs_json_key(json, "instruction"),
				 place(alone, i + 1, alone->a->points));
		rs_json_text(rs_json_key(json, "alone"), one);
		rs_json_text(rs_json_key(json, "looked_at"), other);
		rs_json_close(json, '}');
	}
	rs_json_close(json, ']');
	rs_json_unsigned(rs_json_key(json, "same"), v->same_points);
	rs_json_unsigned(rs_json_key(json, "fired"), looked_at->fired);
	rs_json_unsigned(rs_json_key(json, "samples"), looked_at->samples);
	rs_json_unsigned(rs_json_key(json, "read_bytes"), looked_at->read);
	rs_json_unsigned(rs_json_key(json, "console_bytes"), v->console_bytes);
	rs_json_bool(rs_json_key(json, "console_same"), v->same_console);
	rs_json_bool(rs_json_key(json, "console_as_recorded"), v->same_as_recorded);
	if (looked_at->a->live)
		put_live(json, v);
}

/* ---- beside it, live ---------------------------------------------------------------------- */

/* The samples as a program: as many timers in the time, each of which reads as much. */
static char *samples_program(const struct replayed *r)
{
	uint64_t ns = r->recording->icount << r->recording->shift, at = 0, left = r->a->bytes;
	uint64_t period = r->a->samples ? ns / r->a->samples : ns;
	char *text = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);

	if (!file)
		return NULL;
	fprintf(file, "guest:timer::%" PRIu64 "ns { @ = sum(*(uint64_t *)uregs[R_RSP]); }\n",
		period ? period : 1);
	for (; left; at++) {
		uint64_t part = left < LIVE_PIECE ? left : LIVE_PIECE;

		fprintf(file,
			"guest:timer::%" PRIu64 "ns { @ = sum(*(uint8_t *)copyinphys(%" PRIu64
			", %" PRIu64 ")); }\n",
			period ? period : 1, LIVE_FROM + at * LIVE_PIECE, part);
		left -= part;
	}
	if (!fclose(file))
		return text;
	free(text);
	return NULL;
}

/* The recording's machine, booted anew, to the guest's end, or for as long as it was recorded. */
static struct rs_error *measure_live(const struct replayed *r, struct verdict *v)
{
	struct rs_script_replay live = r->a->replay;
	struct rs_cli_program program = r->a->program;
	char *samples = NULL;
	uint64_t errors = 0;
	struct rs_error *err;

	if (!rs_cli_program_given(&program)) {
		samples = samples_program(r);
		if (!samples)
			return rs_error_no_memory();
		program.programs.at[program.programs.n++] = samples;
	}
	live.live = "";
	live.times.from.ns = live.times.to.ns = 0;
	if (!r->recording->why || strncmp(r->recording->why, GUESTS_END, strlen(GUESTS_END)) != 0)
		live.times.to.ns = r->recording->icount << r->recording->shift;
	err = rs_script_replay_open(&live, r->a->directory);
	if (!err)
		err = rs_script_quiet_run(&live, "replay verify", &program, &errors);
	if (!err && rs_cli_stop)
		err = rs_error_create(RS_FAILED, "stopped");
	if (!err) {
		rs_live_source_distortion(live.source, &v->live);
		rs_script_replay_distortion(&live, v->live_text);
	}
	rs_script_replay_close(&live);
	free(samples);
	return rs_error_wrap(err, "live");
}

/* ---- the verb ----------------------------------------------------------------------------- */

static struct rs_error *prepare(struct replayed *r, const struct rs_recording *recording)
{
	const struct verify_arguments *a = r->a;
	uint64_t to = !a->times.to.ns ? UINT64_MAX : a->times.to.ns >> recording->shift;
	char text[RS_MOMENT_TEXT_MAX];

	r->recording = recording;
	r->last = a->points;
	r->from = a->times.from.ns >> recording->shift;
	r->end = to < recording->icount ? to : recording->icount;
	if (!recording->icount)
		return rs_error_create(RS_USAGE, "%s: nothing was recorded",
				       recording->folder.path);
	if (r->from >= r->end)
		return rs_error_create(RS_USAGE, "%s ends at %s of the guest's time",
				       recording->folder.path,
				       rs_moment_text(recording->icount << recording->shift, text));
	r->hashes = calloc(a->points, sizeof(*r->hashes));
	r->buffer = malloc(a->bytes);
	return r->hashes && r->buffer ? NULL : rs_error_no_memory();
}

/* Makes stamps of the guest's clock its time, which the recording knows. */
static struct rs_error *find_times(struct verify_arguments *a, const struct rs_recording *recording)
{
	struct rs_error *err = rs_moment_find(recording, &a->times.from);

	if (!err)
		err = rs_moment_find(recording, &a->times.to);
	return err ? err : rs_moment_span(&a->times.from, &a->times.to);
}

static struct rs_error *replay_both(struct replayed *alone, struct replayed *looked_at,
				    const struct rs_recording *recording)
{
	const struct verify_arguments *a = alone->a;
	struct rs_error *err = prepare(alone, recording);

	if (!err)
		err = prepare(looked_at, recording);
	if (!err)
		err = replay(alone, 0, false);
	if (err)
		return err;
	if (a->jobs == 1)
		return replay(looked_at, a->samples, rs_cli_program_given(&a->program));
	looked_at->like = alone;
	return replay_segments(looked_at);
}

int replay_verify(int argc, char **argv)
{
	static const struct argp_child children[] = {
		{ &rs_cli_program_argp, 0, NULL, 0 }, { &rs_script_replay_probes_argp, 0, NULL, 0 },
		{ &rs_cli_moments_argp, 0, NULL, 0 }, { &rs_cli_json_argp, 0, NULL, 0 },
		{ &rs_cli_quiet_argp, 0, NULL, 0 },   { 0 }
	};
	static const struct argp argp = {
		options, parse, "REC [ARG...]", doc, children, NULL, NULL
	};
	struct verify_arguments a = {
		.program.optional = true,
		.points = POINTS,
		.samples = UINT64_MAX,
		.bytes = BYTES,
		.jobs = 1,
	};
	struct rs_recording recording = { 0 };
	struct replayed alone = { .a = &a, .console = -1 }, looked_at = alone;
	struct verdict v = { 0 };
	struct rs_error *err;
	bool good;

	if (rs_cli_parse(&argp, argc, argv, &a))
		return RS_EXIT_USAGE;
	if (a.samples == UINT64_MAX)
		a.samples = rs_cli_program_given(&a.program) ? 0 : SAMPLES;
	alone.shows = looked_at.shows = !a.quiet && !a.json && isatty(STDERR_FILENO);
	rs_cli_catch_stop();
	err = rs_cli_confine(RS_CONFINE_REPLAYER);
	if (!err)
		err = rs_recording_read(a.directory, &recording);
	if (!err)
		err = rs_recording_check(&recording);
	if (!err)
		err = find_times(&a, &recording);
	if (!err)
		err = replay_both(&alone, &looked_at, &recording);
	if (!err)
		err = compare(&alone, &looked_at, &recording, &v);
	if (!err && a.live)
		err = measure_live(&looked_at, &v);
	if (!err && a.json)
		err = rs_cli_json_print(put_verified, &(struct verified){ &alone, &looked_at, &v });
	else if (!err)
		show_text(&alone, &looked_at, &v);
	good = !err && v.same_points == a.points && v.same_console && v.same_as_recorded;
	replayed_deinit(&alone);
	replayed_deinit(&looked_at);
	free(alone.hashes);
	free(looked_at.hashes);
	rs_recording_deinit(&recording);
	if (err)
		return rs_cli_fail("replay verify", err);
	return good ? RS_EXIT_OK : RS_EXIT_FAILED;
}
