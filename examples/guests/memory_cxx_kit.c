/* SPDX-License-Identifier: BSD-2-Clause */
/* The C part of the guest memory_cxx: the function that the host calls. */
#include <ringside/kit.h>

#include <ringside/memory.h>

unsigned long memory_cxx(void); /* memory_cxx.cc */

static uint64_t run(const struct rs_kit_args *args)
{
	(void)args;
	rs_memory_start(&(struct rs_memory_options){ .stacks = RS_STACKS_FRAMES });
	return memory_cxx();
}
RS_KIT_EXPORT_AS("main", run, 0, "allocations by operator new; how many");
