/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Images of disks. A recording's disk is raw: QEMU is given it as such. An image in another form
 * holds the disk's sectors elsewhere, and a guest would see the form's own bytes.
 */
#ifndef RS_REPLAY_IMAGE_H
#define RS_REPLAY_IMAGE_H

#include <ringside/error.h>

/* Checks that a file is a raw image of whole sectors. RS_USAGE: it is not, and what it is, with its
 * backing file if it has one. */
struct rs_error *rs_image_check(const char *path);

#endif
