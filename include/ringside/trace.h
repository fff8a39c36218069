/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tracing for a VMM, a hypervisor's user side, or any C program: the spans and events of emit.h.
 * Each thread has a ring, which is created at its first event. A signal handler may trace, even in
 * the middle of a put. Nothing is recorded until a recorder (recorder.h) collects the rings:
 *
 *	rs_trace_start(&(struct rs_trace_options){ .provider = "myvmm" });
 *	rs_recorder_create(&(struct rs_recorder_options){ .directory = "trace" }, &recorder);
 *	...
 *
 * After fork(), the child does not trace; the parent continues.
 */
#ifndef RINGSIDE_TRACE_H
#define RINGSIDE_TRACE_H

#include <ringside/language.h>
#include <ringside/error.h>
#include <ringside/sbuf.h>

/* The enabled classes: RS_CLASS_ bits. 0 until rs_trace_start(). Written with relaxed stores. */
extern uint32_t rs_trace_mask;

/* This thread's producer; its full() hook creates the ring at the first event. */
extern __thread struct rs_sbuf_producer rs_trace_self __attribute__((tls_model("initial-exec")));

#define RS_THIS_MASK	   rs_trace_mask
#define RS_THIS_PRODUCER() (&rs_trace_self)

#include <ringside/emit.h>

RS_C_BEGIN

struct rs_trace_options {
	const char *provider; /* of this program's events; "app" */
	uint32_t mask;	      /* classes to enable; 0 means all */
	uint32_t ring_bytes;  /* per thread; 0 means 1 MiB */
};

/* Enables tracing. Returns RS_USAGE if it is enabled already. */
struct rs_error *rs_trace_start(const struct rs_trace_options *options);

/* Changes the enabled classes. May run while threads trace. */
void rs_trace_set_mask(uint32_t mask);

/* Disables tracing. Rings that no recorder has drained stay until one has. */
void rs_trace_stop(void);

/*
 * Declares that this thread runs a vCPU of a VM from now on; its later events show both. NULL and
 * -1: none. Copies up to 63 bytes of vm. Call it at any time, also when one thread runs several VMs
 * in turn, but not in a signal handler. A change starts another ring, which costs two mmap() calls
 * at the next event; a call that changes nothing costs two comparisons. Spans that are open then
 * have their begin in one stream and their end in another. Up to 1,024 rings of earlier VMs and
 * ended threads wait for a recorder that starts later; events of further rings count as lost.
 */
void rs_trace_thread(const char *vm, int vcpu);

/*
 * Declares that events of this program have addresses of its code, so that its recorder names the
 * program's binaries in the trace. Stacks and -finstrument-functions do this; a program with such
 * fields in events of its own calls it. Any thread may call it, any number of times, also in a
 * signal handler.
 */
void rs_trace_has_addresses(void);

/* Registers a name that is known only at run time. Returns its id, for rs_span_begin() and name
 * fields, or 0 if there are too many names. Copies the text. Not for signal handlers. */
uint32_t rs_trace_name(const char *text);

/* Numbers the sites of one program or shared object, whose start-up code calls it. Copies their
 * texts: the object may be unloaded. */
void rs_trace_register_sites(struct rs_site *begin, struct rs_site *end);

/* A site's id stays 0 if the linker dropped the section, so the bounds are weak. */
extern struct rs_site __start_rs_sites[] __attribute__((weak, visibility("hidden")));
extern struct rs_site __stop_rs_sites[] __attribute__((weak, visibility("hidden")));

/* Registers the object's own sites. Each object that includes this header runs it at load, once or
 * more; it is idempotent. */
__attribute__((constructor, used)) static void rs_trace_register_own_sites(void)
{
	if (__start_rs_sites)
		rs_trace_register_sites(__start_rs_sites, __stop_rs_sites);
}

RS_C_END

#endif
