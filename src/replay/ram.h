/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A guest's RAM, which QEMU and this process map: an unnamed file in memory, so that nothing is
 * left behind. QEMU has its descriptor, and its guest may control QEMU, so the file is sealed: no
 * process can truncate it, and thereby kill this one with SIGBUS.
 */
#ifndef RS_REPLAY_RAM_H
#define RS_REPLAY_RAM_H

#include <stdint.h>

#include <ringside/error.h>

#include "introspect/memory.h"

/* Creates the file, and maps it for reading. The caller closes and unmaps it; on failure there is
 * nothing to close. */
struct rs_error *rs_replay_ram_make(uint64_t bytes, int *fd, uint8_t **ram);

/* Sets a machine's RAM, all of it below 4 GiB (recording.h), as that of a `pc` is: with a hole for
 * devices below 1 MiB. */
void rs_replay_ram_set(struct rs_memory *memory, const uint8_t *ram, uint64_t bytes);

#endif
