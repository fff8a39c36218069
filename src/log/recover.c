/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Recovers a half: writes the content of a run's rings to files, and then frees the half.
 *
 *	traces -> NAME_last.N.part.trace/trace, renamed to NAME_last.N.trace
 *	lines  -> NAME_last.N.part,       renamed to NAME_last.N	the commit
 *	half   -> FREE
 *
 * N is written into the half first. After a kill before the commit, the next recovery starts again
 * with the same N. After a kill after the commit, the next recovery finds NAME_last.N complete, and
 * only frees the half. The half's contents are read, never written: a lane's tags show which
 * elements are complete, and its header is not trusted.
 *
 * Other users may be able to write to the directory. It is held by its descriptor, and no link in
 * it is followed. A trace is written in a directory that only this user can enter, and then moved.
 *
 * If the head of the whole memory is invalid, lanes are found by their own headers, and the half by
 * their place.
 */
#include "log/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/count.h"
#include "log/files.h"
#include "log/merge.h"
#include "log/traces.h"

#define NAME_BYTES  128
#define INNER	    "trace" /* in NAME_last.N.part.trace */
#define SEARCH_STEP 32u	    /* lanes begin at multiples of it */

struct recovery {
	struct rs_log_memory *memory;
	const char *directory;
	struct rs_folder folder; /* opened when there is something to write */
	struct rs_log_left *left;
	uint32_t number;
	char name[RS_LOG_NAME_MAX + 8]; /* NAME_last */
	struct rs_out out;
	struct rs_log_merge merge;
	uint32_t lane;
	struct rs_error *error; /* the error of a callback */
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

	rs_log_write_line(&r->out, line, NULL);
	return NULL;
}

static struct rs_error *write_gap(void *ctx, const struct rs_log_gap *gap)
{
	struct recovery *r = ctx;

	rs_log_write_gap(&r->out, gap, NULL);
	return NULL;
}

static void found(void *ctx, const struct rs_log_raw *raw)
{
	struct recovery *r = ctx;

	if (r->error)
		return;
	if (rs_log_merge_full(&r->merge)) /* more lines than a half can hold */
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

/* Checks a lane's own header. Its lines are recovered in any case. */
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

/* Finds lanes without a head, by their own headers, if these are plausible. */
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

static void name_of(const struct recovery *r, const char *tail, char name[NAME_BYTES])
{
	snprintf(name, NAME_BYTES, "%s.%u%s", r->name, r->number, tail);
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
		err = rs_error_errno(errno, "%s", r->folder.path);
	r->left->lines += r->merge.lines;
	r->left->missing += r->merge.missing;
	if (r->merge.odd)
		remark(r->left, "%s not of a log", RS_COUNT_OF(r->merge.odd, "whole element"));
	rs_log_merge_deinit(&r->merge);
	rs_out_deinit(&r->out);
	return err;
}

/* Writes the lines' file. The file gets its final name only when it is complete and on the disk. */
static struct rs_error *lines_commit(struct recovery *r, uint32_t half)
{
	char part[NAME_BYTES], name[NAME_BYTES];
	struct rs_error *err;
	int fd = -1;

	name_of(r, ".part", part);
	name_of(r, "", name);
	rs_folder_drop(&r->folder, part); /* left by a recovery that was killed */
	err = rs_folder_fd(&r->folder, part, O_WRONLY | O_CREAT | O_EXCL, &fd);
	if (err)
		return rs_error_wrap(err, "cannot create the lines' file");
	err = lines_write(r, half, fd);
	close(fd);
	if (!err)
		err = rs_folder_rename(&r->folder, part, name);
	if (!err && fsync(r->folder.fd) && errno != EINVAL)
		err = rs_error_errno(errno, "%s", r->folder.path);
	if (!err)
		snprintf(r->left->file, sizeof(r->left->file), "%s/%s", r->folder.path, name);
	return err;
}

/* Creates a directory that only this user can enter, and opens it. */
static struct rs_error *part_make(const struct recovery *r, const char *name, int *fd)
{
	int made = mkdirat(r->folder.fd, name, 0700), opened;
	struct stat st;

	if (made)
		return rs_error_errno(errno, "%s/%s: cannot create this directory; remove it",
				      r->folder.path, name);
	opened = openat(r->folder.fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (opened < 0)
		return rs_error_errno(errno, "%s/%s", r->folder.path, name);
	if (fstat(opened, &st) || st.st_uid != geteuid() || st.st_mode & 077) {
		close(opened); /* another process has replaced it */
		return rs_error_create(RS_FAILED,
				       "%s/%s was replaced by another user's directory; write to a "
				       "directory that only you can write to",
				       r->folder.path, name);
	}
	*fd = opened;
	return NULL;
}

/* Moves the trace to its final name. */
static struct rs_error *part_move(const struct recovery *r, int part, const char *name)
{
	if (!renameat(part, INNER, r->folder.fd, name))
		return NULL;
	if (errno == ENOTDIR || errno == ENOTEMPTY || errno == EEXIST)
		return rs_error_create(RS_FAILED,
				       "%s/%s exists, and is not a recovered trace: "
				       "remove it",
				       r->folder.path, name);
	return rs_error_errno(errno, "%s/%s", r->folder.path, name);
}

/* Writes the trace by a path through the open descriptor, because the store needs a path. */
static struct rs_error *traces_write(struct rs_log_traces *traces, int part)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d/" INNER, part);
	return rs_log_traces_recover(traces, path);
}

static struct rs_error *traces_commit(struct recovery *r, uint32_t half)
{
	struct rs_log_traces traces = {
		.mem = (const uint8_t *)r->memory->map.mem +
		       rs_log_traces_at(&r->memory->layout, half),
		.bytes = r->memory->layout.trace_bytes,
		.half = &r->memory->head->half[half],
	};
	char part[NAME_BYTES], name[NAME_BYTES];
	struct rs_error *err;
	int fd = -1;

	name_of(r, ".part.trace", part);
	name_of(r, ".trace", name);
	rs_log_trace_remove(&r->folder, part);
	rs_log_trace_remove(&r->folder,
			    name); /* left by a recovery that was killed before its commit */
	err = part_make(r, part, &fd);
	if (err)
		return err;
	err = rs_error_wrap(traces_write(&traces, fd), "%s/%s", r->folder.path, part);
	r->left->records += traces.records;
	r->left->damaged += traces.damaged;
	if (traces.damaged && !r->left->remark[0])
		snprintf(r->left->remark, sizeof(r->left->remark), "%s damaged",
			 RS_COUNT_OF(traces.damaged, "trace ring"));
	if (!err && traces.records) /* else all rings are empty */
		err = part_move(r, fd, name);
	close(fd);
	if (!err)
		rs_log_trace_remove(&r->folder, part);
	return err;
}

/* ---- a half -------------------------------------------------------------------------------- */

/* Claims the half's number, or a new number. Sets *whole if the half's recovery was already
 * committed. */
static struct rs_error *number_claim(struct recovery *r, uint32_t half, bool *whole)
{
	struct rs_log_half *h = &r->memory->head->half[half];
	uint32_t given = r->memory->sound ? __atomic_load_n(&h->recovered, __ATOMIC_ACQUIRE) : 0;
	char name[NAME_BYTES];
	struct rs_error *err = NULL;
	struct stat st;

	*whole = false;
	if (r->folder.fd < 0)
		err = rs_folder_open_or_make(r->directory, &r->folder);
	if (!err)
		err = rs_log_files_next(&r->folder, r->name, &r->number);
	if (err)
		return err;
	/* The number is untrusted: it must be that of an existing file, or the next number. */
	if (given && given - 1 <= r->number) {
		r->number = given - 1;
		name_of(r, "", name);
		/* Never removes another user's file. */
		*whole = !fstatat(r->folder.fd, name, &st, AT_SYMLINK_NOFOLLOW) &&
			 S_ISREG(st.st_mode) && st.st_uid == geteuid();
	}
	if (r->memory->sound)
		__atomic_store_n(&h->recovered, r->number + 1, __ATOMIC_RELEASE);
	return NULL;
}

static struct rs_error *half_recover(struct recovery *r, uint32_t half)
{
	bool whole;
	struct rs_error *err = number_claim(r, half, &whole);

	if (!err && !whole && r->memory->sound)
		err = traces_commit(r, half);
	if (!err && !whole)
		err = lines_commit(r, half);
	if (err)
		return rs_error_wrap(err, "recovering %s", r->memory->name);
	r->left->runs++;
	if (r->memory->sound) {
		uint64_t end = r->memory->head->half[half].end;

		r->left->orderly += end == RS_LOG_END_ORDERLY;
		r->left->crashed += end == RS_LOG_END_UNEXPECTED;
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
	struct recovery r = {
		.memory = memory, .directory = directory, .folder = RS_FOLDER_NONE, .left = left
	};
	struct rs_error *err = NULL;
	uint64_t removed = 0;
	uint32_t half;

	snprintf(r.name, sizeof(r.name), "%s_last", memory->name);
	if (memory->sound) {
		/* Each half leaves the state LAST, or an error is returned. */
		for (int i = 0; i < 2 && !err && rs_log_memory_oldest_last(memory, &half); i++)
			err = half_recover(&r, half);
	} else {
		for (half = 0; half < 2 && !err; half++) {
			if (memory->map.bytes <= RS_LOG_HEAD_BYTES || !any_magic(memory, half))
				continue;
			remark(left, "the head is damaged; lanes were found by a search, traces "
				     "are lost");
			err = half_recover(&r, half);
		}
	}
	if (!err && left->runs && files && r.folder.fd >= 0)
		rs_log_files_prune(&r.folder, r.name, r.number + 1, files, &removed);
	rs_folder_close(&r.folder);
	return err;
}

/* If the writer has ended, its half becomes LAST, too; else only the halves of earlier runs. */
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
	if (!err && !m->sound) /* later recoveries must not find it again */
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
