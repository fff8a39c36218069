/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads xentrace's files. */
#include "import/xen/xentrace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/given.h"
#include "import/xen/events.h"
#include "import/xen/volume.h"
#include "import/xen/file.h"
#include "import/xen/frequency.h"

#define FREQ_ASSUMED UINT64_C(2400000000) /* as xenalyze does */
#define SKEW_NS_MAX  1000000000		  /* ns; a greater skew is ignored */
#define LOG_MAX	     (64u << 20)	  /* bytes of Xen's log that are searched */
/* The bytes that are read ahead in a file, so that windows in another order than xentrace's are
 * sorted, too. The number is small enough that the records are still in a cache when they are
 * consumed. */
#define AHEAD_FILE (1u << 20)
/* The first part of a trace in which the frequency is searched. It is doubled while the bound is
 * bad. */
#define FREQUENCY_BYTES (16u << 10)
#define FROM_OPTION	"option" /* values of a clock's freq_from */

struct xentrace {
	struct rs_foreign foreign;
	struct rs_xen_events events;
	struct rs_xen_file file;
	bool file_open;
	struct rs_xen_volumes *volumes; /* instead of events, if the query asks for counts only */
	struct rs_xen_counts counts;	/* the volumes' counts, after they were returned */
};

static struct rs_error *xentrace_open(struct rs_source *source, const struct rs_query *query,
				      uint32_t *pushed)
{
	struct xentrace *x = (struct xentrace *)source;

	*pushed = 0;
	if (!(query->counts & RS_COUNTS_XEN) || !rs_query_is_all(query))
		return NULL;
	*pushed = RS_PUSHED_COUNTS;
	return rs_xen_volumes_create(&x->volumes);
}

/* Reads and counts the whole file, and then returns the counts. */
static struct rs_error *volumes_next(struct xentrace *x, struct rs_batch *batch)
{
	struct rs_error *err = NULL;
	bool enough = true;

	while (!err && enough && !rs_xen_records_done(&x->file.of)) {
		err = rs_xen_file_fill(&x->file, &enough);
		if (!err)
			err = rs_xen_volumes_count(x->volumes, &x->file.of);
	}
	if (err)
		return err;
	*batch = (struct rs_batch){ .kind = RS_NEXT_IDLE, .watermark_ns = INT64_MIN };
	if (!rs_xen_records_done(&x->file.of))
		return NULL;
	if (!x->counts.counts.kind) {
		batch->kind = RS_NEXT_COUNTS;
		batch->counts = &x->counts.counts;
		return rs_xen_volumes_counts(x->volumes, &x->foreign.clock, &x->counts);
	}
	batch->kind = RS_NEXT_END;
	x->foreign.tally.records = x->file.records;
	x->foreign.tally.lost = rs_xen_volumes_lost(x->volumes);
	err = x->file.error;
	x->file.error = NULL;
	return err;
}

/* Compares a given frequency with run times. Returns whether they contradict it. */
static bool frequency_check(struct xentrace *x, const struct rs_xen_frequency *found)
{
	const struct rs_clock *clock = &x->foreign.clock;
	const char *from = strcmp(clock->freq_from, FROM_OPTION) ? "--xen-log" : "--freq";

	if (!rs_xen_frequency_contradicts(found, clock->freq_hz))
		return false;
	rs_xen_events_remark(&x->events,
			     "the TSC's frequency, %.3f MHz by %s, contradicts the trace: %u run "
			     "times give %.3f MHz within %.2g %%; all times are by %s",
			     (double)clock->freq_hz / 1e6, from, found->runs,
			     (double)found->hz / 1e6, found->error * 100, from);
	return true;
}

/* Does the same at the end of a pipe, because little of a pipe was read ahead. */
static struct rs_error *frequency_check_end(struct xentrace *x)
{
	struct rs_xen_frequency found;
	struct rs_error *err;

	if (!x->events.runs)
		return NULL;
	err = rs_xen_runs_result(x->events.runs, &found);
	if (!err)
		frequency_check(x, &found);
	rs_xen_runs_destroy(x->events.runs);
	x->events.runs = NULL;
	return err;
}

static struct rs_error *xentrace_next(struct rs_source *source, struct rs_batch *batch)
{
	struct xentrace *x = (struct xentrace *)source;
	struct rs_xen_events *events = &x->events;
	struct rs_error *err = NULL;
	bool enough = true, done;

	if (x->volumes)
		return volumes_next(x, batch);
	events->n = 0;
	while (!err && enough && !events->n && !rs_xen_records_done(&x->file.of)) {
		err = rs_xen_file_fill(&x->file, &enough);
		if (!err)
			err = rs_xen_events_gather(events);
	}
	if (err)
		return err;
	done = rs_xen_records_done(&x->file.of);
	if (done && !events->n)
		rs_xen_events_flush(events);
	*batch = (struct rs_batch){ .kind = events->n ? RS_NEXT_EVENTS
					    : done    ? RS_NEXT_END
						      : RS_NEXT_IDLE,
				    .views = events->views,
				    .n = events->n,
				    .watermark_ns = events->last_ns };
	if (batch->kind == RS_NEXT_END) {
		x->foreign.tally.records = x->file.records;
		rs_xen_events_end(events);
		err = rs_error_first(frequency_check_end(x), x->file.error);
		x->file.error = NULL;
	}
	return err;
}

static void xentrace_destroy(struct rs_source *source)
{
	struct xentrace *x = (struct xentrace *)source;

	if (x->file_open)
		rs_xen_file_deinit(&x->file);
	rs_xen_volumes_destroy(x->volumes);
	rs_xen_runs_destroy(x->events.runs);
	rs_xen_events_deinit(&x->events);
	free(x);
}

static const struct rs_source_ops xentrace_ops = {
	.name = "xentrace",
	.open = xentrace_open,
	.next = xentrace_next,
	.destroy = xentrace_destroy,
};

/* ---- the clock ------------------------------------------------------------------------------ */

/* "(XEN) Detected 2596.125 MHz processor." */
static bool log_line(const char *line, uint64_t *freq_hz)
{
	static const char before[] = "Detected ";
	const char *at = strstr(line, before);
	struct rs_error *err;
	char text[32];
	size_t digits;

	if (!at)
		return false;
	at += strlen(before);
	digits = strspn(at, "0123456789.");
	if (digits > sizeof(text) - sizeof("MHz") ||
	    strncmp(at + digits, " MHz processor", strlen(" MHz processor")) != 0)
		return false;
	snprintf(text, sizeof(text), "%.*sMHz", (int)digits, at);
	err = rs_frequency_parse(text, freq_hz);
	rs_error_free(err);
	return !err;
}

static struct rs_error *log_frequency(const char *path, uint64_t *freq_hz)
{
	FILE *file = NULL;
	struct rs_error *err = rs_given_file(path, RS_GIVEN_FILE_OR_PIPE, &file);
	char line[1024];
	size_t seen = 0;
	bool found = false;

	if (err)
		return err;
	while (!found && seen < LOG_MAX && fgets(line, sizeof(line), file)) {
		seen += strlen(line) + 1;
		found = log_line(line, freq_hz);
	}
	fclose(file);
	if (found)
		return NULL;
	return rs_error_create(RS_USAGE, "%s: no line of Xen's 'Detected N MHz processor' in it",
			       path);
}

static void frequency_remark(struct xentrace *x, const struct rs_xen_frequency *found)
{
	if (found->hz)
		rs_xen_events_remark(&x->events,
				     "the TSC's frequency is not in the file: %.3f MHz within %.2g "
				     "%%, estimated "
				     "from %u run times; --freq or --xen-log sets it",
				     (double)found->hz / 1e6, found->error * 100, found->runs);
	else
		rs_xen_events_remark(
			&x->events,
			"the TSC's frequency is not in the file, and cannot be estimated: "
			"times are for %.0f MHz; give --freq or --xen-log",
			(double)FREQ_ASSUMED / 1e6);
}

/* Sets the clock's frequency: the given one, else an estimate from run times with its bound, else
 * xenalyze's. */
static struct rs_error *clock_make(struct xentrace *x, const struct rs_foreign_options *options,
				   const struct rs_xen_frequency *found)
{
	struct rs_clock *clock = &x->foreign.clock;
	struct rs_error *err;

	*clock = (struct rs_clock){ .name = "tsc",
				    .freq_hz = options->freq_hz,
				    .freq_from = FROM_OPTION,
				    .invariant = true };
	if (!clock->freq_hz && options->xen_log) {
		err = log_frequency(options->xen_log, &clock->freq_hz);
		if (err)
			return err;
		snprintf(clock->freq_from, sizeof(clock->freq_from), "xen log");
	}
	x->events.freq_known = clock->freq_hz || found->hz;
	if (clock->freq_hz) {
		if (!frequency_check(x, found) && !x->file.regular)
			x->events.runs = rs_xen_runs_create(); /* NULL: not compared */
	} else {
		frequency_remark(x, found);
		clock->freq_hz = found->hz ? found->hz : FREQ_ASSUMED;
		snprintf(clock->freq_from, sizeof(clock->freq_from), "assumed");
		if (found->hz)
			snprintf(clock->freq_from, sizeof(clock->freq_from),
				 "run times, within %.2g %%", found->error * 100);
	}
	if (x->file.of.n_heap)
		clock->origin = x->file.of.heap[0]->next_tsc;
	return rs_clock_init(clock);
}

/* Reads `bytes` bytes ahead, or to the end. */
static struct rs_error *read_ahead(struct xentrace *x, size_t bytes)
{
	struct rs_error *err = NULL;
	bool enough = false;

	x->file.ahead = bytes;
	while (!enough && !err)
		err = rs_xen_file_fill(&x->file, &enough);
	return err;
}

/*
 * Reads the beginning until it gives a good estimate of the frequency, in the same steps for a file
 * and a pipe. If a pipe's frequency is given, it waits for no data.
 */
static struct rs_error *frequency_find(struct xentrace *x, bool given,
				       struct rs_xen_frequency *frequency)
{
	size_t bytes = given && !x->file.regular ? 0 : FREQUENCY_BYTES;
	struct rs_error *err;

	for (;; bytes *= 2) {
		err = read_ahead(x, bytes);
		if (!err)
			err = rs_xen_frequency_find(&x->file.of, frequency);
		if (err || !bytes || bytes >= RS_XEN_SURVEY_BYTES || x->file.of.ended ||
		    frequency->error <= RS_XEN_FREQUENCY_GOOD)
			return err;
	}
}

/* Reads the start of the trace, and surveys it. */
static struct rs_error *survey(struct xentrace *x, const struct rs_foreign_options *options)
{
	struct rs_xen_frequency frequency;
	struct rs_xen_survey found;
	struct rs_error *err;
	uint64_t skew_max =
		(options->freq_hz ? options->freq_hz : FREQ_ASSUMED) / 1000000000 * SKEW_NS_MAX;

	err = frequency_find(x, options->freq_hz || options->xen_log, &frequency);
	if (!err && x->file.regular)
		err = read_ahead(x, RS_XEN_SURVEY_BYTES);
	if (err)
		return err;
	x->file.ahead = x->file.regular ? AHEAD_FILE : 0;
	if (!x->file.windows) {
		err = x->file.error;
		x->file.error = NULL;
		return err ? err
			   : rs_error_create(RS_DAMAGED, "%s: the trace is empty", x->file.path);
	}
	err = rs_xen_survey_make(&x->file.of, skew_max, &found);
	if (err)
		return err;
	if (found.skew_most)
		rs_xen_records_correct(&x->file.of, found.skews);
	x->events.decoder.isa = found.isa;
	x->events.any_exit = found.any_exit;
	err = clock_make(x, options, &frequency);
	x->events.decoder.clock = x->foreign.clock;
	if (!err)
		rs_xen_events_report_skew(&x->events, &found);
	rs_xen_survey_deinit(&found);
	return err;
}

/* ---- making one ----------------------------------------------------------------------------- */

struct rs_error *rs_xentrace_open_fd(int fd, const char *path, const void *head, size_t bytes,
				     const struct rs_foreign_options *options,
				     struct rs_foreign **foreign)
{
	static const struct rs_foreign_options none;
	struct xentrace *x = calloc(1, sizeof(*x));
	struct rs_error *err;

	if (!x) {
		close(fd);
		return rs_error_no_memory();
	}
	x->foreign.source.ops = &xentrace_ops;
	err = rs_xen_file_init(&x->file, fd, path, head, bytes);
	x->file_open = !err;
	if (!err)
		err = rs_xen_events_init(&x->events, &x->file.of, &x->foreign.clock,
					 &x->foreign.tally, options ? options->decoder : NULL);
	if (!err)
		err = survey(x, options ? options : &none);
	if (err)
		xentrace_destroy(&x->foreign.source);
	else
		*foreign = &x->foreign;
	return err;
}

struct rs_error *rs_xentrace_open(const char *path, const struct rs_foreign_options *options,
				  struct rs_foreign **foreign)
{
	int fd = -1;
	struct rs_error *err = rs_given_open(path, RS_GIVEN_FILE_OR_PIPE, &fd);

	if (err)
		return err;
	return rs_xentrace_open_fd(fd, path, "", 0, options, foreign);
}
