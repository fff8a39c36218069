/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes a stopped machine's core. gdb, with the guest's binary, and core.h read it. */
#ifndef RS_INTROSPECT_DUMP_H
#define RS_INTROSPECT_DUMP_H

#include <ringside/error.h>
#include <ringside/registers.h>

#include "introspect/memory.h"

struct rs_dump {
	const struct rs_ram *ram; /* mapped; nothing may write it meanwhile */
	uint32_t n_ram;
	const struct rs_x86_regs *vcpus;
	uint32_t n_vcpus;
};

/*
 * Writes an ELF core to an empty file: per vCPU a thread, numbered from 1, and its control
 * registers in QEMU's note; a segment for each piece of RAM, whose virtual address is the
 * guest-physical one, as in a guest whose memory is identity-mapped. Pages of zeros become holes.
 * On an error, such as a full disk, the file is truncated to zero bytes.
 */
struct rs_error *rs_dump_write(const struct rs_dump *dump, int fd, const char *path);

#endif
