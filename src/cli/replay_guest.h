/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The guest of `replay record` and `replay snapshot`: its options, and its folder, into which all
 * that makes its machine is copied.
 */
#ifndef RS_CLI_REPLAY_GUEST_H
#define RS_CLI_REPLAY_GUEST_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>
#include <ringside/error.h>

#include "replay/arguments.h"
#include "replay/recording.h"

struct replay_guest {
	const char *directory, *kernel, *initrd, *append;
	const char *programs, *exec; /* a folder, and what is run of it */
	const char *disk, *cpu;
	const char *date;	    /* where its clock begins; NULL: the host's */
	const char *snapshot;	    /* begin with this one, and with its machine */
	uint64_t memory_mib, shift; /* 0, UINT64_MAX: not said */
	char **words;		    /* of QEMU's arguments */
	int n_words;
	struct rs_arguments qemu; /* what those say */
	bool keeps_no_disk;	  /* a guest with a disk is refused */
	bool quiet;
};
#define REPLAY_GUEST_NOTHING                                                                       \
	{                                                                                          \
		.shift = UINT64_MAX                                                                \
	}

/* A child of a command's argp, whose input is a struct replay_guest. */
extern const struct argp replay_guest_argp;

/* Makes the folder, with what the guest is made of, and what describes it; takes the lock of it.
 * made: zero bytes but for `command`. */
struct rs_error *replay_guest_make(struct replay_guest *guest, struct rs_recording *made);
void replay_guest_deinit(struct replay_guest *guest);

/* Makes the file of the guest's console in its folder, and opens it twice: for QEMU to write, and
 * for us to read. */
struct rs_error *replay_guest_console(const struct rs_recording *made, int *to, int *from);

#endif
