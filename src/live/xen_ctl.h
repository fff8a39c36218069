/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The part of Xen's control interface in dom0 that tracing needs, through libxenctrl. It is loaded
 * at run time, so that no part of Xen is needed to build or to start. One thread at a time.
 */
#ifndef RS_LIVE_XEN_CTL_H
#define RS_LIVE_XEN_CTL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ringside/error.h>

struct rs_xen_ctl;

/* Opens the interface. Returns RS_ABSENT if this is not a Xen dom0, or has no libxenctrl. */
struct rs_error *rs_xen_ctl_open(struct rs_xen_ctl **ctl);
void rs_xen_ctl_close(struct rs_xen_ctl *ctl); /* NULL is ignored */

/* Returns the library's file name, as it was requested. */
const char *rs_xen_ctl_library(const struct rs_xen_ctl *ctl);

/* The hypervisor's trace. It does not report whether tracing is on, nor which physical CPUs are
 * traced. */
struct rs_xen_trace_info {
	uint32_t event_mask;
	uint64_t frame;	     /* frame of the table of buffers (xen_tbuf.h) */
	uint32_t info_bytes; /* bytes of the table; 0: there are no buffers yet */
};
struct rs_error *rs_xen_ctl_info(struct rs_xen_ctl *ctl, struct rs_xen_trace_info *info);

/* Creates buffers of `pages` pages for each physical CPU, which a hypervisor allows only once. */
struct rs_error *rs_xen_ctl_make_buffers(struct rs_xen_ctl *ctl, uint32_t pages);
struct rs_error *rs_xen_ctl_set_events(struct rs_xen_ctl *ctl, uint32_t mask);
/* Sets the traced CPUs. bits has n physical CPUs; higher ones are off. */
struct rs_error *rs_xen_ctl_set_cpus(struct rs_xen_ctl *ctl, const uint64_t *bits, uint32_t n);
struct rs_error *rs_xen_ctl_trace(struct rs_xen_ctl *ctl, bool on);

/* Maps frames of the hypervisor in sequence. */
struct rs_error *rs_xen_ctl_map(struct rs_xen_ctl *ctl, const uint32_t *frames, uint32_t n,
				bool writable, void **mem);
void rs_xen_ctl_unmap(struct rs_xen_ctl *ctl, void *mem, uint32_t n);

/*
 * Binds the hypervisor's signal for trace buffers that fill up (VIRQ_TBUF). Only one reader can
 * bind it, and xentrace does, too. It stays bound until rs_xen_ctl_close(). Returns RS_USAGE if
 * another reader has it.
 */
struct rs_error *rs_xen_ctl_claim(struct rs_xen_ctl *ctl);

#endif
