/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Estimates the TSC's frequency, which a Xen trace does not contain, from run times, which Xen
 * gives in ns. A chain is a series of consecutive runs on one CPU without a missing one. Each run's
 * record has a stamp that is later than the end of the run by a varying delay. Along a chain, all
 * delays but the first and the last cancel. The spread of the others bounds these two, and thereby
 * the error.
 */
#ifndef RS_IMPORT_XEN_FREQUENCY_H
#define RS_IMPORT_XEN_FREQUENCY_H

#include "xen/records.h"

struct rs_xen_frequency {
	uint64_t hz;   /* 0: too few run times, or none */
	uint32_t runs; /* runs of the chain from which hz is computed */
	double error;  /* the error's bound, as a fraction of hz */
};

/* A reader stops reading ahead once the bound is this good. */
#define RS_XEN_FREQUENCY_GOOD 1e-4

/* Collects the run times of records. Returns NULL if there is no memory. */
struct rs_xen_runs;
struct rs_xen_runs *rs_xen_runs_create(void);
void rs_xen_runs_destroy(struct rs_xen_runs *runs);
/* Adds a record. Records of one CPU must be added in their order. pcpu is below RS_XEN_CPUS_MAX. */
void rs_xen_runs_add(struct rs_xen_runs *runs, const struct rs_xen_record *record, uint64_t tsc,
		     uint32_t pcpu);
/* Returns the frequency by the chain with the least error. */
struct rs_error *rs_xen_runs_result(struct rs_xen_runs *runs, struct rs_xen_frequency *frequency);

/* Returns the frequency by the records that were read ahead and not consumed. */
struct rs_error *rs_xen_frequency_find(const struct rs_xen_records *records,
				       struct rs_xen_frequency *frequency);

/* Returns whether run times contradict a frequency: by more than their bound, and by more than
 * rounding explains. */
bool rs_xen_frequency_contradicts(const struct rs_xen_frequency *frequency, uint64_t hz);

#endif
