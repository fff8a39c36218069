/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ringside replay seek: replays to a time, or back from there to where a probe last fired, and
 * serves a debugger there, which can step forward and back.
 *
 *	|--s----s----s--|  --to; s: a snapshot to go back by
 *	         |<-----|  --back
 *	         gdb       --gdb
 */
#include "cli/cli.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "cli/numbers.h"
#include "cli/replay.h"
#include "cli/replay_debugger.h"
#include "cli/shared.h"
#include "replay/seek.h"

#define REGS_A_LINE 4u
#define CPL_MASK    3u

struct seek_arguments {
	struct rs_seek_options seek;
	bool json, quiet, shows;
};

/* ---- arguments ---------------------------------------------------------------------------- */

enum { KEY_TO = 256 };

static const struct argp_option options[] = {
	{ "to", KEY_TO, "TIME", 0,
	  "Replay to this guest time, or time of its kernel's clock, as in dmesg:2.570288 (the "
	  "recording's end)",
	  1 },
	{ "back", RS_CLI_TEXT(struct seek_arguments, seek.back), "PROBE", 0,
	  "Then go back to where this probe last fired: guest:addr:0xADDR:exec, "
	  "guest:mem:0xADDR:write, read or read|write",
	  1 },
	{ "gdb", RS_CLI_TEXT(struct seek_arguments, seek.gdb), "ADDRESS", 0,
	  "Serve a debugger of the same user there: unix:PATH, or :PORT on the loopback interface",
	  2 },
	{ "binary", RS_CLI_TEXT(struct seek_arguments, seek.binary), "PROGRAM[@0xBASE]", 0,
	  "Name the function, by this program of the guest or its vmlinux", 2 },
	{ 0 },
};

static const char doc[] =
	"Replay to a position, forward or backward, and print the machine's state there.\v"
	"Without --back, the position is --to; with --back, it is where the probe last fired "
	"before --to. For a memory probe, it is after the instruction that accessed the memory. "
	"seek prints the instruction, the time and the registers. With --gdb a debugger can then "
	"attach, which steps, continues and goes back (reverse-stepi, reverse-continue) through "
	"the recording; seek ends when it disconnects.\n\n"
	"Exit codes: 0 done; 1 the probe did not fire before, or failed; 2 usage error.\n\n"
	"Examples:\n"
	"  ringside replay seek --to 1.5s rec\n"
	"  ringside replay seek --back guest:mem:0x4a7340:write --binary program rec\n"
	"  ringside replay seek --to 1.5s --gdb :1234 rec\n"
	"  gdb -ex 'set tcp connect-timeout unlimited' -ex 'target remote :1234' program\n";

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct seek_arguments *a = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->json;
		state->child_inputs[1] = &a->quiet;
		break;
	case KEY_TO:
		a->seek.to = rs_cli_moment(state, "--to", text);
		break;
	case ARGP_KEY_ARG:
		if (a->seek.directory)
			argp_error(state, "only one recording is allowed, got '%s'", text);
		a->seek.directory = text;
		break;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "no recording given");
		break;
	default:
		return rs_cli_store(options, key, text, state);
	}
	return 0;
}

struct seek {
	const struct seek_arguments *a;
	struct rs_seek at;
};

/* ---- output ------------------------------------------------------------------------------- */

static void show_text(const struct seek *s)
{
	const struct rs_x86_regs *regs = &s->at.regs;
	const char *symbol = s->at.symbol;
	char text[RS_MOMENT_TEXT_MAX];

	if (s->a->seek.back && !s->at.found)
		printf("%s did not fire before\n", s->a->seek.back);
	printf("instruction %" PRIu64 ", %s of the guest's time, at 0x%" PRIx64
	       "%s%s, privilege level %u\n",
	       s->at.icount, rs_moment_text(rs_seek_guest_ns(&s->at, s->at.icount), text),
	       regs->rip, symbol[0] ? " " : "", symbol, regs->cs & CPL_MASK);
	for (uint32_t i = 0; rs_x86_reg_name(i); i++) {
		uint64_t value = 0;

		rs_x86_reg(regs, rs_x86_reg_name(i), &value);
		printf("%10s %016" PRIx64 "%s", rs_x86_reg_name(i), value,
		       (i + 1) % REGS_A_LINE && rs_x86_reg_name(i + 1) ? "" : "\n");
	}
}

static void put_place(struct rs_json *json, const void *about)
{
	const struct seek *s = about;
	const struct rs_x86_regs *regs = &s->at.regs;

	rs_json_unsigned(rs_json_key(json, "instruction"), s->at.icount);
	rs_json_unsigned(rs_json_key(json, "guest_ns"), rs_seek_guest_ns(&s->at, s->at.icount));
	rs_json_hex(rs_json_key(json, "pc"), regs->rip);
	if (s->at.symbol[0])
		rs_json_text(rs_json_key(json, "symbol"), s->at.symbol);
	rs_json_unsigned(rs_json_key(json, "cpl"), regs->cs & CPL_MASK);
	if (s->a->seek.back)
		rs_json_bool(rs_json_key(json, "met"), s->at.found);
	rs_json_open(rs_json_key(json, "registers"), '{');
	for (uint32_t i = 0; rs_x86_reg_name(i); i++) {
		uint64_t value = 0;

		rs_x86_reg(regs, rs_x86_reg_name(i), &value);
		rs_json_hex(rs_json_key(json, rs_x86_reg_name(i)), value);
	}
	rs_json_close(json, '}');
}

static void show_progress(void *ctx, bool back, uint64_t guest_ns)
{
	const struct seek_arguments *a = ctx;
	char text[RS_MOMENT_TEXT_MAX];

	if (a->shows)
		fprintf(stderr, "\r\033[K%s %s of the guest's time", back ? "back from" : "to",
			rs_moment_text(guest_ns, text));
}

/* Replays to the position, and prints it. */
static struct rs_error *seek_and_show(struct seek *s)
{
	struct rs_error *err = rs_seek_run(&s->at);

	if (s->a->shows)
		fputs("\r\033[K", stderr);
	if (err)
		return err;
	if (s->a->json)
		return rs_cli_json_print(put_place, s);
	show_text(s);
	fflush(stdout);
	return NULL;
}

int replay_seek(int argc, char **argv)
{
	static const struct argp_child children[] = { { &rs_cli_json_argp, 0, NULL, 0 },
						      { &rs_cli_quiet_argp, 0, NULL, 0 },
						      { 0 } };
	static const struct argp argp = { options, parse, "REC", doc, children, NULL, NULL };
	struct seek_arguments a = { .seek = { .to.ns = UINT64_MAX,
					      .stop = &rs_cli_stop,
					      .progress = show_progress,
					      .ctx = &a } };
	struct seek s = { .a = &a, .at = RS_SEEK_NONE };
	struct rs_cli_debugger debugger = { .verb = "replay seek" };
	struct rs_error *err;

	if (rs_cli_parse(&argp, argc, argv, &a))
		return RS_EXIT_USAGE;
	debugger.quiet = a.quiet;
	a.shows = !a.quiet && !a.json && isatty(STDERR_FILENO);
	rs_cli_catch_stop();
	err = rs_cli_confine(RS_CONFINE_REPLAYER);
	if (!err)
		err = rs_seek_open(&a.seek, &s.at);
	if (!err)
		err = seek_and_show(&s);
	if (!err && a.seek.gdb)
		err = rs_cli_debugger_serve(&debugger, &s.at);
	rs_seek_close(&s.at);
	if (err)
		return rs_cli_fail("replay seek", err);
	return a.seek.back && !s.at.found ? RS_EXIT_FAILED : RS_EXIT_OK;
}
