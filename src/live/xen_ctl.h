/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Xen's control interface in dom0, as far as its trace needs it: libxenctrl, which is loaded at run
 * time, so that nothing of Xen's has to be there to build or to start. One thread at a time.
 */
#ifndef RS_LIVE_XEN_CTL_H
#define RS_LIVE_XEN_CTL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ringside/error.h>

struct rs_xen_ctl;

/* RS_ABSENT: this is no dom0 of Xen's, or there is no libxenctrl for it. */
struct rs_error *rs_xen_ctl_open(struct rs_xen_ctl **ctl);
void rs_xen_ctl_close(struct rs_xen_ctl *ctl); /* NULL is nothing */

/* The library's file, as it was asked for. */
const char *rs_xen_ctl_library(const struct rs_xen_ctl *ctl);

/* What the hypervisor says of its trace. It does not say whether tracing is on, nor which physical
 * CPUs are traced. */
struct rs_xen_trace_info {
	uint32_t event_mask;
	uint64_t frame;	     /* where the table of buffers is (tbuf.h) */
	uint32_t info_bytes; /* the table's; 0: there are no buffers yet */
};
struct rs_error *rs_xen_ctl_info(struct rs_xen_ctl *ctl, struct rs_xen_trace_info *info);

/* Makes buffers of so many pages for each physical CPU. Once in the life of a hypervisor. */
struct rs_error *rs_xen_ctl_make_buffers(struct rs_xen_ctl *ctl, uint32_t pages);
struct rs_error *rs_xen_ctl_set_events(struct rs_xen_ctl *ctl, uint32_t mask);
/* bits: of physical CPUs, n of them; those above are off. */
struct rs_error *rs_xen_ctl_set_cpus(struct rs_xen_ctl *ctl, const uint64_t *bits, uint32_t n);
struct rs_error *rs_xen_ctl_trace(struct rs_xen_ctl *ctl, bool on);

/* Maps frames of the hypervisor's, one after the other. */
struct rs_error *rs_xen_ctl_map(struct rs_xen_ctl *ctl, const uint32_t *frames, uint32_t n,
				bool writable, void **mem);
void rs_xen_ctl_unmap(struct rs_xen_ctl *ctl, void *mem, uint32_t n);

/*
 * Takes the hypervisor's signal for trace buffers that fill up (VIRQ_TBUF), which one reader can
 * have at a time: xentrace takes it too. Until the close. RS_USAGE: another has it.
 */
struct rs_error *rs_xen_ctl_claim(struct rs_xen_ctl *ctl);

#endif
