/* SPDX-License-Identifier: BSD-2-Clause */
#include "replay/snapshots.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "replay/recording.h"

/* ---- an empty disk -----------------------------------------------------------------------------
 *
 * QEMU's docs/interop/qcow2.txt, version 3: header | table of refcounts | refcounts | L1 table, a
 * cluster each. Nothing of the disk itself is ever written: snapshots lie behind it.
 */

#define CLUSTER_BITS 16
#define CLUSTER	     (UINT64_C(1) << CLUSTER_BITS)
#define CLUSTERS     4
#define DISK_BYTES   (UINT64_C(1) << 20)

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

static struct rs_error *write_disk(int fd)
{
	const struct header header = {
		.magic = { 'Q', 'F', 'I', (char)0xfb },
		.version = htobe32(3),
		.cluster_bits = htobe32(CLUSTER_BITS),
		.size = htobe64(DISK_BYTES),
		.l1_size = htobe32(1),
		.l1_offset = htobe64(3 * CLUSTER),
		.refcounts_offset = htobe64(CLUSTER),
		.refcounts_clusters = htobe32(1),
		.refcount_order = htobe32(4),
		.header_length = htobe32(sizeof(header)),
	};
	const uint64_t table = htobe64(2 * CLUSTER);
	uint16_t counts[CLUSTERS];

	for (int i = 0; i < CLUSTERS; i++)
		counts[i] = htobe16(1);
	if (ftruncate(fd, CLUSTERS * CLUSTER) ||
	    pwrite(fd, &header, sizeof(header), 0) != sizeof(header) ||
	    pwrite(fd, &table, sizeof(table), CLUSTER) != sizeof(table) ||
	    pwrite(fd, counts, sizeof(counts), 2 * CLUSTER) != sizeof(counts))
		return rs_error_errno(errno, "a disk for snapshots in " P_tmpdir);
	return NULL;
}

/* ---- files without names ----------------------------------------------------------------------
 */

static struct rs_error *copy_file(int from, int to)
{
	off_t at = 0, there = 0;
	struct stat st;

	if (fstat(from, &st))
		return rs_error_errno(errno, "snapshots");
	while (at < st.st_size) {
		ssize_t n = copy_file_range(from, &at, to, &there, (size_t)(st.st_size - at), 0);

		if (n <= 0)
			return rs_error_errno(n ? errno : EIO, "copying snapshots");
	}
	return NULL;
}

struct rs_error *rs_snapshots_make(struct rs_snapshots *s, const struct rs_snapshots *like)
{
	struct rs_error *err;

	*s = (struct rs_snapshots){ 0 };
	/* No O_CLOEXEC: QEMU knows it by its number. */
	s->fd = open(P_tmpdir, O_TMPFILE | O_RDWR, 0600);
	if (s->fd < 0)
		s->fd = memfd_create("snapshots", 0); /* not every file system can */
	if (s->fd < 0)
		return rs_error_errno(errno, "a disk for snapshots in " P_tmpdir);
	if (!like || like->fd <= 0)
		return write_disk(s->fd);
	err = copy_file(like->fd, s->fd);
	if (!err) {
		memcpy(s->icounts, like->icounts, sizeof(s->icounts));
		s->n = like->n;
	}
	return err;
}

void rs_snapshots_deinit(struct rs_snapshots *s)
{
	if (s->fd > 0)
		close(s->fd);
	*s = (struct rs_snapshots){ 0 };
}

struct rs_error *rs_snapshots_argv(const struct rs_snapshots *s, char **argv)
{
	char drive[96];

	snprintf(drive, sizeof(drive),
		 "if=none,id=ringside-snapshots,format=qcow2,file=/proc/self/fd/%d", s->fd);
	return rs_recording_argv_add(argv, "-drive", drive);
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
