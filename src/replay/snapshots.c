/* SPDX-License-Identifier: BSD-2-Clause */
/* Creates the qcow2 files that hold a replay's snapshots and disk writes. */
#include "replay/snapshots.h"

#include <endian.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/copy.h"
#include "replay/qcow2.h"

#define DISK_BYTES (UINT64_C(1) << 20)
#define OF_IT	   "a disk for snapshots"

/* ---- disks ---------------------------------------------------------------------------------- */

struct rs_error *rs_snapshots_write_empty(int fd)
{
	return rs_qcow2_write(fd, DISK_BYTES, OF_IT);
}

/* Writes an empty disk of the size of the recording's. QEMU reads the latter where nothing was
 * written. */
static struct rs_error *write_over(int fd, int over)
{
	struct stat st;

	if (fstat(over, &st))
		return rs_error_errno(errno, "the recording's disk");
	return rs_qcow2_write(fd, (uint64_t)st.st_size, "a disk");
}

static struct rs_error *make_states(struct rs_snapshots *s, const struct rs_recording *r,
				    const struct rs_snapshots *like)
{
	struct rs_error *err = rs_nameless_file(OF_IT, &s->fd);

	if (err)
		return err;
	if ((!like || like->fd <= 0) && r->snapshot) {
		s->n = 1; /* the snapshot with which the recording begins, at instruction 0 */
		return rs_copy_file(r->files[RS_RECORDING_BEGIN], s->fd, "its snapshot");
	}
	if (!like || like->fd <= 0)
		return rs_snapshots_write_empty(s->fd);
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
		err = rs_nameless_file("a disk", &s->disk);
	s->over = r->files[RS_RECORDING_DISK];
	if (!err && r->disk)
		err = like && like->disk > 0 ? rs_copy_file(like->disk, s->disk, "a disk")
					     : write_over(s->disk, s->over);
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

/*
 * Adds the disks to the command. QEMU can use a descriptor only in the mode in which it was opened,
 * so QEMU must not first open a disk for reading (auto-read-only). The guest's disk goes through
 * blkreplay, with which QEMU logs when a request completed. The recording's disk, under the written
 * data, is named here, not in the header of the disk above it.
 */
void rs_snapshots_add_to(const struct rs_snapshots *s, struct rs_qemu_command *c)
{
	if (s->fd > 0)
		rs_qemu_command_option(
			c, "-drive",
			"if=none,id=ringside-snapshots,driver=qcow2,auto-read-only=off,"
			"file.driver=file,file.auto-read-only=off,"
			"file.filename=/dev/fdset/%d",
			rs_qemu_command_fdset(c, s->fd));
	if (s->disk <= 0)
		return;
	rs_qemu_command_fdset(c, s->over);
	rs_qemu_command_fdset(c, s->disk);
	rs_qemu_command_option(c, "-drive",
			       "if=none,id=ringside-over,driver=qcow2,auto-read-only=off,"
			       "file.driver=file,file.auto-read-only=off,"
			       "file.filename=/dev/fdset/%d,backing.driver=raw,"
			       "backing.file.driver=file,backing.file.filename=/dev/fdset/%d",
			       s->disk, s->over);
	rs_qemu_command_option(c, "-drive",
			       "if=none,driver=blkreplay,image=ringside-over,id=ringside-disk");
	rs_qemu_command_option(c, "-device", "ide-hd,drive=ringside-disk");
}

/*
 * ---- a guest that was not recorded -------------------------------------------------------------
 * * The state that QEMU saves contains, once, the part "timer/icount" (softmmu/cpu-timers.c): its
 * name preceded by the length, its version, the time by which the clock is ahead of the count, the
 * count; big endian. Clock = ahead + (count << shift).
 */

struct rs_error *rs_snapshots_reset_count(int fd, const char *name, uint32_t shift)
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
	/* A part that crosses a cluster's end may continue elsewhere. */
	if (!at ||
	    (size_t)(at - all) / RS_QCOW2_CLUSTER !=
		    ((size_t)(at - all) + bytes + sizeof(clock) - 1) / RS_QCOW2_CLUSTER ||
	    memmem(at + 1, (size_t)(all + st.st_size - at - 1), part, bytes)) {
		err = rs_error_create(RS_FAILED,
				      "%s: QEMU's count of instructions was not found; take "
				      "another snapshot, a little later",
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

/* ---- the list of snapshots ------------------------------------------------------------------- */

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
