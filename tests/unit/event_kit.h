/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared by tests of drains, stores and sources: records written slot by slot with chosen stamps, a
 * ring of them in memory, events copied out again, directories.
 */
#ifndef RS_TESTS_UNIT_EVENT_KIT_H
#define RS_TESTS_UNIT_EVENT_KIT_H

#include "../test.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include "event/drain.h"
#include <ringside/source.h>

#define USER(n) RS_ID(RS_IDS_USER, n)
#define KIT	__attribute__((unused)) static

/* ---- slots -------------------------------------------------------------------------------- */

struct slots {
	struct rs_slot *at;
	uint32_t n, room;
};

KIT void slots_free(struct slots *s)
{
	free(s->at);
	*s = (struct slots){ 0 };
}

/* Adds n zeroed slots. */
KIT struct rs_slot *slots_add(struct slots *s, uint32_t n)
{
	struct rs_slot *at;

	if (s->n + n > s->room) {
		s->room = (s->n + n) * 2;
		s->at = realloc(s->at, s->room * sizeof(*s->at));
	}
	at = memset(s->at + s->n, 0, n * sizeof(*at));
	s->n += n;
	return at;
}

/* Adds a record: as many slots as the payload needs. */
KIT struct rs_slot *slots_record(struct slots *s, uint64_t tsc, uint64_t id, const void *payload,
				 uint32_t bytes)
{
	uint32_t n = RS_RECORD_SLOTS(bytes);
	struct rs_slot *slot = slots_add(s, n);

	slot->tsc = tsc;
	slot->head = id | (uint64_t)(0x80 | n) << 48 | UINT64_C(0xff) << 56;
	if (bytes)
		memcpy((uint8_t *)slot + 16, payload, bytes);
	return slot;
}

/* Adds a fixed part, a length and a text. */
KIT struct rs_slot *slots_text(struct slots *s, uint64_t tsc, uint64_t id, const void *fixed,
			       uint32_t fixed_bytes, const char *text, uint16_t len)
{
	uint8_t payload[RS_RECORD_PAYLOAD_MAX];

	if (fixed_bytes)
		memcpy(payload, fixed, fixed_bytes);
	memcpy(payload + fixed_bytes, &len, 2);
	memcpy(payload + fixed_bytes + 2, text, len);
	return slots_record(s, tsc, id, payload, fixed_bytes + 2 + len);
}

/* As RS_DEFINE_EVENT(x, c, "one", (u64, n)) declares it. */
KIT void slots_one(struct slots *s, uint64_t tsc, uint64_t n)
{
	slots_record(s, tsc, USER(1), &n, sizeof(n));
}

KIT void slots_lost(struct slots *s, uint64_t tsc, uint64_t count, uint64_t from, uint32_t why)
{
	struct {
		uint64_t count, from, to;
		uint32_t why;
	} __attribute__((packed)) lost = { count, from, tsc, why };

	slots_record(s, tsc, RS_ID_LOST, &lost, sizeof(lost));
}

/* The schema of the tests' records. */
KIT struct rs_schema *kit_schema(const char *provider)
{
	static const char *const events[] = {
		"c::one(u64 n)",
		"c::none()",
		"c::wide(u64 a, u64 b, u64 c)",
		"c::text(text t)",
		"c::mixed(u32 a, s16 b:cycles, x8 c, name d, text e)",
		"d:f:signed(s8 a, s16 b, s32 c, s64 d)",
	};
	struct rs_schema *schema = NULL;

	CHECK_OK(rs_schema_create(provider, &schema));
	for (uint32_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		CHECK_OK(rs_schema_declare(schema, USER(i + 1), events[i], strlen(events[i])));
	return schema;
}

enum { KIT_ONE = 1, KIT_NONE, KIT_WIDE, KIT_TEXT, KIT_MIXED, KIT_SIGNED, KIT_EVENTS = KIT_SIGNED };

/* 1 GHz: a cycle is a ns from the origin. */
KIT struct rs_clock kit_clock(uint64_t origin)
{
	struct rs_clock clock = { .name = "host",
				  .freq_hz = 1000000000,
				  .origin = origin,
				  .wall_ns = INT64_C(1700000000000000000),
				  .invariant = true,
				  .freq_from = "test" };

	CHECK_OK(rs_clock_init(&clock));
	return clock;
}

/* ---- a sink's input ----------------------------------------------------------------------- */

struct got {
	int64_t ts_ns;
	uint64_t tsc;
	const struct rs_event *event;
	const struct rs_stream *stream;
	uint8_t *payload;
	uint32_t payload_bytes;
	int cpu;
	bool is_loss;
};

struct got_sink {
	struct rs_sink sink;
	struct got *at;
	size_t n, room, batches;
	uint64_t lost; /* by loss events */
	bool ended;
	size_t fail_at; /* the batch that fails, from 1; 0: none */
};

KIT struct rs_error *got_events(struct rs_sink *sink, const struct rs_view *views, size_t n)
{
	struct got_sink *g = (struct got_sink *)sink;

	if (++g->batches == g->fail_at)
		return rs_error_create(RS_FAILED, "the sink fails");
	for (size_t i = 0; i < n; i++) {
		if (g->n == g->room) {
			g->room = g->room ? g->room * 2 : 256;
			g->at = realloc(g->at, g->room * sizeof(*g->at));
		}
		g->at[g->n] = (struct got){ views[i].ts_ns, views[i].tsc,
					    views[i].event, views[i].stream,
					    NULL,	    views[i].payload_bytes,
					    views[i].cpu,   views[i].event->kind == RS_KIND_LOSS };
		g->at[g->n].payload = malloc(views[i].payload_bytes);
		memcpy(g->at[g->n++].payload, views[i].payload, views[i].payload_bytes);
		if (views[i].event->kind == RS_KIND_LOSS)
			g->lost += rs_view_loss(&views[i]).count;
	}
	return NULL;
}

KIT struct rs_error *got_end(struct rs_sink *sink)
{
	((struct got_sink *)sink)->ended = true;
	return NULL;
}

static const struct rs_sink_ops got_ops = { .name = "got", .events = got_events, .end = got_end };

KIT struct got_sink got_sink(void)
{
	return (struct got_sink){ .sink = { &got_ops } };
}

KIT void got_free(struct got_sink *g)
{
	for (size_t i = 0; i < g->n; i++)
		free(g->at[i].payload);
	free(g->at);
	*g = got_sink();
}

/* Returns the first field of an event, as a number. */
KIT uint64_t got_value(const struct got *got)
{
	return rs_field_value(&got->event->fields[0], got->payload);
}

/* ---- directories and files ------------------------------------------------------------------ */

KIT int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

KIT void remove_tree(const char *path)
{
	nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Makes a new directory for a test; remove it with remove_tree(). */
KIT const char *make_temp(char path[64])
{
	const char *tmp = getenv("TMPDIR");

	if (!tmp || strlen(tmp) > 40)
		tmp = access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm";
	snprintf(path, 64, "%.40s/rs-test-XXXXXX", tmp);
	CHECK(mkdtemp(path) != NULL);
	return path;
}

KIT char *join(char out[256], const char *directory, const char *name)
{
	snprintf(out, 256, "%.150s/%.100s", directory, name);
	return out;
}

/* Returns a whole file with a final NUL, or NULL if it does not exist. */
KIT uint8_t *file_read(const char *path, size_t *bytes)
{
	FILE *file = fopen(path, "re");
	uint8_t *data;
	long size;

	if (!file)
		return NULL;
	fseek(file, 0, SEEK_END);
	size = ftell(file);
	rewind(file);
	data = calloc(1, (size_t)size + 1);
	*bytes = fread(data, 1, (size_t)size, file);
	fclose(file);
	return data;
}

KIT void file_write(const char *path, const void *data, size_t bytes)
{
	FILE *file = fopen(path, "we");

	if (!CHECK(file != NULL))
		return;
	CHECK(fwrite(data, 1, bytes, file) == bytes);
	CHECK(fclose(file) == 0);
}

KIT void copy_directory(const char *from, const char *to)
{
	DIR *dir = opendir(from);
	struct dirent *entry;

	mkdir(to, 0755);
	while (dir && (entry = readdir(dir))) {
		char a[256], b[256];
		struct stat st;
		uint8_t *data;
		size_t bytes;

		if (entry->d_name[0] == '.')
			continue;
		join(a, from, entry->d_name);
		join(b, to, entry->d_name);
		if (!stat(a, &st) && S_ISDIR(st.st_mode)) {
			copy_directory(a, b);
			continue;
		}
		data = file_read(a, &bytes);
		if (CHECK(data != NULL))
			file_write(b, data, bytes);
		free(data);
	}
	if (dir)
		closedir(dir);
}

/* xorshift64*: the same numbers on every machine. */
KIT uint64_t kit_random(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * UINT64_C(0x2545f4914f6cdd1d) >> 16;
}

#endif
