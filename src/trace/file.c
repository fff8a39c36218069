/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The file in which the rings of a recorded program survive a crash: ring/survive.h, under the name
 * shm:rings-UUID (ring/shared.h) with the UUID of the trace. 'ringside repair' reads it.
 *
 * A place is as large as the first ring needs. The file grows to a place, and maps it, when a ring
 * is made in the place. The place's memory is allocated then, and given back when the ring is
 * freed, so a write never finds the file system full, which would raise SIGBUS. The file uses at
 * most half of the file system. It must be a tmpfs: on a disk, each page would fault again after
 * it was written back.
 */
#include "trace/file.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/hold.h"
#include "ring/shared.h"

#define PAGE		 4096u
#define DEAD_MAX	 16u /* files of dead programs that are kept */
#define DEAD_PART	 4u  /* and the part of the file system that they may fill */
#define DEFINITION_BYTES ((256u << 10) - (unsigned)sizeof(struct rs_survive_head))
#define FIRST_PLACE	 (DEFINITION_BYTES + sizeof(struct rs_survive_head))
_Static_assert(sizeof(struct rs_survive_place) + sizeof(struct rs_survive_progress) <= PAGE,
	       "before the ring");
_Static_assert(FIRST_PLACE % PAGE == 0, "places are mapped");

struct rs_trace_file {
	uint8_t *mem;	 /* the head and the definitions */
	int fd, lock_fd; /* the same file; only the first is mapped from */
	char *path;
	uint8_t *place[RS_SURVIVE_PLACES_MAX]; /* mapped while it is taken */
	uint32_t n_taken;
	bool retired;
	struct rs_trace_file *next; /* in the list of retired files */
};

/* Retired files with places that are taken: only rings refer to them, from memory that is mapped,
 * where leak checkers do not look. Under the lock of the callers. */
static struct rs_trace_file *retired_files;

static uint64_t place_offset(const struct rs_trace_file *f, uint32_t place)
{
	return FIRST_PLACE + (uint64_t)place * rs_trace_file_head(f)->place_bytes;
}

/* Allocates a part of the file. Leaves half of the file system to others. */
static bool allocate(int fd, uint64_t at, uint64_t bytes)
{
	struct rlimit most;
	struct statfs fs;

	/* Beyond this limit fallocate() would send SIGXFSZ. */
	if (getrlimit(RLIMIT_FSIZE, &most) || at + bytes > most.rlim_cur)
		return false;
	if (fstatfs(fd, &fs) || (uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize <
					bytes + (uint64_t)fs.f_blocks / 2 * (uint64_t)fs.f_bsize)
		return false;
	return !fallocate(fd, 0, (off_t)at, (off_t)bytes);
}

static struct rs_error *file_map(struct rs_trace_file *f)
{
	struct statfs fs;
	void *mem;

	if (fstatfs(f->fd, &fs) || fs.f_type != TMPFS_MAGIC)
		return rs_error_create(RS_ABSENT, "%s: not in a tmpfs", f->path);
	if (!allocate(f->fd, 0, FIRST_PLACE))
		return rs_error_create(RS_ABSENT, "%s: too little room is left there", f->path);
	mem = mmap(NULL, FIRST_PLACE, PROT_READ | PROT_WRITE, MAP_SHARED, f->fd, 0);
	if (mem == MAP_FAILED)
		return rs_error_errno(errno, "%s", f->path);
	f->mem = mem;
	return NULL;
}

static void file_free(struct rs_trace_file *f)
{
	if (f->mem)
		munmap(f->mem, FIRST_PLACE);
	if (f->lock_fd >= 0)
		rs_release(f->lock_fd);
	if (f->fd >= 0)
		close(f->fd);
	free(f->path);
	free(f);
}

/* ---- files of programs that died ------------------------------------------------------------ */

struct dead {
	char *path;
	struct timespec made;
	uint64_t bytes;
};

/* Returns whether no process has the file open any more. */
static bool is_dead(const char *path, struct dead *dead)
{
	struct stat st;
	int fd = -1;
	struct rs_error *err = rs_shared_open(path, O_RDONLY, RS_SHARED_FILE, &fd);
	bool free;

	if (err) { /* not a file of rings */
		rs_error_free(err);
		return false;
	}
	free = !fstat(fd, &st) && !flock(fd, LOCK_SH | LOCK_NB);
	flock(fd, LOCK_UN); /* a forked child would keep it */
	close(fd);
	*dead = (struct dead){ (char *)(uintptr_t)path, st.st_mtim, (uint64_t)st.st_blocks * 512 };
	return free;
}

static int newest_first(const void *a, const void *b)
{
	const struct dead *x = a, *y = b;

	if (x->made.tv_sec != y->made.tv_sec)
		return x->made.tv_sec < y->made.tv_sec ? 1 : -1;
	return x->made.tv_nsec < y->made.tv_nsec ? 1 : -(x->made.tv_nsec > y->made.tv_nsec);
}

/* Returns how many bytes the files of dead programs may have in a file's file system. */
static uint64_t dead_bytes_max(const char *path)
{
	struct statfs fs;

	return statfs(path, &fs) ? 0 : (uint64_t)fs.f_blocks / DEAD_PART * (uint64_t)fs.f_bsize;
}

/* Removes the oldest files of dead programs that were not repaired. The newest file is kept. */
static void dead_limit(void)
{
	uint64_t bytes = 0, most;
	struct dead *dead;
	glob_t found = { 0 };
	size_t n = 0;
	struct rs_error *err = rs_shared_find("rings-*", &found);

	dead = !err && found.gl_pathc > 1 ? calloc(found.gl_pathc, sizeof(*dead)) : NULL;
	for (size_t i = 0; dead && i < found.gl_pathc; i++)
		n += is_dead(found.gl_pathv[i], &dead[n]);
	if (n)
		qsort(dead, n, sizeof(*dead), newest_first);
	most = n ? dead_bytes_max(dead[0].path) : 0;
	for (size_t i = 0; i < n; i++) {
		bytes += dead[i].bytes;
		if (i >= DEAD_MAX || (i && bytes > most))
			unlink(dead[i].path);
	}
	free(dead);
	globfree(&found);
	rs_error_free(err);
}

/* --------------------------------------------------------------------------------------------- */

/* Writes whose rings these will be. The trace's path is last in the room for definitions. */
static void head_write(struct rs_trace_file *f, const uint8_t uuid[16], const char *directory)
{
	struct rs_survive_head *head = rs_trace_file_head(f);
	size_t bytes = directory ? strlen(directory) : 0;

	head->definition_bytes = DEFINITION_BYTES;
	memcpy(head->trace, uuid, sizeof(head->trace));
	head->pid = (uint32_t)getpid();
	head->path_bytes = bytes < PATH_MAX ? (uint32_t)bytes : 0;
	if (head->path_bytes)
		memcpy(f->mem + FIRST_PLACE - bytes, directory, bytes);
}

/* Creates the file, locked until this process has ended. */
static struct rs_error *file_make(struct rs_trace_file *f)
{
	f->fd = open(f->path, O_RDWR | O_CREAT | O_EXCL | RS_SHARED_FLAGS, 0600);
	if (f->fd < 0)
		return rs_error_errno(errno, "cannot create '%s'", f->path);
	f->lock_fd = open(f->path, O_RDWR | RS_SHARED_FLAGS);
	if (f->lock_fd < 0)
		return rs_error_errno(errno, "cannot open '%s'", f->path);
	rs_hold(f->lock_fd);
	return file_map(f);
}

struct rs_error *rs_trace_file_create(const uint8_t uuid[16], const char *directory,
				      struct rs_trace_file **out)
{
	struct rs_trace_file *f = calloc(1, sizeof(*f));
	char name[RS_SURVIVE_NAME_BYTES];
	struct rs_error *err;

	if (!f)
		return rs_error_no_memory();
	f->fd = f->lock_fd = -1;
	dead_limit();
	rs_survive_name(uuid, name);
	err = rs_shared_memory_path(name, &f->path);
	if (!err)
		err = file_make(f);
	if (err) {
		if (f->fd >= 0)
			unlink(f->path);
		file_free(f);
		return err;
	}
	head_write(f, uuid, directory);
	*out = f;
	return NULL;
}

struct rs_survive_head *rs_trace_file_head(const struct rs_trace_file *f)
{
	return (void *)f->mem;
}

struct rs_survive_place *rs_trace_file_place(const struct rs_trace_file *f, int place)
{
	return (void *)f->place[place];
}

/* Divides the file, while no place is taken, into places for rings of so many bytes. */
static void layout(struct rs_trace_file *f, size_t bytes)
{
	struct rs_survive_head *head = rs_trace_file_head(f);
	uint64_t place = PAGE + ((uint64_t)bytes + PAGE - 1) / PAGE * PAGE;
	uint64_t places = (RS_SHARED_BYTES_MAX - FIRST_PLACE) / place;

	head->places = 0;
	head->place_bytes = (uint32_t)place;
	/* A reader after this process's death may find either. */
	__atomic_store_n(&head->places,
			 places < RS_SURVIVE_PLACES_MAX ? (uint32_t)places : RS_SURVIVE_PLACES_MAX,
			 __ATOMIC_RELEASE);
}

void *rs_trace_file_claim(struct rs_trace_file *f, size_t bytes, int *place)
{
	const struct rs_survive_head *head = rs_trace_file_head(f);
	uint64_t at;
	uint32_t i = 0;
	void *mem;

	if (!f->n_taken)
		layout(f, bytes);
	if (PAGE + (uint64_t)bytes > head->place_bytes)
		return NULL;
	while (i < head->places && f->place[i])
		i++;
	at = place_offset(f, i);
	if (i == head->places || !allocate(f->fd, at, head->place_bytes))
		return NULL;
	mem = mmap(NULL, head->place_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, f->fd, (off_t)at);
	if (mem == MAP_FAILED) {
		fallocate(f->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)at,
			  head->place_bytes);
		return NULL;
	}
	f->place[i] = mem;
	f->n_taken++;
	rs_trace_file_place(f, (int)i)->ring_at = PAGE;
	*place = (int)i;
	return f->place[i] + PAGE;
}

void rs_trace_file_release(struct rs_trace_file *f, int place)
{
	uint32_t bytes = rs_trace_file_head(f)->place_bytes;

	__atomic_store_n(&rs_trace_file_place(f, place)->used, 0, __ATOMIC_RELEASE);
	munmap(f->place[place], bytes);
	fallocate(f->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
		  (off_t)place_offset(f, (uint32_t)place), bytes);
	f->place[place] = NULL;
	f->n_taken--;
	if (!f->retired || f->n_taken)
		return;
	for (struct rs_trace_file **at = &retired_files; *at; at = &(*at)->next) {
		if (*at != f)
			continue;
		*at = f->next;
		break;
	}
	file_free(f);
}

void rs_trace_file_retire(struct rs_trace_file *f)
{
	unlink(f->path);
	if (!f->n_taken) {
		file_free(f);
		return;
	}
	f->retired = true;
	f->next = retired_files;
	retired_files = f;
}
