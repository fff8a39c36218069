/* SPDX-License-Identifier: BSD-2-Clause */
/* Creates the folder of a recorded guest: checks and copies the files of its machine. */
#include "replay/guest.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/copy.h"
#include "replay/image.h"
#include "replay/kernel.h"
#include "replay/material.h"
#include "replay/qemu.h"

#define MEMORY_MIB   256
#define SHIFT	     1
#define KERNEL_NEEDS (96u << 20) /* RAM needed beside an initramfs and its unpacked files */

/* ---- options and QEMU's arguments --------------------------------------------------------- */

/* Sets an option from QEMU's arguments. An option that is given in both ways is an error. */
static struct rs_error *merge_word(const char **own, const char *words, const char *option)
{
	if (*own && words)
		return rs_error_create(RS_USAGE, "%s is given twice, in QEMU's arguments too",
				       option);
	if (words)
		*own = words;
	return NULL;
}

/* Returns whether the machine's firmware boots its disk. If QEMU's arguments describe the machine,
 * no kernel is added unless they or --kernel name one. */
static bool boots_firmware(const struct rs_replay_guest *g)
{
	return g->n_words && !g->kernel;
}

/* Refuses a machine without a kernel that has nothing else to boot, or that has an initramfs or
 * arguments, which only a kernel can use. */
static struct rs_error *check_firmware(const struct rs_replay_guest *g)
{
	const char *with = g->programs ? "--guest-dir"
			   : g->initrd ? "an initramfs"
			   : g->append ? "-append"
				       : NULL;

	if (!boots_firmware(g))
		return NULL;
	if (with)
		return rs_error_create(RS_USAGE,
				       "%s is for a kernel, but QEMU's arguments after -- name "
				       "none: add -kernel FILE",
				       with);
	if (!g->disk)
		return rs_error_create(RS_USAGE,
				       "QEMU's arguments after -- name nothing to boot: add "
				       "-kernel FILE, or -hda IMAGE that the firmware boots");
	return NULL;
}

static struct rs_error *merge_words(struct rs_replay_guest *g)
{
	const struct rs_arguments *q = &g->qemu;
	struct rs_error *err = rs_arguments_read(g->n_words, g->words, &g->qemu);

	if (!err)
		err = merge_word(&g->kernel, q->kernel, "--kernel");
	if (!err)
		err = merge_word(&g->initrd, q->initrd, "--initrd");
	if (!err)
		err = merge_word(&g->append, q->append, "--append");
	if (!err)
		err = merge_word(&g->disk, q->disk, "--disk");
	if (!err)
		err = merge_word(&g->date, q->date, "--date");
	if (!err && g->memory_mib && q->memory_mib)
		err = rs_error_create(RS_USAGE, "--memory is given twice, in QEMU's arguments too");
	if (!err && g->programs && q->initrd)
		err = rs_error_create(RS_USAGE, "--guest-dir creates an initramfs: omit -initrd");
	if (!err)
		err = check_firmware(g);
	if (!err && g->disk && g->keeps_no_disk)
		err = rs_error_create(RS_USAGE,
				      "a guest with a disk cannot be kept: omit the disk");
	if (!err && !g->memory_mib)
		g->memory_mib = q->memory_mib ? q->memory_mib : MEMORY_MIB;
	g->cpu = q->cpu;
	if (g->shift == UINT64_MAX)
		g->shift = SHIFT;
	return err;
}

/* ---- the folder --------------------------------------------------------------------------- */

struct rs_error *rs_replay_guest_console(const struct rs_recording *made, int *to, int *from)
{
	struct rs_error *err =
		rs_folder_fd(&made->folder, "console", O_WRONLY | O_CREAT | O_EXCL, to);

	return err ? err : rs_folder_fd(&made->folder, "console", O_RDONLY, from);
}

/* Copies an open file into the folder. */
static struct rs_error *copy_fd(int from, const char *source, const struct rs_folder *folder,
				const char *name)
{
	int to = -1;
	struct rs_error *err = rs_folder_fd(folder, name, O_RDWR | O_CREAT | O_EXCL, &to);

	if (!err)
		err = rs_copy_file(from, to, source);
	if (to >= 0 && close(to) && !err)
		err = rs_error_errno(errno, "%s/%s", folder->path, name);
	return err;
}

static struct rs_error *copy(const char *source, const struct rs_folder *folder, const char *name)
{
	int from = open(source, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct rs_error *err;
	struct stat st;

	if (from < 0)
		return rs_error_errno(errno, "%s", source);
	if (fstat(from, &st) || !S_ISREG(st.st_mode))
		err = rs_error_create(RS_USAGE, "%s is not a regular file", source);
	else
		err = copy_fd(from, source, folder, name);
	close(from);
	return err;
}

/* Packs the folder of programs as an initramfs. */
static struct rs_error *pack(struct rs_replay_guest *a, int fd)
{
	struct rs_error *err = rs_initramfs_write(a->programs, a->exec, fd, &a->packed);
	uint64_t needs = 2 * a->packed.bytes + KERNEL_NEEDS;

	if (err || needs <= a->memory_mib << 20)
		return err;
	return rs_error_create(RS_USAGE,
			       "%s becomes an initramfs of %" PRIu64
			       " MiB: give the guest --memory %" PRIu64,
			       a->programs, a->packed.bytes >> 20, (needs >> 20) + 1);
}

/* Packs the initramfs before the recording's folder is created, so that its errors come first. */
static struct rs_error *pack_first(struct rs_replay_guest *a, int *fd)
{
	struct stat st;

	if (!a->programs)
		return NULL;
	if (stat(a->programs, &st) || !S_ISDIR(st.st_mode))
		return rs_error_create(RS_USAGE, "%s is not a folder", a->programs);
	*fd = memfd_create("initramfs", MFD_CLOEXEC);
	if (*fd < 0)
		return rs_error_errno(errno, "memory for an initramfs");
	return pack(a, *fd);
}

static struct rs_error *readable(const char *path)
{
	return path && access(path, R_OK) ? rs_error_errno(errno, "%s", path) : NULL;
}

/* Finds the kernel to copy: that of --kernel, or the newest of this machine. */
static struct rs_error *find_kernel(const struct rs_replay_guest *a, char **path)
{
	struct rs_error *err = NULL;

	*path = NULL;
	if (boots_firmware(a))
		return NULL;
	if (!a->kernel)
		err = rs_kernel_find(path);
	else if (!(*path = strdup(a->kernel)))
		err = rs_error_no_memory();
	return err ? err : rs_kernel_check(*path);
}

static struct rs_error *copy_guest(struct rs_replay_guest *a, struct rs_folder *folder)
{
	char *kernel;
	int packed = -1;
	struct rs_error *err = find_kernel(a, &kernel);

	if (!err)
		err = readable(a->initrd);
	if (!err && a->disk)
		err = rs_image_check(a->disk);
	if (!err)
		err = pack_first(a, &packed);
	if (!err)
		err = rs_folder_make(a->directory, folder);
	if (!err && kernel)
		err = copy(kernel, folder, "kernel");
	if (!err && a->initrd)
		err = copy(a->initrd, folder, "initrd");
	if (!err && packed >= 0)
		err = copy_fd(packed, "the initramfs", folder, "initrd");
	if (!err && a->disk)
		err = copy(a->disk, folder, "disk");
	if (packed >= 0)
		close(packed);
	free(kernel);
	return err;
}

/* ---- the description ---------------------------------------------------------------------- */

/* Returns the host's date, at which the guest's clock starts, or NULL if there is no memory. */
static char *date_now(void)
{
	time_t now = time(NULL);
	struct tm tm;
	char text[32];

	gmtime_r(&now, &tm);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	return strdup(text);
}

static struct rs_error *describe(const struct rs_replay_guest *a, struct rs_recording *made)
{
	made->memory_mib = (uint32_t)a->memory_mib;
	made->shift = (uint32_t)a->shift;
	made->firmware = boots_firmware(a);
	made->initrd = a->initrd || a->programs;
	made->disk = a->disk;
	made->sleeps = made->disk;
	made->cpu = a->cpu ? strdup(a->cpu) : NULL;
	made->date = a->date ? strdup(a->date) : date_now();
	if (asprintf(&made->append, "%s %s%s%s", rs_recording_append, rs_recording_append_places,
		     a->append ? " " : "", a->append ? a->append : "") < 0)
		made->append = NULL;
	return (a->cpu && !made->cpu) || !made->date || !made->append ? rs_error_no_memory() : NULL;
}

/* Copies a snapshot's files, and the description of its machine. */
static struct rs_error *begin_with(const struct rs_replay_guest *a, struct rs_recording *made)
{
	static const int parts[] = { RS_RECORDING_KERNEL, RS_RECORDING_INITRD, RS_RECORDING_BEGIN };
	struct rs_recording from;
	struct rs_error *err = rs_recording_read(a->snapshot, &from);

	if (err)
		return err;
	err = rs_recording_check_snapshot(&from);
	if (!err)
		err = rs_folder_make(a->directory, &made->folder);
	for (size_t i = 0; !err && i < sizeof(parts) / sizeof(parts[0]); i++) {
		int file = parts[i];

		if (from.files[file] > 0)
			err = copy_fd(from.files[file], a->snapshot, &made->folder,
				      rs_recording_files[file]);
	}
	if (!err) {
		made->memory_mib = from.memory_mib;
		made->shift = from.shift;
		made->firmware = from.firmware;
		made->initrd = from.initrd;
		made->snapshot = true;
		made->sleeps = from.sleeps;
		made->vapic = from.vapic;
		made->cpu = from.cpu;
		made->date = from.date;
		made->append = from.append;
		from.cpu = from.date = from.append = NULL; /* `made` owns it */
	}
	rs_recording_deinit(&from);
	return err;
}

struct rs_error *rs_replay_guest_make(struct rs_replay_guest *a, struct rs_recording *made)
{
	char version[128];
	struct rs_error *err = rs_qemu_version(version, sizeof(version));

	if (!err)
		err = merge_words(a);
	if (err)
		return err;
	made->qemu_version = strdup(version);
	if (!made->command || !made->qemu_version)
		return rs_error_no_memory();
	err = a->snapshot ? begin_with(a, made) : describe(a, made);
	if (!err && !a->snapshot)
		err = copy_guest(a, &made->folder);
	if (!err)
		err = rs_recording_lock(made);
	return err ? err : rs_material_open(made);
}

void rs_replay_guest_deinit(struct rs_replay_guest *a)
{
	rs_arguments_deinit(&a->qemu);
}
