/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A file of xentrace that is damaged, cut or hostile: read as a file and through a pipe, whose
 * events must be the same, shown as text and JSON, and summed up: in total, and by intervals,
 * between which the states of vCPUs continue.
 *
 *	input: flags; the file
 *	flags: bit 0: the reader gets the TSC frequency; the other bits choose one way of reading,
 *	or all of them if they are 0. One way is several times faster than all.
 *
 * The mutator changes a record and repairs the count of its words and the size of its window,
 * without which the file would end there.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "analyze/xen.h"
#include "event/query.h"
#include "xen/records.h"
#include "import/xen/xentrace.h"
#include "view/view.h"
#include "xen/layout.h"

#include "fuzz.h"
#include "mutate.h"
#include "pool.h"

#define PIPE_BYTES (1u << 20)

static int as_file(const uint8_t *bytes, size_t n)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	MUST(fd >= 0 && write(fd, bytes, n) == (ssize_t)n && !lseek(fd, 0, SEEK_SET));
	return fd;
}

/* All of it fits; the other end is closed. */
static int as_pipe(const uint8_t *bytes, size_t n)
{
	int ends[2];

	MUST(!pipe(ends));
	MUST(fcntl(ends[1], F_SETPIPE_SZ, PIPE_BYTES) >= (int)PIPE_BYTES);
	MUST(write(ends[1], bytes, n) == (ssize_t)n);
	close(ends[1]);
	return ends[0];
}

static void read_all_of(int fd, const struct rs_foreign_options *options,
			const struct rs_query *query, struct rs_sink *sink)
{
	struct rs_foreign *foreign;
	struct rs_error *err = rs_xentrace_open_fd(fd, "fuzz", "", 0, options, &foreign);

	if (!err) {
		err = rs_run(&foreign->source, query, sink, NULL);
		rs_source_destroy(&foreign->source);
	}
	fuzz_drop(err);
}

static void read_all(int fd, const struct rs_foreign_options *options, struct rs_sink *sink)
{
	read_all_of(fd, options, NULL, sink);
}

/* Reads it into a view's sink; there are two sinks. */
static void show(const uint8_t *bytes, size_t n, const struct rs_foreign_options *options,
		 struct rs_error *(*create)(const struct rs_view_options *, struct rs_sink **))
{
	static int nowhere = -1;
	struct rs_view_options view = { .time = RS_TIME_START };
	struct rs_sink *sink;

	if (nowhere < 0)
		nowhere = open("/dev/null", O_WRONLY);
	view.fd = nowhere;
	fuzz_drop(create(&view, &sink));
	read_all(as_file(bytes, n), options, sink);
	rs_view_sink_destroy(sink);
}

static void text(const uint8_t *bytes, size_t n, const struct rs_foreign_options *options)
{
	show(bytes, n, options, rs_text_sink_create);
}

static void json(const uint8_t *bytes, size_t n, const struct rs_foreign_options *options)
{
	show(bytes, n, options, rs_json_sink_create);
}

static void piped(const uint8_t *bytes, size_t n, const struct rs_foreign_options *options)
{
	struct fuzz_sink file = FUZZ_SINK(false), pipe = FUZZ_SINK(false);

	read_all(as_file(bytes, n), options, &file.sink);
	read_all(as_pipe(bytes, n), options, &pipe.sink);
	MUST(file.events == pipe.events);
}

/* ---- reports --------------------------------------------------------------------------------- */

#define INTERVALS_MAX 64

/* Before the analysis: takes the results at intervals, as `report --interval` does. */
struct intervals {
	struct rs_sink sink;
	struct rs_sink *xen;
	uint32_t n;
};

/* Returns the number of records in the volume, if it is among the rows. */
static uint64_t consume(struct rs_sink *xen, const int64_t *until_ns)
{
	struct rs_xen_result result;
	uint64_t records = 0;

	MUST(!(until_ns ? rs_xen_collect_until(xen, *until_ns, &result)
			: rs_xen_collect(xen, &result)));
	MUST(!rs_xen_check(&result)); /* only the time that passed */
	for (size_t i = 0; i < result.n_rows; i++)
		records += result.rows[i].kind == RS_XEN_VOLUME ? result.rows[i].count : 0;
	return records;
}

static struct rs_error *interval_events(struct rs_sink *sink, const struct rs_view *views, size_t n)
{
	struct intervals *s = (struct intervals *)sink;
	size_t half = n / 2;

	fuzz_drop(s->xen->ops->events(s->xen, views, half));
	if (half && s->n < INTERVALS_MAX) {
		s->n++;
		consume(s->xen, &views[half].ts_ns);
		rs_xen_continue(s->xen);
	}
	return s->xen->ops->events(s->xen, views + half, n - half);
}

static void counted(const uint8_t *bytes, size_t n, const struct rs_foreign_options *options)
{
	struct rs_query query;
	struct rs_sink *sink;
	uint64_t records;

	MUST(!rs_xen_sink_create(RS_XEN_ALL_KINDS, &sink));
	read_all(as_file(bytes, n), options, sink);
	records = consume(sink, NULL);
	rs_xen_sink_destroy(sink);
	/* As the file's source counts it. */
	rs_query_init(&query);
	query.counts = RS_COUNTS_XEN;
	MUST(!rs_xen_sink_create(1u << RS_XEN_VOLUME, &sink));
	read_all_of(as_file(bytes, n), options, &query, sink);
	MUST(consume(sink, NULL) == records);
	rs_xen_sink_destroy(sink);
}

static void by_intervals(const uint8_t *bytes, size_t n, const struct rs_foreign_options *options)
{
	static const struct rs_sink_ops ops = { .name = "intervals", .events = interval_events };
	struct intervals s = { .sink.ops = &ops };

	MUST(!rs_xen_sink_create(RS_XEN_ALL_KINDS, &s.xen));
	read_all(as_file(bytes, n), options, &s.sink);
	consume(s.xen, NULL);
	rs_xen_sink_destroy(s.xen);
}

/* ---- a mutated input ------------------------------------------------------------------------- */

#define HEAD_BYTES  12u /* of a window: a record as such */
#define HEAD_WORD   (RS_XEN_CPU_CHANGE | 2u << 28)
#define WORDS_MAX   7u
#define STAMP_BYTES 8u
#define WAY_1_IN    8u /* mutants that are read in another way */
#define PLAIN_1_IN  4u /* mutants that libFuzzer makes of the whole input */

/* Chooses a window, with equal chances. Returns whether there is any. */
static bool window_pick(struct fuzz_mutant *m, struct fuzz_part *window)
{
	uint32_t n = 0;

	for (size_t at = 1; m->size - at >= HEAD_BYTES && fuzz_get_u32(m, at) == HEAD_WORD;) {
		size_t bytes = HEAD_BYTES + (size_t)fuzz_get_u32(m, at + 8);

		if (bytes > m->size - at)
			bytes = m->size - at;
		if (!fuzz_pick(m, ++n))
			*window = (struct fuzz_part){ at, bytes };
		at += bytes;
	}
	return n > 0;
}

/* Chooses a record after the window's head. */
static bool record_pick(struct fuzz_mutant *m, const struct fuzz_part *window,
			struct fuzz_part *record)
{
	size_t at = window->at + HEAD_BYTES, end = window->at + window->bytes;
	uint32_t n = 0;

	while (end - at >= 4) {
		size_t bytes = RS_XEN_HEAD_BYTES(fuzz_get_u32(m, at));

		if (bytes > end - at)
			break;
		if (!fuzz_pick(m, ++n))
			*record = (struct fuzz_part){ at, bytes };
		at += bytes;
	}
	return n > 0;
}

/* Mutates the words after a record's head, and updates their count in the head. */
static void words_mutate(struct fuzz_mutant *m, const struct fuzz_part *record)
{
	uint32_t head = fuzz_get_u32(m, record->at);
	size_t front = 4 + STAMP_BYTES * RS_XEN_HEAD_STAMPED(head);
	size_t at = record->at + front, n = fuzz_mutate_part(m, at, record->bytes - front);
	size_t words = n / 4 < WORDS_MAX ? n / 4 : WORDS_MAX;

	fuzz_splice(m, at + words * 4, n - words * 4, NULL, 0);
	fuzz_put_u32(m, record->at, (head & ~(7u << 28)) | (uint32_t)words << 28);
}

/* Changes one record: its words, its event, its stamp; or repeats or removes it. */
static void record_mutate(struct fuzz_mutant *m, const struct fuzz_part *record)
{
	uint32_t head = fuzz_get_u32(m, record->at);
	uint8_t copy[4 + STAMP_BYTES + 4 * WORDS_MAX];

	switch (fuzz_pick(m, 6)) {
	case 0:
		memcpy(copy, m->data + record->at, record->bytes);
		fuzz_splice(m, record->at, 0, copy, record->bytes);
		break;
	case 1:
		fuzz_splice(m, record->at, record->bytes, NULL, 0);
		break;
	case 2:
		fuzz_mutate_fixed(m, record->at, 4);
		fuzz_put_u32(m, record->at,
			     (fuzz_get_u32(m, record->at) & 0x0fffffff) | (head & 0xf0000000));
		break;
	case 3:
		if (RS_XEN_HEAD_STAMPED(head))
			fuzz_mutate_fixed(m, record->at + 4, STAMP_BYTES);
		break;
	default:
		words_mutate(m, record);
	}
}

static void file_mutate(struct fuzz_mutant *m)
{
	struct fuzz_part window = { 0 }, record = { 0 };
	size_t before = m->size;

	if (!window_pick(m, &window) || !record_pick(m, &window, &record)) {
		m->size = LLVMFuzzerMutate(m->data, m->size, m->most);
		return;
	}
	if (!fuzz_pick(m, 8)) {
		fuzz_mutate_fixed(m, window.at + 4, 4); /* its CPU */
		return;
	}
	record_mutate(m, &record);
	fuzz_put_u32(m, window.at + 8, (uint32_t)(window.bytes + m->size - before - HEAD_BYTES));
}

/* ---- an input -------------------------------------------------------------------------------- */

static void (*const ways[])(const uint8_t *, size_t,
			    const struct rs_foreign_options *) = { text, json, piped, counted,
								   by_intervals };
#define WAYS (sizeof(ways) / sizeof(ways[0]))

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned int seed)
{
	struct fuzz_mutant m = { data, size, most, seed };

	if (!size || !fuzz_pick(&m, PLAIN_1_IN))
		m.size = LLVMFuzzerMutate(data, size, most);
	else
		file_mutate(&m);
	if (m.size && (!(data[0] >> 1) || !fuzz_pick(&m, WAY_1_IN)))
		data[0] = (uint8_t)((1 + fuzz_pick(&m, WAYS)) << 1 | (data[0] & 1));
	return m.size;
}

/*
 * Returns a decoder made once, because making it is most of the cost of a small file. It keeps
 * events of unknown numbers, so it is replaced before it is full of those.
 */
static struct rs_xen_decoder *decoder(void)
{
	static struct rs_xen_decoder made;

	if (made.n_raw > RS_XEN_RAW_MAX / 2)
		rs_xen_decoder_deinit(&made);
	if (!made.schema)
		MUST(!rs_xen_decoder_init(&made));
	return &made;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	uint8_t flags = fuzz_u8(&in);
	struct rs_foreign_options options = { .freq_hz = flags & 1 ? 1000000000 : 0,
					      .decoder = decoder() };

	if (in.left > PIPE_BYTES)
		return 0;
	fuzz_pool_begin();
	for (size_t i = 0; i < WAYS; i++) {
		if (!(flags >> 1) || (flags >> 1) % WAYS == i)
			ways[i](in.at, in.left, &options);
	}
	fuzz_pool_end();
	return 0;
}
