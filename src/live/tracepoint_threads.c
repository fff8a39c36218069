/* SPDX-License-Identifier: BSD-2-Clause */
/* Tracks the names of the threads in which tracepoints fire. */
#include "live/tracepoint_threads.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/utf8.h"
#include "kvm/proc.h"
#include "base/map.h"
#include "base/vector.h"

#define COMM_BYTES    16	 /* TASK_COMM_LEN, include/linux/sched.h */
#define CHANGES_MAX   (1u << 20) /* the most changes that are kept */
#define ANCESTORS_MAX 64	 /* forks through which a name is looked up */
#define CHUNK	      256u	 /* listed threads, which keep their places */
#define CHUNKS	      (RS_TRACEPOINT_THREADS_MAX / CHUNK)

/* The name or parent of a thread from a time on. */
struct change {
	uint64_t time;
	int tid, pid;
	int parent; /* of a fork; 0: the name is known */
	bool is_exit;
	uint32_t before; /* the tid's previous change: index + 1; 0: none */
	char name[COMM_BYTES];
};

/* A tid that has changes, or is listed. */
struct slot {
	int tid;
	int listed_pid;	 /* 0: not listed */
	uint32_t newest; /* its last change: index + 1; 0: none */
	uint64_t ended;	 /* changes until then belong to ended threads; 0: none do */
	bool is_gone;	 /* no thread has the tid any more */
};

struct listed {
	int tid, pid;
	uint64_t from;
	uint64_t time; /* the time from which it has the name */
	bool is_named;
	char name[COMM_BYTES];
};

struct rs_tracepoint_threads {
	pthread_mutex_t lock;
	struct change *changes;
	uint32_t n_changes, changes_room;
	struct rs_map slots; /* by tid */
	struct listed *chunks[CHUNKS];
	uint32_t n_listed;
	uint64_t known_until, compacted_until;
};

struct rs_error *rs_tracepoint_threads_create(struct rs_tracepoint_threads **threads)
{
	struct rs_tracepoint_threads *t = calloc(1, sizeof(*t));

	if (!t)
		return rs_error_no_memory();
	pthread_mutex_init(&t->lock, NULL);
	*threads = t;
	return NULL;
}

void rs_tracepoint_threads_destroy(struct rs_tracepoint_threads *t)
{
	struct slot *slot;
	size_t at = 0;

	if (!t)
		return;
	pthread_mutex_destroy(&t->lock);
	for (uint32_t i = 0; i < CHUNKS; i++)
		free(t->chunks[i]);
	free(t->changes);
	while ((slot = rs_map_next(&t->slots, &at)))
		free(slot);
	rs_map_deinit(&t->slots);
	free(t);
}

/* ---- by tid ------------------------------------------------------------------------------- */

static bool same_tid(const void *item, const void *key)
{
	return ((const struct slot *)item)->tid == *(const int *)key;
}

static uint64_t hash_of(int tid)
{
	return rs_hash_pair((uint32_t)tid, 0);
}

static struct slot *slot_find(const struct rs_tracepoint_threads *t, int tid)
{
	return rs_map_find(&t->slots, hash_of(tid), same_tid, &tid);
}

/* Finds or creates a tid's slot. Returns NULL if there is no memory. */
static struct slot *slot_make(struct rs_tracepoint_threads *t, int tid)
{
	struct slot *slot = slot_find(t, tid);

	if (slot)
		return slot;
	if (rs_map_reserve(&t->slots))
		slot = calloc(1, sizeof(*slot));
	if (slot) {
		slot->tid = tid;
		rs_map_add(&t->slots, hash_of(tid), slot);
	}
	return slot;
}

/* Returns a tid's last change that is not after a time, or NULL. An exit changes no name: the
 * kernel switches away from a thread after it. */
static const struct change *change_at(const struct rs_tracepoint_threads *t, int tid, uint64_t time)
{
	const struct slot *slot = slot_find(t, tid);
	const struct change *best = NULL;

	for (uint32_t at = slot ? slot->newest : 0; at; at = t->changes[at - 1].before) {
		const struct change *change = &t->changes[at - 1];

		if (!change->is_exit && change->time <= time &&
		    (!best || change->time > best->time))
			best = change;
	}
	return best;
}

/* Writes the name that a tid had at a time: "" where it is unknown. */
static void name_at(const struct rs_tracepoint_threads *t, int tid, uint64_t time,
		    char name[COMM_BYTES])
{
	const struct change *change = change_at(t, tid, time);

	for (int depth = 0; change && change->parent && depth < ANCESTORS_MAX; depth++)
		change = change_at(t, change->parent, change->time);
	memset(name, 0, COMM_BYTES);
	if (change && !change->parent)
		memcpy(name, change->name, COMM_BYTES);
}

/* ---- listing ------------------------------------------------------------------------------ */

static struct listed *listed_at(const struct rs_tracepoint_threads *t, uint32_t index)
{
	return &t->chunks[index / CHUNK][index % CHUNK];
}

static void list(struct rs_tracepoint_threads *t, const struct listed *listed)
{
	struct listed **chunk = &t->chunks[t->n_listed / CHUNK];

	if (t->n_listed == RS_TRACEPOINT_THREADS_MAX)
		return;
	if (!*chunk)
		*chunk = calloc(CHUNK, sizeof(**chunk));
	if (!*chunk) /* its events still show the tid */
		return;
	*listed_at(t, t->n_listed) = *listed;
	t->n_listed++;
}

static void list_change(struct rs_tracepoint_threads *t, const struct change *change)
{
	struct listed listed = { .tid = change->tid,
				 .pid = change->pid,
				 .from = change->time,
				 .time = change->time,
				 .is_named = !change->parent };

	memcpy(listed.name, change->name, COMM_BYTES);
	if (!change->is_exit)
		list(t, &listed);
}

/* Lists the known changes of a thread, the oldest first. */
static void list_changes(struct rs_tracepoint_threads *t, const struct slot *slot)
{
	uint64_t after = 0;
	bool first = true;

	for (;;) {
		const struct change *next = NULL;

		for (uint32_t at = slot->newest; at; at = t->changes[at - 1].before) {
			const struct change *change = &t->changes[at - 1];

			if ((first || change->time > after) && (!next || change->time < next->time))
				next = change;
		}
		if (!next)
			return;
		list_change(t, next);
		after = next->time;
		first = false;
	}
}

static void name_settle(const struct rs_tracepoint_threads *t, struct listed *listed)
{
	char name[COMM_BYTES];

	if (listed->is_named)
		return;
	name_at(t, listed->tid, listed->time, name);
	memcpy(listed->name, name, COMM_BYTES);
	listed->is_named = true;
}

void rs_tracepoint_threads_sample(struct rs_tracepoint_threads *t,
				  const struct rs_perf_record *record)
{
	const int tid = (int)record->tid;
	int pid = (int)record->pid;
	struct slot *slot;

	if (tid <= 0)
		return;
	pthread_mutex_lock(&t->lock);
	slot = slot_make(t, tid);
	/* After a thread has ended, the kernel no longer has its process: the record has 0 or
	 * -1. */
	if (slot && pid <= 0 && slot->newest)
		pid = t->changes[slot->newest - 1].pid;
	if (slot && pid > 0 && slot->listed_pid != pid) {
		if (slot->newest)
			list_changes(t, slot);
		else
			list(t, &(struct listed){ .tid = tid,
						  .pid = pid,
						  .from = slot->listed_pid ? record->time : 0,
						  .time = record->time });
		slot->listed_pid = pid;
	}
	pthread_mutex_unlock(&t->lock);
}

bool rs_tracepoint_threads_get(struct rs_tracepoint_threads *t, uint32_t index,
			       uint64_t known_until, struct rs_thread *thread)
{
	struct listed *listed = NULL;

	pthread_mutex_lock(&t->lock);
	if (known_until > t->known_until)
		t->known_until = known_until;
	if (index < t->n_listed && listed_at(t, index)->time <= known_until)
		listed = listed_at(t, index);
	if (listed)
		name_settle(t, listed);
	pthread_mutex_unlock(&t->lock);
	if (!listed)
		return false;
	*thread = (struct rs_thread){ .tid = listed->tid,
				      .pid = listed->pid,
				      .name = listed->name[0] ? listed->name : NULL,
				      .vcpu = RS_UNKNOWN,
				      .from = listed->from };
	return true;
}

/* ---- changes ------------------------------------------------------------------------------ */

static void change_link(struct rs_tracepoint_threads *t, uint32_t index)
{
	struct slot *slot = slot_make(t, t->changes[index].tid);

	t->changes[index].before = slot ? slot->newest : 0;
	if (slot)
		slot->newest = index + 1;
}

/* Returns the time at which the last unreachable thread of a tid ended, or 0. */
static uint64_t ended_at(const struct rs_tracepoint_threads *t, const struct slot *slot)
{
	uint64_t ended = 0;

	for (uint32_t at = slot->newest; at; at = t->changes[at - 1].before) {
		const struct change *change = &t->changes[at - 1];

		if (change->is_exit && change->time <= t->known_until && change->time > ended)
			ended = change->time;
	}
	return ended;
}

/* Returns the time of a tid's last change, which may have been taken before others. */
static uint64_t last_at(const struct rs_tracepoint_threads *t, const struct slot *slot)
{
	uint64_t last = 0;

	for (uint32_t at = slot->newest; at; at = t->changes[at - 1].before) {
		if (t->changes[at - 1].time > last)
			last = t->changes[at - 1].time;
	}
	return last;
}

/* Looks up the names that come from other threads' changes, which may be removed. */
static void names_settle(struct rs_tracepoint_threads *t)
{
	char name[COMM_BYTES];

	for (uint32_t i = 0; i < t->n_changes; i++) {
		struct change *change = &t->changes[i];

		if (!change->parent || change->time > t->known_until)
			continue;
		name_at(t, change->tid, change->time, name);
		memcpy(change->name, name, COMM_BYTES);
		change->parent = 0;
	}
	for (uint32_t i = 0; i < t->n_listed; i++) {
		struct listed *listed = listed_at(t, i);

		if (listed->time <= t->known_until)
			name_settle(t, listed);
	}
}

/* Removes the slots whose thread has ended, unless another has got its tid since. */
static void slots_compact(struct rs_tracepoint_threads *t)
{
	struct slot *slot;
	size_t at = 0;

	while ((slot = rs_map_next(&t->slots, &at))) {
		slot->ended = ended_at(t, slot);
		slot->is_gone = slot->ended && last_at(t, slot) <= slot->ended;
	}
	for (at = 0; (slot = rs_map_next(&t->slots, &at));) {
		slot->newest = 0;
		if (!slot->is_gone)
			continue;
		rs_map_remove(&t->slots, hash_of(slot->tid), slot);
		free(slot);
		at--; /* another slot may have moved to its place */
	}
}

/* Removes the changes of threads that have ended. */
static void changes_compact(struct rs_tracepoint_threads *t)
{
	uint32_t n = 0;

	names_settle(t);
	slots_compact(t);
	for (uint32_t i = 0; i < t->n_changes; i++) {
		const struct slot *slot = slot_find(t, t->changes[i].tid);

		/* Names that /proc had at the beginning are of time 0. */
		if (!slot || (slot->ended && t->changes[i].time <= slot->ended))
			continue;
		t->changes[n] = t->changes[i];
		change_link(t, n++);
	}
	t->n_changes = n;
}

static bool changes_room(struct rs_tracepoint_threads *t)
{
	if (t->n_changes < t->changes_room)
		return true;
	if (t->compacted_until == t->known_until && t->changes_room * 2 > CHANGES_MAX)
		return false;
	t->compacted_until = t->known_until;
	changes_compact(t);
	if (t->n_changes < t->changes_room / 2)
		return true;
	return (t->changes_room * 2 <= CHANGES_MAX &&
		RS_VECTOR_RESERVE(t->changes, t->changes_room, t->changes_room + 1)) ||
	       t->n_changes < t->changes_room;
}

/* Returns whether a change that a scan found is already known. */
static bool is_known(const struct rs_tracepoint_threads *t, const struct change *change)
{
	char name[COMM_BYTES];

	name_at(t, change->tid, change->time, name);
	return name[0] && !memcmp(name, change->name, COMM_BYTES);
}

static void change_add(struct rs_tracepoint_threads *t, const struct change *change, bool scanned)
{
	const struct slot *slot;

	pthread_mutex_lock(&t->lock);
	if (!(scanned && is_known(t, change)) && changes_room(t)) {
		t->changes[t->n_changes] = *change;
		change_link(t, t->n_changes++);
		slot = slot_find(t, change->tid);
		if (slot && slot->listed_pid)
			list_change(t, change);
	}
	pthread_mutex_unlock(&t->lock);
}

void rs_tracepoint_threads_change(struct rs_tracepoint_threads *t,
				  const struct rs_perf_record *record)
{
	struct change change = { .time = record->time,
				 .tid = (int)record->tid,
				 .pid = (int)record->pid,
				 .is_exit = record->kind == RS_PERF_EXITED };
	size_t len = 0;

	if (change.tid <= 0)
		return;
	if (record->kind == RS_PERF_FORKED)
		change.parent = (int)record->parent_tid;
	if (record->kind == RS_PERF_RENAMED) {
		len = strnlen((const char *)record->raw, record->bytes);
		memcpy(change.name, record->raw, len < COMM_BYTES ? len : COMM_BYTES - 1);
		rs_utf8_mend(change.name, strlen(change.name));
	}
	change_add(t, &change, false);
}

/* ---- the initial threads ------------------------------------------------------------------ */

/* Cuts what /proc appends to a worker's name: its work queue (wq_worker_comm(),
 * kernel/workqueue.c). */
static void worker_cut(char *name)
{
	static const char worker[] = "kworker/";
	size_t len = sizeof(worker) - 1;

	if (strncmp(name, worker, len) != 0)
		return;
	len += strspn(name + len, "u0123456789:H");
	if (name[len] == '-' || name[len] == '+')
		name[len] = '\0';
}

static void scan_process(struct rs_tracepoint_threads *t, int proc, int pid, uint64_t time)
{
	char path[64], name[COMM_BYTES + 1];
	struct dirent *entry;
	DIR *folder;
	int fd;

	snprintf(path, sizeof(path), "%d/task", pid);
	fd = openat(proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	folder = fd >= 0 ? fdopendir(fd) : NULL;
	if (!folder) { /* the process has ended */
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((entry = readdir(folder))) {
		struct change change = { .time = time, .pid = pid };

		if (!rs_kvm_number(entry->d_name, &change.tid) || change.tid <= 0)
			continue;
		snprintf(path, sizeof(path), "%d/comm", change.tid);
		if (rs_kvm_read(fd, path, name, sizeof(name)) < 0)
			continue;
		name[strcspn(name, "\n")] = '\0';
		worker_cut(name);
		memcpy(change.name, name, strnlen(name, COMM_BYTES - 1));
		rs_utf8_mend(change.name, strlen(change.name));
		change_add(t, &change, true);
	}
	closedir(folder);
}

void rs_tracepoint_threads_scan(struct rs_tracepoint_threads *t, const char *proc, uint64_t time)
{
	DIR *folder = opendir(proc);
	struct dirent *entry;
	int pid;

	while (folder && (entry = readdir(folder))) {
		if (rs_kvm_number(entry->d_name, &pid) && pid > 0)
			scan_process(t, dirfd(folder), pid, time);
	}
	if (folder)
		closedir(folder);
}
