/* SPDX-License-Identifier: BSD-2-Clause */
/* Parses and formats moments of a recording. Stamps are looked up in its console and log. */
#include "replay/moment.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/duration.h"
#include "replay/recording.h"
#include "replay/rr_log.h"

#define NS_PER_SEC  UINT64_C(1000000000)
#define STAMP	    "dmesg:"
#define STAMP_BYTES 40u /* "[   12.345678]", with spare room */
#define US_DIGITS   6

struct rs_error *rs_moment_parse(const char *text, struct rs_moment *moment)
{
	char stamp[STAMP_BYTES];
	struct rs_error *err;
	size_t n;

	moment->is_stamp = !strncmp(text, STAMP, strlen(STAMP));
	if (!moment->is_stamp) {
		err = rs_duration_parse(text, NS_PER_SEC, &moment->ns);
		return err || moment->ns
			       ? err
			       : rs_error_create(RS_USAGE, "'%s': expected a time above 0", text);
	}
	text += strlen(STAMP);
	text += strspn(text, "[ ");
	n = strcspn(text, "]");
	if (n >= sizeof(stamp))
		return rs_error_create(RS_USAGE, "'%.40s...' is not a stamp, as in dmesg:2.570288",
				       text);
	snprintf(stamp, sizeof(stamp), "%.*s", (int)n, text);
	return rs_duration_parse(stamp, NS_PER_SEC, &moment->ns);
}

const char *rs_moment_text(uint64_t ns, char text[RS_MOMENT_TEXT_MAX])
{
	snprintf(text, RS_MOMENT_TEXT_MAX, "%" PRIu64 ".%09" PRIu64 " s", ns / NS_PER_SEC,
		 ns % NS_PER_SEC);
	return text;
}

struct rs_error *rs_moment_span(const struct rs_moment *from, const struct rs_moment *to)
{
	char texts[2][RS_MOMENT_TEXT_MAX];

	if (to->ns > from->ns)
		return NULL;
	return rs_error_create(RS_USAGE, "--to %s is not after --from %s",
			       rs_moment_text(to->ns, texts[0]),
			       rs_moment_text(from->ns, texts[1]));
}

/* ---- stamps --------------------------------------------------------------------------------- */

/* Reads the stamp at the beginning of a line: "[    2.570288] " (kernel/printk/printk.c,
 * print_time()). With PRINTK_CALLER, more text precedes the closing bracket. */
static bool read_stamp(const char *line, size_t bytes, uint64_t *ns)
{
	size_t at = 1, digits = 0;
	uint64_t us = 0, seconds = 0;

	if (!bytes || line[0] != '[')
		return false;
	while (at < bytes && line[at] == ' ')
		at++;
	for (; at < bytes && line[at] >= '0' && line[at] <= '9' && digits < 10; at++, digits++)
		seconds = seconds * 10 + (uint64_t)(line[at] - '0');
	if (!digits || at >= bytes || line[at++] != '.')
		return false;
	for (digits = 0; at < bytes && line[at] >= '0' && line[at] <= '9' && digits < US_DIGITS;
	     at++, digits++)
		us = us * 10 + (uint64_t)(line[at] - '0');
	*ns = seconds * NS_PER_SEC + us * 1000;
	return digits == US_DIGITS && at < bytes && (line[at] == ']' || line[at] == ' ');
}

struct stamps {
	bool any;
	uint64_t last; /* the latest one found */
	uint64_t byte; /* offset of the first line with the stamp or a later one */
};

/* Returns whether a line has this stamp or a later one. */
static bool find_line(const char *text, size_t size, uint64_t wanted, struct stamps *s)
{
	for (size_t at = 0; at < size;) {
		const char *end = memchr(text + at, '\n', size - at);
		uint64_t ns;

		if (read_stamp(text + at, size - at, &ns)) {
			s->any = true;
			s->last = ns > s->last ? ns : s->last;
			s->byte = at;
			if (ns >= wanted)
				return true;
		}
		at = end ? (size_t)(end - text) + 1 : size;
	}
	return false;
}

/* Finds the instruction that wrote this byte of the console. The guest's serial port is the only
 * channel that writes. Sets *found to false if the log ends before. */
static struct rs_error *find_write(const uint8_t *bytes, size_t size, uint64_t byte,
				   uint64_t *icount, bool *found)
{
	struct rs_rr_log log;
	struct rs_rr_event event;
	uint64_t written = 0;
	struct rs_error *err = rs_rr_log_begin(bytes, size, &log);

	*found = false;
	while (!err && !*found && rs_rr_log_next(&log, &event) == RS_RR_EVENT) {
		written += rs_rr_event_written(&event);
		*found = written > byte;
		*icount = event.icount;
	}
	return err;
}

static struct rs_error *load(const struct rs_recording *r, const char *name, uint8_t **bytes,
			     size_t *size)
{
	int fd = -1;
	struct rs_error *err = rs_folder_fd(&r->folder, name, O_RDONLY, &fd);

	if (!err)
		err = rs_error_wrap(rs_rr_log_load(fd, name, bytes, size), "%s", r->folder.path);
	if (fd >= 0)
		close(fd);
	return err;
}

static struct rs_error *no_line(const struct rs_recording *r, uint64_t wanted,
				const struct stamps *s)
{
	char texts[2][RS_MOMENT_TEXT_MAX];

	if (s->any)
		return rs_error_create(RS_USAGE,
				       "%s/console has no line with the stamp %s or a later one: "
				       "the last is %s",
				       r->folder.path, rs_moment_text(wanted, texts[0]),
				       rs_moment_text(s->last, texts[1]));
	return rs_error_create(RS_USAGE,
			       "%s/console has no line with a stamp of the guest's kernel, so "
			       "its clock is unknown: record the guest without quiet",
			       r->folder.path);
}

struct rs_error *rs_moment_find(const struct rs_recording *r, struct rs_moment *moment)
{
	uint8_t *text = NULL, *log = NULL;
	struct stamps stamps = { .any = false };
	size_t text_size = 0, log_size = 0;
	uint64_t icount = 0;
	struct rs_error *err;
	bool found = false;

	if (!moment->is_stamp)
		return NULL;
	err = load(r, "console", &text, &text_size);
	if (!err && !find_line((const char *)text, text_size, moment->ns, &stamps))
		err = no_line(r, moment->ns, &stamps);
	if (!err)
		err = load(r, "log", &log, &log_size);
	if (!err)
		err = find_write(log, log_size, stamps.byte, &icount, &found);
	if (!err && !found)
		err = rs_error_create(RS_DAMAGED,
				      "%s/log ends before the guest wrote byte %" PRIu64
				      " of its console",
				      r->folder.path, stamps.byte);
	if (!err)
		*moment = (struct rs_moment){ .ns = icount << r->shift };
	free(text);
	free(log);
	return err;
}
