/* SPDX-License-Identifier: BSD-2-Clause */
/* The flight recorder of `ringside record`: when it writes, where to, and what is said then. */
#include "base/now.h"
#include "cli/recording.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/count.h"
#include "cli/cli.h"

/* Set by SIGUSR1. */
static volatile sig_atomic_t asked;

static void on_asked(int signal_number)
{
	(void)signal_number;
	asked = 1;
}

void rs_flight_listen(void)
{
	signal(SIGUSR1, on_asked);
}

/* A directory of the flight recorder, by number. */
static char *directory_of(const struct rs_cli_recording *r, uint32_t number)
{
	char *path;

	if (r->common->once)
		return strdup(r->common->directory);
	return asprintf(&path, "%s.%u", r->common->directory, number) < 0 ? NULL : path;
}

struct rs_error *rs_flight_check(const struct rs_cli_recording *r)
{
	char *path = directory_of(r, 1);
	struct rs_error *err = NULL;

	if (!path)
		return rs_error_no_memory();
	if (!access(path, F_OK) && rmdir(path))
		err = rs_error_create(
			RS_USAGE, "%s exists already and is not empty: name another with -o", path);
	free(path);
	return err;
}

static bool triggered(struct rs_cli_recording *r, uint64_t now, char why[RS_RECORD_WHY_MAX])
{
	if (asked) {
		asked = 0;
		snprintf(why, RS_RECORD_WHY_MAX, "SIGUSR1");
		return true;
	}
	if (now < r->quiet_until_ns)
		return false;
	for (uint32_t i = 0; i < r->n_kinds; i++) {
		if (r->kinds[i]->triggered && r->kinds[i]->triggered(r->kinds[i]->state, why))
			return true;
	}
	return false;
}

/* What a part that was written is about. */
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

static struct rs_error *report_written(struct rs_cli_recording *r, const char *path,
				       const char *why, const struct rs_recorder_kept *kept)
{
	bool whole = kept->from_ns == INT64_MIN;
	const struct written written = {
		path, why, kept, (double)(kept->at_ns - (whole ? 0 : kept->from_ns)) / 1e9
	};

	r->partial |= kept->sum.lost != 0;
	rs_cli_recording_remark(r, "%s: %s: %s of %.3f s%s, %llu lost", path, why,
				RS_COUNT_OF(kept->sum.records, "record"), written.seconds,
				kept->short_of_bytes ? " (more does not fit: --memory)" : "",
				(unsigned long long)kept->sum.lost);
	return r->common->json ? rs_cli_json_print(put_written, &written) : NULL;
}

static struct rs_error *write_kept(struct rs_cli_recording *r, const char *path, const char *why)
{
	struct rs_recorder_kept kept;
	struct rs_error *err = NULL;

	for (uint32_t i = 0; !err && i < r->n_kinds; i++) {
		if (r->kinds[i]->tell)
			err = r->kinds[i]->tell(r->kinds[i]->state);
	}
	if (!err)
		err = rs_recorder_write_kept(r->recorder, path, why, &kept);
	if (err)
		return err;
	r->n_written++;
	rs_cli_stop |= r->common->once;
	return report_written(r, path, why, &kept);
}

struct rs_error *rs_flight_look(struct rs_cli_recording *r, uint64_t now)
{
	char why[RS_RECORD_WHY_MAX];
	struct rs_error *err;
	char *path;

	if (!triggered(r, now, why))
		return NULL;
	path = directory_of(r, r->n_written + 1);
	if (!path)
		return rs_error_no_memory();
	err = write_kept(r, path, why);
	r->quiet_until_ns = rs_now_ns(CLOCK_MONOTONIC) + r->common->flight_ns;
	for (uint32_t i = 0; i < r->n_kinds; i++) {
		if (r->kinds[i]->rearm)
			r->kinds[i]->rearm(r->kinds[i]->state);
	}
	free(path);
	return err;
}
