/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A minimal guest with a trace: prints through the host, and adds two numbers.
 *
 *	ringside run --record trace build/examples/guests/hello
 *	ringside print --tree trace
 *	ringside run build/examples/guests/hello add 40 2
 */
#include <ringside/kit.h>

RS_TRACE_CLASS(greeting, 0)
RS_DEFINE_EVENT(greeted, greeting, "greeted", (u32, vcpu), (u32, times));

static uint32_t times[RS_GUEST_VCPUS_MAX];

static uint64_t hello(const struct rs_kit_args *args)
{
	RS_FUNCTION();

	rs_kit_print("Hello from the guest\n");
	RS_EMIT(greeted, .vcpu = args->vcpu, .times = ++times[args->vcpu]);
	return 0;
}
RS_KIT_EXPORT_AS("main", hello, 0, "prints a greeting");

static uint64_t add(const struct rs_kit_args *args)
{
	RS_FUNCTION();

	return args->v[0] + args->v[1];
}
RS_KIT_EXPORT(add, 2, "the sum of two numbers");
