/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a trace of Xen's does not say and its beginning shows: how far the TSCs of physical CPUs are
 * apart (from causality: a vCPU does not run before it is awake, nor on two CPUs at once), and
 * whether exit codes are Intel's or AMD's. xentrace_frequency.h finds the TSC's frequency.
 */
#ifndef RS_IMPORT_XEN_SURVEY_H
#define RS_IMPORT_XEN_SURVEY_H

#include "xen/records.h"

struct rs_xen_survey {
	uint64_t first_tsc;
	bool any_exit;
	enum rs_xen_isa isa;
	int64_t *skews;	      /* by index of CPU */
	uint64_t skew_most;   /* the greatest between two that was corrected, in cycles */
	uint64_t skew_error;  /* to which it is known */
	bool skew_impossible; /* no correction makes all of it possible */
};

/* Of what was read and not taken. skew_max: a greater one is not believed. */
struct rs_error *rs_xen_survey_make(const struct rs_xen_records *records, uint64_t skew_max,
				    struct rs_xen_survey *survey);
void rs_xen_survey_deinit(struct rs_xen_survey *survey);

/* Whether a code of VMEXIT is one that only SVM has. */
static inline bool rs_xen_is_svm_code(uint32_t code)
{
	/* VMX ends below 0x60, bit 31 is its failed entry; SVM's -1 is an entry that failed */
	return code == UINT32_MAX || (!(code >> 31) && (code & 0xffff) >= 0x60);
}

#endif
