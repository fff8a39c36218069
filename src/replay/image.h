/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Disk images. A recording's disk is raw, and is passed to QEMU as such. An image in another format
 * stores the disk's sectors at other offsets, and a guest would read the format's own bytes.
 */
#ifndef RS_REPLAY_IMAGE_H
#define RS_REPLAY_IMAGE_H

#include <ringside/error.h>

/* Checks that a file is a raw image of whole sectors. If not, returns RS_USAGE with its format, and
 * its backing file if it has one. */
struct rs_error *rs_image_check(const char *path);

#endif
