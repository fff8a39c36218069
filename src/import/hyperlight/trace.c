/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads Hyperlight's frames as events. */
#include "import/hyperlight/trace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/map.h"
#include "base/utf8.h"

#define FREQ_US	    UINT64_C(1000000)
#define TIME_US_MAX (UINT64_C(1) << 50) /* 35 years; a later time is damage */
#define STACK_MAX   4096u		/* addresses in a frame; more are damage */
#define MESSAGE_MAX 4096u		/* bytes; Hyperlight's own have at most 64 */
#define NAMES_MAX   65536u
#define BUFFER	    65536u
#define HASH_BYTES  32u
#define DEPTH_MAX   256u

enum frame { FRAME_IDENT, FRAME_UNWIND, FRAME_ALLOC, FRAME_FREE, FRAME_MESSAGE, FRAMES };

#define ID_MESSAGE RS_ID(RS_IDS_USER, 1)

/* A span's name and its id in the schema. */
struct name {
	uint32_t id;
	char text[];
};

/* A batch: views and their payloads. Another frame is read while there is room for the most views
 * of a frame: a clock-back, and the ends of all spans or a message. */
#define VIEWS	    1024u
#define VIEWS_FRAME (DEPTH_MAX + 2u)
#define POOL	    (64u << 10)
#define POOL_FRAME  (DEPTH_MAX * sizeof(struct rs_span) + MESSAGE_MAX + 1024u)

struct hyperlight {
	struct rs_foreign foreign;
	char *path;
	int fd;
	struct rs_schema *schema;
	struct rs_stream stream, *streams[1];
	struct rs_map names;
	uint8_t buffer[BUFFER];
	size_t at, end;
	uint64_t offset; /* of buffer[at] in the file */
	bool ended;
	uint64_t last_us;
	uint64_t backed, cut_stacks, unnamed;
	/* Open spans: the ids of their names. Those deeper than DEPTH_MAX have no entry. */
	uint32_t open[DEPTH_MAX], depth;
	struct rs_error *error; /* damage, which next() returns at the end */
	size_t n;
	struct rs_view views[VIEWS];
	uint8_t *payload; /* of the next view, in the pool */
	uint8_t pool[POOL] __attribute__((aligned(8)));
};

/* ---- bytes ---------------------------------------------------------------------------------- */

/* Makes `bytes` bytes readable at the buffer's position. Returns false at the file's end, and after
 * an error. */
static bool have(struct hyperlight *h, size_t bytes)
{
	while (h->end - h->at < bytes && !h->ended) {
		ssize_t n;

		memmove(h->buffer, h->buffer + h->at, h->end - h->at);
		h->end -= h->at;
		h->at = 0;
		n = read(h->fd, h->buffer + h->end, BUFFER - h->end);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			h->error = rs_error_errno(errno, "%s: offset %llu", h->path,
						  (unsigned long long)(h->offset + h->end));
		h->ended = n <= 0;
		h->end += n > 0 ? (size_t)n : 0;
	}
	return h->end - h->at >= bytes;
}

static uint64_t read_u64(struct hyperlight *h)
{
	uint64_t value;

	memcpy(&value, h->buffer + h->at, sizeof(value));
	h->at += sizeof(value);
	h->offset += sizeof(value);
	return value;
}

/* Ends the reading with an error about the frame at `offset`. Returns false. */
static bool damaged(struct hyperlight *h, uint64_t offset, const char *what)
{
	h->ended = true;
	h->at = h->end;
	if (!h->error)
		h->error = rs_error_create(RS_DAMAGED, "%s: frame at offset %llu: %s", h->path,
					   (unsigned long long)offset, what);
	return false;
}

/* ---- views ---------------------------------------------------------------------------------- */

/* Makes a view of the payload, and moves on in the pool to the next view's place. */
static void emit(struct hyperlight *h, uint64_t id, uint32_t bytes)
{
	bytes = bytes < 16 ? 16 : bytes;
	h->views[h->n++] = (struct rs_view){ .ts_ns = rs_clock_ns(&h->foreign.clock, h->last_us),
					     .tsc = h->last_us,
					     .event = rs_schema_find(h->schema, id),
					     .stream = &h->stream,
					     .payload = h->payload,
					     .payload_bytes = bytes,
					     .cpu = RS_UNKNOWN };
	h->payload += (bytes + 7) & ~7u;
}

/* Appends the frame's stack to the first `bytes` bytes of the payload. Returns false if it is
 * damaged. */
static bool append_stack(struct hyperlight *h, uint64_t offset, uint32_t *bytes)
{
	uint64_t n, kept;
	uint16_t count;

	if (!have(h, sizeof(n)))
		return damaged(h, offset, "the file ends in it");
	n = read_u64(h);
	if (n > STACK_MAX)
		return damaged(h, offset, "its stack has more than 4096 addresses");
	if (!have(h, n * sizeof(uint64_t)))
		return damaged(h, offset, "the file ends in it");
	kept = n < RS_STACK_DEPTH_MAX ? n : RS_STACK_DEPTH_MAX;
	h->cut_stacks += kept < n;
	count = (uint16_t)kept;
	memcpy(h->payload + *bytes, &count, sizeof(count));
	memcpy(h->payload + *bytes + sizeof(count), h->buffer + h->at, kept * sizeof(uint64_t));
	*bytes += (uint32_t)(sizeof(count) + kept * sizeof(uint64_t));
	h->at += n * sizeof(uint64_t);
	h->offset += n * sizeof(uint64_t);
	return true;
}

/* ---- frames --------------------------------------------------------------------------------- */

static bool ident(struct hyperlight *h, uint64_t offset)
{
	char *hex = h->foreign.binary_hash;

	if (!have(h, HASH_BYTES))
		return damaged(h, offset, "the file ends in it");
	for (uint32_t i = 0; i < HASH_BYTES; i++)
		snprintf(hex + 2 * i, 3, "%02x", h->buffer[h->at + i]);
	h->at += HASH_BYTES;
	h->offset += HASH_BYTES;
	return true;
}

static bool unwind(struct hyperlight *h, uint64_t offset)
{
	const struct rs_stack_sample sample = { 0 };
	uint32_t bytes = sizeof(sample);

	memcpy(h->payload, &sample, sizeof(sample));
	if (!append_stack(h, offset, &bytes))
		return false;
	emit(h, RS_ID_STACK_SAMPLE, bytes);
	return true;
}

static bool allocation(struct hyperlight *h, uint64_t offset)
{
	struct rs_memory_alloc made = { 0 };
	uint32_t bytes = sizeof(made);

	if (!have(h, 2 * sizeof(uint64_t)))
		return damaged(h, offset, "the file ends in it");
	made.address = read_u64(h);
	made.size = read_u64(h);
	memcpy(h->payload, &made, sizeof(made));
	if (!append_stack(h, offset, &bytes))
		return false;
	emit(h, RS_ID_MEMORY_ALLOC, bytes);
	return true;
}

static bool release(struct hyperlight *h, uint64_t offset)
{
	struct rs_memory_free freed = { 0 };
	uint32_t bytes = sizeof(freed);

	if (!have(h, sizeof(uint64_t)))
		return damaged(h, offset, "the file ends in it");
	freed.address = read_u64(h);
	memcpy(h->payload, &freed, sizeof(freed));
	if (!append_stack(h, offset, &bytes))
		return false;
	emit(h, RS_ID_MEMORY_FREE, bytes);
	return true;
}

/* ---- messages ------------------------------------------------------------------------------- */

static bool same_name(const void *item, const void *key)
{
	return !strcmp(((const struct name *)item)->text, key);
}

/* Returns the id of a name, or 0 if there are too many, or there is no memory. */
static uint32_t name_id(struct hyperlight *h, const char *text)
{
	size_t len = strlen(text);
	uint64_t hash = rs_hash_bytes(text, len);
	struct name *name = rs_map_find(&h->names, hash, same_name, text);
	struct rs_error *err;

	if (name)
		return name->id;
	if (h->names.used == NAMES_MAX || !rs_map_reserve(&h->names))
		return 0;
	name = malloc(sizeof(*name) + len + 1);
	if (!name)
		return 0;
	name->id = (uint32_t)h->names.used + 1;
	memcpy(name->text, text, len + 1);
	err = rs_schema_set_name(h->schema, name->id, text, len);
	if (err) {
		rs_error_free(err);
		free(name);
		return 0;
	}
	rs_map_add(&h->names, hash, name);
	return name->id;
}

static void span_begin(struct hyperlight *h, uint32_t id)
{
	const struct rs_span span = { .name = id, .depth = h->depth };

	memcpy(h->payload, &span, sizeof(span));
	emit(h, RS_ID_SPAN_BEGIN, sizeof(span));
	if (h->depth < DEPTH_MAX)
		h->open[h->depth] = id;
	h->depth++;
}

/* Ends the innermost span. */
static void span_end(struct hyperlight *h)
{
	struct rs_span span = { .depth = --h->depth };

	if (h->depth >= DEPTH_MAX)
		return;
	span.name = h->open[h->depth];
	memcpy(h->payload, &span, sizeof(span));
	emit(h, RS_ID_SPAN_END, sizeof(span));
}

/* Ends the spans up to the innermost one of a name. An inner span whose own end is missing, because
 * its function returned early, ends with it. Returns false if no span of the name is open. */
static bool span_end_to(struct hyperlight *h, uint32_t id)
{
	uint32_t depth = h->depth < DEPTH_MAX ? h->depth : DEPTH_MAX;

	while (depth && h->open[depth - 1] != id)
		depth--;
	if (!depth)
		return false;
	while (h->depth >= depth)
		span_end(h);
	return true;
}

static void plain_message(struct hyperlight *h, const char *text, size_t len)
{
	uint16_t n = (uint16_t)len;

	memcpy(h->payload, &n, sizeof(n));
	memcpy(h->payload + sizeof(n), text, len);
	emit(h, ID_MESSAGE, (uint32_t)(sizeof(n) + len));
}

/* A guest halts at the end of its work, within spans that never end. */
static bool is_halt(const char *name)
{
	return !strcmp(name, "halt");
}

static void message_show(struct hyperlight *h, char *text, size_t len)
{
	bool begins = text[0] == '>' || text[0] == '+', ends = text[0] == '<' || text[0] == '-';
	bool is_span = (begins || ends) && text[1] == ' ' && text[2];
	uint32_t id = is_span ? name_id(h, text + 2) : 0;

	h->unnamed += is_span && !id;
	if (id && begins && is_halt(text + 2)) {
		while (h->depth)
			span_end(h);
		plain_message(h, text, len);
	} else if (id && begins) {
		span_begin(h, id);
	} else if (!id || !span_end_to(h, id)) {
		plain_message(h, text, len);
	}
}

static bool message(struct hyperlight *h, uint64_t offset)
{
	char text[MESSAGE_MAX + 1];
	uint64_t n;

	if (!have(h, sizeof(n)))
		return damaged(h, offset, "the file ends in it");
	n = read_u64(h);
	if (n > MESSAGE_MAX)
		return damaged(h, offset, "its message is longer than 4096 bytes");
	if (!have(h, n))
		return damaged(h, offset, "the file ends in it");
	memcpy(text, h->buffer + h->at, n);
	text[n] = '\0';
	h->at += n;
	h->offset += n;
	n = strlen(text);
	rs_utf8_mend(text, n);
	message_show(h, text, n);
	return true;
}

static bool (*const frames[FRAMES])(struct hyperlight *h, uint64_t offset) = {
	[FRAME_IDENT] = ident,	[FRAME_UNWIND] = unwind,   [FRAME_ALLOC] = allocation,
	[FRAME_FREE] = release, [FRAME_MESSAGE] = message,
};

/* Sets the time of a frame. A frame with an earlier time gets the last time, after a clock-back. */
static void time_set(struct hyperlight *h, uint64_t us)
{
	if (us >= h->last_us) {
		h->last_us = us;
		return;
	}
	h->backed++;
	memcpy(h->payload, &us, sizeof(us));
	emit(h, RS_ID_CLOCK_BACK, sizeof(us));
}

/* Reads one frame. Returns false at the end, and after damage. */
static bool frame_read(struct hyperlight *h)
{
	uint64_t offset = h->offset, us, high, frame;
	size_t before = h->n;

	if (!have(h, 3 * sizeof(uint64_t))) {
		if (h->end > h->at)
			damaged(h, offset, "the file ends in it");
		return false;
	}
	us = read_u64(h);
	high = read_u64(h);
	frame = read_u64(h);
	if (high || us > TIME_US_MAX)
		return damaged(h, offset, "its time is more than 35 years");
	if (frame >= FRAMES)
		return damaged(h, offset, "its number is not 0 to 4");
	time_set(h, us);
	if (!frames[frame](h, offset)) {
		h->n = before;
		return false;
	}
	h->foreign.tally.records++;
	return true;
}

/* ---- the source ----------------------------------------------------------------------------- */

static void remarks_at_end(struct hyperlight *h)
{
	const struct rs_foreign_count counts[] = {
		{ h->backed, "frame", "earlier than the stamp before" },
		{ h->cut_stacks, "stack", "deeper than 64 addresses: the outermost are left out" },
		{ h->unnamed, "message", "of more than 65536 spans, shown as messages" },
	};

	rs_foreign_remark_counts(&h->foreign.tally, counts, sizeof(counts) / sizeof(counts[0]));
}

static struct rs_error *hyperlight_next(struct rs_source *source, struct rs_batch *batch)
{
	struct hyperlight *h = (struct hyperlight *)source;
	struct rs_error *err;
	bool more = true;

	h->n = 0;
	h->payload = h->pool;
	while (more && h->n + VIEWS_FRAME <= VIEWS && h->payload + POOL_FRAME <= h->pool + POOL)
		more = frame_read(h);
	*batch = (struct rs_batch){ .kind = RS_NEXT_EVENTS,
				    .views = h->views,
				    .n = h->n,
				    .watermark_ns = rs_clock_ns(&h->foreign.clock, h->last_us) };
	if (h->n)
		return NULL;
	batch->kind = RS_NEXT_END;
	remarks_at_end(h);
	err = h->error;
	h->error = NULL;
	return err;
}

static void hyperlight_destroy(struct rs_source *source)
{
	struct hyperlight *h = (struct hyperlight *)source;
	void *name;

	for (size_t at = 0; (name = rs_map_next(&h->names, &at));)
		free(name);
	rs_map_deinit(&h->names);
	rs_schema_destroy(h->schema);
	rs_error_free(h->error);
	close(h->fd);
	free(h->path);
	free(h);
}

static const struct rs_source_ops hyperlight_ops = {
	.name = "hyperlight",
	.next = hyperlight_next,
	.destroy = hyperlight_destroy,
};

/* ---- making one ----------------------------------------------------------------------------- */

bool rs_hyperlight_is_file(const uint8_t *head, size_t bytes)
{
	uint64_t words[4];

	if (bytes < sizeof(words))
		return false;
	memcpy(words, head, sizeof(words));
	if (words[0] > TIME_US_MAX || words[1] || words[2] >= FRAMES)
		return false;
	if (words[2] == FRAME_UNWIND)
		return words[3] <= STACK_MAX;
	if (words[2] == FRAME_MESSAGE)
		return words[3] && words[3] <= MESSAGE_MAX;
	return words[3] != 0; /* the first word of a hash; an address */
}

static struct rs_error *schema_make(struct hyperlight *h)
{
	static const char declared[] = "trace::message(text text)";
	struct rs_error *err = rs_schema_create("hyperlight", &h->schema);

	if (!err)
		err = rs_schema_add_catalogue(h->schema, "app");
	if (!err)
		err = rs_schema_declare(h->schema, ID_MESSAGE, declared, sizeof(declared) - 1);
	return err;
}

struct rs_error *rs_hyperlight_open_fd(int fd, const char *path, const void *head, size_t bytes,
				       const struct rs_foreign_options *options,
				       struct rs_foreign **foreign)
{
	struct hyperlight *h = calloc(1, sizeof(*h));
	struct rs_error *err;

	(void)options; /* no options are used: times are in us */
	if (!h) {
		close(fd);
		return rs_error_no_memory();
	}
	h->foreign.source.ops = &hyperlight_ops;
	h->fd = fd;
	h->path = strdup(path);
	memcpy(h->buffer, head, bytes);
	h->end = bytes;
	h->foreign.clock = (struct rs_clock){ .freq_hz = FREQ_US, .invariant = true };
	snprintf(h->foreign.clock.name, sizeof(h->foreign.clock.name), "hyperlight_us");
	snprintf(h->foreign.clock.freq_from, sizeof(h->foreign.clock.freq_from), "format");
	err = h->path ? rs_clock_init(&h->foreign.clock) : rs_error_no_memory();
	if (!err)
		err = schema_make(h);
	if (err) {
		hyperlight_destroy(&h->foreign.source);
		return err;
	}
	h->stream = (struct rs_stream){ .vm = "guest",
					.vcpu = 0,
					.cpu = RS_UNKNOWN,
					.tid = RS_UNKNOWN,
					.dom = RS_UNKNOWN,
					.schema = h->schema,
					.clock = &h->foreign.clock };
	h->streams[0] = &h->stream;
	h->foreign.streams = h->streams;
	h->foreign.n_streams = 1;
	*foreign = &h->foreign;
	return NULL;
}
