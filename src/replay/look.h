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

/* The machine that was looked at, while the names are looked up. */
struct rs_replay_look {
	struct rs_session *session;
	struct rs_memory memory;
	struct rs_x86_regs regs;
};

/* Looks for the kernel. Not finding it is no error: guest->why says why not. If it is found, the
 * machine of `look`, which must not move, stays stopped there, to be read. */
struct rs_error *rs_replay_look(const struct rs_recording *recording,
				const struct rs_replay_options *options,
				struct rs_guest_kernel *guest, struct rs_replay_look *look);
/* Ends the machine: nothing of the kernel's memory may be read before the next stop. Also one of
 * zero bytes. */
void rs_replay_look_end(struct rs_replay_look *look, struct rs_guest_kernel *guest);

#endif
