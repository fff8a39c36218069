/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packs a folder of the host as a guest's root: a cpio archive in the kernel's format ("newc",
 * Documentation/driver-api/early-userspace/buffer-format.rst), with the libraries that its dynamic
 * programs name (libraries.h), and a first process that runs a command and powers off. The same
 * folder gives the same archive: it contains no times, owners or numbers of the host.
 */
#ifndef RS_REPLAY_INITRAMFS_H
#define RS_REPLAY_INITRAMFS_H

#include <stdint.h>
#include <ringside/error.h>

struct rs_initramfs {
	uint32_t files, libraries; /* inode number in the archive */
	uint64_t bytes;
};

/* The prefix of the first process's last line, such as "ringside-init: exit status 3". */
#define RS_INITRAMFS_SAYS "ringside-init: "

/* Writes the archive to fd. command is split into words with a shell's quotes, but no other shell
 * syntax; its program is a path in the guest, or is searched in /bin, /usr/bin, /sbin, /usr/sbin
 * and /. If it is NULL, the folder must have its own /init. Returns RS_USAGE if a file is
 * missing. */
struct rs_error *rs_initramfs_write(const char *folder, const char *command, int fd,
				    struct rs_initramfs *made);

#endif
