/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compares two recordings. First it compares their descriptions, then their logs, event by event;
 * then it replays both, side by side, to the last instruction at which the machines are equal.
 */
#include "replay/diff.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- descriptions ------------------------------------------------------------------------- */

/* Returns whether a member describes the recording, not the machine. */
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

static struct rs_error *add_machine(struct rs_diff *d, const char *name, const json_t *a,
				    const json_t *b)
{
	struct rs_diff_machine *m = &d->machine[d->n_machine];

	if (is_of_the_run(name) || d->n_machine == RS_DIFF_MACHINE_MAX ||
	    (a && b && json_equal(a, b)))
		return NULL;
	d->n_machine++;
	m->name = strdup(name);
	m->values[0] = value_text(a);
	m->values[1] = value_text(b);
	return m->name && m->values[0] && m->values[1] ? NULL : rs_error_no_memory();
}

/* Compares the members of both objects; the names of nested members are NAME.NAME. */
static struct rs_error *compare_objects(struct rs_diff *d, const char *prefix, json_t *a, json_t *b)
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

static struct rs_error *compare_machines(struct rs_diff *d)
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

/* ---- logs and consoles -------------------------------------------------------------------- */

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

static struct rs_error *compare_logs(struct rs_diff *d)
{
	struct rs_error *err = NULL;

	for (int i = 0; !err && i < 2; i++)
		err = load_file(&d->two[i].folder, "log", &d->log[i], &d->log_size[i]);
	if (err)
		return err;
	return rs_error_wrap(rs_rr_compare((const uint8_t *const *)d->log, d->log_size, &d->logs),
			     "the logs");
}

/* Copies the line of a text that contains a byte; '?' replaces bytes that are not printable. */
static void line_at(const char *text, size_t size, uint64_t at, char line[RS_DIFF_LINE_BYTES])
{
	size_t begin = at < size ? at : size, n = 0;

	while (begin && text[begin - 1] != '\n')
		begin--;
	for (; begin < size && text[begin] != '\n' && n + 1 < RS_DIFF_LINE_BYTES; begin++)
		if (text[begin] != '\r')
			line[n++] = text[begin] >= ' ' && text[begin] < 0x7f ? text[begin] : '?';
	line[n] = '\0';
}

static struct rs_error *compare_consoles(struct rs_diff *d)
{
	struct rs_diff_console *c = &d->console;
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

/* ---- machine states ----------------------------------------------------------------------- */

static struct rs_error *compare_states(struct rs_diff *d, const struct rs_diff_options *o)
{
	const struct rs_recording *two[2] = { &d->two[0], &d->two[1] };
	const struct rs_parting_options how = {
		/* The machines are equal while the logs are. An event's instruction may be counted
		 * before it has completed. */
		.from = d->n_machine || !d->logs.icount ? 0 : d->logs.icount - 1,
		.stop = o->stop,
		.program = o->binary ? &d->program : NULL,
		.progress = o->progress,
		.ctx = o->ctx,
	};
	struct rs_error *err = rs_parting_find(two, &how, &d->states);

	if (err && rs_error_code(err) == RS_USAGE) { /* the rest of the comparison is valid */
		d->refused = err;
		return NULL;
	}
	d->replayed = !err;
	return err;
}

/* ---- the comparison ----------------------------------------------------------------------- */

bool rs_diff_identical(const struct rs_diff *d)
{
	return !d->n_machine && !d->logs.differs && !d->console.differs && !d->states.parted &&
	       d->logs.ends[0] == d->logs.ends[1];
}

/* Returns whether events of this kind show that the guests differ, within the length of both
 * logs. */
static bool guests_differ(const struct rs_diff *d, uint8_t kind)
{
	const struct rs_rr_kind_compared *k = &d->logs.kinds[kind];

	if (!k->differs || rs_rr_kind_is_external(kind))
		return false;
	if (rs_rr_kind_ends_guest(kind))
		return true;
	for (int i = 0; i < 2; i++)
		if (k->first[i].is && k->first[i].event.icount <= d->states.same)
			return true;
	return false;
}

bool rs_diff_same(const struct rs_diff *d)
{
	const struct rs_diff_console *c = &d->console;

	if (rs_diff_identical(d))
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

struct rs_error *rs_diff_compare(const struct rs_diff_options *o, struct rs_diff *d)
{
	struct rs_error *err = NULL;

	for (int i = 0; !err && i < 2; i++)
		err = rs_recording_read(o->directories[i], &d->two[i]);
	if (!err && o->binary)
		err = rs_program_read(o->binary, &d->program);
	if (!err && o->binary)
		err = rs_symbols_read(d->program.path, &d->symbols);
	if (!err)
		err = compare_machines(d);
	for (int i = 0; !err && i < 2; i++)
		err = (o->logs ? rs_recording_check_log : rs_recording_check)(&d->two[i]);
	if (!err)
		err = compare_logs(d);
	if (!err)
		err = compare_consoles(d);
	return err || o->logs ? err : compare_states(d, o);
}

void rs_diff_deinit(struct rs_diff *d)
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
	rs_symbols_destroy(d->symbols);
	rs_program_deinit(&d->program);
	rs_error_free(d->refused);
}
