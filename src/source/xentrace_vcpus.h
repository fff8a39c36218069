/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The vCPUs that a trace of Xen's tells of, each with its virtual streams: one for events of xdt,
 * one for those of xen, since a stream has one schema.
 */
#ifndef RS_SOURCE_XENTRACE_VCPUS_H
#define RS_SOURCE_XENTRACE_VCPUS_H

#include "xen/layout.h"

/* Whose records a CPU's are. */
struct rs_xen_vcpu {
	struct rs_stream xdt, xen;
	char name[12];
	int dom, vcpu; /* RS_UNKNOWN */
	/* Stamps since when it runs and since when it is runnable; 0: not known, or records were
	 * lost since. */
	uint64_t running_tsc, runnable_tsc;
	int on_pcpu; /* where it runs; RS_UNKNOWN */
};

struct rs_xen_vcpus {
	const struct rs_xen_decoder *decoder;
	const struct rs_clock *clock;
	void *tree; /* by domain and vcpu */
	uint32_t n;
	uint64_t refused; /* records of vCPUs that got no stream: there were too many */
	struct rs_xen_vcpu unknown, lost;
};

void rs_xen_vcpus_init(struct rs_xen_vcpus *vcpus, const struct rs_xen_decoder *decoder,
		       const struct rs_clock *clock);
void rs_xen_vcpus_deinit(struct rs_xen_vcpus *vcpus);

/* Never NULL: numbers that can't be, and what there is no room for, are the unknown one. */
struct rs_xen_vcpu *rs_xen_vcpus_find(struct rs_xen_vcpus *vcpus, uint32_t dom, uint32_t vcpu);

#endif
