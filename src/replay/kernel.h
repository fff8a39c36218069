/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checks the kernel that a guest boots. QEMU's -kernel (hw/i386/x86.c, x86_load_linux()) treats a
 * file with any content as an old Linux kernel and jumps into it, so the file is checked first.
 */
#ifndef RS_REPLAY_KERNEL_H
#define RS_REPLAY_KERNEL_H

#include <ringside/error.h>

/* Checks that the file is a kernel that QEMU boots: Linux's bzImage, a multiboot image, or an ELF
 * file for x86 with an entry for PVH. Returns RS_USAGE, with the kind of the file, if it is not. */
struct rs_error *rs_kernel_check(const char *path);

/* Finds the newest kernel of this machine in /boot, by the version in its name. */
struct rs_error *rs_kernel_find(char **path);

#endif
