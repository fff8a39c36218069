/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens another program's ring, of a trace or of a log, by its path. */
#include "live/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/count.h"
#include "ring/guard.h"
#include "ring/shared.h"
#include <ringside/error.h>
#include <ringside/log_ring.h>

struct rs_live_ring {
	void *mem;
	size_t bytes;
	dev_t device;
	ino_t inode;
	int fd; /* of a device; else -1 */
	bool overwrites;
	uint32_t state; /* enum rs_live_state; stored by the drain's thread, loaded by others */
	uint64_t skipped, refused;
	struct rs_sbuf_consumer consumer;
	struct rs_overwrite_port overwrite;
	struct rs_log_port *log; /* NULL for a ring of a trace */
	struct rs_overwrite_reader lines;
	uint64_t magic;	      /* the magic at the start */
	struct rs_port inner; /* of one of the three kinds */
};

/* The arguments of an access to the ring, which rs_guard() passes as one pointer. */
struct access {
	struct rs_live_ring *ring;
	bool keep;
	enum rs_sbuf_status status;
	uint32_t tail, offset, bytes;
	void *to;
	bool good;
};

/* ---- opening -------------------------------------------------------------------------------- */

/* Reads the header, each field once, if there is room for one. */
static void access_header(void *ctx)
{
	struct access *a = ctx;

	rs_sbuf_header_read(a->ring->mem, a->ring->bytes, a->to);
}

/* Skips to the writer's position in a plain ring, and counts the skipped elements. */
static void skip_plain(struct access *a)
{
	struct rs_live_ring *r = a->ring;
	struct rs_sbuf_consumer *c = &r->consumer;
	/* Pairs with the producer's release of tail. */
	uint32_t tail = __atomic_load_n(&c->ring->tail, __ATOMIC_ACQUIRE);

	if (a->keep || tail >= c->size || tail % c->ele_size)
		return;
	r->skipped = (tail >= c->head ? tail - c->head : c->size - c->head + tail) / c->ele_size;
	c->head = tail;
	/* Pairs with the producer's acquire of head. */
	__atomic_store_n(&c->ring->head, tail, __ATOMIC_RELEASE);
}

static void access_attach_plain(void *ctx)
{
	struct access *a = ctx;
	struct rs_live_ring *r = a->ring;

	a->status = rs_sbuf_attach(&r->consumer, r->mem, r->bytes);
	if (a->status == RS_SBUF_OK && r->consumer.ele_size != RS_SLOT_BYTES)
		a->status = RS_SBUF_BAD_GEOMETRY;
	if (a->status == RS_SBUF_OK)
		skip_plain(a);
}

/* Attaches to a ring that overwrites. Elements that were overwritten before this are no loss. */
static void access_attach_overwrite(void *ctx)
{
	struct access *a = ctx;
	struct rs_live_ring *r = a->ring;
	struct rs_overwrite_reader *reader = &r->overwrite.reader;
	uint64_t kept, oldest;

	a->status = rs_overwrite_port_init(&r->overwrite, r->mem, r->bytes, RS_SBUF_MAGIC);
	if (a->status != RS_SBUF_OK)
		return;
	kept = reader->size - reader->ele_size;
	oldest = reader->seen > kept ? reader->seen - kept : 0;
	if (reader->position < oldest)
		reader->position = oldest;
	if (a->keep)
		return;
	r->skipped = (reader->seen - reader->position) / reader->ele_size;
	reader->position = reader->seen;
}

/* Attaches to a ring of a log, which is read by lines: in place or, if it overwrites, from the
 * oldest element. */
static void access_attach_log(void *ctx)
{
	struct access *a = ctx;
	struct rs_live_ring *r = a->ring;
	uint32_t ele_size;

	if (r->overwrites) {
		a->status = rs_overwrite_attach(&r->lines, r->mem, r->bytes, r->magic);
		ele_size = r->lines.ele_size;
		r->log->reader = &r->lines;
		r->log->last = r->magic == RS_SBUF_MAGIC_LAST;
	} else {
		a->status = rs_sbuf_attach(&r->consumer, r->mem, r->bytes);
		ele_size = r->consumer.ele_size;
		r->log->consumer = &r->consumer;
	}
	if (a->status == RS_SBUF_OK && ele_size != RS_LOG_ELEMENT_BYTES)
		a->status = RS_SBUF_BAD_GEOMETRY;
	if (a->status != RS_SBUF_OK)
		return;
	if (a->keep || r->log->last)
		r->log->old = UINT64_MAX;
	else if (!rs_log_port_skip(r->log, &r->skipped))
		a->status = RS_SBUF_BAD_POSITION;
}

/* Returns an error that shows the header and names its defect. */
static struct rs_error *unsound(const char *path, enum rs_sbuf_status status,
				const struct rs_sbuf *copy, size_t bytes)
{
	return rs_error_create(
		RS_DAMAGED,
		"%s: %s: its header has %s of %u bytes, %u bytes in all, "
		"head %u, tail %u, and %zu bytes are mapped; Ringside reads it when its "
		"writer has created it anew",
		path, rs_sbuf_status_text(status), RS_COUNT_OF(copy->ele_num, "element"),
		copy->ele_size, copy->size, copy->head, copy->tail, bytes);
}

static struct rs_error *map(int fd, const char *path, size_t bytes, struct rs_live_ring *r)
{
	void *mem = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (mem == MAP_FAILED)
		return rs_error_errno(errno, "%s: cannot map %zu bytes", path, bytes);
	r->mem = mem;
	r->bytes = bytes;
	return NULL;
}

/* Maps a device. Only its ring's header contains its size, so this maps the header first. */
static struct rs_error *map_device(int fd, const char *path, struct rs_live_ring *r)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes;
	struct rs_sbuf copy = { 0 };
	struct access a = { .ring = r, .to = &copy };
	struct rs_error *err = map(fd, path, page, r);
	bool there;

	if (err)
		return err;
	there = rs_guard(access_header, &a);
	munmap(r->mem, r->bytes);
	r->mem = NULL;
	if (!there || (copy.magic != RS_SBUF_MAGIC && copy.magic != RS_SBUF_MAGIC_LAST))
		return NULL; /* none yet */
	if (!copy.size || copy.size > RS_SBUF_SIZE_MAX)
		return unsound(path, RS_SBUF_BAD_GEOMETRY, &copy, page);
	bytes = sizeof(copy) + copy.size;
	return map(fd, path, (bytes + page - 1) / page * page, r);
}

static struct rs_error *log_make(struct rs_live_ring *r, struct rs_log_epoch *epoch)
{
	r->log = malloc(sizeof(*r->log));
	if (!r->log)
		return rs_error_no_memory();
	rs_log_port_init(r->log, epoch);
	return NULL;
}

static struct rs_error *attach_log(const char *path, bool keep, struct rs_live_ring *r,
				   const struct rs_sbuf *copy, struct rs_log_epoch *epoch,
				   bool *none)
{
	struct access a = { .ring = r, .keep = keep };
	struct rs_error *err = log_make(r, epoch);

	if (err)
		return err;
	*none = !rs_guard(access_attach_log, &a) || a.status == RS_SBUF_NO_MAGIC;
	if (*none)
		return NULL;
	if (a.status != RS_SBUF_OK)
		return unsound(path, a.status, copy, r->bytes);
	r->inner = rs_port_log(r->log);
	return NULL;
}

/* Attaches by read(): to a device of ACRN's log, which the kernel cannot map, or to a FIFO. */
static struct rs_error *attach_read(int fd, const char *path, bool keep, struct rs_live_ring *r,
				    struct rs_log_epoch *epoch)
{
	struct rs_error *err = log_make(r, epoch);

	if (err)
		return err;
	r->log->fd = r->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	r->log->last = strstr(path, "hvlog_last") != NULL;
	if (keep || r->log->last)
		r->log->old = UINT64_MAX;
	else if (!rs_log_port_skip(r->log, &r->skipped))
		return rs_error_create(RS_FAILED, "cannot read '%s'", path);
	r->inner = rs_port_log(r->log);
	return NULL;
}

static bool is_last_log(const struct rs_sbuf *copy)
{
	return copy->magic == RS_SBUF_MAGIC_LAST && copy->ele_size == RS_LOG_ELEMENT_BYTES;
}

static struct rs_error *attach(const char *path, bool keep, struct rs_live_ring *r,
			       struct rs_log_epoch *epoch, bool *none)
{
	struct rs_sbuf copy = { 0 };
	struct access a = { .ring = r, .keep = keep, .to = &copy };
	bool there = rs_guard(access_header, &a);

	*none = !there || (copy.magic != RS_SBUF_MAGIC && !is_last_log(&copy));
	if (*none)
		return NULL;
	r->magic = copy.magic;
	r->overwrites = copy.flags & RS_SBUF_OVERWRITE || is_last_log(&copy);
	if (is_last_log(&copy))
		return attach_log(path, keep, r, &copy, epoch, none);
	if (r->overwrites && !(copy.flags & RS_SBUF_POSITIONED))
		return rs_error_create(RS_DAMAGED,
				       "%s: it overwrites, and its readers need its writer's "
				       "lock: only that program can read it",
				       path);
	if (copy.ele_size == RS_LOG_ELEMENT_BYTES)
		return attach_log(path, keep, r, &copy, epoch, none);
	there = rs_guard(r->overwrites ? access_attach_overwrite : access_attach_plain, &a);
	*none = !there || a.status == RS_SBUF_NO_MAGIC;
	if (*none)
		return NULL;
	if (a.status == RS_SBUF_BAD_GEOMETRY && copy.ele_size != RS_SLOT_BYTES)
		return rs_error_create(RS_DAMAGED,
				       "%s: its elements have %u bytes, not %u or %u: it is not a "
				       "ring of a trace or a log",
				       path, copy.ele_size, RS_SLOT_BYTES, RS_LOG_ELEMENT_BYTES);
	if (a.status != RS_SBUF_OK)
		return unsound(path, a.status, &copy, r->bytes);
	r->inner = r->overwrites ? rs_port_overwrite(&r->overwrite) : rs_port_local(&r->consumer);
	return NULL;
}

/* Returns whether a device has no memory to map. */
static bool is_unmappable(int fd)
{
	void *mem = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED, fd, 0);

	if (mem == MAP_FAILED)
		return errno == ENODEV;
	munmap(mem, (size_t)sysconf(_SC_PAGESIZE));
	return false;
}

static struct rs_error *open_fd(int fd, const char *path, bool keep, struct rs_live_ring *r,
				struct rs_log_epoch *epoch, bool *none)
{
	bool by_read = false;
	struct rs_error *err;
	struct stat st;

	if (fstat(fd, &st))
		return rs_error_errno(errno, "%s", path);
	r->device = st.st_dev;
	r->inode = st.st_ino;
	if (S_ISREG(st.st_mode)) {
		*none = st.st_size < (off_t)sizeof(struct rs_sbuf);
		err = *none ? NULL : map(fd, path, (size_t)st.st_size, r);
	} else if (S_ISCHR(st.st_mode)) {
		r->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
		err = map_device(fd, path, r);
		*none = !err && !r->mem;
		by_read = err && is_unmappable(fd);
	} else { /* a FIFO */
		err = NULL;
		by_read = true;
	}
	if (by_read) {
		rs_error_free(err);
		return attach_read(fd, path, keep, r, epoch);
	}
	return err || *none ? err : attach(path, keep, r, epoch, none);
}

struct rs_error *rs_live_ring_open(const char *path, bool keep, const struct rs_live_ring *before,
				   struct rs_log_epoch *epoch, struct rs_live_ring **out)
{
	bool again = before && before->fd >= 0 && !rs_live_ring_is_replaced(before, path);
	struct rs_live_ring *r;
	struct rs_error *err;
	bool none = false;
	int fd;

	*out = NULL;
	fd = again ? fcntl(before->fd, F_DUPFD_CLOEXEC, 0) : open(path, O_RDWR | RS_SHARED_FLAGS);
	if (fd < 0)
		return errno == ENOENT ? NULL : rs_shared_open_error(errno, path);
	r = calloc(1, sizeof(*r));
	if (!r) {
		close(fd);
		return rs_error_no_memory();
	}
	r->fd = -1;
	err = rs_shared_check(fd, path, RS_SHARED_ANY);
	if (!err)
		err = open_fd(fd, path, keep, r, epoch, &none);
	close(fd);
	if (err || none)
		rs_live_ring_close(r);
	else
		*out = r;
	return err;
}

void rs_live_ring_close(struct rs_live_ring *ring)
{
	if (!ring)
		return;
	if (ring->mem)
		munmap(ring->mem, ring->bytes);
	if (ring->fd >= 0)
		close(ring->fd);
	free(ring->log);
	free(ring);
}

/* ---- draining ------------------------------------------------------------------------------- */

static void ends_as(struct rs_live_ring *r, enum rs_live_state state)
{
	/* Pairs with the acquire in rs_live_ring_state(). */
	__atomic_store_n(&r->state, state, __ATOMIC_RELEASE);
}

/* Returns whether the ring is still the one that was opened. A positioned ring is checked by its
 * position. */
static bool is_same(const struct rs_live_ring *r)
{
	const struct rs_sbuf *ring = r->mem;

	if (!ring) /* it is read by read() */
		return true;
	return __atomic_load_n(&ring->magic, __ATOMIC_RELAXED) == r->magic &&
	       (r->overwrites ||
		__atomic_load_n(&ring->head, __ATOMIC_RELAXED) == r->consumer.head);
}

static void access_poll(void *ctx)
{
	struct access *a = ctx;
	struct rs_live_ring *r = a->ring;
	uint64_t refused = r->refused;

	/* Checks again afterwards, since the tail may be that of a ring that was created anew in
	 * between. */
	a->good = is_same(r) && r->inner.poll(r->inner.ctx, &a->tail, &refused) && is_same(r);
	if (a->good)
		r->refused = refused;
}

/* Polls the ring for the drain. A ring that was replaced looks empty, except for what was copied
 * from it. */
static bool live_poll(void *ctx, uint32_t *tail, uint64_t *refused)
{
	struct rs_live_ring *r = ctx;
	struct access a = { .ring = r };

	if (r->state == RS_LIVE_RUNS) {
		if (!rs_guard(access_poll, &a))
			ends_as(r, RS_LIVE_CUT);
		else if (!a.good)
			ends_as(r, r->mem ? RS_LIVE_ANEW : RS_LIVE_FAILED);
	}
	*refused = r->refused;
	if (r->state == RS_LIVE_RUNS)
		*tail = a.tail;
	else if (r->log)
		*tail = r->log->tail;
	else
		*tail = r->overwrites ? r->overwrite.tail : r->consumer.head;
	return true;
}

static void access_copy(void *ctx)
{
	struct access *a = ctx;
	const struct rs_port *inner = &a->ring->inner;

	a->good = inner->copy(inner->ctx, a->offset, a->to, a->bytes);
}

/* Copies from the ring. If the memory is gone, returns zeros, which are no records: the drain
 * counts them as damaged. */
static bool live_copy(void *ctx, uint32_t offset, void *to, uint32_t bytes)
{
	struct rs_live_ring *r = ctx;
	struct access a = { .ring = r, .offset = offset, .to = to, .bytes = bytes };

	if (rs_guard(access_copy, &a) && a.good)
		return true;
	ends_as(r, RS_LIVE_CUT);
	memset(to, 0, bytes);
	return true;
}

static void access_release(void *ctx)
{
	struct access *a = ctx;
	struct rs_live_ring *r = a->ring;

	a->good = is_same(r) && r->inner.release(r->inner.ctx, a->offset);
}

static bool live_release(void *ctx, uint32_t head)
{
	struct rs_live_ring *r = ctx;
	struct access a = { .ring = r, .offset = head };

	if (r->state == RS_LIVE_RUNS && !rs_guard(access_release, &a))
		ends_as(r, RS_LIVE_CUT);
	else if (r->state == RS_LIVE_RUNS && !a.good)
		ends_as(r, RS_LIVE_ANEW);
	if (r->log)
		r->log->head = head;
	else if (r->state != RS_LIVE_RUNS) { /* the drain continues from there */
		r->consumer.head = head;
		r->overwrite.head = head;
	}
	return true;
}

struct rs_port rs_live_ring_port(struct rs_live_ring *ring)
{
	return (struct rs_port){
		.ctx = ring,
		.poll = live_poll,
		.copy = live_copy,
		.release = live_release,
		.size = ring->inner.size,
		.holds = ring->inner.holds,
		.head = ring->inner.head,
	};
}

/* ---- queries -------------------------------------------------------------------------------- */

enum rs_live_state rs_live_ring_state(const struct rs_live_ring *ring)
{
	/* Pairs with the release in ends_as(). */
	return (enum rs_live_state)__atomic_load_n(&ring->state, __ATOMIC_ACQUIRE);
}

uint64_t rs_live_ring_skipped(const struct rs_live_ring *ring)
{
	return ring->skipped;
}

const struct rs_log_port *rs_live_ring_log(const struct rs_live_ring *ring)
{
	return ring->log;
}

bool rs_live_ring_is_replaced(const struct rs_live_ring *ring, const char *path)
{
	struct stat st;

	return !lstat(path, &st) && (st.st_dev != ring->device || st.st_ino != ring->inode);
}
