/* SPDX-License-Identifier: BSD-2-Clause */
/* Maps, checks and locks the file that holds a log's rings. */
#include "log/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/now.h"
#include "ring/shared.h"

#define WAIT_MS	  10
#define WAITS_MAX 1000 /* waits for a recovery by another process: ten seconds */

/* ---- locks --------------------------------------------------------------------------------- */

static struct flock range(enum rs_log_lock lock, short type)
{
	return (struct flock){ .l_type = type, .l_whence = SEEK_SET, .l_start = lock, .l_len = 1 };
}

/*
 * Locks on a separate open file description. A lock ends with the last descriptor and the last
 * mapping of its description, also in a forked child, so the mapped description must not hold
 * locks.
 */
static struct rs_error *lock_apart(const char *path, struct rs_log_memory *memory)
{
	int mode = fcntl(memory->map.fd, F_GETFL) & O_ACCMODE, fd;
	char again[40];

	snprintf(again, sizeof(again), "/proc/self/fd/%d", memory->map.fd);
	fd = open(again, mode | O_CLOEXEC);
	if (fd < 0)
		return rs_error_errno(errno, "cannot open %s again, for its locks", path);
	close(memory->map.fd);
	memory->map.fd = fd;
	return NULL;
}

bool rs_log_memory_lock(const struct rs_log_memory *memory, enum rs_log_lock lock, bool take)
{
	struct flock byte = range(lock, take ? F_WRLCK : F_UNLCK);

	return !fcntl(memory->map.fd, F_OFD_SETLK, &byte);
}

bool rs_log_memory_is_locked(const struct rs_log_memory *memory, enum rs_log_lock lock)
{
	struct flock byte = range(lock, F_WRLCK);

	return !fcntl(memory->map.fd, F_OFD_GETLK, &byte) && byte.l_type != F_UNLCK;
}

struct rs_error *rs_log_memory_lock_recovery(const struct rs_log_memory *memory)
{
	for (int i = 0; i < WAITS_MAX; i++) {
		if (rs_log_memory_lock(memory, RS_LOG_LOCK_RECOVERY, true))
			return NULL;
		rs_sleep_ns(WAIT_MS * UINT64_C(1000000));
	}
	return rs_error_create(
		RS_FAILED,
		"%s: another process is recovering it, and has not finished within ten seconds",
		memory->name);
}

/* ---- the head ------------------------------------------------------------------------------ */

/* Returns the path's last part, converted so that it can begin a file's name. */
static void name_of(const char *path, char name[RS_LOG_NAME_MAX])
{
	const char *last = strrchr(path, '/');

	last = last ? last + 1 : path;
	if (rs_shared_is_name(last))
		last += 4;
	snprintf(name, RS_LOG_NAME_MAX, "%s", last);
}

/* Returns whether the file has the header of a lane anywhere, and thus was a log. */
static bool has_lane(const struct rs_log_memory *memory)
{
	const uint8_t *at = memory->map.mem;

	for (size_t i = RS_LOG_HEAD_BYTES; i + sizeof(struct rs_sbuf) <= memory->map.bytes;
	     i += 32) {
		const struct rs_sbuf *ring = (const void *)(at + i);
		uint64_t magic = __atomic_load_n(&ring->magic, __ATOMIC_RELAXED);

		if ((magic == RS_SBUF_MAGIC || magic == RS_SBUF_MAGIC_LAST) &&
		    ring->ele_size == RS_LOG_ELEMENT_BYTES && ring->flags & RS_SBUF_TAGGED)
			return true;
	}
	return false;
}

static struct rs_error *memory_check(const char *path, struct rs_log_memory *memory)
{
	enum rs_sbuf_status status;

	name_of(path, memory->name);
	memory->head = memory->map.mem;
	status = rs_log_head_check(memory->head, memory->map.bytes, &memory->layout);
	memory->sound = status == RS_SBUF_OK;
	if (memory->sound)
		return NULL;
	if (has_lane(memory))
		return rs_error_create(RS_DAMAGED, "%s: the log's head is invalid: %s", path,
				       rs_sbuf_status_text(status));
	return rs_error_create(RS_USAGE, "%s: not a Ringside log", path);
}

struct rs_error *rs_log_memory_open(const char *path, struct rs_log_memory *memory)
{
	struct rs_error *err;

	*memory = (struct rs_log_memory){ .map.fd = -1 };
	err = rs_ring_map_existing(path, 0, &memory->map);
	if (err)
		return err;
	err = lock_apart(path, memory);
	if (!err)
		err = memory_check(path, memory);
	if (err && rs_error_code(err) != RS_DAMAGED)
		rs_log_memory_close(memory);
	return err;
}

/* Writes a new head, with both halves free. */
static struct rs_error *format(struct rs_log_memory *memory, uint32_t lanes, uint64_t trace_bytes)
{
	enum rs_sbuf_status status = rs_log_head_create(memory->map.mem, memory->map.bytes, lanes,
							trace_bytes, &memory->layout);

	if (status != RS_SBUF_OK)
		return rs_error_create(
			RS_USAGE,
			"%s: cannot create a log of %zu bytes with %u lanes, %llu bytes for "
			"traces in each half: %s",
			memory->name, memory->map.bytes, lanes, (unsigned long long)trace_bytes,
			rs_sbuf_status_text(status));
	memory->head = memory->map.mem;
	memory->sound = true;
	return NULL;
}

/* Keeps the file when it is unmapped. */
static void keep_file(struct rs_log_memory *memory)
{
	free(memory->map.path);
	memory->map.path = NULL;
}

/* Creates a file of zeros, which is removed again unless keep_file() is called. If another process
 * does so at the same time, O_EXCL lets only one succeed. */
static struct rs_error *create(const char *path, const struct rs_log_options *options,
			       struct rs_log_memory *memory)
{
	struct rs_error *err;

	err = rs_ring_map_create(path, options->bytes ? options->bytes : RS_LOG_BYTES,
				 &memory->map);
	if (err)
		return err;
	name_of(path, memory->name);
	err = lock_apart(path, memory);
	if (err) {
		keep_file(memory); /* another process may already use it */
		rs_log_memory_close(memory);
	}
	return err;
}

/* Returns whether a file exists. A symbolic link exists even if its target does not. */
static struct rs_error *exists(const char *name, bool *is)
{
	char *path;
	struct rs_error *err = rs_shared_path(name, false, &path);
	struct stat st;

	if (err)
		return err;
	*is = !lstat(path, &st);
	free(path);
	return NULL;
}

/* Treats a file that a killed process left empty, or without a head, as a new one. */
static struct rs_error *make(const struct rs_log_options *options, struct rs_log_memory *memory)
{
	const char *path = options->path;
	bool is_there = false;
	struct rs_error *err = exists(path, &is_there);

	*memory = (struct rs_log_memory){ .map.fd = -1 };
	if (!err && !is_there)
		return create(path, options, memory);
	if (!err)
		err = rs_ring_map_existing(path, 0, &memory->map);
	if (err)
		return err;
	err = lock_apart(path, memory);
	if (err) {
		rs_log_memory_close(memory);
		return err;
	}
	err = memory_check(path, memory);
	if (!err)
		return NULL;
	if (rs_error_code(err) == RS_USAGE) {
		const uint64_t *words = memory->map.mem;
		size_t n = memory->map.bytes / sizeof(*words), i = 0;

		while (i < n && !words[i])
			i++;
		if (i < n) { /* another file */
			rs_log_memory_close(memory);
			return err;
		}
	}
	rs_error_free(err); /* damaged: the caller checks `sound` */
	return NULL;
}

void rs_log_memory_close(struct rs_log_memory *memory)
{
	rs_ring_unmap(&memory->map);
}

/* ---- halves -------------------------------------------------------------------------------- */

void rs_log_memory_lane(const struct rs_log_memory *memory, uint32_t half, uint32_t lane,
			struct rs_log_lane *out)
{
	rs_log_lane_of(memory->map.mem, &memory->layout, half, lane, out);
}

void rs_log_memory_settle(struct rs_log_memory *memory)
{
	rs_log_settle(memory->head, &memory->layout);
}

bool rs_log_memory_oldest_last(const struct rs_log_memory *memory, uint32_t *half)
{
	const struct rs_log_half *halves = memory->head->half;
	bool last[2];

	for (uint32_t i = 0; i < 2; i++)
		last[i] = __atomic_load_n(&halves[i].state, __ATOMIC_ACQUIRE) == RS_LOG_HALF_LAST;
	if (!last[0] && !last[1])
		return false;
	*half = last[0] && last[1] ? halves[1].run < halves[0].run : last[1];
	return true;
}

/* ---- runs ---------------------------------------------------------------------------------- */

static struct rs_error *half_claim(struct rs_log_memory *m, const struct rs_log_options *options,
				   struct rs_log_left *left, uint32_t *half)
{
	struct rs_error *err = NULL;
	bool sound = m->sound;

	if (sound)
		rs_log_memory_settle(m);
	if (options->last) {
		err = rs_log_memory_lock_recovery(m);
		if (err)
			return err;
		err = rs_log_memory_recover(m, options->last, 0, left);
		rs_log_memory_lock(m, RS_LOG_LOCK_RECOVERY, false);
	}
	if (!err && !sound)
		err = format(m, options->lanes, options->trace_bytes);
	if (err)
		return err;
	if (rs_log_half_choose(m->head, half))
		return NULL;
	return rs_error_create(
		RS_FAILED,
		"%s: both halves contain logs of earlier runs: 'ringside log --last' "
		"saves them",
		m->name);
}

struct rs_error *rs_log_memory_claim(const struct rs_log_options *options, struct rs_log_left *left,
				     struct rs_log_memory *memory, uint32_t *half, bool *made)
{
	struct rs_log_memory m;
	struct rs_error *err = make(options, &m);
	bool sound = !err && m.sound;

	if (err)
		return err;
	if (!rs_log_memory_lock(&m, RS_LOG_LOCK_WRITER, true)) {
		keep_file(&m);
		err = rs_error_create(RS_USAGE, "%s: another process logs to it", options->path);
	}
	if (!err)
		err = half_claim(&m, options, left, half);
	if (err) { /* a file that was just created would block a start with another size */
		rs_log_memory_close(&m);
		return err;
	}
	keep_file(&m);
	*memory = m;
	*made = !sound;
	return NULL;
}

void rs_log_memory_end(struct rs_log_memory *memory, uint32_t half)
{
	uint32_t *state = &memory->head->half[half].state;

	if (__atomic_load_n(state, __ATOMIC_RELAXED) == RS_LOG_HALF_IN_USE)
		__atomic_store_n(state, RS_LOG_HALF_ENDED, __ATOMIC_RELEASE);
}
