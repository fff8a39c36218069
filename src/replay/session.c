/* SPDX-License-Identifier: BSD-2-Clause */
#include "replay/session.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <xxhash.h>

#include "replay/qemu.h"
#include "replay/snapshots.h"

#define LOOK_MS	    200 /* between two looks whether we are to stop */
#define ALIVE_LOOKS 25	/* of those between two looks whether it moves at all */
#define STILL_MAX   3	/* of these, without one instruction done */
#define REGS_MAX    8192
#define MONITOR_MAX 512

struct rs_session {
	struct rs_qemu qemu;
	int memory; /* memfd: nothing is left behind, however we end */
	uint8_t *ram;
	uint64_t bytes;
	uint64_t breaks_at; /* the icount that replay_break has; UINT64_MAX: none */
	bool ended;
	struct rs_snapshots snapshots;
};

/* ---- beginning and end ------------------------------------------------------------------------
 */

static struct rs_error *memory_make(struct rs_session *s, const struct rs_recording *r)
{
	s->bytes = (uint64_t)r->memory_mib << 20;
	s->memory = memfd_create("guest RAM", 0); /* QEMU opens it by its number: no CLOEXEC */
	if (s->memory < 0 || ftruncate(s->memory, (off_t)s->bytes))
		return rs_error_errno(errno, "%u MiB of guest RAM", r->memory_mib);
	s->ram = mmap(NULL, s->bytes, PROT_READ, MAP_SHARED, s->memory, 0);
	if (s->ram == MAP_FAILED) {
		s->ram = NULL;
		return rs_error_errno(errno, "mapping guest RAM");
	}
	return NULL;
}

struct rs_error *rs_session_open(const struct rs_recording *recording,
				 const struct rs_session_options *options,
				 struct rs_session **session)
{
	struct rs_session *s = calloc(1, sizeof(*s));
	struct rs_error *err;
	char path[64], **argv = NULL;

	if (!s)
		return rs_error_no_memory();
	s->qemu.said_fd = -1;
	s->breaks_at = UINT64_MAX;
	err = memory_make(s, recording);
	if (!err && (options->snapshots || options->like))
		err = rs_snapshots_make(&s->snapshots,
					options->like ? &options->like->snapshots : NULL);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", s->memory);
	if (!err)
		err = rs_recording_argv(recording, true, path,
					options->console ? options->console : "/dev/null", &argv);
	if (!err && s->snapshots.fd > 0)
		err = rs_snapshots_argv(&s->snapshots, argv);
	if (!err)
		err = rs_qemu_start(&s->qemu, argv);
	rs_recording_argv_free(argv);
	if (!err)
		err = rs_qemu_gdb(&s->qemu);
	if (!err && s->snapshots.fd > 0 && !options->like)
		err = rs_session_snapshot(s);
	if (err) {
		rs_session_close(s);
		return err;
	}
	*session = s;
	return NULL;
}

void rs_session_close(struct rs_session *s)
{
	if (!s)
		return;
	rs_qemu_end(&s->qemu);
	if (s->ram)
		munmap(s->ram, s->bytes);
	if (s->memory >= 0)
		close(s->memory);
	rs_snapshots_deinit(&s->snapshots);
	free(s);
}

struct rs_session_ram rs_session_ram(const struct rs_session *s)
{
	return (struct rs_session_ram){ s->ram, s->bytes };
}

struct rs_gdb *rs_session_gdb(struct rs_session *s)
{
	return s->qemu.gdb;
}

/* ---- running ----------------------------------------------------------------------------------
 */

/* "Replaying execution 'log': instruction count = 123" */
struct rs_error *rs_session_icount(struct rs_session *s, uint64_t *icount)
{
	static const char words[] = "instruction count = ";
	char said[MONITOR_MAX];
	struct rs_error *err = rs_gdb_monitor(s->qemu.gdb, "info replay", said, sizeof(said));
	const char *at;

	if (err)
		return err;
	at = strstr(said, words);
	if (!at || sscanf(at + strlen(words), "%" SCNu64, icount) != 1)
		return rs_error_create(RS_FAILED, "QEMU does not say where the replay is: %.80s",
				       said);
	return NULL;
}

/* Where it is to stop by itself. */
static struct rs_error *break_at(struct rs_session *s, uint64_t icount)
{
	char command[64], said[MONITOR_MAX];
	struct rs_error *err;

	if (s->breaks_at == icount)
		return NULL;
	if (icount == UINT64_MAX)
		snprintf(command, sizeof(command), "replay_delete_break");
	else
		snprintf(command, sizeof(command), "replay_break %" PRIu64, icount);
	err = rs_gdb_monitor(s->qemu.gdb, command, said, sizeof(said));
	if (!err && said[0] && icount != UINT64_MAX)
		err = rs_error_create(RS_FAILED, "QEMU refuses to stop at %" PRIu64 ": %.80s",
				      icount, said);
	if (!err)
		s->breaks_at = icount;
	return err;
}

/* It has gone: in good order, or not. */
static struct rs_error *has_ended(struct rs_session *s)
{
	s->ended = true;
	return rs_error_wrap(rs_qemu_quit(&s->qemu),
			     "the replay does not go as the recording went");
}

/* What a log lacks QEMU waits for, for ever. Asked beside the GDB channel: it goes on meanwhile. */
struct alive {
	uint64_t icount;
	uint32_t looks, still;
};

static struct rs_error *check_alive(struct rs_session *s, struct alive *alive)
{
	json_t *result = NULL, *icount;
	struct rs_error *err;
	uint64_t now;

	if (++alive->looks % ALIVE_LOOKS)
		return NULL;
	err = rs_qmp_execute(s->qemu.qmp, "query-replay", NULL, &result);
	icount = json_object_get(result, "icount");
	now = json_is_integer(icount) ? (uint64_t)json_integer_value(icount) : 0;
	json_decref(result);
	if (err && rs_error_code(err) == RS_ABSENT) { /* the GDB channel will say so */
		rs_error_free(err);
		return NULL;
	}
	alive->still = now == alive->icount ? alive->still + 1 : 0;
	alive->icount = now;
	if (!err && alive->still == STILL_MAX)
		err = rs_error_create(RS_FAILED,
				      "the replay stands still at instruction %" PRIu64
				      ": its log lacks what comes next",
				      now);
	return err;
}

static struct rs_error *wait_stop(struct rs_session *s, struct rs_session_run *run)
{
	struct alive alive = { 0 };
	struct rs_error *err = NULL;
	bool done = false, asked = false;

	while (!err && !done) {
		err = rs_gdb_wait(s->qemu.gdb, LOOK_MS, &done, &run->stopped);
		if (!err && !done)
			err = check_alive(s, &alive);
		if (!err && !done && !asked && run->stop && *run->stop) {
			asked = true;
			err = rs_gdb_interrupt(s->qemu.gdb);
		}
	}
	return err;
}

struct rs_error *rs_session_run(struct rs_session *s, struct rs_session_run *run)
{
	uint64_t now = 0;
	struct rs_error *err;

	run->at_target = false;
	if (s->ended) {
		run->stopped.why = RS_GDB_ENDED;
		return NULL;
	}
	err = break_at(s, run->icount);
	if (!err)
		err = rs_gdb_continue(s->qemu.gdb);
	if (!err)
		err = wait_stop(s, run);
	if (err)
		return err;
	if (run->stopped.why == RS_GDB_ENDED)
		return has_ended(s);
	if (run->icount != UINT64_MAX) {
		err = rs_session_icount(s, &now);
		run->at_target = now == run->icount;
		if (now >= s->breaks_at)
			s->breaks_at = UINT64_MAX; /* QEMU forgets a break that was reached */
	}
	return err;
}

/* ---- seeking ----------------------------------------------------------------------------------
 */

/* One of QEMU's monitor, which says nothing when all went well. */
static struct rs_error *monitor(struct rs_session *s, const char *command, uint64_t icount)
{
	char line[64];
	json_t *result = NULL;
	const char *said;
	struct rs_error *err;

	snprintf(line, sizeof(line), "%s " RS_SNAPSHOT_NAME, command, icount);
	err = rs_qmp_execute(s->qemu.qmp, "human-monitor-command",
			     json_pack("{s:s}", "command-line", line), &result);
	said = json_string_value(result);
	if (!err && said && said[0])
		err = rs_error_create(RS_FAILED, "%s: %.*s", command, (int)strcspn(said, "\r\n"),
				      said);
	json_decref(result);
	return err;
}

struct rs_error *rs_session_snapshot(struct rs_session *s)
{
	uint64_t icount = 0;
	struct rs_error *err;

	if (s->snapshots.fd <= 0)
		return rs_error_create(RS_USAGE, "this session keeps no snapshots");
	if (s->ended)
		return rs_error_create(RS_USAGE, "the replay has ended");
	err = rs_session_icount(s, &icount);
	if (err || rs_snapshots_before(&s->snapshots, icount) == icount)
		return err;
	err = monitor(s, "savevm", icount);
	return err ? err : rs_snapshots_add(&s->snapshots, icount);
}

/* QEMU's break, which stands in no snapshot, is set anew; a mapping of RAM stays what it is. */
static struct rs_error *load(struct rs_session *s, uint64_t icount)
{
	struct rs_error *err = monitor(s, "loadvm", icount);

	s->breaks_at = UINT64_MAX - 1; /* unknown */
	return err;
}

struct rs_error *rs_session_seek(struct rs_session *s, uint64_t icount, const volatile bool *stop)
{
	struct rs_session_run run = { .icount = icount, .stop = stop };
	uint64_t now = 0, before = rs_snapshots_before(&s->snapshots, icount);
	struct rs_error *err;

	if (s->ended)
		return rs_error_create(RS_USAGE, "the replay has ended");
	err = rs_session_icount(s, &now);
	if (!err && now > icount && before == UINT64_MAX)
		err = rs_error_create(RS_USAGE,
				      "no snapshot is before instruction %" PRIu64
				      ", and the replay stands at %" PRIu64,
				      icount, now);
	if (!err && before != UINT64_MAX && (now > icount || now < before)) {
		err = load(s, before);
		now = before;
	}
	while (!err && now < icount && !run.at_target) {
		err = rs_session_run(s, &run);
		if (!err && stop && *stop)
			err = rs_error_create(RS_FAILED, "stopped");
		if (!err && run.stopped.why == RS_GDB_ENDED)
			err = rs_error_create(
				RS_FAILED, "the replay ends before instruction %" PRIu64, icount);
	}
	return err;
}

/* QEMU does it itself: from each snapshot before here it goes ahead, and then to the last hit. */
struct rs_error *rs_session_back(struct rs_session *s, const volatile bool *stop, bool *found,
				 struct rs_gdb_stopped *stopped)
{
	struct rs_session_run run = { .stop = stop };
	uint64_t now = 0;
	struct rs_error *err = break_at(s, UINT64_MAX);

	*found = false;
	if (s->ended || s->snapshots.fd <= 0)
		err = rs_error_first(err, rs_error_create(RS_USAGE, "no snapshots to go back by"));
	if (!err)
		err = rs_gdb_back(s->qemu.gdb);
	if (!err)
		err = wait_stop(s, &run);
	s->breaks_at = UINT64_MAX - 1; /* unknown */
	if (!err && run.stopped.why == RS_GDB_ENDED)
		return has_ended(s);
	if (!err && stop && *stop)
		err = rs_error_create(RS_FAILED, "stopped");
	if (!err)
		err = rs_session_icount(s, &now);
	*found = !err && now; /* without a hit it is at the start */
	*stopped = run.stopped;
	return err;
}

struct rs_error *rs_session_step(struct rs_session *s, struct rs_session_run *run)
{
	struct rs_error *err;

	run->at_target = false;
	if (s->ended) {
		run->stopped.why = RS_GDB_ENDED;
		return NULL;
	}
	err = rs_gdb_step(s->qemu.gdb);
	if (!err)
		err = wait_stop(s, run);
	if (!err && run->stopped.why == RS_GDB_ENDED)
		return has_ended(s);
	return err;
}

/* ---- state ------------------------------------------------------------------------------------
 */

struct rs_error *rs_session_hash(struct rs_session *s, struct rs_state_hash *hash)
{
	XXH3_state_t *state = XXH3_createState();
	uint8_t regs[REGS_MAX];
	uint64_t icount = 0;
	size_t bytes = 0;
	XXH128_hash_t sum;
	struct rs_error *err = state ? NULL : rs_error_no_memory();

	if (!err)
		err = rs_session_icount(s, &icount);
	if (!err)
		err = rs_gdb_registers_raw(s->qemu.gdb, regs, sizeof(regs), &bytes);
	if (!err) {
		XXH3_128bits_reset(state);
		XXH3_128bits_update(state, &icount, sizeof(icount));
		XXH3_128bits_update(state, regs, bytes);
		XXH3_128bits_update(state, s->ram, s->bytes);
		sum = XXH3_128bits_digest(state);
		*hash = (struct rs_state_hash){ sum.low64, sum.high64 };
	}
	XXH3_freeState(state);
	return err;
}
