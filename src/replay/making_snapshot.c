/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Takes a snapshot of a guest, with which recordings can begin.
 *
 *	folder -> QEMU counts -> a text on the console, a time or a stop -> state -> hashes
 */
#include "replay/making.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#include "replay/guest.h"
#include "replay/material.h"

#define NS_PER_SEC UINT64_C(1000000000)
#define TICK_NS	   50000000

struct rs_error *rs_making_begin_snapshot(struct rs_making *making)
{
	struct rs_qemu_command command = { 0 };
	int fd = -1;
	struct rs_error *err =
		rs_replay_guest_console(&making->made, &making->console_to, &making->console);

	if (!err)
		err = rs_folder_fd(&making->made.folder, rs_recording_files[RS_RECORDING_BEGIN],
				   O_RDWR | O_CREAT | O_EXCL, &fd);
	if (err)
		return err;
	making->states.fd = fd;
	err = rs_snapshots_write_empty(fd);
	rs_recording_command(&making->made, RS_RECORDING_PLAIN, -1, making->console_to, &command);
	rs_snapshots_add_to(&making->states, &command);
	if (!err)
		err = rs_recording_keep_words(&making->made, &command);
	if (!err)
		err = rs_qemu_start(&making->qemu, &command);
	rs_qemu_command_deinit(&command);
	return err;
}

static bool console_has(const struct rs_making *m, const char *wanted)
{
	bool found = false;
	struct stat st;
	void *text;

	if (fstat(m->console, &st) || !st.st_size)
		return false;
	text = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, m->console, 0);
	if (text != MAP_FAILED) {
		found = memmem(text, (size_t)st.st_size, wanted, strlen(wanted));
		munmap(text, (size_t)st.st_size);
	}
	return found;
}

static int field(const json_t *json, const char *name)
{
	return (int)json_integer_value(json_object_get(json, name));
}

/* Returns the present time of the guest's clock, by its RTC. */
static uint64_t clock_ns(struct rs_making *m)
{
	static const struct rs_qmp_argument rtc[] = {
		{ "path", "/machine" }, { "property", "rtc-time" }, { NULL, NULL }
	};
	struct tm now = { 0 }, start = { 0 };
	json_t *tm = NULL;
	time_t seconds = 0;

	rs_error_free(rs_qmp_execute(m->qemu.qmp, "qom-get", rtc, &tm));
	if (tm && strptime(m->made.date, "%Y-%m-%dT%H:%M:%S", &start)) {
		now = (struct tm){ .tm_year = field(tm, "tm_year"),
				   .tm_mon = field(tm, "tm_mon"),
				   .tm_mday = field(tm, "tm_mday"),
				   .tm_hour = field(tm, "tm_hour"),
				   .tm_min = field(tm, "tm_min"),
				   .tm_sec = field(tm, "tm_sec") };
		seconds = timegm(&now) - timegm(&start);
	}
	json_decref(tm);
	return seconds > 0 ? (uint64_t)seconds * NS_PER_SEC : 0;
}

static bool is_reached(struct rs_making *m, const struct rs_making_when *when)
{
	return *when->stop || (when->text && console_has(m, when->text)) ||
	       (when->time_ns && clock_ns(m) >= when->time_ns);
}

static bool runs(struct rs_making *m)
{
	return rs_qemu_runs(&m->qemu) && !rs_qmp_ends(m->qemu.qmp);
}

static struct rs_error *save(struct rs_making *m)
{
	struct rs_error *err = rs_qmp_execute(m->qemu.qmp, "stop", NULL, NULL);

	if (!err)
		err = rs_qemu_monitor(&m->qemu, "savevm " RS_SNAPSHOT_START);
	if (!err)
		err = rs_qemu_quit(&m->qemu);
	if (!err)
		err = rs_snapshots_reset_count(m->states.fd, "its snapshot", m->made.shift);
	m->made.state = RS_RECORDING_SNAPSHOT;
	m->made.snapshot = true;
	if (!err)
		err = rs_material_describe(&m->made, RS_RECORDING_BEGIN, m->states.fd);
	return err ? err : rs_recording_write(&m->made);
}

struct rs_error *rs_making_snapshot(struct rs_making *making, const struct rs_making_when *when)
{
	const struct timespec tick = { .tv_nsec = TICK_NS };

	while (runs(making) && !is_reached(making, when))
		nanosleep(&tick, NULL); /* a signal interrupts the sleep */
	if (runs(making))
		return save(making);
	return rs_error_create(RS_FAILED,
			       "the guest ended before the snapshot: %s/console has its messages",
			       making->made.folder.path);
}
