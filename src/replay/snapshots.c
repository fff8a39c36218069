/* SPDX-License-Identifier: BSD-2-Clause */
#include "replay/snapshots.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/copy.h"

/* ---- disks -------------------------------------------------------------------------------------
 *
 * QEMU's docs/interop/qcow2.txt, version 3: header | table of refcounts | refcounts | L1 table, a
 * cluster each. Behind that QEMU puts what is written, and snapshots. What is not written of a disk
 * with a backing file is that file's.
 */

#define CLUSTER_BITS 16
#define CLUSTER	     (UINT64_C(1) << CLUSTER_BITS)
#define CLUSTERS     4
#define DISK_BYTES   (UINT64_C(1) << 20)
#define L1_BYTES     (CLUSTER / 8 * CLUSTER) /* of the disk, that an entry of the L1 table is for */
#define BACKING_AT   512u
#define BACKING_MAX  1023u
#define FORMAT_RAW   0xe2792acau /* a header's extension: the backing file's format */

struct header {
	char magic[4];
	uint32_t version;
	uint64_t backing_offset;
	uint32_t backing_size, cluster_bits;
	uint64_t size;
	uint32_t crypt, l1_size;
	uint64_t l1_offset, refcounts_offset;
	uint32_t refcounts_clusters, n_snapshots;
	uint64_t snapshots_offset, incompatible, compatible, autoclear;
	uint32_t refcount_order, header_length;
};
_Static_assert(sizeof(struct header) == 104, "a header of version 3");

/* backing: NULL, or the file's absolute path. */
static struct rs_error *write_disk(int fd, uint64_t bytes, const char *backing)
{
	const struct header header = {
		.magic = { 'Q', 'F', 'I', (char)0xfb },
		.version = htobe32(3),
		.backing_offset = htobe64(backing ? BACKING_AT : 0),
		.backing_size = htobe32(backing ? (uint32_t)strlen(backing) : 0),
		.cluster_bits = htobe32(CLUSTER_BITS),
		.size = htobe64(bytes),
		.l1_size = htobe32((uint32_t)((bytes + L1_BYTES - 1) / L1_BYTES)),
		.l1_offset = htobe64(3 * CLUSTER),
		.refcounts_offset = htobe64(CLUSTER),
		.refcounts_clusters = htobe32(1),
		.refcount_order = htobe32(4),
		.header_length = htobe32(sizeof(header)),
	};
	const struct {
		uint32_t type, bytes;
		char format[8];
	} extension = { htobe32(FORMAT_RAW), htobe32(3), "raw" };
	const uint64_t table = htobe64(2 * CLUSTER);
	uint16_t counts[CLUSTERS];

	for (int i = 0; i < CLUSTERS; i++)
		counts[i] = htobe16(1);
	if (ftruncate(fd, CLUSTERS * CLUSTER) ||
	    pwrite(fd, &header, sizeof(header), 0) != sizeof(header) ||
	    (backing &&
	     (pwrite(fd, &extension, sizeof(extension), sizeof(header)) != sizeof(extension) ||
	      pwrite(fd, backing, strlen(backing), BACKING_AT) != (ssize_t)strlen(backing))) ||
	    pwrite(fd, &table, sizeof(table), CLUSTER) != sizeof(table) ||
	    pwrite(fd, counts, sizeof(counts), 2 * CLUSTER) != sizeof(counts))
		return rs_error_errno(errno, "a disk for snapshots in " P_tmpdir);
	return NULL;
}

struct rs_error *rs_snapshots_write_empty(int fd)
{
	return write_disk(fd, DISK_BYTES, NULL);
}

/* What is written over the recording's disk. */
static struct rs_error *write_over(int fd, const struct rs_recording *r)
{
	char path[PATH_MAX], real[PATH_MAX];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", r->directory, rs_recording_files[RS_RECORDING_DISK]);
	if (!realpath(path, real) || stat(real, &st))
		return rs_error_errno(errno, "%s", path);
	if (strlen(real) > BACKING_MAX)
		return rs_error_create(RS_USAGE, "%s: QEMU takes a disk's path of at most %u bytes",
				       real, BACKING_MAX);
	return write_disk(fd, (uint64_t)st.st_size, real);
}

/* ---- files without names ----------------------------------------------------------------------
 */

static struct rs_error *nameless(int *fd)
{
	/* No O_CLOEXEC: QEMU knows it by its number. */
	*fd = open(P_tmpdir, O_TMPFILE | O_RDWR, 0600);
	if (*fd < 0)
		*fd = memfd_create("snapshots", 0); /* not every file system can */
	if (*fd >= 0)
		return NULL;
	*fd = 0;
	return rs_error_errno(errno, "a disk for snapshots in " P_tmpdir);
}

/* That with which a recording begins, as the snapshot of instruction 0. */
static struct rs_error *copy_begin(struct rs_snapshots *s, const struct rs_recording *r)
{
	char path[PATH_MAX];
	struct rs_error *err;
	int from;

	snprintf(path, sizeof(path), "%s/%s", r->directory, rs_recording_files[RS_RECORDING_BEGIN]);
	from = open(path, O_RDONLY | O_CLOEXEC);
	if (from < 0)
		return rs_error_errno(errno, "%s", path);
	err = rs_copy_file(from, s->fd, path);
	close(from);
	s->n = 1; /* icounts[0] is 0 */
	return err;
}

static struct rs_error *make_states(struct rs_snapshots *s, const struct rs_recording *r,
				    const struct rs_snapshots *like)
{
	struct rs_error *err = nameless(&s->fd);

	if (err)
		return err;
	if (!like || like->fd <= 0)
		return r->snapshot ? copy_begin(s, r) : rs_snapshots_write_empty(s->fd);
	err = rs_copy_file(like->fd, s->fd, "snapshots");
	if (!err) {
		memcpy(s->icounts, like->icounts, sizeof(s->icounts));
		s->n = like->n;
	}
	return err;
}

struct rs_error *rs_snapshots_make(struct rs_snapshots *s, const struct rs_recording *r,
				   const struct rs_snapshots *like, bool wanted)
{
	struct rs_error *err = NULL;

	*s = (struct rs_snapshots){ 0 };
	if (wanted || like || r->snapshot)
		err = make_states(s, r, like);
	if (!err && r->disk)
		err = nameless(&s->disk);
	if (!err && r->disk)
		err = like && like->disk > 0 ? rs_copy_file(like->disk, s->disk, "a disk")
					     : write_over(s->disk, r);
	return err;
}

void rs_snapshots_deinit(struct rs_snapshots *s)
{
	if (s->fd > 0)
		close(s->fd);
	if (s->disk > 0)
		close(s->disk);
	*s = (struct rs_snapshots){ 0 };
}

/* The disk goes through blkreplay, by which QEMU writes down when a request was done. */
struct rs_error *rs_snapshots_argv(const struct rs_snapshots *s, char **argv)
{
	struct rs_error *err = NULL;
	char drive[96];

	if (s->fd > 0) {
		snprintf(drive, sizeof(drive),
			 "if=none,id=ringside-snapshots,format=qcow2,file=/proc/self/fd/%d", s->fd);
		err = rs_recording_argv_add(argv, "-drive", drive);
	}
	if (err || s->disk <= 0)
		return err;
	snprintf(drive, sizeof(drive),
		 "if=none,id=ringside-over,format=qcow2,file=/proc/self/fd/%d", s->disk);
	err = rs_recording_argv_add(argv, "-drive", drive);
	if (!err)
		err = rs_recording_argv_add(
			argv, "-drive",
			"if=none,driver=blkreplay,image=ringside-over,id=ringside-disk");
	if (!err)
		err = rs_recording_argv_add(argv, "-device", "ide-hd,drive=ringside-disk");
	return err;
}

/* ---- a guest that was not recorded -------------------------------------------------------------
 *
 * Within the state that QEMU saves is, once, the part "timer/icount" (softmmu/cpu-timers.c): its
 * name with the length before it, its version, the time that the clock is ahead of the count, the
 * count; big endian. Clock = ahead + (count << shift).
 */

struct rs_error *rs_snapshots_count_anew(int fd, const char *name, uint32_t shift)
{
	static const uint8_t part[] = "\x05\x0ctimer/icount\0\0\0\1"; /* and a NUL */
	const size_t bytes = sizeof(part) - 1;
	struct rs_error *err = NULL;
	uint64_t clock[2];
	uint8_t *all, *at;
	struct stat st;

	if (fstat(fd, &st))
		return rs_error_errno(errno, "%s", name);
	all = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (all == MAP_FAILED)
		return rs_error_errno(errno, "%s", name);
	at = memmem(all, (size_t)st.st_size, part, bytes);
	/* A part that goes over a cluster's end may go on elsewhere. */
	if (!at ||
	    (size_t)(at - all) / CLUSTER !=
		    ((size_t)(at - all) + bytes + sizeof(clock) - 1) / CLUSTER ||
	    memmem(at + 1, (size_t)(all + st.st_size - at - 1), part, bytes)) {
		err = rs_error_create(RS_FAILED,
				      "%s: where QEMU counts instructions is not seen in it; take "
				      "another one, a little later",
				      name);
	} else {
		memcpy(clock, at + bytes, sizeof(clock));
		clock[0] = htobe64(be64toh(clock[0]) + (be64toh(clock[1]) << shift));
		clock[1] = 0;
		memcpy(at + bytes, clock, sizeof(clock));
	}
	munmap(all, (size_t)st.st_size);
	return err;
}

/* ---- which there are ---------------------------------------------------------------------------
 */

struct rs_error *rs_snapshots_add(struct rs_snapshots *s, uint64_t icount)
{
	if (s->n == RS_SNAPSHOTS_MAX)
		return rs_error_create(RS_USAGE, "more than %u snapshots", RS_SNAPSHOTS_MAX);
	s->icounts[s->n++] = icount;
	return NULL;
}

uint64_t rs_snapshots_before(const struct rs_snapshots *s, uint64_t icount)
{
	uint64_t best = UINT64_MAX;

	for (uint32_t i = 0; i < s->n; i++)
		if (s->icounts[i] <= icount && (best == UINT64_MAX || s->icounts[i] > best))
			best = s->icounts[i];
	return best;
}
