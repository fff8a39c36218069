/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads a log's text files line by line, in the order of their numbers. */
#include "import/log_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/given.h"

#define BUFFER_BYTES 65536u
#define SHOWN	     40 /* bytes of damage in an error */

static const char warning[] = "WARNING: logs missing here!"; /* acrnlog.c, behind a tab */

/* A line of a file, unparsed. */
struct raw {
	bool there;
	char text[RS_LOG_TEXT_MAX];
	uint32_t bytes;
	uint64_t nuls;	 /* before it */
	uint64_t number; /* in its file, from 1 */
	uint32_t file;
	bool long_, unended; /* its rest was cut off; its newline is missing */
};

struct rs_log_text {
	char **paths;
	uint32_t n_paths, at;
	int fd; /* of paths[at]; -1: not open */
	uint64_t number;
	char buffer[BUFFER_BYTES];
	uint32_t from, end;
	struct raw raw;		    /* the current line */
	char text[RS_LOG_TEXT_MAX]; /* of the item */
	uint32_t bytes;
	struct rs_log_text_sum sum;
	struct rs_error *error; /* found after the last item; the next call returns it */
};

/* ---- lines as they stand -------------------------------------------------------------------- */

/* Reads more of the current file into the empty buffer. Sets *ended at the file's end. */
static struct rs_error *fill(struct rs_log_text *t, bool *ended)
{
	const char *path = t->paths[t->at];
	ssize_t n;

	*ended = false;
	if (t->from < t->end)
		return NULL;
	if (t->fd < 0) {
		struct rs_error *err = rs_given_open(path, RS_GIVEN_FILE, &t->fd);

		if (err)
			return err;
	}
	do {
		n = read(t->fd, t->buffer, sizeof(t->buffer));
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return rs_error_errno(errno, "%s: line %llu", path,
				      (unsigned long long)t->number + 1);
	t->from = 0;
	t->end = (uint32_t)n;
	*ended = !n;
	return NULL;
}

/* Appends the buffer's bytes up to the next newline to the line, and consumes them. Returns whether
 * the newline was found. */
static bool consume_line(struct rs_log_text *t, struct raw *raw)
{
	const char *from = t->buffer + t->from, *end = t->buffer + t->end, *newline;
	size_t n, room;

	while (from < end && !*from && !raw->bytes) {
		from++;
		raw->nuls++;
	}
	newline = memchr(from, '\n', (size_t)(end - from));
	n = (size_t)((newline ? newline : end) - from);
	room = sizeof(raw->text) - raw->bytes;
	raw->long_ |= n > room;
	memcpy(raw->text + raw->bytes, from, n < room ? n : room);
	raw->bytes += (uint32_t)(n < room ? n : room);
	t->from = newline ? (uint32_t)(newline + 1 - t->buffer) : t->end;
	return newline != NULL;
}

/* Removes NULs and carriage returns from the line's end. */
static void trim(struct raw *raw)
{
	while (raw->bytes && (!raw->text[raw->bytes - 1] || raw->text[raw->bytes - 1] == '\r'))
		raw->bytes--;
}

static void file_close(struct rs_log_text *t)
{
	if (t->fd >= 0)
		close(t->fd);
	t->fd = -1;
	t->number = 0;
	t->at++;
}

/* Reads the next line of any file into t->raw; clears `there` after the last. */
static struct rs_error *next_line(struct rs_log_text *t)
{
	struct raw *raw = &t->raw;
	bool whole = false;

	if (raw->there)
		return NULL;
	raw->bytes = 0;
	raw->nuls = 0;
	raw->long_ = raw->unended = false;
	while (t->at < t->n_paths && !whole) {
		bool ended;
		struct rs_error *err = fill(t, &ended);

		if (err) {
			t->at = t->n_paths;
			return err;
		}
		if (!ended) {
			whole = consume_line(t, raw);
		} else if (raw->bytes || raw->nuls) {
			raw->unended = whole = true;
		} else {
			file_close(t);
		}
	}
	trim(raw);
	raw->there = whole;
	raw->number = ++t->number;
	raw->file = t->at;
	return NULL;
}

/* ---- what they are -------------------------------------------------------------------------- */

static bool is_blank(const struct raw *raw)
{
	for (uint32_t i = 0; i < raw->bytes; i++) {
		if (!strchr(" \t\r", raw->text[i]) || !raw->text[i])
			return false;
	}
	return true;
}

static bool is_warning(const struct raw *raw)
{
	uint32_t at = 0;

	while (at < raw->bytes && raw->text[at] == '\t')
		at++;
	return raw->bytes - at >= sizeof(warning) - 1 &&
	       !memcmp(raw->text + at, warning, sizeof(warning) - 1);
}

/* Returns whether the line continues the message before it. A line with parts of a head was
 * torn. */
static bool is_rest(const struct raw *raw)
{
	return raw->text[0] != '[' && !is_warning(raw) && !memmem(raw->text, raw->bytes, "][", 2) &&
	       !memmem(raw->text, raw->bytes, "[seq=", 5);
}

/* ---- items ---------------------------------------------------------------------------------- */

static const char *path_of(const struct rs_log_text *t)
{
	return t->paths[t->raw.file];
}

/* Returns an error that describes what the line lacks, or NULL. The caller returns the line too. */
static struct rs_error *lacks(const struct rs_log_text *t)
{
	const struct raw *raw = &t->raw;

	if (raw->long_)
		return rs_error_create(RS_DAMAGED,
				       "%s: line %llu: it is longer than %u bytes: the rest is "
				       "left out",
				       path_of(t), (unsigned long long)raw->number,
				       RS_LOG_TEXT_MAX);
	if (raw->unended)
		return rs_error_create(RS_DAMAGED,
				       "%s: line %llu: the file ends before the line does",
				       path_of(t), (unsigned long long)raw->number);
	return NULL;
}

static struct rs_error *damage(const struct rs_log_text *t, const char *what)
{
	const struct raw *raw = &t->raw;
	char shown[SHOWN + 1] = "";
	uint32_t n = raw->bytes < SHOWN ? raw->bytes : SHOWN;

	for (uint32_t i = 0; i < n; i++)
		shown[i] = raw->text[i] < ' ' || raw->text[i] > '~' ? '?' : raw->text[i];
	return rs_error_create(RS_DAMAGED, "%s: line %llu: %s: '%s%s'", path_of(t),
			       (unsigned long long)raw->number, what, shown,
			       raw->bytes > n ? "..." : "");
}

/* Appends the current line to the item's text. */
static void append(struct rs_log_text *t, struct rs_log_item *item)
{
	struct raw *raw = &t->raw;
	uint32_t room = RS_LOG_TEXT_MAX - t->bytes;
	uint32_t n = raw->bytes < room ? raw->bytes : room;

	memcpy(t->text + t->bytes, raw->text, n);
	t->bytes += n;
	t->sum.cut += raw->long_ || n < raw->bytes;
	if (!item->error)
		item->error = lacks(t);
	raw->there = false;
}

/* Makes an item of the current line and of the lines that continue its message. */
static void line(struct rs_log_text *t, struct rs_log_item *item)
{
	uint32_t file = t->raw.file;
	bool cut;

	item->kind = RS_LOG_ITEM_LINE;
	t->bytes = 0;
	cut = t->raw.long_;
	append(t, item);
	for (;;) {
		t->error = next_line(t);
		if (t->error || !t->raw.there || t->raw.file != file || t->raw.nuls)
			break;
		if (is_blank(&t->raw)) {
			t->raw.there = false;
			continue;
		}
		if (!is_rest(&t->raw))
			break;
		if (t->bytes < RS_LOG_TEXT_MAX)
			t->text[t->bytes++] = '\n';
		cut |= t->raw.long_ || t->raw.bytes > RS_LOG_TEXT_MAX - t->bytes;
		append(t, item);
		t->sum.joined++;
	}
	rs_log_line_parse(t->text, t->bytes, &item->line);
	item->line.cut |= cut;
}

/* Makes an item of a line that reports a gap, or that is damaged. */
static void other(struct rs_log_text *t, struct rs_log_item *item)
{
	if (is_warning(&t->raw)) {
		item->kind = RS_LOG_ITEM_GAP_OPEN;
	} else if (rs_log_gap_parse(t->raw.text, t->raw.bytes, &item->gap)) {
		item->kind = RS_LOG_ITEM_GAP;
	} else {
		item->kind = RS_LOG_ITEM_DAMAGE;
		item->error = damage(t, "not a line of a log");
	}
	t->raw.there = false;
}

/* Makes an item of a run of NULs, which a power failure can leave in a file. */
static void hole(struct rs_log_text *t, struct rs_log_item *item)
{
	item->kind = RS_LOG_ITEM_DAMAGE;
	item->error =
		rs_error_create(RS_DAMAGED, "%s: line %llu: %llu NUL bytes", path_of(t),
				(unsigned long long)t->raw.number, (unsigned long long)t->raw.nuls);
	t->raw.nuls = 0;
	t->raw.there = t->raw.bytes > 0;
}

struct rs_error *rs_log_text_next(struct rs_log_text *t, struct rs_log_item *item)
{
	struct rs_error *err;
	struct rs_log_line parsed;

	*item = (struct rs_log_item){ .kind = RS_LOG_ITEM_END };
	err = t->error;
	t->error = NULL;
	while (!err) {
		err = next_line(t);
		if (err || !t->raw.there)
			return err;
		if (t->raw.nuls || !is_blank(&t->raw))
			break;
		t->raw.there = false;
	}
	if (err)
		return err;
	t->sum.items++;
	item->path = path_of(t);
	item->number = t->raw.number;
	if (t->raw.nuls)
		hole(t, item);
	else if (rs_log_line_parse(t->raw.text, t->raw.bytes, &parsed))
		line(t, item);
	else
		other(t, item);
	return NULL;
}

/* ---- making one ----------------------------------------------------------------------------- */

void rs_log_text_destroy(struct rs_log_text *t)
{
	if (!t)
		return;
	for (uint32_t i = 0; t->paths && i < t->n_paths; i++)
		free(t->paths[i]);
	free(t->paths);
	rs_error_free(t->error);
	if (t->fd >= 0)
		close(t->fd);
	free(t);
}

struct rs_error *rs_log_text_create(const char *const *paths, uint32_t n, int fd, const void *head,
				    size_t bytes, struct rs_log_text **out)
{
	struct rs_log_text *t = calloc(1, sizeof(*t));

	if (!t) {
		if (fd >= 0)
			close(fd);
		return rs_error_no_memory();
	}
	t->fd = fd;
	t->end = (uint32_t)bytes;
	memcpy(t->buffer, head, bytes);
	t->paths = calloc(n + 1, sizeof(*t->paths));
	for (; t->paths && t->n_paths < n; t->n_paths++) {
		t->paths[t->n_paths] = strdup(paths[t->n_paths]);
		if (!t->paths[t->n_paths])
			break;
	}
	if (!t->paths || t->n_paths < n) {
		rs_log_text_destroy(t);
		return rs_error_no_memory();
	}
	*out = t;
	return NULL;
}

struct rs_log_text_sum rs_log_text_sum(const struct rs_log_text *text)
{
	return text->sum;
}

bool rs_log_text_is(const uint8_t *head, size_t bytes)
{
	static const char *const begins[] = { "[gap: ", "\n\n\tWARNING: logs", "\tWARNING: logs" };
	static const char unit[] = "us][cpu=";
	const char *text = (const char *)head;
	size_t at = 1, n;

	for (uint32_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++) {
		n = strlen(begins[i]);
		if (bytes && !memcmp(text, begins[i], n < bytes ? n : bytes) && bytes >= 6)
			return true;
	}
	if (bytes < 2 || text[0] != '[')
		return false;
	while (at < bytes && text[at] >= '0' && text[at] <= '9')
		at++;
	n = sizeof(unit) - 1 < bytes - at ? sizeof(unit) - 1 : bytes - at;
	return at > 1 && !memcmp(text + at, unit, n);
}
