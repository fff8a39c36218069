/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A guest's RAM, which QEMU and this process map: an unnamed file in memory, so that nothing
 * remains. QEMU has its descriptor, and a hostile guest may control QEMU. So the file is sealed: no
 * process can truncate it, which would kill this one with SIGBUS.
 */
#ifndef RS_REPLAY_RAM_H
#define RS_REPLAY_RAM_H

#include <stdint.h>

#include <ringside/error.h>

#include "introspect/memory.h"

/* Creates the file, and maps it for reading. The caller closes and unmaps it; on failure there is
 * nothing to close. */
struct rs_error *rs_replay_ram_make(uint64_t bytes, int *fd, uint8_t **ram);

/* Sets a machine's RAM, all of it below 4 GiB (recording.h), with the hole for devices below 1 MiB
 * of a `pc`. */
void rs_replay_ram_set(struct rs_memory *memory, const uint8_t *ram, uint64_t bytes);

#endif
