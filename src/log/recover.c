/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Recovery of a half: what a run left in its rings becomes files, and then the half is free.
 *
 *	traces -> NAME_last.N.part.trace, renamed to NAME_last.N.trace
 *	lines  -> NAME_last.N.part,       renamed to NAME_last.N	the commit
 *	half   -> FREE
 *
 * N is written into the half first. Killed before the commit, the next recovery takes the same N
 * and starts anew; killed after it, it finds NAME_last.N whole and has only to free the half. What
 * is in the half is read, never written: a lane's tags say what is whole, whatever its header says.
 *
 * Where the head of the whole memory makes no sense, lanes are found by their own headers, and the
 * half by where they are.
 */
#include "log/memory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log/files.h"
#include "log/merge.h"
#include "log/traces.h"

#define PATH_BYTES  1024
#define SEARCH_STEP 32u /* lanes begin at multiples of it */

struct recovery {
	struct rs_log_memory *memory;
	const char *directory;
	struct rs_log_left *left;
	uint32_t number;
	char name[RS_LOG_NAME_MAX + 8]; /* NAME_last */
	struct rs_out out;
	struct rs_log_merge merge;
	uint32_t lane;
	struct rs_error *error; /* of a callback */
};

__attribute__((format(printf, 2, 3))) static void remark(struct rs_log_left *left,
							 const char *format, ...)
{
	va_list args;

	left->damaged++;
	if (left->remark[0])
		return;
	va_start(args, format);
	vsnprintf(left->remark, sizeof(left->remark), format, args);
	va_end(args);
}

/* ---- lines --------------------------------------------------------------------------------- */

static struct rs_error *write_line(void *ctx, const struct rs_log_line *line)
{
	struct recovery *r = ctx;

	rs_log_write_line(&r->out, line, false);
	return NULL;
}

static struct rs_error *write_gap(void *ctx, const struct rs_log_gap *gap)
{
	struct recovery *r = ctx;

	rs_log_write_gap(&r->out, gap, false);
	return NULL;
}

static void found(void *ctx, const struct rs_log_raw *raw)
{
	struct recovery *r = ctx;

	if (r->error)
		return;
	if (rs_log_merge_full(&r->merge)) /* more lines than any half of ours can have */
		r->error = rs_log_merge_run(&r->merge, 0, 0, true);
	if (raw->after_loss)
		rs_log_merge_lost(&r->merge, r->lane);
	if (!r->error)
		r->error = rs_log_merge_put(&r->merge, r->lane, raw->text, raw->bytes, raw->cut, 0);
}

static struct rs_error *lane_recover(struct recovery *r, const struct rs_log_lane *lane,
				     uint32_t number)
{
	uint64_t *order = malloc(lane->elements * sizeof(*order));
	struct rs_log_salvage sum;

	if (!order)
		return rs_error_no_memory();
	r->lane = number;
	rs_log_lane_salvage(lane, order, found, r, &sum);
	free(order);
	r->left->torn += sum.torn;
	return r->error;
}

/* Whether a lane's own header agrees; its lines are recovered in any case. */
static void lane_check(struct recovery *r, const struct rs_log_lane *lane, uint32_t number)
{
	struct rs_sbuf head;

	rs_sbuf_header_read(lane->ring, sizeof(head), &head);
	if ((head.magic != RS_SBUF_MAGIC && head.magic != RS_SBUF_MAGIC_LAST) ||
	    head.ele_num != lane->elements || head.ele_size != RS_LOG_ELEMENT_BYTES)
		remark(r->left,
		       "lane %u: its header is damaged; its lines were found by their tags",
		       number);
}

static struct rs_error *lanes_recover(struct recovery *r, uint32_t half)
{
	struct rs_error *err = NULL;

	for (uint32_t i = 0; i < r->memory->layout.lanes && !err; i++) {
		struct rs_log_lane lane;

		rs_log_memory_lane(r->memory, half, i, &lane);
		lane_check(r, &lane, i);
		err = lane_recover(r, &lane, i);
	}
	return err;
}

/* Without a head: what looks like a lane, and fits. */
static struct rs_error *lanes_search(struct recovery *r, uint32_t half)
{
	uint8_t *mem = r->memory->map.mem;
	uint64_t bytes = r->memory->map.bytes;
	uint64_t size = (bytes - RS_LOG_HEAD_BYTES) / 2 & ~UINT64_C(63);
	uint64_t at = RS_LOG_HEAD_BYTES + half * size, end = at + size;
	struct rs_error *err = NULL;
	uint32_t n = 0;

	while (!err && at + sizeof(struct rs_sbuf) <= end && n < RS_LOG_LANES_MAX) {
		const struct rs_sbuf *ring = (const void *)(mem + at);
		uint64_t magic = __atomic_load_n(&ring->magic, __ATOMIC_RELAXED);
		uint32_t elements = __atomic_load_n(&ring->ele_num, __ATOMIC_RELAXED);
		struct rs_log_lane lane;

		if ((magic != RS_SBUF_MAGIC && magic != RS_SBUF_MAGIC_LAST) ||
		    elements < RS_LOG_ELEMENTS_MIN || elements > RS_LOG_ELEMENTS_MAX ||
		    elements & (elements - 1) || rs_log_lane_bytes(elements) > end - at) {
			at += SEARCH_STEP;
			continue;
		}
		rs_log_lane_init(&lane, mem + at, elements);
		err = lane_recover(r, &lane, n++);
		at += rs_log_lane_bytes(elements);
	}
	return err;
}

/* ---- files --------------------------------------------------------------------------------- */

static void path_of(const struct recovery *r, const char *tail, char path[PATH_BYTES])
{
	snprintf(path, PATH_BYTES, "%s/%s.%u%s", r->directory, r->name, r->number, tail);
}

static struct rs_error *sync_directory(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool failed = fd < 0 || (fsync(fd) && errno != EINVAL);
	int why = errno;

	if (fd >= 0)
		close(fd);
	return failed ? rs_error_errno(why, "%s", path) : NULL;
}

static struct rs_error *lines_write(struct recovery *r, uint32_t half, int fd)
{
	const struct rs_log_taker taker = { r, write_line, write_gap };
	struct rs_error *err = rs_out_init(&r->out, fd);

	if (err)
		return err;
	err = rs_log_merge_init(&r->merge, RS_LOG_LANES_MAX, &taker);
	if (!err) {
		rs_log_merge_begin(&r->merge, 0);
		err = r->memory->sound ? lanes_recover(r, half) : lanes_search(r, half);
	}
	if (!err)
		err = rs_log_merge_run(&r->merge, 0, 0, true);
	if (!err)
		err = rs_out_flush(&r->out);
	if (!err && fsync(fd) && errno != EINVAL)
		err = rs_error_errno(errno, "%s", r->directory);
	r->left->lines += r->merge.lines;
	r->left->missing += r->merge.missing;
	if (r->merge.odd)
		remark(r->left, "%llu whole elements are no lines of a log",
		       (unsigned long long)r->merge.odd);
	rs_log_merge_deinit(&r->merge);
	rs_out_deinit(&r->out);
	return err;
}

/* The lines' file, under its own name only when it is whole and on the disk. */
static struct rs_error *lines_commit(struct recovery *r, uint32_t half)
{
	char part[PATH_BYTES], path[PATH_BYTES];
	struct rs_error *err;
	int fd;

	path_of(r, ".part", part);
	path_of(r, "", path);
	fd = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0)
		return rs_error_errno(errno, "%s: can't create it", part);
	err = lines_write(r, half, fd);
	close(fd);
	if (!err && rename(part, path))
		err = rs_error_errno(errno, "%s", path);
	if (!err)
		err = sync_directory(r->directory);
	if (!err)
		snprintf(r->left->file, sizeof(r->left->file), "%s", path);
	return err;
}

static struct rs_error *traces_commit(struct recovery *r, uint32_t half)
{
	struct rs_log_traces traces = {
		.mem = (const uint8_t *)r->memory->map.mem +
		       rs_log_traces_at(&r->memory->layout, half),
		.bytes = r->memory->layout.trace_bytes,
		.half = &r->memory->head->half[half],
	};
	char part[PATH_BYTES], path[PATH_BYTES];
	struct rs_error *err;

	path_of(r, ".part.trace", part);
	path_of(r, ".trace", path);
	rs_log_trace_remove(part);
	rs_log_trace_remove(path); /* of a recovery that was killed before its commit */
	err = rs_log_traces_recover(&traces, part);
	r->left->records += traces.records;
	r->left->damaged += traces.damaged;
	if (traces.damaged && !r->left->remark[0])
		snprintf(r->left->remark, sizeof(r->left->remark), "%u trace rings are damaged",
			 traces.damaged);
	if (err)
		return err;
	if (!traces.records) /* at most rings with nothing in them */
		rs_log_trace_remove(part);
	else if (rename(part, path))
		err = rs_error_errno(errno, "%s", path);
	return err;
}

/* ---- a half -------------------------------------------------------------------------------- */

/* The number that this half has or gets; *whole: its recovery was committed before. */
static struct rs_error *number_take(struct recovery *r, uint32_t half, bool *whole)
{
	struct rs_log_half *h = &r->memory->head->half[half];
	uint32_t given = r->memory->sound ? __atomic_load_n(&h->recovered, __ATOMIC_ACQUIRE) : 0;
	char path[PATH_BYTES];
	struct rs_error *err;

	*whole = false;
	if (mkdir(r->directory, 0755) && errno != EEXIST)
		return rs_error_errno(errno, "%s: can't make it", r->directory);
	err = rs_log_files_next(r->directory, r->name, &r->number);
	if (err)
		return err;
	/* It must be one of those that are there, or the next: somebody else may have written it.
	 */
	if (given && given - 1 <= r->number) {
		r->number = given - 1;
		path_of(r, "", path);
		*whole = !access(path, F_OK);
	}
	if (r->memory->sound)
		__atomic_store_n(&h->recovered, r->number + 1, __ATOMIC_RELEASE);
	return NULL;
}

static struct rs_error *half_recover(struct recovery *r, uint32_t half)
{
	bool whole;
	struct rs_error *err = number_take(r, half, &whole);

	if (!err && !whole && r->memory->sound)
		err = traces_commit(r, half);
	if (!err && !whole)
		err = lines_commit(r, half);
	if (err)
		return rs_error_wrap(err, "recovering %s", r->memory->name);
	r->left->runs++;
	if (r->memory->sound) {
		__atomic_store_n(&r->memory->head->half[half].recovered, 0, __ATOMIC_RELAXED);
		__atomic_store_n(&r->memory->head->half[half].state, RS_LOG_HALF_FREE,
				 __ATOMIC_RELEASE);
	}
	return NULL;
}

static bool any_magic(const struct rs_log_memory *m, uint32_t half)
{
	const uint8_t *mem = m->map.mem;
	uint64_t size = (m->map.bytes - RS_LOG_HEAD_BYTES) / 2 & ~UINT64_C(63);
	uint64_t from = RS_LOG_HEAD_BYTES + half * size;

	for (uint64_t at = from; at + sizeof(uint64_t) <= from + size; at += SEARCH_STEP) {
		uint64_t magic = __atomic_load_n((const uint64_t *)(const void *)(mem + at),
						 __ATOMIC_RELAXED);

		if (magic == RS_SBUF_MAGIC || magic == RS_SBUF_MAGIC_LAST)
			return true;
	}
	return false;
}

struct rs_error *rs_log_memory_recover(struct rs_log_memory *memory, const char *directory,
				       uint32_t files, struct rs_log_left *left)
{
	struct recovery r = { .memory = memory, .directory = directory, .left = left };
	struct rs_error *err = NULL;
	uint64_t removed = 0;
	uint32_t half;

	snprintf(r.name, sizeof(r.name), "%s_last", memory->name);
	if (memory->sound) {
		/* Each comes out of LAST, or there is an error. */
		for (int i = 0; i < 2 && !err && rs_log_memory_oldest_last(memory, &half); i++)
			err = half_recover(&r, half);
	} else {
		for (half = 0; half < 2 && !err; half++) {
			if (memory->map.bytes <= RS_LOG_HEAD_BYTES || !any_magic(memory, half))
				continue;
			remark(left,
			       "the head is damaged; lanes were searched for, traces are lost");
			err = half_recover(&r, half);
		}
	}
	if (!err && left->runs && files)
		rs_log_files_prune(directory, r.name, r.number + 1, files, &removed);
	return err;
}

/* Whose writer is no more, what it left becomes last; else only what runs before it left. */
static struct rs_error *recover_locked(struct rs_log_memory *m, const char *directory,
				       uint32_t files, struct rs_log_left *left)
{
	bool alone = rs_log_memory_lock(m, RS_LOG_LOCK_WRITER, true);
	struct rs_error *err = NULL;

	if (alone && m->sound)
		rs_log_memory_settle(m);
	if (m->sound || alone)
		err = rs_log_memory_recover(m, directory, files, left);
	else
		err = rs_error_create(RS_DAMAGED,
				      "%s: the head is damaged, and a process still "
				      "logs there",
				      m->name);
	if (!err && !m->sound) /* what follows must not find it again */
		memset(m->map.mem, 0, m->map.bytes);
	if (alone)
		rs_log_memory_lock(m, RS_LOG_LOCK_WRITER, false);
	return err;
}

struct rs_error *rs_log_recover(const char *path, const char *directory, uint32_t files,
				struct rs_log_left *left)
{
	struct rs_log_memory memory;
	struct rs_error *err = rs_log_memory_open(path, &memory);

	memset(left, 0, sizeof(*left));
	if (err && rs_error_code(err) != RS_DAMAGED)
		return err;
	rs_error_free(err);
	err = rs_log_memory_lock_recovery(&memory);
	if (!err)
		err = recover_locked(&memory, directory, files, left);
	rs_log_memory_close(&memory);
	return err;
}
