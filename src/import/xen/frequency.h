/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The TSC's frequency, which a trace of Xen's does not say: from run times, which Xen gives in ns.
 * A chain is of runs one after the other on a CPU, of which none is missing. The stamp of a run's
 * record is later than the time at which Xen ended the run, by a delay that differs from record to
 * record. Along a chain the delays cancel but for the first and the last. So a chain tells the
 * frequency to within what these two may be, which the range of the others shows.
 */
#ifndef RS_IMPORT_XEN_FREQUENCY_H
#define RS_IMPORT_XEN_FREQUENCY_H

#include "xen/records.h"

struct rs_xen_frequency {
	uint64_t hz;   /* 0: there are no run times, or too few */
	uint32_t runs; /* of the chain that it is from */
	double error;  /* its bound, as a part of hz */
};

/* A bound that more records are not read for. */
#define RS_XEN_FREQUENCY_GOOD 1e-4

/*
 * Run times of records, those of one CPU in their order, and what the chain says that tells the
 * frequency best. pcpu is below RS_XEN_CPUS_MAX. NULL: there is no memory.
 */
struct rs_xen_runs;
struct rs_xen_runs *rs_xen_runs_create(void);
void rs_xen_runs_destroy(struct rs_xen_runs *runs);
void rs_xen_runs_see(struct rs_xen_runs *runs, const struct rs_xen_record *record, uint64_t tsc,
		     uint32_t pcpu);
struct rs_error *rs_xen_runs_tell(struct rs_xen_runs *runs, struct rs_xen_frequency *frequency);

/* The same of what was read and not taken. */
struct rs_error *rs_xen_frequency_find(const struct rs_xen_records *records,
				       struct rs_xen_frequency *frequency);

/* Whether run times say that a frequency is another one: beyond their bound, and by more than what
 * is ascribed to rounding. */
bool rs_xen_frequency_contradicts(const struct rs_xen_frequency *frequency, uint64_t hz);

#endif
