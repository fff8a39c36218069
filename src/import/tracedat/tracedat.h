/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads trace-cmd's trace.dat as a source, with libtracecmd. The kvm events, and sched_switch,
 * sched_wakeup and sched_process_exit of threads that are vCPUs, become events of provider kvm
 * (kvm.def). All others become "ftrace:SYSTEM::EVENT", with the thread, the integers and the texts.
 * Events that the kernel missed become records-lost. */
#ifndef RS_IMPORT_TRACEDAT_TRACEDAT_H
#define RS_IMPORT_TRACEDAT_TRACEDAT_H

#include "import/foreign.h"

/* Does the same as rs_tracedat_open() (foreign.h), but waits stuck_ms instead of 30 s for a reader
 * that neither sends nor ends. */
struct rs_error *rs_tracedat_open_within(const char *path, int stuck_ms,
					 struct rs_foreign **foreign);

/* Reads the messages of wire.h from a pipe, and checks them all. For tests. Takes ownership of the
 * descriptor, also after an error. */
struct rs_error *rs_tracedat_open_pipe(int fd, int stuck_ms, struct rs_foreign **foreign);

#endif
