/* SPDX-License-Identifier: BSD-2-Clause */
/* The stacks that `ringside inspect` prints. */
#ifndef RS_CLI_INSPECT_STACKS_H
#define RS_CLI_INSPECT_STACKS_H

#include "insight/stack.h"
#include "base/json.h"

struct rs_inspect_stacks {
	struct rs_linux *kernel;
	const struct rs_linux_vcpu *vcpus;
	uint32_t n_vcpus;
	const char *symfs; /* or NULL */
	int pid;	   /* only this process; 0: all */
	bool is_json;
};

/* Prints the stack of each task. Sets *incomplete, unless it is set, to the first reason why a
 * stack lacks frames. */
struct rs_error *rs_inspect_put_stacks(struct rs_json *json, const struct rs_inspect_stacks *what,
				       struct rs_error **incomplete);

#endif
