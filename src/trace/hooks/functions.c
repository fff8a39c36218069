/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The functions that code compiled with -finstrument-functions calls: each function is recorded
 * when it is entered and left. Its depth counts the functions and spans that are open in this
 * thread or on this vCPU, so that both nest in one tree. Before tracing starts, and while the class
 * func is off, they do nothing.
 */
#include "trace/hooks/hooks.h"

#define UNTRACED __attribute__((no_instrument_function))

UNTRACED void __cyg_profile_func_enter(void *function, void *site);
UNTRACED void __cyg_profile_func_exit(void *function, void *site);

#if __STDC_HOSTED__
UNTRACED __attribute__((constructor)) static void functions_are_recorded(void)
{
	rs_trace_has_addresses();
}
#endif

void __cyg_profile_func_enter(void *function, void *site)
{
	struct rs_sbuf_producer *p;

	(void)site;
	if (!RS_CLASS_ON(func))
		return;
	p = RS_THIS_PRODUCER();
	rs_record_put(p, RS_ID_FUNC_ENTER, &(struct rs_func){ (uintptr_t)function, p->depth++ },
		      sizeof(struct rs_func));
}

/* A function that was entered while the class was off does not count in the depth. */
void __cyg_profile_func_exit(void *function, void *site)
{
	struct rs_sbuf_producer *p;

	(void)site;
	if (!RS_CLASS_ON(func))
		return;
	p = RS_THIS_PRODUCER();
	if (!p->depth)
		return;
	rs_record_put(p, RS_ID_FUNC_LEAVE, &(struct rs_func){ (uintptr_t)function, --p->depth },
		      sizeof(struct rs_func));
}
