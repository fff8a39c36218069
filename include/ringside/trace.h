/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tracing for a VMM, a hypervisor's user side, or any C program: emit.h's spans and events, one
 * ring per thread, made at the thread's first event. A signal handler may trace, also in the
 * middle of a put. Nothing is recorded until a recorder (recorder.h) collects the rings:
 *
 *	rs_trace_start(&(struct rs_trace_options){ .provider = "myvmm" });
 *	rs_recorder_create(&(struct rs_recorder_options){ .directory = "trace" }, &recorder);
 *	...
 *
 * After fork() the child does not trace; the parent goes on.
 */
#ifndef RINGSIDE_TRACE_H
#define RINGSIDE_TRACE_H

#include <ringside/error.h>
#include <ringside/sbuf.h>

/* Which classes are on: RS_CLASS_ bits. 0 until rs_trace_start(). Written with relaxed stores. */
extern uint32_t rs_trace_mask;

/* This thread's producer; its full() hook makes the ring at the first event. */
extern __thread struct rs_sbuf_producer rs_trace_self __attribute__((tls_model("initial-exec")));

#define RS_THIS_MASK	   rs_trace_mask
#define RS_THIS_PRODUCER() (&rs_trace_self)

#include <ringside/emit.h>

struct rs_trace_options {
	const char *provider; /* of this program's events; "app" */
	uint32_t mask;	      /* classes to switch on; 0 means all */
	uint32_t ring_bytes;  /* per thread; 0 means 1 MiB */
};

/* Switches tracing on. RS_USAGE: it is on already. */
struct rs_error *rs_trace_start(const struct rs_trace_options *options);

/* Switches classes on and off while running. */
void rs_trace_set_mask(uint32_t mask);

/* Switches tracing off. Rings that no recorder has drained are kept until it has. */
void rs_trace_stop(void);

/* Says that this thread runs a vCPU of a VM: its events are shown under both. Before the thread's
 * first event; vm is copied, up to 63 bytes. */
void rs_trace_thread(const char *vm, int vcpu);

/* A name known only at run time, registered once: an id for rs_span_begin() and name fields.
 * The text is copied. 0: too many names. Not for signal handlers. */
uint32_t rs_trace_name(const char *text);

/* Gives numbers to the sites of one program or shared object; called by its own start-up. */
void rs_trace_register_sites(struct rs_site *begin, struct rs_site *end);

/* A site's id stays 0 where the linker dropped the section: weak bounds make that harmless. */
extern struct rs_site __start_rs_sites[] __attribute__((weak, visibility("hidden")));
extern struct rs_site __stop_rs_sites[] __attribute__((weak, visibility("hidden")));

/* Each object that includes this header runs it at load, once or more: it is idempotent. */
__attribute__((constructor, used)) static void rs_trace_register_own_sites(void)
{
	if (__start_rs_sites)
		rs_trace_register_sites(__start_rs_sites, __stop_rs_sites);
}

#endif
