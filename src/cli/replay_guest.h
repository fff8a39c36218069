/* SPDX-License-Identifier: BSD-2-Clause */
/* The options of a guest that `replay record` and `replay snapshot` run. */
#ifndef RS_CLI_REPLAY_GUEST_H
#define RS_CLI_REPLAY_GUEST_H

#include <argp.h>

#include "replay/guest.h"

struct replay_guest {
	struct rs_replay_guest of;
	bool quiet;
};
#define REPLAY_GUEST_NOTHING                                                                       \
	{                                                                                          \
		.of.shift = UINT64_MAX                                                             \
	}

/* A child of a command's argp, whose input is a struct replay_guest. */
extern const struct argp replay_guest_argp;

/* Packs the guest's folder, and prints what was packed. verb: the verb in that message. */
struct rs_error *replay_guest_make(struct replay_guest *guest, const char *verb,
				   struct rs_recording *made);

#endif
