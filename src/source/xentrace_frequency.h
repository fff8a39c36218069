/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The TSC's frequency, which a trace of Xen's does not say: from run times, which Xen gives in ns.
 * A chain is of runs one after the other on a CPU, of which none is missing. The stamp of a run's
 * record is later than the time at which Xen ended the run, by a delay that differs from record to
 * record. Along a chain the delays cancel but for the first and the last. So a chain tells the
 * frequency to within what these two may be, which the range of the others shows.
 */
#ifndef RS_SOURCE_XENTRACE_FREQUENCY_H
#define RS_SOURCE_XENTRACE_FREQUENCY_H

#include "source/xen_records.h"

struct rs_xen_frequency {
	uint64_t hz;   /* 0: there are no run times, or too few */
	uint32_t runs; /* of the chain that it is from */
	double error;  /* its bound, as a part of hz */
};

/* A bound that more records are not read for. */
#define RS_XEN_FREQUENCY_GOOD 1e-4

/* Of what was read and not taken: by the chain that tells it best. */
struct rs_error *rs_xen_frequency_find(const struct rs_xen_records *records,
				       struct rs_xen_frequency *frequency);

/* Whether run times say that a frequency is another one: beyond their bound, and by more than what
 * is ascribed to rounding. */
bool rs_xen_frequency_contradicts(const struct rs_xen_frequency *frequency, uint64_t hz);

#endif
