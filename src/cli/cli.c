/* SPDX-License-Identifier: BSD-2-Clause */
/* What all verbs share: errors, signals, exit statuses, output. */
#include "cli/cli.h"

#include <ctype.h>
#include <errno.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clear.h"
#include "base/count.h"
#include "base/json.h"
#include "base/modes.h"
#include "base/now.h"
#include "base/utf8.h"
#include "cli/complete.h"
#include "cli/numbers.h"
#include "cli/options.h"

#define NS_PER_SEC UINT64_C(1000000000)
#define AGAIN_NS   NS_PER_SEC /* from a request to stop to the next one */

volatile bool rs_cli_stop;
static volatile bool pipe_closed; /* standard output's reader has gone */

static int exit_code(enum rs_code code)
{
	switch (code) {
	case RS_USAGE:
		return RS_EXIT_USAGE;
	case RS_DAMAGED:
		return RS_EXIT_PARTIAL;
	case RS_FAILED:
	case RS_ABSENT:
	case RS_NO_MEMORY:
		break;
	}
	return RS_EXIT_FAILED;
}

void rs_cli_put(FILE *to, const char *text, size_t len)
{
	char escaped[1024];

	if (!isatty(fileno(to))) {
		fwrite(text, 1, len, to);
		return;
	}
	for (size_t used; len; text += used, len -= used)
		fwrite(escaped, 1, rs_utf8_escape(text, len, escaped, sizeof(escaped), &used), to);
}

void rs_cli_message(const char *verb, const char *text)
{
	fflush(stdout);
	fprintf(stderr, "ringside %s: ", verb);
	rs_cli_put(stderr, text, strlen(text));
	fputc('\n', stderr);
}

void rs_cli_remark(void *verb, const char *text)
{
	rs_cli_message(verb, text);
}

int rs_cli_fail(const char *verb, struct rs_error *err)
{
	int code;

	if (!err)
		return RS_EXIT_OK;
	if (!pipe_closed || !strstr(rs_error_text(err), strerror(EPIPE)))
		rs_cli_message(verb, rs_error_text(err));
	code = exit_code(rs_error_code(err));
	rs_error_free(err);
	return code;
}

bool rs_cli_report_losses(const char *verb, const struct rs_cli_loss *losses, size_t n)
{
	bool any = false;

	for (size_t i = 0; i < n; i++) {
		if (!losses[i].n)
			continue;
		if (!any)
			fprintf(stderr, "ringside %s: incomplete", verb);
		fprintf(stderr, "%s %s %s", any ? "," : ":",
			RS_COUNT_OF(losses[i].n, losses[i].noun), losses[i].what);
		any = true;
	}
	if (any)
		fputc('\n', stderr);
	return any;
}

struct rs_error *rs_cli_json_print(void (*put)(struct rs_json *json, const void *about),
				   const void *about)
{
	struct rs_out out;
	struct rs_json json = { .out = &out };
	struct rs_error *err;

	fflush(stdout); /* first flush what stdio holds */
	err = rs_out_init(&out, STDOUT_FILENO);
	if (!err) {
		rs_json_open(&json, '{');
		put(&json, about);
		rs_json_close(&json, '}');
		rs_json_line_end(&json);
		err = rs_out_end(&out, NULL);
	}
	return err;
}

/* A key that argp does not define: a help filter sets rows_listed. */
#define KEY_ROWS 0x7fff0000

static rs_cli_row_fn *rows_listed;

rs_cli_row_fn *rs_cli_rows_of(const struct argp *argp)
{
	const struct argp_child *child = argp->children;

	rows_listed = NULL;
	if (argp->help_filter)
		argp->help_filter(KEY_ROWS, "", NULL);
	for (; !rows_listed && child && child->argp; child++)
		rs_cli_rows_of(child->argp);
	return rows_listed;
}

/* argp frees what is not `text`. */
char *rs_cli_list_rows(int key, const char *text, const char *heading, rs_cli_row_fn *row)
{
	struct rs_cli_row at = { 0 };
	char *listed = NULL;
	int width = 0, len;
	size_t bytes;
	FILE *file;

	if (key == KEY_ROWS)
		rows_listed = row;
	if (key != ARGP_KEY_HELP_POST_DOC)
		return (char *)text;
	file = open_memstream(&listed, &bytes);
	if (!file)
		return (char *)text;
	fprintf(file, "%s:\n", heading);
	for (size_t i = 0; row(i, &at); i++) {
		len = (int)strlen(at.name);
		width = len > width ? len : width;
	}
	for (size_t i = 0; row(i, &at); i++) {
		fprintf(file, "  %-*s  %s", width, at.name, at.help);
		if (at.alias)
			fprintf(file, " (also: %s)", at.alias);
		fputc('\n', file);
	}
	fprintf(file, "\n%s", text);
	return fclose(file) ? (char *)text : listed;
}

static bool parses;

/* argp ends the process after --help, with status 0. */
static void on_exit_of_argp(void)
{
	int status = parses ? rs_cli_pipe_status(RS_EXIT_OK) : RS_EXIT_OK;

	if (status)
		_exit(status);
}

int rs_cli_parse(const struct argp *argp, int argc, char **argv, void *input)
{
	static char name[64];
	int status;

	if (rs_cli_completes()) {
		rs_cli_complete(argp, argc, argv);
		return RS_EXIT_USAGE; /* and the verb does nothing */
	}
	if (!rs_cli_options_agree(argp, argv[0], argc, argv))
		return RS_EXIT_USAGE;
	snprintf(name, sizeof(name), "ringside %s", argv[0]);
	argv[0] = name;
	argp_err_exit_status = RS_EXIT_USAGE;
	parses = !atexit(on_exit_of_argp);
	status = argp_parse(argp, argc, argv, 0, NULL, input) ? RS_EXIT_USAGE : RS_EXIT_OK;
	parses = false;
	return status;
}

/* ---- modes of written files ----------------------------------------------------------------- */

enum { KEY_MODE = 0x7000, KEY_GROUP, KEY_FORCE };

static const struct argp_option modes_options[] = {
	{ "mode", KEY_MODE, "MODE", 0,
	  "Create files with this mode, as in 0640, and directories with the same mode plus x for "
	  "each r (0600 and 0700)",
	  90 },
	{ "group", KEY_GROUP, "GROUP", 0,
	  "Create files with this group, and with mode 0640 unless --mode is given", 90 },
	{ 0 },
};

struct modes {
	mode_t file; /* 0: not given */
	gid_t group;
};

static mode_t mode_of(const struct argp_state *state, const char *text)
{
	char *end;
	unsigned long mode = strtoul(text, &end, 8);

	if (!isdigit((unsigned char)text[0]) || *end || mode > 0666 || (mode & 0600) != 0600 ||
	    mode & 0111)
		argp_error(state,
			   "--mode '%s': expected octal digits with read and write permission for "
			   "the user and no execute permission, as in 0640",
			   text);
	return (mode_t)mode;
}

static gid_t group_of(const struct argp_state *state, const char *text)
{
	const struct group *group = getgrnam(text);
	uint64_t number = 0;

	if (!group && !rs_cli_read_number(text, 0, INT32_MAX, &number))
		argp_error(state, "--group '%s': this system has no such group", text);
	return group ? group->gr_gid : (gid_t)number;
}

static error_t parse_modes(int key, char *text, struct argp_state *state)
{
	static struct modes modes;

	switch (key) {
	case ARGP_KEY_INIT:
		modes = (struct modes){ .group = RS_MODES_NO_GROUP };
		break;
	case KEY_MODE:
		modes.file = mode_of(state, text);
		break;
	case KEY_GROUP:
		modes.group = group_of(state, text);
		break;
	case ARGP_KEY_END:
		if (modes.group != RS_MODES_NO_GROUP && !modes.file)
			modes.file = 0640;
		if (modes.file)
			rs_modes_share(modes.file, modes.group);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp modes_argp = { modes_options, parse_modes, NULL, NULL, NULL, NULL, NULL };

int rs_cli_parse_writer(const struct argp *argp, int argc, char **argv, void *input)
{
	/* Without a parser of its own, the first child gets its input. */
	const struct argp_child children[] = { { argp, 0, NULL, 0 },
					       { &modes_argp, 0, NULL, 0 },
					       { 0 } };

	return rs_cli_parse(&(struct argp){ .children = children }, argc, argv, input);
}

/* ---- replaced directories ------------------------------------------------------------------- */

static const struct argp_option force_options[] = {
	{ "force", KEY_FORCE, NULL, 0,
	  "Replace the output directory if it is a trace or a recording, with no other file in it",
	  90 },
	{ 0 },
};

static error_t parse_force(int key, char *text, struct argp_state *state)
{
	static const struct rs_clear_kind ours[] = {
		{ "trace", "ringside/state",
		  "metadata stream_* ringside/state ringside/describe ringside/index "
		  "ringside/new" },
		{ "recording", "recording.json",
		  "recording.json recording.json.new kernel initrd log disk snapshot console" },
	};

	(void)text;
	(void)state;
	if (key != KEY_FORCE)
		return ARGP_ERR_UNKNOWN;
	rs_clear_allow(ours, sizeof(ours) / sizeof(ours[0]));
	return 0;
}

int rs_cli_parse_maker(const struct argp *argp, int argc, char **argv, void *input)
{
	static const struct argp force = {
		force_options, parse_force, NULL, NULL, NULL, NULL, NULL
	};
	const struct argp_child children[] = {
		{ argp, 0, NULL, 0 }, { &modes_argp, 0, NULL, 0 }, { &force, 0, NULL, 0 }, { 0 }
	};

	return rs_cli_parse(&(struct argp){ .children = children }, argc, argv, input);
}

/* The user before a reader became an unprivileged one. */
static uid_t own_user = (uid_t)-1;

uid_t rs_cli_user(void)
{
	return own_user == (uid_t)-1 ? geteuid() : own_user;
}

struct rs_error *rs_cli_confine(enum rs_confine_work work)
{
	const char *failed;

	if (own_user == (uid_t)-1)
		own_user = geteuid();
	failed = rs_confine_process(work);
	return failed ? rs_error_errno(errno, "dropping privileges: %s", failed) : NULL;
}

char *rs_cli_command(int argc, char **argv)
{
	static const char name[] = "ringside";
	/* rs_cli_parse() put it before the verb. */
	bool named = argc && !strncmp(argv[0], name, sizeof(name) - 1);
	size_t bytes = sizeof(name);
	char *command, *at;

	for (int i = 0; i < argc; i++)
		bytes += strlen(argv[i]) + 1;
	command = malloc(bytes);
	if (!command)
		return NULL;
	at = stpcpy(command, named ? "" : name);
	for (int i = 0; i < argc; i++) {
		if (i || !named)
			*at++ = ' ';
		at = stpcpy(at, argv[i]);
	}
	return command;
}

/* SIGPIPE reaches the writing thread before its write() fails. Async-signal-safe. */
static void on_pipe(int signal_number)
{
	struct pollfd out = { .fd = STDOUT_FILENO };
	int saved = errno;

	(void)signal_number;
	if (poll(&out, 1, 0) > 0 && out.revents & POLLERR) {
		pipe_closed = true;
		rs_cli_stop = true;
	}
	errno = saved;
}

void rs_cli_catch_pipe(void)
{
	struct sigaction action = { .sa_handler = on_pipe, .sa_flags = SA_RESTART };

	sigaction(SIGPIPE, &action, NULL);
}

bool rs_cli_pipe_closed(void)
{
	return pipe_closed;
}

int rs_cli_pipe_status(int status)
{
	/* The errno of an earlier write is gone. */
	const char *why = ferror(stdout) ? "standard output is incomplete" : NULL;

	if (fflush(stdout))
		why = strerror(errno);
	if (pipe_closed)
		return RS_EXIT_PIPE;
	if (!why || (status != RS_EXIT_OK && status != RS_EXIT_PARTIAL))
		return status;
	fprintf(stderr, "ringside: writing: %s\n", why);
	return RS_EXIT_FAILED;
}

/*
 * One request to stop can come as two signals: timeout(1) signals its child, then its process
 * group. Only a later signal ends the process immediately. The signal is blocked here, so the
 * raised one is delivered on return. Async-signal-safe.
 */
static void on_stop(int signal_number)
{
	static uint64_t asked_ns;
	uint64_t now = rs_now_ns(CLOCK_MONOTONIC);

	if (!rs_cli_stop) {
		rs_cli_stop = true;
		asked_ns = now;
	} else if (now - asked_ns > AGAIN_NS) {
		signal(signal_number, SIG_DFL);
		raise(signal_number);
	}
}

void rs_cli_catch_stop(void)
{
	struct sigaction action = { .sa_handler = on_stop };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

static bool is_there(int id)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d", id);
	return !access(path, F_OK);
}

struct rs_error *rs_cli_check_ids(int pid, const int *tids, size_t n_tids)
{
	if (pid && !is_there(pid))
		return rs_error_create(RS_FAILED,
				       "there is no process %d: 'ringside top' lists the VMs", pid);
	for (size_t i = 0; i < n_tids; i++) {
		if (!is_there(tids[i]))
			return rs_error_create(
				RS_FAILED, "there is no thread %d: 'ringside top' lists the vCPUs",
				tids[i]);
	}
	return NULL;
}
