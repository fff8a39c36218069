/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The guest of a recording or a snapshot: the parts of its machine, and its folder, into which they
 * are copied.
 */
#ifndef RS_REPLAY_GUEST_H
#define RS_REPLAY_GUEST_H

#include <stdbool.h>
#include <stdint.h>
#include <ringside/error.h>

#include "replay/arguments.h"
#include "replay/initramfs.h"
#include "replay/recording.h"

struct rs_replay_guest {
	const char *directory, *kernel, *initrd, *append;
	const char *programs, *exec; /* a folder, and the command of it that the guest runs */
	const char *disk, *cpu;
	const char *date;	    /* start of its clock; NULL: the host's date */
	const char *snapshot;	    /* begin with this one, and with its machine; or NULL */
	uint64_t memory_mib, shift; /* 0, UINT64_MAX: the default */
	char **words;		    /* QEMU's arguments */
	int n_words;
	bool keeps_no_disk; /* a guest with a disk is refused */
	/* Set by rs_replay_guest_make(). */
	struct rs_arguments qemu;   /* the parsed words */
	struct rs_initramfs packed; /* the initramfs of `programs` */
};

/* Creates the folder with the guest's files and its description, and locks it. made is zeroed
 * except for `command`. */
struct rs_error *rs_replay_guest_make(struct rs_replay_guest *guest, struct rs_recording *made);
void rs_replay_guest_deinit(struct rs_replay_guest *guest);

/* Creates the file of the guest's console in its folder, and opens it twice: for QEMU to write, and
 * for this process to read. */
struct rs_error *rs_replay_guest_console(const struct rs_recording *made, int *to, int *from);

#endif
