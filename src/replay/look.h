/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A first look at a recording: replays it to where the guest's Linux kernel is in memory, so that a
 * program's probes and types can have the kernel's names before the replay with them begins. A
 * replay has the kernel at the same addresses each time, also with KASLR, so the probes are set
 * from its first instruction on.
 */
#ifndef RS_REPLAY_LOOK_H
#define RS_REPLAY_LOOK_H

#include "replay/guest_kernel.h"
#include "replay/source.h"

/* How much guest time is looked at. */
#define RS_LOOK_NS_MAX UINT64_C(60000000000)

/* Looks for the kernel. Not finding it is no error: guest->why says why not. */
struct rs_error *rs_replay_look(const struct rs_recording *recording,
				const struct rs_replay_options *options,
				struct rs_guest_kernel *guest);

#endif
