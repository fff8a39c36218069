/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens and checks the files of a recording, and passes them to QEMU. */
#include "replay/material.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/evp.h>

#include "confine/confine.h"
#include "base/copy.h"
#include "base/hex.h"
#include "base/modes.h"
#include "replay/qcow2.h"
#include "replay/rr_log.h"

#define STATES (UINT64_C(64) << 20) /* states of devices in a snapshot, in addition to RAM */

/* ---- hashes --------------------------------------------------------------------------------- */

/* Computes the SHA-256 of a whole file, in hex. The caller frees *hash. */
static struct rs_error *hash_of(int fd, const char *name, char **hash)
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	struct rs_error *err = NULL;
	unsigned int n = 0;
	char part[65536], *text;
	ssize_t got = 0;
	off_t at = 0;
	EVP_MD_CTX *md = EVP_MD_CTX_new();
	bool good = md && EVP_DigestInit_ex(md, EVP_sha256(), NULL);

	while (good && (got = pread(fd, part, sizeof(part), at)) > 0) {
		good = EVP_DigestUpdate(md, part, (size_t)got);
		at += got;
	}
	if (got < 0)
		err = rs_error_errno(errno, "%s", name);
	else if (!good || !EVP_DigestFinal_ex(md, digest, &n))
		err = rs_error_create(RS_FAILED, "SHA-256 failed");
	EVP_MD_CTX_free(md);
	text = err ? NULL : calloc(2, n + 1);
	if (!text)
		return err ? err : rs_error_no_memory();
	rs_hex_write(text, digest, n);
	*hash = text;
	return NULL;
}

struct rs_error *rs_material_describe(struct rs_recording *r, int file, int fd)
{
	char *hash = NULL;
	struct stat st;
	struct rs_error *err = hash_of(fd, rs_recording_files[file], &hash);

	if (!err && fstat(fd, &st))
		err = rs_error_errno(errno, "%s", rs_recording_files[file]);
	if (err) {
		free(hash);
		return err;
	}
	free(r->hashes[file]);
	r->hashes[file] = hash;
	r->sizes[file] = (uint64_t)st.st_size;
	return NULL;
}

/* ---- checks --------------------------------------------------------------------------------- */

/* Checks a file's size before it is read: a sparse file may have any length. */
static struct rs_error *check_size(const struct rs_recording *r, int file, int fd)
{
	const uint64_t ram = (uint64_t)r->memory_mib << 20;
	const uint64_t most[RS_RECORDING_FILES] = {
		[RS_RECORDING_KERNEL] = ram,
		[RS_RECORDING_INITRD] = ram,
		[RS_RECORDING_LOG] = RS_RR_BYTES_MAX,
		[RS_RECORDING_DISK] = INT64_MAX,
		[RS_RECORDING_BEGIN] = 2 * ram + STATES,
	};
	const char *name = rs_recording_files[file];
	struct stat st;

	if (fstat(fd, &st))
		return rs_error_errno(errno, "%s/%s", r->folder.path, name);
	if (r->sizes[file] && (file != RS_RECORDING_LOG || rs_recording_is_whole(r)) &&
	    r->sizes[file] != (uint64_t)st.st_size)
		return rs_error_create(
			RS_DAMAGED,
			"%s/%s has changed since it was recorded: it has %lld bytes, and had "
			"%" PRIu64,
			r->folder.path, name, (long long)st.st_size, r->sizes[file]);
	if ((uint64_t)st.st_size > most[file])
		return rs_error_create(RS_DAMAGED,
				       "%s/%s has %lld bytes, more than the %" PRIu64 " allowed",
				       r->folder.path, name, (long long)st.st_size, most[file]);
	return NULL;
}

/* Checks a file's hash against that in the recording, or sets it if the recording has none. */
static struct rs_error *check_hash(struct rs_recording *r, int file, int fd)
{
	const char *name = rs_recording_files[file];
	char *hash = NULL;
	struct rs_error *err;

	if (!r->hashes[file])
		return rs_material_describe(r, file, fd);
	err = hash_of(fd, name, &hash);
	if (!err && strcmp(hash, r->hashes[file]) != 0)
		err = rs_error_create(
			RS_DAMAGED, "%s/%s has changed since it was recorded: its SHA-256 differs",
			r->folder.path, name);
	free(hash);
	return err;
}

/* ---- files ---------------------------------------------------------------------------------- */

static void file_store(struct rs_recording *r, int file, int fd)
{
	if (r->files[file] > 0)
		close(r->files[file]);
	r->files[file] = fd;
}

/* Makes a copy that no other process can change, and that QEMU can read. */
static struct rs_error *copy(int from, const char *name, int *fd)
{
	struct rs_error *err = rs_nameless_file(name, fd);

	if (!err)
		err = rs_copy_file(from, *fd, name);
	if (!err && rs_confine_give(*fd))
		err = rs_error_errno(errno, "%s: giving its copy to QEMU's user", name);
	return err;
}

static struct rs_error *open_one(struct rs_recording *r, int file)
{
	const char *name = rs_recording_files[file];
	int from = -1, fd = -1;
	struct rs_error *err = rs_folder_fd(&r->folder, name, O_RDONLY, &from);

	if (err)
		return err;
	err = check_size(r, file, from);
	if (file == RS_RECORDING_DISK)
		fd = from;
	else if (!err)
		err = copy(from, name, &fd);
	if (fd != from)
		close(from);
	if (!err && file == RS_RECORDING_BEGIN)
		err = rs_error_wrap(rs_qcow2_check(fd, name), "%s", r->folder.path);
	if (!err && (file != RS_RECORDING_LOG || rs_recording_is_whole(r)))
		err = check_hash(r, file, fd);
	if (!err)
		file_store(r, file, fd);
	else if (fd >= 0)
		close(fd);
	return err;
}

struct rs_error *rs_material_open(struct rs_recording *r)
{
	const bool there[RS_RECORDING_FILES] = {
		[RS_RECORDING_KERNEL] = !r->firmware,
		[RS_RECORDING_INITRD] = r->initrd,
		[RS_RECORDING_DISK] = r->disk,
		[RS_RECORDING_BEGIN] = r->snapshot,
	};
	struct rs_error *err = NULL;

	for (int i = 0; !err && i < RS_RECORDING_FILES; i++)
		if (there[i])
			err = open_one(r, i);
	return err;
}

struct rs_error *rs_material_open_log(struct rs_recording *r)
{
	return open_one(r, RS_RECORDING_LOG);
}

struct rs_error *rs_material_make_log(struct rs_recording *r)
{
	int fd = -1;
	struct rs_error *err = rs_folder_fd(&r->folder, rs_recording_files[RS_RECORDING_LOG],
					    O_RDWR | O_CREAT | O_EXCL, &fd);

	if (!err && rs_confine_give(fd))
		err = rs_error_errno(errno, "%s/log: giving it to QEMU's user", r->folder.path);
	if (!err)
		file_store(r, RS_RECORDING_LOG, fd);
	else if (fd >= 0)
		close(fd);
	return err;
}

struct rs_error *rs_material_end_log(struct rs_recording *r, int fd)
{
	struct stat folder;

	/* A recording that belongs to another user is not taken over. */
	if (!fstat(r->folder.fd, &folder) && folder.st_uid == geteuid() && rs_confine_reclaim(fd))
		return rs_error_errno(errno, "%s/log: taking it back from QEMU's user",
				      r->folder.path);
	return rs_material_describe(r, RS_RECORDING_LOG, fd);
}

struct rs_error *rs_material_console(const char *path, int *fd)
{
	int made = rs_modes_open(path, O_WRONLY | O_TRUNC);

	if (made < 0)
		return rs_error_errno(errno, "%s: cannot open it for the console", path);
	*fd = made;
	return NULL;
}

void rs_material_close(struct rs_recording *r)
{
	for (int i = 0; i < RS_RECORDING_FILES; i++)
		file_store(r, i, 0);
}
