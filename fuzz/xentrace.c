/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A file of xentrace that is damaged, cut, or made to hurt: read as a file and through a pipe,
 * whose events must be the same, shown as text and JSON, and summed up: all at once, and by
 * intervals, between which what vCPUs are and do goes on.
 *
 *	input: flags; the file
 *	flags: bit 0: the reader gets the TSC frequency; the other bits choose one way of reading,
 *	or all of them if they are 0, as in the seeds. One way is several times faster than all.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "analyze/xen.h"
#include "event/query.h"
#include "source/xentrace.h"
#include "view/view.h"
#include "xen/layout.h"

#include "fuzz.h"

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

/* Reads it into a view's sink, of which there are two. */
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

/* ---- reports ------------------------------------------------------------------------------- */

#define INTERVALS_MAX 64

/* Before the analysis: takes what there is now and then, as `report --interval` does. */
struct intervals {
	struct rs_sink sink;
	struct rs_sink *xen;
	uint32_t n;
};

/* How many records the volume has, if it is among the rows. */
static uint64_t take(struct rs_sink *xen, const int64_t *until_ns)
{
	struct rs_xen_result result;
	uint64_t records = 0;

	MUST(!(until_ns ? rs_xen_take_until(xen, *until_ns, &result) : rs_xen_take(xen, &result)));
	MUST(!rs_xen_check(&result)); /* no time but what there was */
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
		take(s->xen, &views[half].ts_ns);
		rs_xen_go_on(s->xen);
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
	records = take(sink, NULL);
	rs_xen_sink_destroy(sink);
	/* As the file's source counts it. */
	rs_query_init(&query);
	query.aggregates = rs_xen_aggregates;
	query.n_aggregates = RS_XEN_AGGREGATES;
	MUST(!rs_xen_sink_create(1u << RS_XEN_VOLUME, &sink));
	read_all_of(as_file(bytes, n), options, &query, sink);
	MUST(take(sink, NULL) == records);
	rs_xen_sink_destroy(sink);
}

static void by_intervals(const uint8_t *bytes, size_t n, const struct rs_foreign_options *options)
{
	static const struct rs_sink_ops ops = { .name = "intervals", .events = interval_events };
	struct intervals s = { .sink.ops = &ops };

	MUST(!rs_xen_sink_create(RS_XEN_ALL_KINDS, &s.xen));
	read_all(as_file(bytes, n), options, &s.sink);
	take(s.xen, NULL);
	rs_xen_sink_destroy(s.xen);
}

/* ---- an input -------------------------------------------------------------------------------- */

static void (*const ways[])(const uint8_t *, size_t,
			    const struct rs_foreign_options *) = { text, json, piped, counted,
								   by_intervals };
#define WAYS (sizeof(ways) / sizeof(ways[0]))

/* Returns a decoder made once: it is most of what a small file costs. It keeps events of unknown
 * numbers, so a new one comes before it is full of those. */
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
	for (size_t i = 0; i < WAYS; i++) {
		if (!(flags >> 1) || (flags >> 1) % WAYS == i)
			ways[i](in.at, in.left, &options);
	}
	return 0;
}
