/* SPDX-License-Identifier: BSD-2-Clause */
/* The flight recorder: its triggers, its directories, and the message for each directory. */
#include "cli/flight.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/count.h"
#include "base/now.h"
#include "cli/cli.h"

/* Set by SIGUSR1. */
static volatile sig_atomic_t requested;

static void on_request(int signal_number)
{
	(void)signal_number;
	requested = 1;
}

void rs_flight_listen(void)
{
	signal(SIGUSR1, on_request);
}

/* Returns the path of the directory with this number, or NULL if out of memory; the caller frees
 * it. */
static char *directory_of(const struct rs_flight *f, uint32_t number)
{
	char *path;

	if (f->common->once)
		return strdup(f->common->directory);
	return asprintf(&path, "%s.%u", f->common->directory, number) < 0 ? NULL : path;
}

struct rs_error *rs_flight_check(const struct rs_flight *f)
{
	char *path = directory_of(f, 1);
	struct rs_error *err = NULL;

	if (!path)
		return rs_error_no_memory();
	if (!access(path, F_OK) && rmdir(path))
		err = rs_error_create(
			RS_USAGE,
			"%s exists already and is not empty: name another directory with -o", path);
	free(path);
	return err;
}

static bool triggered(struct rs_flight *f, uint64_t now_ns, char why[RS_RECORD_WHY_MAX])
{
	if (requested) {
		requested = 0;
		snprintf(why, RS_RECORD_WHY_MAX, "SIGUSR1");
		return true;
	}
	if (now_ns < f->quiet_until_ns)
		return false;
	for (uint32_t i = 0; i < f->n_kinds; i++) {
		if (f->kinds[i]->triggered && f->kinds[i]->triggered(f->kinds[i]->state, why))
			return true;
	}
	return false;
}

/* A directory that was written, for its message. */
struct written {
	const char *path, *why;
	const struct rs_recorder_kept *kept;
	double seconds;
};

static void put_written(struct rs_json *json, const void *about)
{
	const struct written *written = about;
	const struct rs_recorder_summary *sum = &written->kept->sum;

	rs_json_text(rs_json_key(json, "trace"), written->path);
	rs_json_text(rs_json_key(json, "why"), written->why);
	rs_json_unsigned(rs_json_key(json, "records"), sum->records);
	rs_json_unsigned(rs_json_key(json, "lost"), sum->lost);
	rs_json_unsigned(rs_json_key(json, "bytes"), sum->bytes);
	rs_json_seconds(rs_json_key(json, "seconds"), written->seconds);
	rs_json_bool(rs_json_key(json, "short_of_memory"), written->kept->short_of_bytes);
}

static struct rs_error *report_written(struct rs_flight *f, const char *path, const char *why,
				       const struct rs_recorder_kept *kept)
{
	bool whole = kept->from_ns == INT64_MIN;
	const struct written written = {
		path, why, kept, (double)(kept->at_ns - (whole ? 0 : kept->from_ns)) / 1e9
	};

	f->partial |= kept->sum.lost != 0;
	rs_record_remark(f->common, "%s: %s: %s of %.3f s%s, %llu lost", path, why,
			 RS_COUNT_OF(kept->sum.records, "record"), written.seconds,
			 kept->short_of_bytes ? " (limited by --memory)" : "",
			 (unsigned long long)kept->sum.lost);
	return f->common->json ? rs_cli_json_print(put_written, &written) : NULL;
}

static struct rs_error *write_kept(struct rs_flight *f, struct rs_recorder *recorder,
				   const char *path, const char *why)
{
	struct rs_recorder_kept kept;
	struct rs_error *err = NULL;

	for (uint32_t i = 0; !err && i < f->n_kinds; i++) {
		if (f->kinds[i]->describe)
			err = f->kinds[i]->describe(f->kinds[i]->state);
	}
	if (!err)
		err = rs_recorder_write_kept(recorder, path, why, &kept);
	if (err)
		return err;
	f->n_written++;
	rs_cli_stop |= f->common->once;
	return report_written(f, path, why, &kept);
}

struct rs_error *rs_flight_poll(struct rs_flight *f, struct rs_recorder *recorder, uint64_t now_ns)
{
	char why[RS_RECORD_WHY_MAX];
	struct rs_error *err;
	char *path;

	if (!triggered(f, now_ns, why))
		return NULL;
	path = directory_of(f, f->n_written + 1);
	if (!path)
		return rs_error_no_memory();
	err = write_kept(f, recorder, path, why);
	f->quiet_until_ns = rs_now_ns(CLOCK_MONOTONIC) + f->common->flight_ns;
	for (uint32_t i = 0; i < f->n_kinds; i++) {
		if (f->kinds[i]->rearm)
			f->kinds[i]->rearm(f->kinds[i]->state);
	}
	free(path);
	return err;
}
