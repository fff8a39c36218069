/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Creates the guest of a recording or a snapshot: copies the parts of its machine into its folder.
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
	/* a folder of programs, and the command in it that the guest runs */
	const char *programs, *exec;
	const char *disk, *cpu;
	const char *date;	    /* start of its clock; NULL: the host's date */
	const char *snapshot;	    /* snapshot with which to begin, with its machine; or NULL */
	uint64_t memory_mib, shift; /* 0 and UINT64_MAX: the default */
	char **words;		    /* QEMU's arguments */
	int n_words;
	bool keeps_no_disk; /* a guest with a disk is refused */
	/* Set by rs_replay_guest_make(). */
	struct rs_arguments qemu;   /* the parsed words */
	struct rs_initramfs packed; /* the initramfs of `programs` */
};

/* Creates the folder with the guest's files and its description, and locks it. *made must be all
 * zero except for `command`. */
struct rs_error *rs_replay_guest_make(struct rs_replay_guest *guest, struct rs_recording *made);
void rs_replay_guest_deinit(struct rs_replay_guest *guest);

/* Creates the file of the guest's console in its folder, and opens it twice: for writing by QEMU,
 * and for reading by this process. */
struct rs_error *rs_replay_guest_console(const struct rs_recording *made, int *to, int *from);

#endif
