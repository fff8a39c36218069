/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * trace-cmd's trace.dat as a source, by libtracecmd. The kvm events, and sched_switch, sched_wakeup
 * and sched_process_exit of threads that are vCPUs, are those of provider kvm (kvm.def); all others
 * are "ftrace:SYSTEM::EVENT", with the thread, the integers, and the arrays as one text. What the
 * kernel missed is records-lost.
 */
#ifndef RS_IMPORT_TRACEDAT_TRACEDAT_H
#define RS_IMPORT_TRACEDAT_TRACEDAT_H

#include "import/foreign.h"

/* As rs_tracedat_open() (foreign.h), with another patience than its 30 s for a reader that neither
 * reads on nor ends. */
struct rs_error *rs_tracedat_open_within(const char *path, int stuck_ms,
					 struct rs_foreign **foreign);

/* Reads the messages of tracedat_wire.h from a pipe, whose writer is not trusted: for tests. Takes
 * the descriptor over. */
struct rs_error *rs_tracedat_open_pipe(int fd, int stuck_ms, struct rs_foreign **foreign);

#endif
