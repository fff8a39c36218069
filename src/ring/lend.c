/* SPDX-License-Identifier: BSD-2-Clause */
/* Lends rings to other processes; lend.h describes the protocol. */
#include <ringside/lend.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/now.h"
#include "ring/guard.h"
#include "ring/shared.h"
#include <ringside/ring.h>

#define BOARD_MAGIC  UINT64_C(0x31646e656c2d7372) /* "rs-lend1" */
#define BUSY_TICK_NS 200000

/* ---- the board ------------------------------------------------------------------------------ */

/* Renames a file, unless a file has the new name. On file systems without RENAME_NOREPLACE, a hard
 * link is used: the file then has two names for a moment, during which opening it fails. */
static bool file_publish(const char *temp, const char *path)
{
	if (!renameat2(AT_FDCWD, temp, AT_FDCWD, path, RENAME_NOREPLACE))
		return true;
	return errno == EEXIST || (errno == EINVAL && (!link(temp, path) || errno == EEXIST));
}

/* Creates a complete board under another name, and then renames it, so that no process maps an
 * incomplete board. */
static struct rs_error *board_make(const char *path)
{
	struct rs_lend_board board = { .magic = BOARD_MAGIC };
	struct rs_error *err = NULL;
	char *temp;
	int fd;

	if (asprintf(&temp, "%s.XXXXXX", path) < 0)
		return rs_error_no_memory();
	fd = mkostemp(temp, O_CLOEXEC);
	if (fd < 0) {
		err = rs_error_errno(errno, "cannot create '%s'", path);
		free(temp);
		return err;
	}
	if (write(fd, &board, sizeof(board)) != (ssize_t)sizeof(board))
		err = rs_error_errno(errno ? errno : ENOSPC, "%s", temp);
	else if (!file_publish(temp, path))
		err = rs_error_errno(errno, "cannot create '%s'", path);
	unlink(temp);
	close(fd);
	free(temp);
	return err;
}

static struct rs_error *board_map(int fd, const char *path, struct rs_lend_board **board)
{
	struct stat st;
	uint64_t magic = 0;
	void *mem;

	if (fstat(fd, &st))
		return rs_error_errno(errno, "%s", path);
	if (st.st_size != (off_t)sizeof(**board) ||
	    pread(fd, &magic, sizeof(magic), 0) != (ssize_t)sizeof(magic) || magic != BOARD_MAGIC)
		return rs_error_create(RS_USAGE, "%s: it exists, but is not a board of lent rings",
				       path);
	mem = mmap(NULL, sizeof(**board), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (mem == MAP_FAILED)
		return rs_error_errno(errno, "cannot map '%s'", path);
	*board = mem;
	return NULL;
}

/* Opens and maps the board, and creates it if it does not exist. */
static struct rs_error *board_open(const char *path, int *fd, struct rs_lend_board **board)
{
	const int flags = O_RDWR | RS_SHARED_FLAGS;
	struct rs_error *err;

	*fd = open(path, flags);
	if (*fd < 0 && errno == ENOENT) {
		err = board_make(path);
		if (err)
			return err;
		*fd = open(path, flags);
	}
	if (*fd < 0)
		return rs_shared_open_error(errno, path);
	err = rs_shared_check(*fd, path, RS_SHARED_FILE);
	if (!err)
		err = board_map(*fd, path, board);
	if (err)
		close(*fd);
	return err;
}

static char *ring_path(const char *board, uint32_t id)
{
	char *path;

	return asprintf(&path, "%s.%u", board, id) < 0 ? NULL : path;
}

/* ---- the borrower --------------------------------------------------------------------------- */

static bool lives(uint32_t pid)
{
	return pid && pid <= INT32_MAX && (!kill((pid_t)pid, 0) || errno == EPERM);
}

/* Claims the id's place. Of two concurrent processes, one gets it. Within a process, the caller
 * must use each id once. */
static struct rs_error *place_claim(struct rs_lent *lent)
{
	uint32_t pid = (uint32_t)getpid(), had = 0;

	for (;;) {
		if (__atomic_compare_exchange_n(&lent->place->pid, &had, pid, false,
						__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			break;
		if (had == pid || lives(had))
			return rs_error_create(RS_USAGE, "%s: id %u is taken by process %u",
					       lent->path, lent->id, had);
	}
	__atomic_store_n(&lent->place->busy, 0, __ATOMIC_RELEASE);
	return NULL;
}

struct rs_error *rs_lent_open(const char *path, uint32_t id, struct rs_lent **out)
{
	struct rs_lent *lent;
	struct rs_error *err;
	int fd;

	if (id >= RS_LEND_IDS_MAX)
		return rs_error_create(RS_USAGE, "id %u: expected 0 to %u", id,
				       RS_LEND_IDS_MAX - 1);
	lent = calloc(1, sizeof(*lent));
	if (!lent)
		return rs_error_no_memory();
	err = rs_shared_path(path, true, &lent->path);
	if (err) {
		free(lent);
		return err;
	}
	lent->id = id;
	err = board_open(lent->path, &fd, &lent->board);
	if (!err) {
		close(fd);
		lent->place = &lent->board->places[id];
		err = place_claim(lent);
		if (err)
			munmap(lent->board, sizeof(*lent->board));
	}
	if (err) {
		free(lent->path);
		free(lent);
		return err;
	}
	*out = lent;
	return NULL;
}

static void ring_drop(struct rs_lent *lent)
{
	if (lent->mem)
		munmap(lent->mem, lent->bytes);
	lent->mem = NULL;
	lent->producer = (struct rs_sbuf_producer){ 0 };
}

static void ring_take(struct rs_lent *lent)
{
	char *path = ring_path(lent->path, lent->id);
	struct rs_error *err = path ? NULL : rs_error_no_memory();
	struct stat st;
	void *mem;
	int fd = -1;

	if (!err)
		err = rs_shared_open(path, O_RDWR, RS_SHARED_FILE, &fd);
	free(path);
	rs_error_free(err);
	if (fd < 0)
		return;
	if (!fstat(fd, &st) && st.st_size > 0) {
		lent->bytes = (size_t)st.st_size;
		mem = mmap(NULL, lent->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		lent->mem = mem == MAP_FAILED ? NULL : mem;
	}
	close(fd);
	if (lent->mem &&
	    (rs_sbuf_producer_init(&lent->producer, lent->mem, lent->bytes) != RS_SBUF_OK ||
	     lent->producer.ele_size != RS_SLOT_BYTES))
		ring_drop(lent);
}

void rs_lent_refresh(struct rs_lent *lent, uint32_t now)
{
	int error = errno; /* a put must not change its caller's errno */

	ring_drop(lent);
	if (now % 2)
		ring_take(lent);
	lent->seen = now;
	errno = error;
}

void rs_lent_close(struct rs_lent *lent)
{
	if (!lent)
		return;
	ring_drop(lent);
	__atomic_store_n(&lent->place->busy, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&lent->place->pid, 0, __ATOMIC_RELEASE);
	munmap(lent->board, sizeof(*lent->board));
	free(lent->path);
	free(lent);
}

/* ---- the lender ----------------------------------------------------------------------------- */

struct rs_lender {
	char *path;
	int fd; /* locked until this process ends */
	struct rs_lend_board *board;
	uint32_t n;
	bool is_lent;
	char *paths[RS_LEND_IDS_MAX]; /* of the existing rings */
	/* The arguments of an access to the board, which other processes of this user can
	 * truncate. */
	bool lends;
	uint32_t id;
	uint32_t read;
};

static void access_begin(void *ctx)
{
	const struct rs_lender *lender = ctx;

	for (uint32_t i = 0; i < lender->n; i++) {
		struct rs_lend_place *place = &lender->board->places[i];
		uint32_t was = __atomic_load_n(&place->lent, __ATOMIC_RELAXED);
		/* A number that no borrower has read. A borrower that died may have left an odd
		 * number. */
		uint32_t is = lender->lends ? (was | 1) + 2 : (was + 1) & ~1u;

		/* Pairs with the acquire in rs_lent_put(). */
		__atomic_store_n(&place->lent, is, __ATOMIC_RELEASE);
	}
}

static void access_busy(void *ctx)
{
	struct rs_lender *lender = ctx;
	const struct rs_lend_place *place = &lender->board->places[lender->id];

	/* Pairs with the release in rs_lent_put(). */
	lender->read = __atomic_load_n(&place->busy, __ATOMIC_ACQUIRE);
	if (lender->read)
		lender->read = __atomic_load_n(&place->pid, __ATOMIC_RELAXED);
}

static struct rs_error *board_gone(const struct rs_lender *lender)
{
	return rs_error_create(RS_FAILED,
			       "%s: another process has truncated it: the rings cannot be lent "
			       "or taken back",
			       lender->path);
}

/* Returns whether a file is a ring, such as a dead lender leaves. */
static bool ring_exists(const char *path)
{
	struct rs_ring_memory memory;
	struct rs_sbuf_consumer consumer;
	struct rs_error *err = rs_ring_map_existing(path, 0, &memory);
	bool is = !err && rs_sbuf_attach(&consumer, memory.mem, memory.bytes) == RS_SBUF_OK;

	if (!err)
		rs_ring_unmap(&memory);
	rs_error_free(err);
	return is;
}

static struct rs_error *ring_make(const struct rs_lend_options *options, const char *path)
{
	struct rs_ring_memory memory;
	struct rs_error *err;
	enum rs_sbuf_status status;

	if (options->keep && ring_exists(path))
		return NULL;
	if (unlink(path) && errno != ENOENT)
		return rs_error_errno(errno, "%s already exists: cannot remove it", path);
	err = rs_ring_map_create(path, options->ring_bytes, &memory);
	if (err)
		return err;
	status = rs_sbuf_create(memory.mem, memory.bytes, RS_SLOT_BYTES);
	if (status != RS_SBUF_OK)
		err = rs_error_create(RS_USAGE, "%s: cannot create a ring of %zu bytes: %s", path,
				      options->ring_bytes, rs_sbuf_status_text(status));
	if (!err) {
		free(memory.path); /* the ring outlives this mapping */
		memory.path = NULL;
	}
	rs_ring_unmap(&memory);
	return err;
}

struct rs_error *rs_lender_create(const struct rs_lend_options *options, struct rs_lender **out)
{
	struct rs_lender *lender = calloc(1, sizeof(*lender));
	struct rs_error *err;

	if (!lender)
		return rs_error_no_memory();
	lender->fd = -1;
	err = rs_shared_path(options->path, true, &lender->path);
	if (!err && (!options->n || options->n > RS_LEND_IDS_MAX))
		err = rs_error_create(RS_USAGE, "%u rings: expected 1 to %u", options->n,
				      RS_LEND_IDS_MAX);
	if (!err)
		err = board_open(lender->path, &lender->fd, &lender->board);
	if (err) {
		lender->fd = -1;
	} else if (flock(lender->fd, LOCK_EX | LOCK_NB)) {
		err = rs_error_create(RS_USAGE, "%s: another recorder lends its rings there",
				      lender->path);
	}
	for (uint32_t i = 0; !err && i < options->n; i++) {
		char *path = ring_path(lender->path, i);

		err = path ? ring_make(options, path) : rs_error_no_memory();
		if (err)
			free(path);
		else
			lender->paths[lender->n++] = path;
	}
	if (err)
		rs_lender_destroy(lender);
	else
		*out = lender;
	return err;
}

const char *rs_lender_path(const struct rs_lender *lender, uint32_t i)
{
	return i < lender->n ? lender->paths[i] : NULL;
}

struct rs_error *rs_lender_lend(struct rs_lender *lender)
{
	lender->lends = lender->is_lent = true;
	return rs_guard(access_begin, lender) ? NULL : board_gone(lender);
}

/* Waits until the id's borrower has ended its put. Returns RS_FAILED if that takes longer than
 * *patience_ns, which decreases by the wait. */
static struct rs_error *wait_idle(struct rs_lender *lender, uint32_t id, uint64_t *patience_ns)
{

	lender->id = id;
	for (;;) {
		if (!rs_guard(access_busy, lender))
			return board_gone(lender);
		/* A process that died during a put does not end it. */
		if (!lender->read || !lives(lender->read))
			return NULL;
		if (*patience_ns < BUSY_TICK_NS)
			return rs_error_create(RS_FAILED,
					       "%s: process %u does not end its put; "
					       "its further records are lost",
					       lender->paths[id], lender->read);
		*patience_ns -= BUSY_TICK_NS;
		rs_sleep_ns(BUSY_TICK_NS);
	}
}

struct rs_error *rs_lender_reclaim(struct rs_lender *lender, uint32_t patience_ms)
{
	uint64_t patience_ns = (uint64_t)patience_ms * 1000000;
	struct rs_error *err = NULL, *next;

	if (!lender->is_lent)
		return NULL;
	lender->is_lent = lender->lends = false;
	if (!rs_guard(access_begin, lender))
		return board_gone(lender);
	/* Between a borrower's store of busy and its load of lent: membarrier(2). */
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0))
		err = rs_error_errno(errno, "membarrier");
	for (uint32_t i = 0; i < lender->n; i++) {
		next = wait_idle(lender, i, &patience_ns);
		if (!err)
			err = next;
		else
			rs_error_free(next);
	}
	return err;
}

void rs_lender_destroy(struct rs_lender *lender)
{
	if (!lender)
		return;
	rs_error_free(rs_lender_reclaim(lender, 0));
	for (uint32_t i = 0; i < lender->n; i++) {
		unlink(lender->paths[i]);
		free(lender->paths[i]);
	}
	if (lender->board)
		munmap(lender->board, sizeof(*lender->board));
	if (lender->fd >= 0)
		close(lender->fd);
	free(lender->path);
	free(lender);
}
