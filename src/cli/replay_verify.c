/* SPDX-License-Identifier: BSD-2-Clause */
/* ringside replay verify: proves that a replay equals the recording, probed or not. */
#include "cli/cli.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/count.h"
#include "base/json.h"
#include "cli/numbers.h"
#include "cli/program.h"
#include "cli/replay.h"
#include "cli/script_quiet.h"
#include "cli/script_replay.h"
#include "cli/shared.h"
#include "replay/verify.h"

#define POINTS	       8
#define SAMPLES	       1000 /* the default without a program */
#define POINTS_MAX     1000
#define JOBS_MAX       64
#define BYTES	       4096
#define LIVE_BYTES_MAX (UINT64_C(1) << 20)
#define LIVE_PIECE     (UINT64_C(32) << 10) /* the most memory that a clause may read */
#define LIVE_FROM      (UINT64_C(1) << 20)  /* an address of RAM in each recorded machine */
#define GUESTS_END     "the guest's end"    /* replay_record.c: the reason of the end */

struct verify_arguments {
	const char *directory;
	struct rs_cli_program program;
	struct rs_script_replay replay;
	uint64_t points, samples, bytes, jobs;
	struct rs_moments times;
	bool shows, quiet, json, live; /* live: also probe the machine, booted again */
};

/* ---- arguments ---------------------------------------------------------------------------- */

enum { KEY_POINTS = 256, KEY_SAMPLES, KEY_BYTES };

static const struct argp_option options[] = {
	{ "points", KEY_POINTS, "N", 0, "Compare states at this many instructions (8)", 1 },
	{ "samples", KEY_SAMPLES, "N", 0,
	  "Stop the second replay this often, and read registers, stack and memory (1000, or 0 "
	  "with a program)",
	  1 },
	{ "bytes", KEY_BYTES, "SIZE", 0,
	  "With --samples: read this much memory at each stop, with K or M (4K)", 1 },
	{ "jobs", 'J', "N", 0,
	  "In the probed replay: replay N segments in parallel, each from a snapshot (1)", 2 },
	{ 0 },
};

static const char doc[] =
	"Prove that a replay equals the recording, probed or not.\v"
	"verify replays twice: once without probes, and once with stops at --samples instructions "
	"to read, or with the probes of a program, as in replay run; the program's output is "
	"discarded. At --points instructions, all registers and all RAM are hashed. The hashes and "
	"the guest's console must be the same in both replays, and the console must equal the "
	"recorded one, or its beginning, with --to or if the recorder was killed. With --live, the "
	"recording's machine is also booted, and the same probes stop it while it runs; the delay "
	"of its clock is shown for comparison.\n\n"
	"Exit codes: 0 the same; 1 different, or failed; 2 usage error.\n\n"
	"Examples:\n"
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
		argp_error(state, "no recording given");
		break;
	case ARGP_KEY_END:
		if (rs_script_replay_attaches(&a->replay))
			argp_error(state,
				   "--live boots the recording's machine here: leave out GDB");
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

/* ---- with a program's probes -------------------------------------------------------------- */

/* Replays a part with the program's probes; a callback of rs_verify_run(). */
static struct rs_error *replay_program(void *ctx, const struct rs_verify_part *part,
				       uint64_t *fired, uint64_t *errors)
{
	const struct verify_arguments *a = ctx;

	return rs_script_quiet_part(a->replay, a->directory, &a->program, part, fired, errors);
}

/* ---- output ------------------------------------------------------------------------------- */

/* The effect of the probes on a running machine, with --live. */
struct live_verdict {
	struct rs_distortion distortion;
	char text[RS_DISTORTION_BYTES];
};

struct verdict {
	const struct verify_arguments *a;
	struct rs_verified v;
	struct live_verdict live;
};

static void show_text(const struct verdict *verdict)
{
	const struct rs_verified *v = &verdict->v;

	printf("%-16s %-32s %-32s\n", "INSTRUCTION", "NOT PROBED", "PROBED");
	for (uint64_t i = 0; i < v->points; i++) {
		const struct rs_state_hash *a = &v->alone[i], *b = &v->observed[i];

		printf("%-16" PRIu64 " %016" PRIx64 "%016" PRIx64 " %016" PRIx64 "%016" PRIx64
		       "%s\n",
		       v->places[i], a->high, a->low, b->high, b->low,
		       rs_verify_same(a, b) ? "" : "  DIFFERS");
	}
	printf("%" PRIu64 " of %" PRIu64 " states are the same, with %" PRIu64
	       " stops that read %s (no stack at %" PRIu64 " of them)",
	       v->same_points, v->points, v->samples, RS_COUNT_OF(v->read_bytes, "byte"),
	       v->stacks_missing);
	if (rs_cli_program_given(&verdict->a->program))
		printf(", %" PRIu64 " probes that fired (%" PRIu64 " errors)", v->fired, v->errors);
	putchar('\n');
	printf("console (%s): %s in both replays; %s as recorded\n",
	       RS_COUNT_OF(v->console_bytes, "byte"), v->same_console ? "the same" : "DIFFERS",
	       v->same_as_recorded ? "the same" : "NOT the same");
	if (verdict->a->live)
		printf("replayed: %s; live, with the same probes: %s\n",
		       v->same_points == v->points ? "the guest's clock is 0 s behind"
						   : "the guest DIFFERS",
		       verdict->live.text);
}

static void put_live(struct rs_json *json, const struct rs_distortion *live)
{
	rs_json_open(rs_json_key(json, "live"), '{');
	rs_json_unsigned(rs_json_key(json, "host_ns"), live->host_ns);
	rs_json_unsigned(rs_json_key(json, "guest_ns"), live->guest_ns);
	rs_json_signed(rs_json_key(json, "behind_ns"), (int64_t)live->behind_ns);
	rs_json_real(rs_json_key(json, "factor"), live->factor, 6);
	rs_json_unsigned(rs_json_key(json, "stops"), live->stops);
	rs_json_unsigned(rs_json_key(json, "stopped_ns"), live->stopped_ns);
	rs_json_bool(rs_json_key(json, "clock"), live->clock);
	rs_json_close(json, '}');
}

static void put_verdict(struct rs_json *json, const void *about)
{
	const struct verdict *verdict = about;
	const struct rs_verified *v = &verdict->v;

	rs_json_open(rs_json_key(json, "states"), '[');
	for (uint64_t i = 0; i < v->points; i++) {
		const struct rs_state_hash *a = &v->alone[i], *b = &v->observed[i];
		char one[33], other[33];

		snprintf(one, sizeof(one), "%016" PRIx64 "%016" PRIx64, a->high, a->low);
		snprintf(other, sizeof(other), "%016" PRIx64 "%016" PRIx64, b->high, b->low);
		rs_json_open(json, '{');
		rs_json_unsigned(rs_json_key(json, "instruction"), v->places[i]);
		rs_json_text(rs_json_key(json, "alone"), one);
		rs_json_text(rs_json_key(json, "looked_at"), other);
		rs_json_close(json, '}');
	}
	rs_json_close(json, ']');
	rs_json_unsigned(rs_json_key(json, "same"), v->same_points);
	rs_json_unsigned(rs_json_key(json, "fired"), v->fired);
	rs_json_unsigned(rs_json_key(json, "samples"), v->samples);
	rs_json_unsigned(rs_json_key(json, "read_bytes"), v->read_bytes);
	rs_json_unsigned(rs_json_key(json, "console_bytes"), v->console_bytes);
	rs_json_bool(rs_json_key(json, "console_same"), v->same_console);
	rs_json_bool(rs_json_key(json, "console_as_recorded"), v->same_as_recorded);
	if (verdict->a->live)
		put_live(json, &verdict->live.distortion);
}

/* ---- the live machine --------------------------------------------------------------------- */

/* Returns a program whose timers read as much and as often as the samples, or NULL if out of
 * memory. */
static char *samples_program(const struct verify_arguments *a, const struct rs_recording *recording)
{
	uint64_t ns = recording->icount << recording->shift, at = 0, left = a->bytes;
	uint64_t period = a->samples ? ns / a->samples : ns;
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

/* Boots the recording's machine again, with the same probes, until the guest ends or for the
 * recorded time, and measures the effect of the probes. */
static struct rs_error *measure_live(const struct verify_arguments *a,
				     const struct rs_recording *recording, struct live_verdict *v)
{
	struct rs_script_replay live = a->replay;
	struct rs_cli_program program = a->program;
	char *samples = NULL;
	uint64_t errors = 0;
	struct rs_error *err;

	if (!rs_cli_program_given(&program)) {
		samples = samples_program(a, recording);
		if (!samples)
			return rs_error_no_memory();
		program.programs.at[program.programs.n++] = samples;
	}
	live.live = "";
	live.times.from.ns = live.times.to.ns = 0;
	if (!recording->why || strncmp(recording->why, GUESTS_END, strlen(GUESTS_END)) != 0)
		live.times.to.ns = recording->icount << recording->shift;
	err = rs_script_replay_open(&live, a->directory);
	if (!err)
		err = rs_script_quiet_run(&live, &program, &errors);
	if (!err && rs_cli_stop)
		err = rs_error_create(RS_FAILED, "stopped");
	if (!err) {
		rs_live_source_distortion(live.source, &v->distortion);
		rs_script_replay_distortion(&live, v->text);
	}
	rs_script_replay_close(&live);
	free(samples);
	return rs_error_wrap(err, "live");
}

/* ---- the verb ----------------------------------------------------------------------------- */

/* Converts stamps of the guest's kernel clock to guest time, by the recording. */
static struct rs_error *find_times(struct verify_arguments *a, const struct rs_recording *recording)
{
	struct rs_error *err = rs_moment_find(recording, &a->times.from);

	if (!err)
		err = rs_moment_find(recording, &a->times.to);
	return err || !a->times.to.ns ? err : rs_moment_span(&a->times.from, &a->times.to);
}

static void show_progress(void *ctx, bool observed, double part)
{
	const struct verify_arguments *a = ctx;

	if (a->shows)
		fprintf(stderr, "\r\033[K%s: %.0f %%", observed ? "probed" : "not probed",
			100 * part);
}

static struct rs_error *verify(struct verify_arguments *a, const struct rs_recording *recording,
			       struct verdict *verdict)
{
	const struct rs_verify_options options = {
		.points = a->points,
		.samples = a->samples,
		.bytes = a->bytes,
		.jobs = a->jobs,
		.from_ns = a->times.from.ns,
		.to_ns = a->times.to.ns,
		.to_end = !a->times.to.ns,
		.slow = a->replay.options.slow,
		.stop = &rs_cli_stop,
		.probe = rs_cli_program_given(&a->program) ? replay_program : NULL,
		.progress = show_progress,
		.ctx = a,
	};
	struct rs_error *err = rs_verify_run(recording, &options, &verdict->v);

	if (a->shows)
		fputs("\r\033[K", stderr);
	rs_script_replay_report_slow(&a->replay, verdict->v.slow);
	return err;
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
		.replay = { .stop = &rs_cli_stop,
			    .remarks = { rs_cli_remark, (char *)(uintptr_t) "replay verify" } },
	};
	struct rs_recording recording = { 0 };
	struct verdict verdict = { .a = &a };
	const struct rs_verified *v = &verdict.v;
	struct rs_error *err;
	bool good;

	if (rs_cli_parse(&argp, argc, argv, &a))
		return RS_EXIT_USAGE;
	if (a.samples == UINT64_MAX)
		a.samples = rs_cli_program_given(&a.program) ? 0 : SAMPLES;
	a.shows = !a.quiet && !a.json && isatty(STDERR_FILENO);
	rs_cli_catch_stop();
	err = rs_cli_confine(RS_CONFINE_REPLAYER);
	if (!err)
		err = rs_recording_read(a.directory, &recording);
	if (!err)
		err = rs_recording_check(&recording);
	if (!err)
		err = find_times(&a, &recording);
	if (!err)
		err = verify(&a, &recording, &verdict);
	if (!err && a.live)
		err = measure_live(&a, &recording, &verdict.live);
	if (!err && a.json)
		err = rs_cli_json_print(put_verdict, &verdict);
	else if (!err)
		show_text(&verdict);
	good = !err && v->same_points == a.points && v->same_console && v->same_as_recorded;
	rs_verified_deinit(&verdict.v);
	rs_recording_deinit(&recording);
	if (err)
		return rs_cli_fail("replay verify", err);
	return good ? RS_EXIT_OK : RS_EXIT_FAILED;
}
