/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A guest's RAM that QEMU and this process map: a file in memory without a name, so that nothing is
 * left behind. QEMU has its descriptor, and may be controlled by its guest. So the file is sealed:
 * nobody can truncate it, and so kill this process with SIGBUS.
 */
#ifndef RS_REPLAY_RAM_H
#define RS_REPLAY_RAM_H

#include <stdint.h>

#include <ringside/error.h>

/* Makes the file, and maps it for reading. The caller closes and unmaps; on failure there is
 * nothing to close. */
struct rs_error *rs_replay_ram_make(uint64_t bytes, int *fd, uint8_t **ram);

#endif
