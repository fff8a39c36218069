/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Derives two facts that a Xen trace does not contain from the trace's start: the skew between the
 * TSCs of physical CPUs, by causality (a vCPU does not run before it wakes up, and not on two CPUs
 * at the same time), and whether exit codes are Intel's or AMD's. frequency.h finds the TSC's
 * frequency.
 */
#ifndef RS_IMPORT_XEN_SURVEY_H
#define RS_IMPORT_XEN_SURVEY_H

#include "xen/records.h"

struct rs_xen_survey {
	uint64_t first_tsc;
	bool any_exit;
	enum rs_xen_isa isa;
	int64_t *skews;	      /* by the CPU's index */
	uint64_t skew_most;   /* the greatest corrected skew between two CPUs, in cycles */
	uint64_t skew_error;  /* the error bound of the skews */
	bool skew_impossible; /* no correction satisfies all constraints */
};

/* Surveys the records that were read and not consumed. Ignores a skew above skew_max. */
struct rs_error *rs_xen_survey_make(const struct rs_xen_records *records, uint64_t skew_max,
				    struct rs_xen_survey *survey);
void rs_xen_survey_deinit(struct rs_xen_survey *survey);

/* Returns whether an exit code is one that only SVM has. */
static inline bool rs_xen_is_svm_code(uint32_t code)
{
	/* VMX's codes end below 0x60, and bit 31 is a failed entry; SVM's failed entry is -1 */
	return code == UINT32_MAX || (!(code >> 31) && (code & 0xffff) >= 0x60);
}

#endif
