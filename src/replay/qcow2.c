/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes empty qcow2 images and checks the headers of others. */
#include "replay/qcow2.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The header, big endian. Only version 3 has the fields from `incompatible` on. */
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
_Static_assert(offsetof(struct header, incompatible) == 72, "the end of one of version 2");

#define MAGIC		   "QFI\xfb"
#define HEADER_2	   72u
#define HEADER_3	   104u
#define CLUSTER_BITS	   16
#define CLUSTERS	   4 /* size of an empty disk */
#define CLUSTER_BITS_LEAST 9 /* QEMU's MIN_CLUSTER_BITS and MAX_CLUSTER_BITS */
#define CLUSTER_BITS_MOST  21
#define DISK_BYTES_MAX	   (UINT64_C(1) << 50)
#define SNAPSHOTS_MAX	   256u

/* ---- writing --------------------------------------------------------------------------------- */

/* Writes header | table of refcounts | refcounts | L1 table, one cluster each. QEMU appends data
 * after them. */
struct rs_error *rs_qcow2_write(int fd, uint64_t bytes, const char *name)
{
	const uint64_t cluster = RS_QCOW2_CLUSTER, of_l1_entry = cluster / 8 * cluster;
	const struct header header = {
		.magic = { 'Q', 'F', 'I', (char)0xfb },
		.version = htobe32(3),
		.cluster_bits = htobe32(CLUSTER_BITS),
		.size = htobe64(bytes),
		.l1_size = htobe32((uint32_t)((bytes + of_l1_entry - 1) / of_l1_entry)),
		.l1_offset = htobe64(3 * cluster),
		.refcounts_offset = htobe64(cluster),
		.refcounts_clusters = htobe32(1),
		.refcount_order = htobe32(4),
		.header_length = htobe32(sizeof(header)),
	};
	const uint64_t table = htobe64(2 * cluster);
	uint16_t counts[CLUSTERS];

	for (int i = 0; i < CLUSTERS; i++)
		counts[i] = htobe16(1);
	if (ftruncate(fd, (off_t)(CLUSTERS * cluster)) ||
	    pwrite(fd, &header, sizeof(header), 0) != sizeof(header) ||
	    pwrite(fd, &table, sizeof(table), (off_t)cluster) != sizeof(table) ||
	    pwrite(fd, counts, sizeof(counts), (off_t)(2 * cluster)) != sizeof(counts))
		return rs_error_errno(errno, "%s", name);
	return NULL;
}

/* ---- checking -------------------------------------------------------------------------------- */

static struct rs_error *bad(const char *what)
{
	return rs_error_create(RS_DAMAGED, "this qcow2 disk %s; it is not passed to QEMU", what);
}

/* Returns whether a table of n entries is within the file. */
static bool is_inside(uint64_t offset, uint64_t n, uint64_t entry_bytes, uint64_t file_bytes)
{
	return offset <= file_bytes && n <= (file_bytes - offset) / entry_bytes;
}

static struct rs_error *check_layout(const struct header *h, uint64_t file_bytes)
{
	uint32_t bits = be32toh(h->cluster_bits), n_snapshots = be32toh(h->n_snapshots);

	if (bits < CLUSTER_BITS_LEAST || bits > CLUSTER_BITS_MOST)
		return rs_error_create(RS_DAMAGED, "this qcow2 disk has clusters of 2^%u bytes",
				       bits);
	if (!be64toh(h->size) || be64toh(h->size) > DISK_BYTES_MAX)
		return rs_error_create(RS_DAMAGED,
				       "this qcow2 disk has a size of %" PRIu64 " bytes",
				       be64toh(h->size));
	if (n_snapshots > SNAPSHOTS_MAX)
		return rs_error_create(RS_DAMAGED, "this qcow2 disk has %u snapshots, more than %u",
				       n_snapshots, SNAPSHOTS_MAX);
	if (!is_inside(be64toh(h->l1_offset), be32toh(h->l1_size), 8, file_bytes) ||
	    !is_inside(be64toh(h->refcounts_offset), be32toh(h->refcounts_clusters),
		       UINT64_C(1) << bits, file_bytes) ||
	    !is_inside(be64toh(h->snapshots_offset), n_snapshots, 40, file_bytes))
		return bad("has a table beyond the file's end");
	return NULL;
}

struct rs_error *rs_qcow2_check_header(const uint8_t *start, size_t bytes, uint64_t file_bytes)
{
	struct header h = { 0 };
	uint32_t version, length = HEADER_2;

	memcpy(&h, start, bytes < sizeof(h) ? bytes : sizeof(h));
	version = be32toh(h.version);
	if (bytes < HEADER_2 || memcmp(h.magic, MAGIC, sizeof(h.magic)) != 0)
		return rs_error_create(RS_DAMAGED, "this is not a qcow2 disk");
	if (version != 2 && version != 3)
		return rs_error_create(RS_DAMAGED, "this qcow2 disk has version %u, not 2 or 3",
				       version);
	if (version == 3)
		length = be32toh(h.header_length);
	if (version == 3 && (length < HEADER_3 || length > RS_QCOW2_HEADER || length > bytes))
		return rs_error_create(RS_DAMAGED, "this qcow2 disk has a header of %u bytes",
				       length);
	if (h.backing_offset || h.backing_size)
		return bad("names a backing file");
	if (h.crypt)
		return bad("is encrypted");
	/* Dirty, corrupt, an external data file, or unknown bits. The disk of a properly closed
	 * snapshot has none of these. */
	if (version == 3 && h.incompatible)
		return rs_error_create(RS_DAMAGED,
				       "this qcow2 disk has the incompatible features 0x%" PRIx64
				       " (an external data file is 0x4); it is not passed to QEMU",
				       be64toh(h.incompatible));
	return check_layout(&h, file_bytes);
}

struct rs_error *rs_qcow2_check(int fd, const char *name)
{
	uint8_t start[RS_QCOW2_HEADER];
	struct stat st;
	ssize_t n = pread(fd, start, sizeof(start), 0);

	if (n < 0 || fstat(fd, &st))
		return rs_error_errno(errno, "%s", name);
	return rs_error_wrap(rs_qcow2_check_header(start, (size_t)n, (uint64_t)st.st_size), "%s",
			     name);
}
