/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parses QEMU's arguments. A table in arguments.c lists those that a recording accepts or refuses,
 * with the reasons; an argument that is not in it was not verified to replay.
 */
#ifndef RS_REPLAY_ARGUMENTS_H
#define RS_REPLAY_ARGUMENTS_H

#include <stdbool.h>
#include <stdint.h>
#include <ringside/error.h>

/* The machine that the arguments describe. NULL and 0: not given. Texts point to the words, or to
 * copies that rs_arguments_deinit() frees. */
struct rs_arguments {
	const char *kernel, *initrd, *append, *cpu;
	char *disk; /* path of an image */
	char *date; /* start of the guest's clock: 2026-01-31T12:00:00 */
	uint32_t memory_mib;
};

/* Reads the arguments. Returns RS_USAGE, with the reason, if one is refused. */
struct rs_error *rs_arguments_read(int count, char *const words[], struct rs_arguments *arguments);
void rs_arguments_deinit(struct rs_arguments *arguments); /* accepts all zero */

/* Return whether a text is valid in a recording: a CPU's name with its features, or a date. */
bool rs_arguments_is_cpu(const char *text);
bool rs_arguments_is_date(const char *text);

#endif
