/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Converts samples of a guest's tasks to events of a trace directory, and back. An event has its
 * functions by name, because the host lacks the binaries of a guest's processes.
 *
 *	guest:profile::sample	tid, pid, pc, period (ns), vcpu, cpl, whole, comm, function,
 *				module, stack: "outermost;...;innermost"
 *
 * A task is a thread of the trace, so that its name, tid and pid are those of its events. One
 * thread at a time may use this.
 */
#ifndef RS_EXPORT_SAMPLES_H
#define RS_EXPORT_SAMPLES_H

#include "analyze/profile.h"
#include "store/sink.h"

/* Functions that represent the missing parts of a task or of its stack. */
#define RS_SAMPLE_UNKNOWN "[unknown]"
#define RS_SAMPLE_CUT	  "[callers unknown]"

struct rs_sampled {
	uint64_t now_ns, period_ns;
	uint64_t pc;
	uint32_t vcpu;
	uint8_t cpl;	      /* the processor's privilege level */
	bool whole;	      /* the stack has its outermost frame */
	uint32_t tid, pid;    /* the task is known */
	const char *comm;     /* NULL: the task is unknown */
	const uint32_t *path; /* its frames in the profile, outermost first, without the task */
	uint32_t n;
};

struct rs_sample_trace;

/* Creates the directory. wall_ns is the guest's, or the host's, time at time 0. Returns RS_USAGE if
 * the directory exists and is not empty. */
struct rs_error *rs_sample_trace_create(const char *directory, const char *command, int64_t wall_ns,
					struct rs_sample_trace **trace);
struct rs_error *rs_sample_trace_add(struct rs_sample_trace *trace,
				     const struct rs_profile *profile,
				     const struct rs_sampled *sample);
/* Closes the directory, and frees the trace. failed, or NULL, is the reason why samples are
 * missing. Returns the first error of all writes. NULL is ignored. */
struct rs_error *rs_sample_trace_close(struct rs_sample_trace *trace, uint64_t end_ns,
				       const struct rs_error *failed, uint64_t *records);

/* Returns whether an event is a sample. */
bool rs_sample_is(const struct rs_event *event);
/* Adds a sample to a profile whose values are time and samples. */
struct rs_error *rs_sample_add(struct rs_profile *profile, const struct rs_view *view);

#endif
