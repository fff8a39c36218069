/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel that a guest boots. QEMU's -kernel (hw/i386/x86.c, x86_load_linux()) takes a file of
 * any content for an old Linux kernel and jumps into it, so the file is checked before.
 */
#ifndef RS_REPLAY_KERNEL_H
#define RS_REPLAY_KERNEL_H

#include <ringside/error.h>

/* Checks that the file is a kernel which QEMU boots: Linux's bzImage, a multiboot image, or an ELF
 * file of x86 with an entry for PVH. RS_USAGE: it is none; the text says what the file is. */
struct rs_error *rs_kernel_check(const char *path);

/* Looks up the newest kernel of this machine, by the version in its name, in /boot. The caller
 * frees *path. RS_ABSENT: there is none. */
struct rs_error *rs_kernel_find(char **path);

#endif
