/* SPDX-License-Identifier: BSD-2-Clause */
/* A profile of a running guest: text, or one object of JSON. */
#ifndef RS_VIEW_GUEST_PROFILE_H
#define RS_VIEW_GUEST_PROFILE_H

#include "analyze/guest_profile.h"
#include "view/table.h"

struct rs_guest_profile_show {
	int fd;
	bool json;
	bool stall;   /* each vCPU, with the place where it spins or is halted */
	uint32_t top; /* rows, or with stall, rows of each vCPU; 0: all */
	const char *vm;
	int pid;
	const char *kernel; /* NULL: not found */
	uint32_t n_vcpus;
	uint64_t interval_ns, duration_ns;
	struct rs_guest_sampler_counts counts;
};

struct rs_error *rs_guest_profile_print(const struct rs_guest_profile_show *show,
					const struct rs_guest_profile *p);

#endif
