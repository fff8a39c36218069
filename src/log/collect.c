/* SPDX-License-Identifier: BSD-2-Clause */
/* Collects a log from its rings and writes its lines in order. */
#include "log/collect.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log/memory.h"
#include "ring/shared.h"
#include <ringside/overwrite.h>

#define ELEMENTS_ROUND 65536u /* the most elements of one lane before the next lane is read */

enum feed_kind {
	FEED_TAGGED, /* a lane of a log's memory */
	FEED_SBUF,
	FEED_OVERWRITE, /* positioned, or of the last boot */
	FEED_READ,
};

/* An input of elements of one CPU. */
struct feed {
	enum feed_kind kind;
	const char *path;
	bool ended;
	/* tagged */
	struct rs_log_reader reader;
	uint64_t reported; /* losses reported to the merge */
	uint64_t until;	   /* with `once`: the lane's end at the start */
	int64_t busy_ms;   /* time since which its next element is busy; 0: not busy */
	/* the others */
	struct rs_ring_memory map;
	struct rs_sbuf_consumer consumer;
	struct rs_overwrite_reader overwrite;
	int fd;
	char text[RS_LOG_TEXT_MAX]; /* of the line that is being assembled */
	uint32_t bytes, whole;	    /* whole: its end was read */
	uint64_t damaged;
};

struct rs_log_collector {
	struct rs_log_collect_options options;
	struct rs_log_merge merge;
	struct rs_log_memory memory; /* map.mem NULL: none */
	struct feed *feeds;
	uint32_t n_feeds;
	uint32_t half;
	uint64_t run; /* 0: none yet */
	struct rs_log_collected sum;
};

/* ---- elements without tags ------------------------------------------------------------------ */

/* Emits the assembled line. */
static struct rs_error *line_end(struct rs_log_collector *c, uint32_t at, int64_t now_ms)
{
	struct feed *f = &c->feeds[at];
	uint32_t bytes = f->bytes;

	if (!bytes)
		return NULL;
	f->bytes = 0;
	f->whole = false;
	return rs_log_merge_put(&c->merge, at, f->text, bytes, false, now_ms);
}

/* Adds an element. A line's first element begins with a prefix. Any other element belongs to the
 * previous line, if that has not ended. */
static struct rs_error *element(struct rs_log_collector *c, uint32_t at, const char *text,
				int64_t now_ms)
{
	struct feed *f = &c->feeds[at];
	uint32_t n = (uint32_t)strnlen(text, RS_LOG_ELEMENT_BYTES);
	struct rs_log_line line;
	struct rs_error *err = NULL;

	if (f->whole || rs_log_line_parse(text, n, &line))
		err = line_end(c, at, now_ms);
	if (err)
		return err;
	if (!f->bytes && !rs_log_line_parse(text, n, &line)) {
		f->damaged++; /* the rest of a line whose beginning is lost */
		return NULL;
	}
	if (f->bytes + n > RS_LOG_TEXT_MAX) {
		f->damaged++;
		return line_end(c, at, now_ms);
	}
	memcpy(f->text + f->bytes, text, n);
	f->bytes += n;
	f->whole = n < RS_LOG_ELEMENT_BYTES;
	return f->whole ? line_end(c, at, now_ms) : NULL;
}

static struct rs_error *poll_sbuf(struct rs_log_collector *c, uint32_t at, int64_t now_ms)
{
	struct feed *f = &c->feeds[at];
	struct rs_error *err = NULL;

	for (uint32_t i = 0; i < ELEMENTS_ROUND && !err && !rs_log_merge_full(&c->merge); i++) {
		char text[RS_LOG_ELEMENT_BYTES];
		const uint8_t *run = NULL;
		uint32_t bytes = 0;

		if (rs_sbuf_peek(&f->consumer, &run, &bytes) != RS_SBUF_OK) {
			f->ended = true;
			return rs_error_create(RS_DAMAGED, "%s: %s", f->path,
					       rs_sbuf_status_text(RS_SBUF_BAD_POSITION));
		}
		if (!bytes)
			break;
		memcpy(text, run, sizeof(text));
		if (c->options.consume)
			rs_sbuf_release(&f->consumer, RS_LOG_ELEMENT_BYTES);
		else if ((f->consumer.head += RS_LOG_ELEMENT_BYTES) >= f->consumer.size)
			f->consumer.head -= f->consumer.size;
		err = element(c, at, text, now_ms);
	}
	return err;
}

static struct rs_error *poll_overwrite(struct rs_log_collector *c, uint32_t at, int64_t now_ms)
{
	struct feed *f = &c->feeds[at];
	struct rs_error *err = NULL;

	for (uint32_t i = 0; i < ELEMENTS_ROUND && !err && !rs_log_merge_full(&c->merge); i++) {
		uint64_t text[RS_LOG_ELEMENT_BYTES / sizeof(uint64_t)];
		uint64_t lost;
		uint32_t got;

		if (rs_overwrite_read(&f->overwrite, text, 1, &got, &lost) != RS_SBUF_OK) {
			f->ended = true;
			return rs_error_create(RS_DAMAGED, "%s: %s", f->path,
					       rs_sbuf_status_text(RS_SBUF_BAD_POSITION));
		}
		if (lost) { /* with them, maybe the rest of the assembled line */
			rs_log_merge_lost(&c->merge, at);
			f->damaged += f->bytes > 0;
			f->bytes = 0;
		}
		if (!got)
			break;
		err = element(c, at, (const char *)text, now_ms);
	}
	return err;
}

static struct rs_error *poll_read(struct rs_log_collector *c, uint32_t at, int64_t now_ms)
{
	struct feed *f = &c->feeds[at];
	struct rs_error *err = NULL;

	for (uint32_t i = 0; i < ELEMENTS_ROUND && !err && !rs_log_merge_full(&c->merge); i++) {
		char text[RS_LOG_ELEMENT_BYTES] = { 0 };
		ssize_t n = read(f->fd, text, sizeof(text));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EAGAIN) {
			f->ended = true;
			return rs_error_errno(errno, "%s", f->path);
		}
		if (n <= 0)
			break;
		err = element(c, at, text, now_ms);
	}
	return err;
}

/* ---- lanes of a log's memory ---------------------------------------------------------------- */

static uint64_t losses(const struct rs_log_reader *r)
{
	return r->lost + r->dropped + r->damaged;
}

static bool at_end(const struct rs_log_collector *c, const struct feed *f)
{
	return c->options.once && f->reader.next >= f->until;
}

static struct rs_error *poll_tagged(struct rs_log_collector *c, uint32_t at, int64_t now_ms,
				    bool dead)
{
	struct feed *f = &c->feeds[at];
	struct rs_error *err = NULL;

	for (uint32_t i = 0; i < ELEMENTS_ROUND && !err && !rs_log_merge_full(&c->merge); i++) {
		enum rs_log_read got;
		struct rs_log_raw raw;

		if (at_end(c, f))
			break;
		got = rs_log_reader_next(&f->reader, &raw);
		if (losses(&f->reader) != f->reported)
			rs_log_merge_lost(&c->merge, at);
		f->reported = losses(&f->reader);
		if (got == RS_LOG_READ_EMPTY)
			break;
		if (got == RS_LOG_READ_LINE) {
			f->busy_ms = 0;
			err = rs_log_merge_put(&c->merge, at, raw.text, raw.bytes, raw.cut, now_ms);
			continue;
		}
		if (!f->busy_ms)
			f->busy_ms = now_ms;
		if (!dead && now_ms - f->busy_ms < c->options.patience_ms)
			break;
		rs_log_reader_skip(&f->reader);
		f->busy_ms = 0;
	}
	return err;
}

/* Attaches to the memory's present run. Its half is reused only after another run, which the
 * readers detect. */
static void run_begin(struct rs_log_collector *c, uint32_t half, uint64_t run)
{
	const struct rs_log_half *h = &c->memory.head->half[half];
	uint64_t collected = __atomic_load_n(&h->collected, __ATOMIC_RELAXED);
	uint64_t first = __atomic_load_n(&h->first, __ATOMIC_RELAXED);
	bool whole = true;

	c->half = half;
	c->run = run;
	for (uint32_t i = 0; i < c->n_feeds; i++) {
		struct feed *f = &c->feeds[i];
		struct rs_log_lane lane;
		uint64_t taken;

		rs_log_memory_lane(&c->memory, half, i, &lane);
		taken = __atomic_load_n(&lane.control->taken, __ATOMIC_ACQUIRE);
		rs_log_reader_init(&f->reader, &lane,
				   c->options.consume
					   ? __atomic_load_n(&lane.control->read, __ATOMIC_RELAXED)
					   : 0);
		whole &= taken <= lane.elements;
		f->until = taken;
		f->reported = f->reader.dropped;
		f->busy_ms = 0;
	}
	if (c->options.consume)
		first = collected ? collected + 1 : first;
	else if (!whole) /* lines overwritten before the attach are not reported */
		first = 0;
	rs_log_merge_begin(&c->merge, first);
}

/* Releases the elements that are written to files in the rings. */
static void rings_release(struct rs_log_collector *c)
{
	struct rs_log_half *h = &c->memory.head->half[c->half];

	if (!c->options.consume || c->merge.n || !c->run)
		return;
	if (__atomic_load_n(&h->run, __ATOMIC_RELAXED) != c->run)
		return;
	for (uint32_t i = 0; i < c->n_feeds; i++)
		rs_log_reader_done(&c->feeds[i].reader);
	if (c->merge.next)
		__atomic_store_n(&h->collected, c->merge.next - 1, __ATOMIC_RELAXED);
}

static struct rs_error *poll_lanes(struct rs_log_collector *c, int64_t now_ms, bool dead)
{
	struct rs_error *err = NULL;

	for (uint32_t i = 0; i < c->n_feeds && !err; i++)
		err = poll_tagged(c, i, now_ms, dead);
	return err;
}

/* Reads the rest of a run whose writer has ended. */
static struct rs_error *run_finish(struct rs_log_collector *c, int64_t now_ms)
{
	struct rs_error *err = NULL;
	uint64_t before;

	do {
		before = c->merge.lines;
		err = poll_lanes(c, now_ms, true);
		if (!err)
			err = rs_log_merge_run(&c->merge, now_ms, 0, true);
	} while (!err && c->merge.lines != before);
	rings_release(c);
	return err;
}

/* Finds the half and run in use. Returns false if no run has used the memory yet. */
static bool run_find(const struct rs_log_collector *c, uint32_t *half, uint64_t *run)
{
	const struct rs_log_head *head = c->memory.head;

	/* Pairs with the release in start. */
	*half = __atomic_load_n(&head->current, __ATOMIC_ACQUIRE) & 1;
	*run = __atomic_load_n(&head->half[*half].run, __ATOMIC_RELAXED);
	return *run &&
	       __atomic_load_n(&head->half[*half].state, __ATOMIC_ACQUIRE) != RS_LOG_HALF_FREE;
}

static struct rs_error *poll_memory(struct rs_log_collector *c, int64_t now_ms)
{
	bool writing = rs_log_memory_is_locked(&c->memory, RS_LOG_LOCK_WRITER);
	struct rs_error *err = NULL;
	uint32_t half;
	uint64_t run;

	if (!run_find(c, &half, &run)) {
		c->sum.writing = writing;
		return NULL;
	}
	if (c->run && run != c->run) {
		err = run_finish(c, now_ms);
		c->sum.runs++;
		c->sum.new_last = true;
		c->run = 0;
	}
	if (err)
		return err;
	if (!c->run)
		run_begin(c, half, run);
	if (c->sum.writing && !writing)
		c->sum.new_last = true;
	c->sum.writing = writing;
	if (!writing)
		return run_finish(c, now_ms);
	return poll_lanes(c, now_ms, false);
}

/* ---- a round -------------------------------------------------------------------------------- */

static struct rs_error *poll_feeds(struct rs_log_collector *c, int64_t now_ms)
{
	struct rs_error *err = NULL;

	for (uint32_t i = 0; i < c->n_feeds && !err; i++) {
		struct feed *f = &c->feeds[i];

		if (f->ended)
			continue;
		if (f->kind == FEED_SBUF)
			err = poll_sbuf(c, i, now_ms);
		else if (f->kind == FEED_OVERWRITE)
			err = poll_overwrite(c, i, now_ms);
		else
			err = poll_read(c, i, now_ms);
	}
	return err;
}

static bool all_read(const struct rs_log_collector *c)
{
	for (uint32_t i = 0; i < c->n_feeds; i++) {
		if (c->memory.map.mem && c->run && !at_end(c, &c->feeds[i]))
			return false;
	}
	return true;
}

struct rs_error *rs_log_collector_poll(struct rs_log_collector *c, int64_t now_ms, bool *done)
{
	uint64_t before = c->merge.lines + c->merge.n;
	struct rs_error *err;

	*done = false;
	err = c->memory.map.mem ? poll_memory(c, now_ms) : poll_feeds(c, now_ms);
	if (!err)
		err = rs_log_merge_run(&c->merge, now_ms, c->options.patience_ms, false);
	if (err)
		return err;
	if (c->memory.map.mem)
		rings_release(c);
	if (c->options.once && c->merge.lines + c->merge.n == before && all_read(c)) {
		err = rs_log_collector_end(c, now_ms);
		*done = true;
	}
	return err;
}

struct rs_error *rs_log_collector_end(struct rs_log_collector *c, int64_t now_ms)
{
	struct rs_error *err = NULL;

	for (uint32_t i = 0; i < c->n_feeds && !err; i++) {
		if (c->feeds[i].kind != FEED_TAGGED)
			err = line_end(c, i, now_ms);
	}
	if (!err)
		err = rs_log_merge_run(&c->merge, now_ms, 0, true);
	if (!err && c->memory.map.mem)
		rings_release(c);
	return err;
}

struct rs_log_collected rs_log_collector_sum(const struct rs_log_collector *c)
{
	struct rs_log_collected sum = c->sum;

	sum.lines = c->merge.lines;
	sum.missing = c->merge.missing;
	sum.gaps = c->merge.gaps;
	sum.late = c->merge.late;
	sum.damaged = c->merge.odd;
	for (uint32_t i = 0; i < c->n_feeds; i++)
		sum.damaged += c->feeds[i].damaged + c->feeds[i].reader.damaged;
	return sum;
}

const char *rs_log_collector_name(const struct rs_log_collector *c)
{
	return c->memory.map.mem ? c->memory.name : "acrnlog";
}

const char *rs_log_collector_memory(const struct rs_log_collector *c)
{
	return c->memory.map.mem ? c->options.paths[0] : NULL;
}

/* ---- opening -------------------------------------------------------------------------------- */

static bool is_regular(const char *path)
{
	struct stat st;

	return rs_shared_is_name(path) || (!lstat(path, &st) && S_ISREG(st.st_mode));
}

static struct rs_error *open_read(struct feed *f)
{
	f->kind = FEED_READ;
	return rs_shared_open(f->path, O_RDONLY, RS_SHARED_ANY, &f->fd);
}

static struct rs_error *open_sbuf(struct feed *f)
{
	enum rs_sbuf_status status;
	struct rs_error *err = rs_ring_map_existing(f->path, 0, &f->map);
	uint32_t ele_size = 0;

	if (err)
		return err;
	f->kind = FEED_SBUF;
	status = rs_sbuf_attach(&f->consumer, f->map.mem, f->map.bytes);
	ele_size = f->consumer.ele_size;
	if (status == RS_SBUF_OTHER_MODE || status == RS_SBUF_NO_MAGIC) {
		f->kind = FEED_OVERWRITE;
		status = rs_overwrite_attach(&f->overwrite, f->map.mem, f->map.bytes,
					     status == RS_SBUF_NO_MAGIC ? RS_SBUF_MAGIC_LAST
									: RS_SBUF_MAGIC);
		ele_size = f->overwrite.ele_size;
	}
	if (status == RS_SBUF_NO_MAGIC)
		return rs_error_create(RS_USAGE, "%s: not a log, and not a ring", f->path);
	if (status != RS_SBUF_OK)
		return rs_error_create(RS_DAMAGED, "%s: %s", f->path, rs_sbuf_status_text(status));
	if (ele_size != RS_LOG_ELEMENT_BYTES)
		return rs_error_create(RS_USAGE, "%s: its elements have %u bytes, expected %u",
				       f->path, ele_size, RS_LOG_ELEMENT_BYTES);
	return NULL;
}

static struct rs_error *feeds_make(struct rs_log_collector *c, uint32_t n,
				   const struct rs_log_taker *taker)
{
	c->feeds = calloc(n, sizeof(*c->feeds));
	if (!c->feeds)
		return rs_error_no_memory();
	c->n_feeds = n;
	for (uint32_t i = 0; i < n; i++) {
		c->feeds[i].map.fd = c->feeds[i].fd = -1;
		c->feeds[i].path = c->options.paths[i < c->options.n_paths ? i : 0];
	}
	return rs_log_merge_init(&c->merge, n, taker);
}

enum rs_log_path rs_log_path_kind(const char *path)
{
	static const char last[] = "acrn_hvlog_last_"; /* ACRN's names of devices */
	const char *name = strrchr(path, '/');
	struct rs_ring_memory map;
	struct rs_error *err;
	uint64_t magic = 0;
	struct stat st;

	name = name ? name + 1 : path;
	if (!strncmp(name, last, sizeof(last) - 1) && !is_regular(path))
		return RS_LOG_PATH_LAST;
	if (!lstat(path, &st) && (S_ISCHR(st.st_mode) || S_ISFIFO(st.st_mode)))
		return RS_LOG_PATH_RING;
	err = rs_ring_map_existing(path, 0, &map);
	if (err) {
		rs_error_free(err);
		return RS_LOG_PATH_MEMORY; /* opening the path returns the error */
	}
	if (map.bytes >= sizeof(magic))
		magic = __atomic_load_n((const uint64_t *)map.mem, __ATOMIC_RELAXED);
	rs_ring_unmap(&map);
	if (magic == RS_SBUF_MAGIC_LAST)
		return RS_LOG_PATH_LAST;
	return magic == RS_SBUF_MAGIC ? RS_LOG_PATH_RING : RS_LOG_PATH_MEMORY;
}

static struct rs_error *open_all(struct rs_log_collector *c, const struct rs_log_taker *taker)
{
	struct rs_error *err = NULL;

	if (c->options.n_paths == 1 &&
	    rs_log_path_kind(c->options.paths[0]) == RS_LOG_PATH_MEMORY) {
		err = rs_log_memory_open(c->options.paths[0], &c->memory);
		if (err)
			return err;
		return feeds_make(c, c->memory.layout.lanes, taker);
	}
	err = feeds_make(c, c->options.n_paths, taker);
	for (uint32_t i = 0; i < c->n_feeds && !err; i++) {
		struct feed *f = &c->feeds[i];

		if (rs_log_path_kind(f->path) == RS_LOG_PATH_MEMORY)
			err = rs_error_create(RS_USAGE,
					      "%s is the memory of a whole log, which cannot be "
					      "collected with others: give only this path",
					      f->path);
		else
			err = is_regular(f->path) ? open_sbuf(f) : open_read(f);
	}
	c->sum.writing = true;
	if (!err)
		rs_log_merge_begin(&c->merge, 0);
	return err;
}

struct rs_error *rs_log_collector_create(const struct rs_log_collect_options *options,
					 const struct rs_log_taker *taker,
					 struct rs_log_collector **collector)
{
	struct rs_log_collector *c;
	struct rs_error *err;

	if (!options->n_paths || options->n_paths > RS_LOG_LANES_MAX)
		return rs_error_create(RS_USAGE, "1 to %u rings can be collected together",
				       RS_LOG_LANES_MAX);
	c = calloc(1, sizeof(*c));
	if (!c)
		return rs_error_no_memory();
	c->options = *options;
	c->memory.map.fd = -1;
	err = open_all(c, taker);
	if (err)
		rs_log_collector_destroy(c);
	else
		*collector = c;
	return err;
}

void rs_log_collector_destroy(struct rs_log_collector *c)
{
	if (!c)
		return;
	for (uint32_t i = 0; i < c->n_feeds; i++) {
		if (c->feeds[i].kind == FEED_TAGGED && c->memory.map.mem)
			continue;
		rs_ring_unmap(&c->feeds[i].map);
		if (c->feeds[i].fd >= 0)
			close(c->feeds[i].fd);
	}
	rs_log_merge_deinit(&c->merge);
	rs_log_memory_close(&c->memory);
	free(c->feeds);
	free(c);
}
