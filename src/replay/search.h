/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Searches a recording for the kernel: replays it until the guest's Linux kernel is in memory, so
 * that a program's probes and types can use the kernel's names before the replay with them begins.
 * The kernel has the same addresses in each replay, also with KASLR, so the probes are set from the
 * first instruction on.
 */
#ifndef RS_REPLAY_SEARCH_H
#define RS_REPLAY_SEARCH_H

#include "replay/guest_kernel.h"
#include "replay/source.h"

/* Limit of the guest time that is searched. */
#define RS_SEARCH_NS_MAX UINT64_C(60000000000)

/* The machine that was searched, while names are resolved. */
struct rs_replay_search {
	struct rs_session *session;
	struct rs_memory memory;
	struct rs_x86_regs regs;
};

/* Searches for the kernel. If it is not found, sets guest->why, and returns no error. If it is
 * found, the machine of `search`, which must not move, remains stopped there for reading. */
struct rs_error *rs_replay_search(const struct rs_recording *recording,
				  const struct rs_replay_options *options,
				  struct rs_guest_kernel *guest, struct rs_replay_search *search);
/* Continues the search, and the replay, until the guest has loaded a kernel module, or to the
 * recording's end. The machine remains stopped for reading, before the module's first function
 * runs. */
struct rs_error *rs_replay_search_module(struct rs_replay_search *search,
					 struct rs_guest_kernel *guest, const char *name,
					 const volatile bool *stop);
/* Ends the machine. The kernel's memory must not be read before the next stop. Accepts all zero. */
void rs_replay_search_end(struct rs_replay_search *search, struct rs_guest_kernel *guest);

#endif
