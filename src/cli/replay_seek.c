/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ringside replay seek: a replay at one place: a time, or back from there where a probe was last
 * met; and a debugger there, which goes on or back as it likes.
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
#include "cli/shared.h"
#include "replay/debugger.h"
#include "replay/moment.h"
#include "replay/program.h"
#include "replay/session.h"
#include "replay/symbols.h"
#include "replay/probe.h"

#define NS_PER_SEC	 UINT64_C(1000000000)
#define SNAPSHOT_EACH_NS (2 * NS_PER_SEC) /* of the guest's time; each takes room, and some time */
#define SNAPSHOTS	 64u
#define REGS_A_LINE	 4u
#define CPL_MASK	 3u

struct seek_arguments {
	const char *directory, *back, *gdb, *binary;
	struct rs_moment to; /* UINT64_MAX: to the end */
	bool json, quiet;
};

/* ---- arguments ---------------------------------------------------------------------------- */

enum { KEY_TO = 256, KEY_BACK, KEY_GDB, KEY_BINARY };

static const struct argp_option options[] = {
	{ "to", KEY_TO, "TIME", 0,
	  "To this time of the guest's, or of its kernel's clock, as in dmesg:2.570288; the "
	  "recording's end",
	  1 },
	{ "back", KEY_BACK, "PROBE", 0,
	  "And back from there to where this was last met: guest:addr:0xADDR:exec, "
	  "guest:mem:0xADDR:write, read or read|write",
	  1 },
	{ "gdb", KEY_GDB, "ADDRESS", 0,
	  "Serve a debugger of your own user's there: unix:PATH, or :PORT on the loopback "
	  "interface",
	  2 },
	{ "binary", KEY_BINARY, "PROGRAM[@0xBASE]", 0,
	  "Name the function: of this program of the guest's, or its vmlinux", 2 },
	{ 0 },
};

static const char doc[] =
	"Replay to a place, forth or back, and say what the machine is there.\v"
	"Without --back it stands at --to; with it where the probe was last met before: of memory, "
	"after the instruction that accessed it. It prints the instruction, the time and the "
	"registers. With "
	"--gdb a debugger may have the machine then, which steps, goes on and goes back "
	"(reverse-stepi, reverse-continue) through the recording; when it goes, all ends.\n\n"
	"Exit codes: 0 it is there; 1 the probe was not met before, or failed; 2 usage error.\n\n"
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
		a->to = rs_cli_moment(state, "--to", text);
		break;
	case KEY_BACK:
		a->back = text;
		break;
	case KEY_GDB:
		a->gdb = text;
		break;
	case KEY_BINARY:
		a->binary = text;
		break;
	case ARGP_KEY_ARG:
		if (a->directory)
			argp_error(state, "only one recording is allowed, got '%s'", text);
		a->directory = text;
		break;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "which recording?");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

/* ---- going there -------------------------------------------------------------------------- */

struct seek {
	const struct seek_arguments *a;
	struct rs_recording recording;
	struct rs_session *session;
	struct rs_replay_probe probe; /* of --back */
	struct rs_program program;    /* of --binary, or all zero; and its functions: */
	struct rs_symbols symbols;
	struct rs_debugger debugger;
	uint64_t to, icount;
	bool found, shows;
};

static uint64_t guest_ns(const struct seek *s, uint64_t icount)
{
	return icount << s->recording.shift;
}

static void show_progress(const struct seek *s, const char *doing, uint64_t icount)
{
	char text[RS_MOMENT_TEXT_MAX];

	if (s->shows)
		fprintf(stderr, "\r\033[K%s %s of the guest's time", doing,
			rs_moment_text(guest_ns(s, icount), text));
}

static struct rs_error *prepare(struct seek *s)
{
	const struct seek_arguments *a = s->a;
	struct rs_error *err = rs_cli_confine(RS_CONFINE_REPLAYER);
	struct rs_moment to = a->to;
	char text[RS_MOMENT_TEXT_MAX];
	bool ours = true;

	if (!err)
		err = rs_recording_read(a->directory, &s->recording);
	if (!err)
		err = rs_recording_check(&s->recording);
	if (err)
		return err;
	err = rs_moment_find(&s->recording, &to);
	if (err)
		return err;
	s->to = to.ns == UINT64_MAX ? s->recording.icount : to.ns >> s->recording.shift;
	if (s->to > s->recording.icount)
		return rs_error_create(RS_USAGE, "%s ends at %s of the guest's time", a->directory,
				       rs_moment_text(guest_ns(s, s->recording.icount), text));
	if (a->back)
		err = rs_replay_probe_parse(a->back, s->recording.shift, &s->probe, &ours);
	if (!err && a->back && (!ours || s->probe.kind == RS_REPLAY_TIMER))
		err = rs_error_create(RS_USAGE,
				      "--back '%s': expected guest:addr:0xADDRESS:exec or "
				      "guest:mem:0xADDRESS:write",
				      a->back);
	if (!err && a->binary)
		err = rs_program_read(a->binary, &s->program);
	if (!err && a->binary)
		err = rs_symbols_read(s->program.path, &s->symbols);
	if (!err && a->gdb)
		err = rs_debugger_bind(a->gdb, &s->debugger);
	return err;
}

/* Ahead, with snapshots on the way where they are to be gone back by. */
static struct rs_error *go_ahead(struct seek *s)
{
	const struct rs_session_options how = { .snapshots = s->a->back || s->a->gdb,
						.slow = true /* a few stops in all */ };
	uint64_t each = SNAPSHOT_EACH_NS >> s->recording.shift;
	struct rs_error *err = rs_session_open(&s->recording, &how, &s->session);

	if (each < s->to / SNAPSHOTS)
		each = s->to / SNAPSHOTS;
	for (uint64_t at = each; !err && how.snapshots && at < s->to; at += each) {
		show_progress(s, "to", at);
		err = rs_session_seek(s->session, at, &rs_cli_stop);
		if (!err)
			err = rs_session_snapshot(s->session);
	}
	show_progress(s, "to", s->to);
	return err ? err : rs_session_seek(s->session, s->to, &rs_cli_stop);
}

static struct rs_error *go_back(struct seek *s)
{
	const struct rs_replay_probe *p = &s->probe;
	struct rs_gdb_stopped stopped;
	struct rs_error *err;

	show_progress(s, "back from", s->to);
	err = rs_gdb_point(rs_session_gdb(s->session), p->point, p->address, p->bytes, true);
	if (!err)
		err = rs_session_back(s->session, &rs_cli_stop, &s->found, &stopped);
	if (!err)
		err = rs_gdb_point(rs_session_gdb(s->session), p->point, p->address, p->bytes,
				   false);
	return err;
}

/* ---- what is there ------------------------------------------------------------------------ */

static void show_text(const struct seek *s, const struct rs_x86_regs *regs, const char *symbol)
{
	char text[RS_MOMENT_TEXT_MAX];

	if (s->a->back && !s->found)
		printf("%s was not met before\n", s->a->back);
	printf("instruction %" PRIu64 ", %s of the guest's time, at 0x%" PRIx64
	       "%s%s, privilege level %u\n",
	       s->icount, rs_moment_text(guest_ns(s, s->icount), text), regs->rip,
	       symbol[0] ? " " : "", symbol, regs->cs & CPL_MASK);
	for (uint32_t i = 0; rs_x86_reg_name(i); i++) {
		uint64_t value = 0;

		rs_x86_reg(regs, rs_x86_reg_name(i), &value);
		printf("%10s %016" PRIx64 "%s", rs_x86_reg_name(i), value,
		       (i + 1) % REGS_A_LINE && rs_x86_reg_name(i + 1) ? "" : "\n");
	}
}

/* Where the machine stands. */
struct place {
	const struct seek *seek;
	const struct rs_x86_regs *regs;
	const char *symbol;
};

static void put_place(struct rs_json *json, const void *about)
{
	const struct place *place = about;
	const struct seek *s = place->seek;

	rs_json_unsigned(rs_json_key(json, "instruction"), s->icount);
	rs_json_unsigned(rs_json_key(json, "guest_ns"), guest_ns(s, s->icount));
	rs_json_hex(rs_json_key(json, "pc"), place->regs->rip);
	if (place->symbol[0])
		rs_json_text(rs_json_key(json, "symbol"), place->symbol);
	rs_json_unsigned(rs_json_key(json, "cpl"), place->regs->cs & CPL_MASK);
	if (s->a->back)
		rs_json_bool(rs_json_key(json, "met"), s->found);
	rs_json_open(rs_json_key(json, "registers"), '{');
	for (uint32_t i = 0; rs_x86_reg_name(i); i++) {
		uint64_t value = 0;

		rs_x86_reg(place->regs, rs_x86_reg_name(i), &value);
		rs_json_hex(rs_json_key(json, rs_x86_reg_name(i)), value);
	}
	rs_json_close(json, '}');
}

/* The function where it stands: of the kernel's, or of the program, where that is executed. */
static void name_place(struct seek *s, uint64_t rip, char symbol[RS_SYMBOL_TEXT_MAX])
{
	uint64_t base = 0;

	if (s->program.kernel ||
	    rs_program_is_executed(&s->program, rs_session_gdb(s->session), rip, &base))
		rs_symbols_find(&s->symbols, rip - base, symbol);
}

static struct rs_error *show(struct seek *s)
{
	char symbol[RS_SYMBOL_TEXT_MAX] = "";
	struct rs_x86_regs regs;
	struct rs_error *err = rs_session_icount(s->session, &s->icount);

	if (!err)
		err = rs_session_registers(s->session, &regs);
	if (s->shows)
		fputs("\r\033[K", stderr);
	if (err)
		return err;
	if (s->a->binary)
		name_place(s, regs.rip, symbol);
	if (s->a->json)
		return rs_cli_json_print(put_place, &(struct place){ s, &regs, symbol });
	show_text(s, &regs, symbol);
	fflush(stdout);
	return NULL;
}

/* The machine stands where the debugger is to find it: only now can one connect. */
static struct rs_error *serve(struct seek *s)
{
	struct rs_error *err = rs_debugger_listen(&s->debugger);

	if (err)
		return err;
	if (!s->a->quiet)
		fprintf(stderr,
			"ringside replay seek: a debugger may connect: gdb -ex 'target remote "
			"%s'\n",
			s->a->gdb + (strncmp(s->a->gdb, "unix:", 5) ? 0 : 5));
	return rs_debugger_serve(&s->debugger, rs_session_gdb(s->session), &rs_cli_stop);
}

int replay_seek(int argc, char **argv)
{
	static const struct argp_child children[] = { { &rs_cli_json_argp, 0, NULL, 0 },
						      { &rs_cli_quiet_argp, 0, NULL, 0 },
						      { 0 } };
	static const struct argp argp = { options, parse, "REC", doc, children, NULL, NULL };
	struct seek_arguments a = { .to.ns = UINT64_MAX };
	struct seek s = { .a = &a, .debugger = RS_DEBUGGER_NONE };
	struct rs_error *err;

	if (rs_cli_parse(&argp, argc, argv, &a))
		return RS_EXIT_USAGE;
	s.shows = !a.quiet && !a.json && isatty(STDERR_FILENO);
	rs_cli_catch_stop();
	err = prepare(&s);
	if (!err)
		err = go_ahead(&s);
	if (!err && a.back)
		err = go_back(&s);
	if (!err)
		err = show(&s);
	if (!err && a.gdb)
		err = serve(&s);
	rs_session_close(s.session);
	rs_debugger_close(&s.debugger);
	rs_symbols_deinit(&s.symbols);
	rs_program_deinit(&s.program);
	rs_recording_deinit(&s.recording);
	if (err)
		return rs_cli_fail("replay seek", err);
	return a.back && !s.found ? RS_EXIT_FAILED : RS_EXIT_OK;
}
