/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * QEMU's arguments, as its users have them: which of them a recording can have, and why others
 * can't. One table (arguments.c) says it; what is not in it was not shown to replay.
 */
#ifndef RS_REPLAY_ARGUMENTS_H
#define RS_REPLAY_ARGUMENTS_H

#include <stdbool.h>
#include <stdint.h>
#include <ringside/error.h>

/* What they say of the machine; NULL and 0: nothing. Texts are those of the words, or parts that
 * the caller frees by rs_arguments_deinit(). */
struct rs_arguments {
	const char *kernel, *initrd, *append, *cpu;
	char *disk; /* an image's file */
	char *date; /* where the guest's clock begins: 2026-01-31T12:00:00 */
	uint32_t memory_mib;
};

/* RS_USAGE: one can't be, and why. */
struct rs_error *rs_arguments_read(int count, char *const words[], struct rs_arguments *arguments);
void rs_arguments_deinit(struct rs_arguments *arguments); /* also one of zero bytes */

/* Whether these may stand in a recording: a CPU's name with its features, a date. */
bool rs_arguments_is_cpu(const char *text);
bool rs_arguments_is_date(const char *text);

#endif
