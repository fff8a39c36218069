/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records a guest in QEMU.
 *
 *	folder -> QEMU records -> the guest's end, a stop or a limit -> the log's end, hashes
 */
#include "replay/making.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/now.h"
#include "replay/guest.h"
#include "replay/material.h"
#include "replay/rr_log.h"

#define TICK_NS	    20000000
#define QUERY_NS    200000000u /* between two queries of QEMU's position */
#define WORDS_BYTES 256	       /* the end of the console, with the first process's output */

static uint64_t bytes_of(int fd)
{
	struct stat st = { 0 };

	return fstat(fd, &st) ? 0 : (uint64_t)st.st_size;
}

uint64_t rs_making_guest_ns(const struct rs_making *making)
{
	return making->made.icount << making->made.shift;
}

uint64_t rs_making_console_bytes(const struct rs_making *making)
{
	return bytes_of(making->console);
}

void rs_making_deinit(struct rs_making *making)
{
	rs_qemu_end(&making->qemu);
	rs_snapshots_deinit(&making->states);
	rs_recording_deinit(&making->made);
	if (making->console >= 0)
		close(making->console);
	if (making->console_to >= 0)
		close(making->console_to);
}

/* Writes QEMU's command into the recording before QEMU starts, so that a failed recording also has
 * it. */
static struct rs_error *start_qemu(struct rs_making *m)
{
	struct rs_qemu_command command = { 0 };
	struct rs_error *err = rs_snapshots_make(&m->states, &m->made, NULL, false);

	if (!err) {
		rs_recording_command(&m->made, RS_RECORDING_RECORD, -1, m->console_to, &command);
		rs_snapshots_add_to(&m->states, &command);
		err = rs_recording_keep_words(&m->made, &command);
	}
	if (!err)
		err = rs_recording_write(&m->made);
	if (!err)
		err = rs_qemu_start(&m->qemu, &command);
	rs_qemu_command_deinit(&command);
	if (err || !m->made.snapshot)
		return err;
	err = rs_qemu_monitor(&m->qemu, "loadvm " RS_SNAPSHOT_START);
	return err ? err : rs_qmp_execute(m->qemu.qmp, "cont", NULL, NULL);
}

struct rs_error *rs_making_begin_record(struct rs_making *making)
{
	struct rs_error *err = rs_material_make_log(&making->made);

	if (!err)
		err = rs_replay_guest_console(&making->made, &making->console_to, &making->console);
	return err ? err : start_qemu(making);
}

/* Reads the guest's position. Returns false if QEMU has ended, which is no error here. */
static bool query(struct rs_making *m, const struct rs_making_limits *limits)
{
	json_t *result = NULL;
	struct rs_error *err = rs_qmp_execute(m->qemu.qmp, "query-replay", NULL, &result);
	bool runs = !err || rs_error_code(err) != RS_ABSENT;

	rs_error_free(err);
	if (json_is_integer(json_object_get(result, "icount")))
		m->made.icount = (uint64_t)json_integer_value(json_object_get(result, "icount"));
	json_decref(result);
	m->log_bytes = bytes_of(m->made.files[RS_RECORDING_LOG]);
	if (limits->progress)
		limits->progress(m);
	return runs;
}

/* Returns why the recording ends now, or NULL if it continues. */
static const char *end_reason(const struct rs_making *m, const struct rs_making_limits *limits)
{
	if (*limits->stop)
		return "stopped";
	if (limits->guest_ns && rs_making_guest_ns(m) >= limits->guest_ns)
		return "the limit of the guest's time";
	if (limits->log_bytes && m->log_bytes >= limits->log_bytes)
		return "the limit of the log's size";
	return NULL;
}

/* Returns what the first process printed about its program, or NULL if it printed nothing. */
static char *last_words(const struct rs_making *m)
{
	char words[WORDS_BYTES + 1], *at = NULL;
	uint64_t bytes = bytes_of(m->console);
	off_t from = bytes > WORDS_BYTES ? (off_t)(bytes - WORDS_BYTES) : 0;
	ssize_t n = pread(m->console, words, WORDS_BYTES, from);

	if (n < 0)
		return NULL;
	words[n] = '\0';
	for (char *next = words; (next = strstr(next, RS_INITRAMFS_SAYS)); at = next++)
		;
	if (!at)
		return NULL;
	at += strlen(RS_INITRAMFS_SAYS);
	at[strcspn(at, "\r\n")] = '\0';
	return at[0] ? strdup(at) : NULL;
}

static char *why_it_ended(const struct rs_making *m, const struct rs_making_limits *limits,
			  const struct rs_error *err, const char *why)
{
	char *words = err || why || !limits->has_init ? NULL : last_words(m), *text;

	if (!words)
		return strdup(err ? rs_error_text(err) : why ? why : "the guest's end");
	if (asprintf(&text, "the guest's end, %s", words) < 0)
		text = NULL;
	free(words);
	return text;
}

/* Runs the guest until it ends or a limit is reached. */
static struct rs_error *run(struct rs_making *m, const struct rs_making_limits *limits)
{
	const struct timespec tick = { .tv_nsec = TICK_NS };
	const char *why = NULL;
	uint64_t queried = 0;
	bool runs = true;
	struct rs_error *err;

	while (rs_qemu_runs(&m->qemu) && runs && !why) {
		if (rs_now_ns(CLOCK_MONOTONIC) - queried >= QUERY_NS) {
			runs = query(m, limits);
			queried = rs_now_ns(CLOCK_MONOTONIC);
		}
		why = end_reason(m, limits);
		if (!why)
			nanosleep(&tick, NULL); /* a signal interrupts the sleep */
	}
	if (why)
		query(m, limits);
	err = rs_qemu_quit(&m->qemu);
	m->made.state = err ? RS_RECORDING_CUT : RS_RECORDING_CLOSED;
	m->made.why = why_it_ended(m, limits, err, why);
	return err;
}

struct rs_error *rs_making_record(struct rs_making *making, const struct rs_making_limits *limits)
{
	struct rs_error *err = run(making, limits), *next;
	bool cut = making->made.state == RS_RECORDING_CUT;
	int log = making->made.files[RS_RECORDING_LOG];

	/* If the log cannot be read, the last query's count remains. */
	rs_error_free(cut ? NULL : rs_rr_log_repair(log, "its log", &making->made.icount));
	next = rs_material_end_log(&making->made, log);
	if (!next)
		next = cut ? rs_recording_repair(&making->made) : rs_recording_write(&making->made);
	else
		next = rs_error_first(next, rs_recording_write(&making->made));
	making->log_bytes = bytes_of(log);
	return rs_error_first(err, next);
}
