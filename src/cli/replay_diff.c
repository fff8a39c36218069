/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ringside replay diff: where two recordings part. First what made them is compared, then what was
 * written down, event by event; then both are replayed, side by side, to the instruction up to
 * which the machines are the same, and after which they are not.
 */
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/replay.h"
#include "cli/replay_diff.h"
#include "cli/shared.h"

struct diff_arguments {
	const char *directories[2];
	const char *binary;
	bool logs, json, quiet, shows;
};

/* ---- arguments ---------------------------------------------------------------------------- */

enum { KEY_LOGS = 256, KEY_BINARY };

static const struct argp_option options[] = {
	{ "logs", KEY_LOGS, NULL, 0, "Compare the logs; do not replay", 1 },
	{ "binary", KEY_BINARY, "PROGRAM[@0xBASE]", 0,
	  "Name the function where they part: of this program of the guest's, or its vmlinux", 1 },
	{ 0 },
};

static const char doc[] =
	"Say where two recordings part, and what differs there.\v"
	"What made them is compared first: kernel, initramfs, arguments, QEMU. Then their logs, "
	"each "
	"kind of event apart. Then both are replayed side by side: the instruction up to which "
	"all registers, all RAM and the console are the same is found by halves, from snapshots; "
	"and what differs after it is shown.\n\n"
	"Two recordings of one guest diverge where its clock is first read, unless both have the "
	"same --date. With it, their logs still contain the host's clock and the moment at which "
	"the "
	"recording was ended, which the guest does not see: the guests are compared by what they "
	"did, as far as both recordings go.\n\n"
	"Exit codes: 0 the same; 1 they part, or failed; 2 usage error; 3 one is not what was "
	"recorded.\n\n"
	"Examples:\n"
	"  ringside replay diff good bad\n"
	"  ringside replay diff --binary program good bad\n"
	"  ringside replay diff --logs --json good bad\n";

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct diff_arguments *a = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->json;
		state->child_inputs[1] = &a->quiet;
		break;
	case KEY_LOGS:
		a->logs = true;
		break;
	case KEY_BINARY:
		a->binary = text;
		break;
	case ARGP_KEY_ARG:
		if (a->directories[1])
			argp_error(state, "expected two recordings");
		a->directories[a->directories[0] ? 1 : 0] = text;
		break;
	case ARGP_KEY_END:
		if (!a->directories[1])
			argp_error(state, "which two recordings?");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

/* ---- what made them ----------------------------------------------------------------------- */

/* What says nothing of the machine, but of how it was recorded and what came of it. */
static bool is_of_the_run(const char *name)
{
	static const char *const names[] = { "command", "qemu_argv", "state", "mended",
					     "icount",	"why",	     "date",  "sha256.log" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

static char *value_text(const json_t *value)
{
	if (json_is_string(value))
		return strdup(json_string_value(value));
	return value ? json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT) : strdup("-");
}

static struct rs_error *add_machine(struct diff *d, const char *name, const json_t *a,
				    const json_t *b)
{
	struct diff_machine *m = &d->machine[d->n_machine];

	if (is_of_the_run(name) || d->n_machine == DIFF_MACHINE_MAX || (a && b && json_equal(a, b)))
		return NULL;
	d->n_machine++;
	m->name = strdup(name);
	m->values[0] = value_text(a);
	m->values[1] = value_text(b);
	return m->name && m->values[0] && m->values[1] ? NULL : rs_error_no_memory();
}

/* Of both objects, what one has and what the other alone has; objects in them by NAME.NAME. */
static struct rs_error *compare_objects(struct diff *d, const char *prefix, json_t *a, json_t *b)
{
	struct rs_error *err = NULL;

	for (int round = 0; !err && round < 2; round++) {
		json_t *value, *from = round ? b : a, *other = round ? a : b;
		const char *key;

		json_object_foreach(from, key, value)
		{
			json_t *of_other = json_object_get(other, key);
			char name[128];

			snprintf(name, sizeof(name), "%s%s", prefix, key);
			if (err || (round && of_other))
				continue;
			if (!round && !*prefix && json_is_object(value) && json_is_object(of_other))
				err = compare_objects(d, "sha256.", value, of_other);
			else
				err = add_machine(d, name, round ? NULL : value,
						  round ? value : of_other);
		}
	}
	return err;
}

static struct rs_error *compare_machines(struct diff *d)
{
	json_t *both[2] = { NULL, NULL };
	struct rs_error *err = NULL;

	for (int i = 0; !err && i < 2; i++)
		err = rs_recording_load(&d->two[i].folder, &both[i]);
	if (!err)
		err = compare_objects(d, "", both[0], both[1]);
	json_decref(both[0]);
	json_decref(both[1]);
	return err;
}

/* ---- what was written down ---------------------------------------------------------------- */

static struct rs_error *load_file(const struct rs_folder *folder, const char *name, uint8_t **bytes,
				  size_t *size)
{
	int fd = -1;
	struct rs_error *err = rs_folder_fd(folder, name, O_RDONLY, &fd);

	if (!err)
		err = rs_error_wrap(rs_rr_log_load(fd, name, bytes, size), "%s", folder->path);
	if (fd >= 0)
		close(fd);
	return err;
}

static struct rs_error *compare_logs(struct diff *d)
{
	struct rs_error *err = NULL;

	for (int i = 0; !err && i < 2; i++)
		err = load_file(&d->two[i].folder, "log", &d->log[i], &d->log_size[i]);
	if (err)
		return err;
	return rs_error_wrap(rs_rr_compare((const uint8_t *const *)d->log, d->log_size, &d->logs),
			     "the logs");
}

/* The line that a file has at a byte, as far as it can be printed. */
static void line_at(const char *text, size_t size, uint64_t at, char line[DIFF_LINE_BYTES])
{
	size_t begin = at < size ? at : size, n = 0;

	while (begin && text[begin - 1] != '\n')
		begin--;
	for (; begin < size && text[begin] != '\n' && n + 1 < DIFF_LINE_BYTES; begin++)
		if (text[begin] != '\r')
			line[n++] = text[begin] >= ' ' && text[begin] < 0x7f ? text[begin] : '?';
	line[n] = '\0';
}

static struct rs_error *compare_consoles(struct diff *d)
{
	struct diff_console *c = &d->console;
	uint8_t *text[2] = { NULL, NULL };
	size_t size[2] = { 0, 0 };
	struct rs_error *err = NULL;

	for (int i = 0; !err && i < 2; i++) {
		err = load_file(&d->two[i].folder, "console", &text[i], &size[i]);
		c->bytes[i] = size[i];
	}
	c->line = 1;
	while (!err && c->at < size[0] && c->at < size[1] && text[0][c->at] == text[1][c->at])
		c->line += text[0][c->at++] == '\n';
	c->differs = c->at < size[0] || c->at < size[1];
	for (int i = 0; !err && c->differs && i < 2; i++)
		line_at((const char *)text[i], size[i], c->at, c->text[i]);
	free(text[0]);
	free(text[1]);
	return err;
}

/* ---- what the machines did ---------------------------------------------------------------- */

static void progress(void *ctx, uint64_t same, uint64_t differs)
{
	const struct diff_arguments *a = ctx;

	if (!a->shows)
		return;
	fprintf(stderr, "\r\033[Kthe same at %" PRIu64, same);
	if (differs != UINT64_MAX)
		fprintf(stderr, ", not at %" PRIu64, differs);
}

static struct rs_error *compare_states(struct diff *d, const struct diff_arguments *a)
{
	const struct rs_recording *two[2] = { &d->two[0], &d->two[1] };
	const struct rs_parting_options how = {
		/* As long as the logs are the same, the machines are. An event's instruction may
		 * be counted before it is over. */
		.from = d->n_machine || !d->logs.icount ? 0 : d->logs.icount - 1,
		.stop = &rs_cli_stop,
		.program = a->binary ? &d->program : NULL,
		.progress = progress,
		.ctx = (void *)(uintptr_t)a,
	};
	struct rs_error *err = rs_parting_find(two, &how, &d->states);

	if (a->shows)
		fputs("\r\033[K", stderr);
	if (err && rs_error_code(err) == RS_USAGE) { /* they can't be: the rest still counts */
		fprintf(stderr, "ringside replay diff: %s\n", rs_error_text(err));
		rs_error_free(err);
		return NULL;
	}
	d->replayed = !err;
	return err;
}

/* ---- the verb ----------------------------------------------------------------------------- */

bool replay_diff_identical(const struct diff *d)
{
	return !d->n_machine && !d->logs.differs && !d->console.differs && !d->states.parted &&
	       d->logs.ends[0] == d->logs.ends[1];
}

/* Whether the guests did something else that an event of this kind shows, as far as both go. */
static bool guests_differ(const struct diff *d, uint8_t kind)
{
	const struct rs_rr_kind_compared *k = &d->logs.kinds[kind];

	if (!k->differs || rs_rr_kind_is_hosts(kind))
		return false;
	if (rs_rr_kind_ends_guest(kind))
		return true;
	for (int i = 0; i < 2; i++)
		if (k->first[i].is && k->first[i].event.icount <= d->states.same)
			return true;
	return false;
}

bool replay_diff_same(const struct diff *d)
{
	const struct diff_console *c = &d->console;

	if (replay_diff_identical(d))
		return true;
	if (!d->replayed || d->states.parted || d->n_machine ||
	    d->logs.ends[0] != d->logs.ends[1] ||
	    (c->differs && c->at < c->bytes[0] && c->at < c->bytes[1]))
		return false;
	for (uint32_t kind = 0; kind < RS_RR_KINDS; kind++)
		if (guests_differ(d, (uint8_t)kind))
			return false;
	return true;
}

static struct rs_error *compare(struct diff *d, const struct diff_arguments *a)
{
	/* Without a replay it only reads what others may have made. */
	struct rs_error *err = rs_cli_confine(a->logs ? RS_CONFINE_READER : RS_CONFINE_REPLAYER);

	for (int i = 0; !err && i < 2; i++)
		err = rs_recording_read(a->directories[i], &d->two[i]);
	if (!err && a->binary)
		err = rs_program_read(a->binary, &d->program);
	if (!err && a->binary)
		err = rs_symbols_read(d->program.path, &d->symbols);
	if (!err)
		err = compare_machines(d);
	for (int i = 0; !err && i < 2; i++)
		err = (a->logs ? rs_recording_check_log : rs_recording_check)(&d->two[i]);
	if (!err)
		err = compare_logs(d);
	if (!err)
		err = compare_consoles(d);
	return err || a->logs ? err : compare_states(d, a);
}

static void diff_deinit(struct diff *d)
{
	for (uint32_t i = 0; i < d->n_machine; i++) {
		free(d->machine[i].name);
		free(d->machine[i].values[0]);
		free(d->machine[i].values[1]);
	}
	for (int i = 0; i < 2; i++) {
		rs_recording_deinit(&d->two[i]);
		free(d->log[i]);
	}
	rs_symbols_deinit(&d->symbols);
	rs_program_deinit(&d->program);
	free(d);
}

int replay_diff(int argc, char **argv)
{
	static const struct argp_child children[] = { { &rs_cli_json_argp, 0, NULL, 0 },
						      { &rs_cli_quiet_argp, 0, NULL, 0 },
						      { 0 } };
	static const struct argp argp = { options, parse, "REC1 REC2", doc, children, NULL, NULL };
	struct diff_arguments a = { .logs = false };
	struct diff *d = calloc(1, sizeof(*d));
	struct rs_error *err;
	int status;

	if (!d)
		return rs_cli_fail("replay diff", rs_error_no_memory());
	if (rs_cli_parse(&argp, argc, argv, &a)) {
		free(d);
		return RS_EXIT_USAGE;
	}
	a.shows = !a.quiet && !a.json && isatty(STDERR_FILENO);
	rs_cli_catch_stop();
	err = compare(d, &a);
	if (!err && a.json)
		err = replay_diff_json(d);
	else if (!err)
		replay_diff_text(d);
	status = err		       ? rs_cli_fail("replay diff", err)
		 : replay_diff_same(d) ? RS_EXIT_OK
				       : RS_EXIT_FAILED;
	diff_deinit(d);
	return status;
}
