/* SPDX-License-Identifier: BSD-2-Clause */
/* The C part of the guest memory_rust: what the host calls. */
#include <ringside/kit.h>

#include <ringside/memory.h>

uint64_t memory_rust(void); /* memory_rust.rs */

static uint64_t run(const struct rs_kit_args *args)
{
	(void)args;
	rs_memory_start(&(struct rs_memory_options){ .stacks = RS_STACKS_FRAMES });
	return memory_rust();
}
RS_KIT_EXPORT_AS("main", run, 0, "allocations in Rust; the sum of their contents");
