/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * xentrace files made from literal words, and the events of a source as lines:
 *
 *	TIME [CPU] CONTEXT PROBE arg=valueUNIT ...
 *
 * The default frequency is 1 GHz: a cycle is a nanosecond.
 */
#ifndef RS_TESTS_XEN_KIT_H
#define RS_TESTS_XEN_KIT_H

#include <sys/mman.h>
#include <unistd.h>

#include "../test.h"
#include "import/xen/xentrace.h"
#include "xen/layout.h"

#define FILE_WORDS 65536
#define LINES_MAX  4096

/* A file that is being made. */
struct maker {
	uint32_t words[FILE_WORDS];
	uint32_t n;
	uint32_t window; /* the position of its size */
};

__attribute__((unused)) static void window(struct maker *m, uint32_t cpu)
{
	m->words[m->n++] = 0x2001f003;
	m->words[m->n++] = cpu;
	m->window = m->n++;
	m->words[m->window] = 0;
}

/* tsc 0: without. */
static void record(struct maker *m, uint32_t event, uint64_t tsc, const uint32_t *words, uint32_t n)
{
	m->words[m->n++] = event | n << 28 | (tsc ? 1u << 31 : 0);
	if (tsc) {
		m->words[m->n++] = (uint32_t)tsc;
		m->words[m->n++] = (uint32_t)(tsc >> 32);
	}
	for (uint32_t i = 0; i < n; i++)
		m->words[m->n + i] = words[i];
	m->n += n;
	m->words[m->window] = (m->n - m->window - 1) * 4;
}

#define RECORD(maker, event, tsc, ...)                                                             \
	record(maker, event, tsc, (const uint32_t[]){ 0, ##__VA_ARGS__ } + 1,                      \
	       sizeof((const uint32_t[]){ 0, ##__VA_ARGS__ }) / 4 - 1)

/* Captures of the corpus that are small enough to be damaged at every byte. */
static const char *const small_captures[] = { "small", "small-P1", "small-S0", "small-N",
					      "small-4cpu" };
#define N_SMALL_CAPTURES  (sizeof(small_captures) / sizeof(small_captures[0]))
#define SMALL_CAPTURE_MAX 8192

/* Its bytes; tests run at the top of the tree. */
__attribute__((unused)) static size_t small_capture_read(size_t i, uint8_t bytes[SMALL_CAPTURE_MAX])
{
	char path[128];
	size_t n = 0;
	FILE *file;

	snprintf(path, sizeof(path), "tests/corpus/xen/%s.trace", small_captures[i]);
	file = fopen(path, "rb");
	if (CHECK(file != NULL)) {
		n = fread(bytes, 1, SMALL_CAPTURE_MAX, file);
		fclose(file);
	}
	CHECK(n > 500 && n < SMALL_CAPTURE_MAX);
	return n;
}

/* The output of a source. */
struct lines {
	char *line[LINES_MAX];
	uint32_t n;
	bool times; /* with time and CPU in front */
	struct rs_foreign_tally tally;
	struct rs_clock clock;
	struct rs_error *err;
};

static void lines_free(struct lines *lines)
{
	for (uint32_t i = 0; i < lines->n; i++)
		free(lines->line[i]);
	rs_error_free(lines->err);
	*lines = (struct lines){ 0 };
}

static void add_field(FILE *to, const struct rs_view *view, const struct rs_field *field)
{
	uint64_t value = rs_field_value(field, view->payload);
	const char *name = rs_enum_name(field->values, value);

	fprintf(to, " %s=", field->name);
	if (field->show == RS_SHOW_HEX)
		fprintf(to, "0x%llx", (unsigned long long)value);
	else if (name)
		fprintf(to, "%s", name);
	else
		fprintf(to, "%lld", (long long)value);
	fprintf(to, "%s", field->unit);
}

static void add_line(struct lines *lines, const struct rs_view *view)
{
	size_t bytes;
	FILE *to = open_memstream(&lines->line[lines->n++], &bytes);

	if (lines->times)
		fprintf(to, "%lld [%d] ", (long long)view->ts_ns, view->cpu);
	if (view->stream->vm)
		fprintf(to, "%s/v%d ", view->stream->vm, view->stream->vcpu);
	else
		fprintf(to, "- ");
	fprintf(to, "%s", view->event->probe);
	for (uint16_t i = 0; i < view->event->n_fields; i++)
		add_field(to, view, &view->event->fields[i]);
	fclose(to);
}

/* Reads bytes as a file, or through a pipe at fd. */
static void read_fd(int fd, const struct rs_foreign_options *options, struct lines *lines)
{
	struct rs_foreign *foreign;
	struct rs_batch batch = { .kind = RS_NEXT_IDLE };
	int64_t last = INT64_MIN;

	lines->err = rs_xentrace_open_fd(fd, "made", "", 0, options, &foreign);
	if (lines->err)
		return;
	while (batch.kind != RS_NEXT_END) {
		lines->err = foreign->source.ops->next(&foreign->source, &batch);
		if (lines->err)
			break;
		for (size_t i = 0; i < batch.n && batch.kind == RS_NEXT_EVENTS; i++) {
			const struct rs_view *view = &batch.views[i];

			CHECK(view->ts_ns >= last);
			CHECK(rs_view_xen(view) != NULL);
			CHECK(rs_schema_find(view->stream->schema, view->event->id) == view->event);
			last = view->ts_ns;
			if (lines->n < LINES_MAX)
				add_line(lines, view);
		}
	}
	lines->tally = foreign->tally;
	lines->clock = foreign->clock;
	rs_source_destroy(&foreign->source);
}

static void read_bytes(const void *bytes, size_t n, const struct rs_foreign_options *options,
		       struct lines *lines)
{
	int fd = memfd_create("xentrace", MFD_CLOEXEC);

	CHECK(fd >= 0 && write(fd, bytes, n) == (ssize_t)n && !lseek(fd, 0, SEEK_SET));
	read_fd(fd, options, lines);
}

__attribute__((unused)) static void read_made(const struct maker *m, struct lines *lines)
{
	static const struct rs_foreign_options ghz = { .freq_hz = 1000000000 };

	read_bytes(m->words, m->n * 4, &ghz, lines);
}

#endif
