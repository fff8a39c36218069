/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared by the fuzz targets. A target is one file with LLVMFuzzerTestOneInput(); `make fuzz` runs
 * each for a minute, `make check` over its seeds. A target aborts on output that the code's checks
 * should have prevented.
 */
#ifndef RS_FUZZ_H
#define RS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "event/layout.h"
#include <ringside/source.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(condition)                                                                            \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);            \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

/*
 * Marks a function of the harness whose branches libFuzzer does not count and whose comparisons it
 * does not learn from: they are not part of the code under test, and each costs a call.
 */
#if defined(__clang__)
#define FUZZ_OWN __attribute__((no_sanitize("coverage")))
#else
#define FUZZ_OWN
#endif

/* ---- the input, consumed from the front; missing bytes read as zero ------------------------ */

struct fuzz_input {
	const uint8_t *at;
	size_t left;
};

/* Returns the next bytes of the input; fewer at its end. */
static inline size_t fuzz_take(struct fuzz_input *in, void *to, size_t bytes)
{
	size_t n = bytes < in->left ? bytes : in->left;

	memset(to, 0, bytes);
	memcpy(to, in->at, n);
	in->at += n;
	in->left -= n;
	return n;
}

static inline uint8_t fuzz_u8(struct fuzz_input *in)
{
	uint8_t value;

	fuzz_take(in, &value, 1);
	return value;
}

static inline uint16_t fuzz_u16(struct fuzz_input *in)
{
	uint16_t value;

	fuzz_take(in, &value, 2);
	return value;
}

static inline uint32_t fuzz_u32(struct fuzz_input *in)
{
	uint32_t value;

	fuzz_take(in, &value, 4);
	return value;
}

static inline uint64_t fuzz_u64(struct fuzz_input *in)
{
	uint64_t value;

	fuzz_take(in, &value, 8);
	return value;
}

/* Errors are an input's normal end; they must have a text. */
static inline void fuzz_drop(struct rs_error *err)
{
	if (err) {
		MUST(rs_error_text(err)[0]);
		rs_error_free(err);
	}
}

/* ---- shared schema and sink ----------------------------------------------------------------- */

/* A schema with the vmm's events, and events of the user: id 1 with integers, id 2 with a text. */
static inline struct rs_schema *fuzz_schema(void)
{
	static const char *const declarations[] = { "io::read(u64 sector, u32 len:bytes)",
						    "io::say(u16 level, text message)" };
	struct rs_schema *schema;

	MUST(!rs_schema_create("fuzz", &schema));
	MUST(!rs_schema_add_catalogue(schema, "vmm"));
	for (uint32_t i = 0; i < 2; i++)
		MUST(!rs_schema_declare(schema, RS_ID(RS_IDS_USER, i + 1), declarations[i],
					strlen(declarations[i])));
	return schema;
}

/* A sink that reads everything in a view, and checks its promises. */
struct fuzz_sink {
	struct rs_sink sink;
	int64_t last_ns;
	uint64_t events, sum;
	bool live; /* there the order across a late put is undefined */
};

FUZZ_OWN static inline void fuzz_check_view(struct fuzz_sink *f, const struct rs_view *view)
{
	const struct rs_event *event = view->event;

	MUST(rs_schema_find(view->stream->schema, event->id) == event);
	MUST(f->live || view->ts_ns >= f->last_ns);
	f->last_ns = view->ts_ns;
	f->events++;
	MUST(view->payload_bytes >= event->fixed_bytes);
	for (uint32_t i = 0; i < view->payload_bytes; i++)
		f->sum += view->payload[i];
	for (uint16_t i = 0; i < event->n_fields; i++) {
		const struct rs_field *field = &event->fields[i];
		const uint8_t *text;
		size_t len;

		if (field->type != RS_TYPE_TEXT) {
			f->sum += rs_field_value(field, view->payload);
			continue;
		}
		text = (const uint8_t *)rs_view_text(view, field, &len);
		MUST(text >= view->payload && text + len <= view->payload + view->payload_bytes);
	}
	if (event->kind == RS_KIND_LOSS)
		f->sum += rs_view_loss(view).count;
}

FUZZ_OWN static inline struct rs_error *fuzz_events(struct rs_sink *sink,
						    const struct rs_view *views, size_t n)
{
	struct fuzz_sink *f = (struct fuzz_sink *)sink;

	for (size_t i = 0; i < n; i++) {
		MUST(!i || views[i].ts_ns >= views[i - 1].ts_ns);
		fuzz_check_view(f, &views[i]);
	}
	return NULL;
}

static const struct rs_sink_ops fuzz_sink_ops = { .name = "fuzz", .events = fuzz_events };

#define FUZZ_SINK(is_live)                                                                         \
	{                                                                                          \
		.sink = { &fuzz_sink_ops }, .last_ns = INT64_MIN, .live = (is_live)                \
	}

#endif
