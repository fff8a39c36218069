/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads a directory of ACRN's traces together with its log files. */
#include "import/acrn/directory.h"

#include <stdlib.h>
#include <string.h>

#include "import/acrn/trace.h"
#include "import/acrn/log.h"
#include "import/acrn/log_files.h"

struct span {
	int64_t from_ns, to_ns;
	bool any;
};

struct both {
	struct rs_foreign foreign;
	struct rs_foreign *traces, *log; /* owned by the merge */
	struct rs_source *merge;
	struct span spans[2]; /* of the traces; of the log's lines */
};

/* ---- as a source ---------------------------------------------------------------------------- */

static struct rs_error *both_open(struct rs_source *source, const struct rs_query *query,
				  uint32_t *pushed)
{
	struct both *b = (struct both *)source;

	return b->merge->ops->open(b->merge, query, pushed);
}

static void span_add(struct span *span, int64_t ns)
{
	if (!span->any)
		span->from_ns = ns;
	span->any = true;
	span->to_ns = ns;
}

static void tally_add(struct rs_foreign_tally *sum, const struct rs_foreign_tally *tally)
{
	sum->records += tally->records;
	sum->lost += tally->lost;
	sum->gaps += tally->gaps;
	sum->left_out += tally->left_out;
	for (uint32_t i = 0; i < tally->n_remarks; i++)
		rs_foreign_remark(sum, "%s", tally->remarks[i]);
}

static void at_end(struct both *b)
{
	const struct span *traces = &b->spans[0], *lines = &b->spans[1];

	tally_add(&b->foreign.tally, &b->traces->tally);
	tally_add(&b->foreign.tally, &b->log->tally);
	if (traces->any && lines->any &&
	    (lines->to_ns < traces->from_ns || lines->from_ns > traces->to_ns))
		rs_foreign_remark(&b->foreign.tally,
				  "no line of the log lies in the traces' time: the log is of "
				  "another time or boot, or --freq is not the TSC's frequency");
}

static struct rs_error *both_next(struct rs_source *source, struct rs_batch *batch)
{
	struct both *b = (struct both *)source;
	struct rs_error *err = b->merge->ops->next(b->merge, batch);

	if (err || batch->kind == RS_NEXT_END) {
		at_end(b);
		return err;
	}
	for (size_t i = 0; batch->kind == RS_NEXT_EVENTS && i < batch->n; i++) {
		uint64_t id = batch->views[i].event->id;

		if (id == RS_ID_LOG || RS_ID_PROVIDER(id) == RS_IDS_ACRN)
			span_add(&b->spans[id == RS_ID_LOG], batch->views[i].ts_ns);
	}
	return NULL;
}

static void both_destroy(struct rs_source *source)
{
	struct both *b = (struct both *)source;

	rs_source_destroy(b->merge); /* also destroys the two inputs */
	free(b->foreign.streams);
	free(b);
}

static const struct rs_source_ops both_ops = {
	.name = "acrn",
	.open = both_open,
	.next = both_next,
	.destroy = both_destroy,
};

/* ---- making one ----------------------------------------------------------------------------- */

/* Sets both inputs to the traces' clock, whose origin is the earlier of their beginnings. */
static void clocks_join(struct both *b)
{
	struct rs_clock *clock = &b->traces->clock;

	if (b->log->clock.origin && (!clock->origin || b->log->clock.origin < clock->origin))
		clock->origin = b->log->clock.origin;
	rs_acrn_log_set_clock(b->log, clock, b->traces->n_streams);
	b->foreign.clock = *clock;
}

static struct rs_error *streams_join(struct both *b)
{
	uint32_t n = b->traces->n_streams;

	b->foreign.streams = calloc(n + b->log->n_streams, sizeof(struct rs_stream *));
	if (!b->foreign.streams)
		return rs_error_no_memory();
	memcpy(b->foreign.streams, b->traces->streams, n * sizeof(struct rs_stream *));
	memcpy(b->foreign.streams + n, b->log->streams,
	       b->log->n_streams * sizeof(struct rs_stream *));
	b->foreign.n_streams = n + b->log->n_streams;
	return NULL;
}

/* Merges both. Takes ownership of both, also after an error. */
static struct rs_error *join(struct rs_foreign *traces, struct rs_foreign *log,
			     struct rs_foreign **foreign)
{
	struct rs_source *sources[] = { &traces->source, &log->source };
	struct both *b = calloc(1, sizeof(*b));
	struct rs_error *err = b ? NULL : rs_error_no_memory();

	if (b) {
		*b = (struct both){ .foreign.source.ops = &both_ops, .traces = traces, .log = log };
		clocks_join(b);
		err = streams_join(b);
	}
	if (!err)
		err = rs_merge_create(sources, 2, &b->merge);
	if (!err) {
		*foreign = &b->foreign;
		return NULL;
	}
	rs_source_destroy(&traces->source);
	rs_source_destroy(&log->source);
	if (b)
		free(b->foreign.streams);
	free(b);
	return err;
}

struct rs_error *rs_acrn_directory_open(const char *path, const struct rs_foreign_options *options,
					struct rs_foreign **foreign)
{
	struct rs_foreign *traces, *log;
	struct rs_error *err = rs_acrn_open_directory(path, options, &traces);

	if (err)
		return err;
	if (!rs_log_names_is_directory(path)) {
		*foreign = traces;
		return NULL;
	}
	if (!options || !options->freq_hz) {
		rs_foreign_remark(&traces->tally,
				  "its log's lines are left out: their microseconds need the TSC's "
				  "frequency; give --freq");
		*foreign = traces;
		return NULL;
	}
	err = rs_acrn_log_open_directory(path, options, &log);
	if (err) {
		rs_source_destroy(&traces->source);
		return err;
	}
	return join(traces, log, foreign);
}
