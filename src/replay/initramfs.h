/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A folder of the host's as a guest's root: a cpio archive in the kernel's form ("newc",
 * Documentation/driver-api/early-userspace/buffer-format.rst), with the libraries that its dynamic
 * programs name (libraries.h), and a first process that runs a command and powers off. The same
 * folder gives the same archive: no times, owners or numbers of the host's are in it.
 */
#ifndef RS_REPLAY_INITRAMFS_H
#define RS_REPLAY_INITRAMFS_H

#include <stdint.h>
#include <ringside/error.h>

struct rs_initramfs {
	uint32_t files, libraries; /* that are in it */
	uint64_t bytes;
};

/* What our first process says last, and how: "ringside-init: exit status 3". */
#define RS_INITRAMFS_SAYS "ringside-init: "

/* Writes it to fd. command: words as a shell takes them apart, quotes and all, but no more of a
 * shell; its program is a path in the guest, or is looked for in /bin, /usr/bin, /sbin, /usr/sbin
 * and /. NULL: the folder has an /init of its own. RS_USAGE: something is missing, and what. */
struct rs_error *rs_initramfs_write(const char *folder, const char *command, int fd,
				    struct rs_initramfs *made);

#endif
