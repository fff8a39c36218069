/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs the recorder over the selected sources until it is stopped. */
#include "cli/recording.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/count.h"
#include "base/now.h"
#include "cli/cli.h"

#define NS_PER_US      1000u
#define TICK_NS	       20000000	  /* the interval of checks for triggers, the end, signals */
#define POLL_NS	       500000000u /* the interval of polls of the kinds, and of the progress */
#define MEMORY_DEFAULT (UINT64_C(256) << 20)
#define WORKERS_MAX    4
#define SOURCES_MAX    (RS_RECORD_KINDS_MAX * (RS_RECORD_WHY_MAX + sizeof(", ")))

/* ---- begin ---------------------------------------------------------------------------------- */

static struct rs_error *kinds_open(struct rs_cli_recording *r)
{
	struct rs_error *err = NULL;

	while (!err && r->n_open < r->n_kinds) {
		err = r->kinds[r->n_open]->open(r->kinds[r->n_open]->state, r->common);
		r->n_open += !err;
	}
	return err;
}

static struct rs_error *gates_open(struct rs_cli_recording *r)
{
	struct rs_error *err = NULL;

	/* A gate that failed may be partly open; gates_shut() closes it with the others. */
	while (!err && r->n_gates < r->n_kinds) {
		err = r->kinds[r->n_gates]->gate(r->kinds[r->n_gates]->state, true);
		r->n_gates++;
	}
	return err;
}

static struct rs_error *gates_shut(struct rs_cli_recording *r)
{
	struct rs_error *err = NULL;

	for (uint32_t i = 0; i < r->n_gates; i++)
		err = rs_error_first(err, r->kinds[i]->gate(r->kinds[i]->state, false));
	r->n_gates = 0;
	return err;
}

static struct rs_error *begin(struct rs_cli_recording *r)
{
	const struct rs_record_common *c = r->common;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	struct rs_recorder_options recorder = {
		.directory = c->flight_ns ? NULL : c->directory,
		.poll_us = (uint32_t)(c->poll_ns / NS_PER_US),
		.threads = (uint32_t)(cpus < 1		   ? 1
				      : cpus > WORKERS_MAX ? WORKERS_MAX
							   : cpus),
		.command = r->command,
		.keep_ns = c->flight_ns,
		.keep_bytes = c->memory_bytes ? c->memory_bytes : MEMORY_DEFAULT,
	};
	struct rs_error *err;

	r->flight = (struct rs_flight){ .common = c, .kinds = r->kinds, .n_kinds = r->n_kinds };
	err = c->flight_ns ? rs_flight_check(&r->flight) : NULL;

	for (uint32_t i = 0; i < r->n_kinds; i++)
		recorder.urgent |= r->kinds[i]->urgent;
	if (!err)
		err = kinds_open(r);
	if (!err) /* before the recorder's threads are created */
		err = rs_cli_confine(RS_CONFINE_COLLECTOR);
	if (!err)
		err = rs_clock_host(&r->clock);
	recorder.clock = r->clock;
	if (!err)
		err = rs_recorder_create(&recorder, &r->recorder);
	for (uint32_t i = 0; !err && i < r->n_kinds; i++)
		err = r->kinds[i]->attach(r->kinds[i]->state, r->recorder, &r->clock);
	if (!err)
		err = gates_open(r);
	if (!err)
		r->began_ns = r->polled_ns = rs_now_ns(CLOCK_MONOTONIC);
	return err;
}

/* ---- wait -------------------------------------------------------------------------------- */

static void show_progress(const struct rs_cli_recording *r, uint64_t now)
{
	struct rs_recorder_summary sum;

	if (!r->common->shows)
		return;
	rs_recorder_progress(r->recorder, &sum);
	fprintf(stderr, "\r\033[K%.1f s: %s, %.1f MB, %llu lost", (double)(now - r->began_ns) / 1e9,
		RS_COUNT_OF(sum.records, "record"), (double)sum.bytes / 1e6,
		(unsigned long long)sum.lost);
}

static struct rs_error *poll_kinds(struct rs_cli_recording *r, uint64_t now)
{
	struct rs_error *err = NULL;

	if (now - r->polled_ns < POLL_NS)
		return NULL;
	r->polled_ns = now;
	for (uint32_t i = 0; !err && i < r->n_kinds; i++) {
		if (r->kinds[i]->poll)
			err = r->kinds[i]->poll(r->kinds[i]->state);
	}
	show_progress(r, now);
	return err;
}

static bool have_ended(const struct rs_cli_recording *r)
{
	for (uint32_t i = 0; i < r->n_kinds; i++) {
		if (!r->kinds[i]->has_ended || !r->kinds[i]->has_ended(r->kinds[i]->state))
			return false;
	}
	return true;
}

static struct rs_error *wait_for_end(struct rs_cli_recording *r)
{
	const struct timespec tick = { .tv_nsec = TICK_NS };
	struct rs_error *err = NULL;

	while (!err && !rs_cli_stop) {
		uint64_t now = rs_now_ns(CLOCK_MONOTONIC);

		if (r->common->duration_ns && now - r->began_ns >= r->common->duration_ns)
			break;
		if (have_ended(r))
			break;
		err = poll_kinds(r, now);
		if (!err && r->common->flight_ns)
			err = rs_flight_poll(&r->flight, r->recorder, now);
		nanosleep(&tick, NULL); /* a signal interrupts it */
	}
	return err;
}

/* ---- end ---------------------------------------------------------------------------------- */

/* Writes each kind's description of its sources. */
static void describe_sources(const struct rs_cli_recording *r, char text[SOURCES_MAX])
{
	char *at = text;

	text[0] = '\0';
	for (uint32_t i = 0; i < r->n_kinds; i++) {
		char one[RS_RECORD_WHY_MAX] = "";

		r->kinds[i]->sum(r->kinds[i]->state, one);
		at += snprintf(at, (size_t)(text + SOURCES_MAX - at), "%s%s", i ? ", " : "", one);
	}
}

/* A recording that has ended, for its summary. */
struct ended {
	const struct rs_cli_recording *recording;
	const struct rs_recorder_summary *sum;
	double seconds;
};

static void put_summary(struct rs_json *json, const void *about)
{
	const struct ended *ended = about;
	const struct rs_cli_recording *r = ended->recording;

	rs_json_unsigned(rs_json_key(json, "records"), ended->sum->records);
	rs_json_unsigned(rs_json_key(json, "lost"), ended->sum->lost);
	rs_json_unsigned(rs_json_key(json, "bytes"), ended->sum->bytes);
	rs_json_unsigned(rs_json_key(json, "streams"), ended->sum->streams);
	rs_json_seconds(rs_json_key(json, "seconds"), ended->seconds);
	for (uint32_t i = 0; i < r->n_kinds; i++)
		r->kinds[i]->sum_json(r->kinds[i]->state, json);
	if (r->common->flight_ns)
		rs_json_unsigned(rs_json_key(json, "written"), r->flight.n_written);
	else
		rs_json_text(rs_json_key(json, "trace"), r->common->directory);
}

static struct rs_error *summary(struct rs_cli_recording *r, const struct rs_recorder_summary *sum,
				double seconds)
{
	const struct ended ended = { r, sum, seconds };
	char text[SOURCES_MAX];

	describe_sources(r, text);
	if (r->common->flight_ns)
		rs_record_remark(r->common, "%u written; observed %s of %s in %.1f s, %llu lost",
				 r->flight.n_written, RS_COUNT_OF(sum->records, "record"), text,
				 seconds, (unsigned long long)sum->lost);
	else
		rs_record_remark(r->common, "%s: %s of %s in %.1f s, %.1f MB, %llu lost",
				 r->common->directory, RS_COUNT_OF(sum->records, "record"), text,
				 seconds, (double)sum->bytes / 1e6, (unsigned long long)sum->lost);
	return r->common->json ? rs_cli_json_print(put_summary, &ended) : NULL;
}

/* Ends the started parts, and reports the result. err: the error that ended the recording, or
 * NULL. */
static struct rs_error *end(struct rs_cli_recording *r, struct rs_error *err)
{
	struct rs_recorder_summary sum = { 0 };
	char why[RS_RECORD_WHY_MAX];
	double seconds;

	err = rs_error_first(err, gates_shut(r));
	seconds = (double)(rs_now_ns(CLOCK_MONOTONIC) - r->began_ns) / 1e9;
	err = rs_error_first(err, rs_recorder_close(r->recorder, &sum));
	if (r->began_ns)
		err = rs_error_first(err, summary(r, &sum, seconds));
	/* Losses of a flight recorder count only if they are in a written directory. */
	r->partial |= r->common->flight_ns ? r->flight.partial : sum.lost != 0;
	for (uint32_t i = 0; i < r->n_open; i++) {
		const struct rs_record_kind *kind = r->kinds[i];

		if (!err && kind->report)
			err = kind->report(kind->state, &r->partial);
		if (kind->closes_slowly && kind->closes_slowly(kind->state, why))
			rs_record_remark(r->common, "%s", why);
		kind->close(kind->state);
	}
	return err;
}

struct rs_error *rs_cli_recording_run(struct rs_cli_recording *r)
{
	struct rs_error *err = begin(r);

	if (r->common->flight_ns)
		rs_flight_listen();
	if (!err)
		err = wait_for_end(r);
	return end(r, err);
}
