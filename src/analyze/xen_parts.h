/* SPDX-License-Identifier: BSD-2-Clause */
/* Declarations that the files of the Xen analysis share. */
#ifndef RS_ANALYZE_XEN_PARTS_H
#define RS_ANALYZE_XEN_PARTS_H

#include "analyze/xen.h"
#include "base/map.h"
#include "xen/layout.h"

#include <string.h>

#include <ringside/record.h>

#define XEN_ROWS_MAX  65536u /* 170 MB with a histogram each */
#define XEN_VCPUS_MAX 65536u
#define XEN_PCPUS_MAX 4096u /* the most that a build of Xen can support */

struct xen_row {
	struct rs_xen_row row;
	struct xen_row *all;	/* the next of all rows */
	struct rs_hist *counts; /* row.hist */
};

struct xen_domain;

/* An exit that has not ended yet. */
struct xen_exit {
	bool open;
	int64_t since_ns;
	struct xen_row *row, *call, *io; /* the last two: its subject, if known */
};

/* An interrupt that was injected, until the vCPU halts. */
struct xen_injected {
	bool open, woke;
	uint8_t vector;
	int64_t since_ns;
};
#define XEN_INJECTED_MAX 256 /* number of vectors */

#define XEN_ROWS_RECENT 64u

struct xen_vcpu {
	int dom, vcpu;
	struct xen_domain *domain;
	struct xen_vcpu *all; /* the next of all vCPUs */
	struct xen_vcpu *sibling;
	struct xen_row *states[RS_XEN_STATES_COUNT];
	bool seen; /* the scheduler's records named it */
	enum rs_xen_state state;
	bool whole; /* its beginning is known */
	int64_t since_ns;
	int pcpu; /* the CPU on which it runs; RS_UNKNOWN */
	struct xen_exit exit;
	bool waking;		/* from sleep to the next halt */
	struct xen_row *inject; /* until the next entry */
	int64_t inject_ns;
	struct xen_injected *injected; /* by vector; NULL: no interrupt so far */
	uint32_t n_injected;
	struct xen_row *cr3;
	int64_t cr3_ns;
	struct xen_row *recent[XEN_ROWS_RECENT]; /* the row looked up last, by place; NULL: none */
};

struct xen_domain {
	int dom;
	struct xen_domain *all;
	struct xen_vcpu *vcpus; /* by sibling */
	bool seen;		/* an event named one of its vCPUs */
	enum rs_xen_together state;
	bool whole;
	int64_t since_ns;
	struct xen_row *states[RS_XEN_TOGETHER_COUNT];
};

/* Indexes of records by class: by one of 12 bits or by none, and by one of 16 subclasses. */
#define XEN_CLASSES 12
#define XEN_VOLUMES ((XEN_CLASSES + 1) * 16)

struct xen_pcpu {
	bool seen; /* the vCPU that ran is known */
	bool lost; /* it has lost records */
	enum rs_xen_pcpu_state state;
	bool whole;
	int64_t since_ns;
	struct xen_row *states[RS_XEN_PCPU_STATES];
	struct xen_row *volumes[XEN_VOLUMES]; /* cached by index; NULL: none */
	struct xen_row *cstate;		      /* the current C-state */
	int64_t cstate_ns;
};

#define XEN_VCPUS_RECENT 64u

struct xen_sink {
	struct rs_sink sink;
	uint32_t kinds;
	bool any;
	int64_t from_ns, to_ns;
	struct rs_map rows, vcpus;
	struct xen_row *all_rows;
	struct xen_vcpu *all_vcpus;
	struct xen_vcpu *recent[XEN_VCPUS_RECENT]; /* a cache of vCPUs; NULL: free */
	struct xen_domain *domains;
	struct xen_pcpu *pcpus[XEN_PCPUS_MAX];
	uint32_t n_rows, n_vcpus;
	uint32_t pcpus_end; /* the highest number of a known pCPU, plus one */
	struct rs_xen_row *taken;
	uint64_t lost, losses, contradictions, refused;
	bool no_memory;
};

/* The handler of an event: of its vCPU, of its physical CPU, or none. */
enum xen_handler {
	XEN_NOTHING,
	XEN_RUNSTATE,
	XEN_PHYSICAL, /* interrupt */
	XEN_POWER,
	XEN_OF_VCPU, /* this handler and the following take a vCPU */
	XEN_VMEXIT_VMX = XEN_OF_VCPU,
	XEN_VMEXIT_SVM,
	XEN_NESTED_VMX,
	XEN_NESTED_SVM,
	XEN_VMENTRY,
	XEN_VMMCALL,
	XEN_HYPERCALL,
	XEN_SUBCALL,
	XEN_PV_EVENT,
	XEN_INJECT,
	XEN_MMIO_READ,
	XEN_MMIO_WRITE,
	XEN_PIO_READ,
	XEN_PIO_WRITE,
	XEN_CR_WRITE,
};

#define XEN_HANDLERS 256u			       /* more than the events of xdt or xen */
extern const uint8_t rs_xen_handlers[8][XEN_HANDLERS]; /* by provider, by number */

static inline enum xen_handler xen_handler(uint64_t id)
{
	if (id & ~(UINT64_C(7) << 20 | (XEN_HANDLERS - 1)))
		return XEN_NOTHING;
	return (enum xen_handler)rs_xen_handlers[id >> 20][id & (XEN_HANDLERS - 1)];
}

static inline bool xen_wants(const struct xen_sink *x, enum rs_xen_kind kind)
{
	return x->kinds >> kind & 1;
}

/* Finds or creates a row. Returns NULL above the limit, which is counted. */
struct xen_row *rs_xen_row_of(struct xen_sink *x, enum rs_xen_kind kind, int dom, int vcpu,
			      uint32_t sub, uint64_t key);
/* Returns a vCPU's row, mostly from its cache. */
static inline struct xen_row *xen_vcpu_row(struct xen_sink *x, struct xen_vcpu *v,
					   enum rs_xen_kind kind, uint32_t sub, uint64_t key)
{
	struct xen_row **recent =
		&v->recent[((uint32_t)key ^ sub << 3 ^ (uint32_t)kind << 4) % XEN_ROWS_RECENT];
	struct xen_row *row = *recent;

	if (row && row->row.key == key && row->row.kind == kind && row->row.sub == sub)
		return row;
	row = rs_xen_row_of(x, kind, v->dom, v->vcpu, sub, key);
	if (row)
		*recent = row;
	return row;
}

/* Counts a duration in a row, which may be NULL. */
void rs_xen_row_time(struct xen_sink *x, struct xen_row *row, uint64_t ns);

static inline void xen_count(struct xen_row *row)
{
	if (row)
		row->row.count++;
}

/* Each finds or creates its object. Returns NULL above the limit, which is counted, or without
 * memory, which sets no_memory. */
struct xen_vcpu *rs_xen_sink_vcpu(struct xen_sink *x, int dom, int vcpu);
struct xen_pcpu *rs_xen_sink_pcpu(struct xen_sink *x, int cpu);

/* Returns the cache entry for a vCPU. The entry holds the vCPU that was looked up last among those
 * that share it. */
static inline struct xen_vcpu **xen_vcpu_recent(struct xen_sink *x, int dom, int vcpu)
{
	return &x->recent[((uint32_t)dom << 2 ^ (uint32_t)vcpu) % XEN_VCPUS_RECENT];
}

/* Returns a vCPU, mostly from the cache. Each event calls it. */
static inline struct xen_vcpu *xen_vcpu(struct xen_sink *x, int dom, int vcpu)
{
	struct xen_vcpu *v = *xen_vcpu_recent(x, dom, vcpu);

	return v && v->dom == dom && v->vcpu == vcpu ? v : rs_xen_sink_vcpu(x, dom, vcpu);
}

static inline struct xen_pcpu *xen_pcpu(struct xen_sink *x, int cpu)
{
	if ((uint32_t)cpu >= XEN_PCPUS_MAX)
		return NULL;
	return x->pcpus[cpu] ? x->pcpus[cpu] : rs_xen_sink_pcpu(x, cpu);
}

/* xen_sched.c: handles the scheduler's events, losses, and states that are open at the end. */
void rs_xen_sched_change(struct xen_sink *x, const struct rs_view *view);
void rs_xen_sched_lost(struct xen_sink *x, const struct rs_view *view, int64_t from_ns);
/* Adds the time of open states to the edge of their rows, and continues them from there. */
void rs_xen_sched_close(struct xen_sink *x, int64_t now_ns);

/* xen_guest.c: handles a guest's events and its vCPU's changes: the vCPU becomes runnable, runs,
 * stops, halts, or is lost. */
void rs_xen_guest_event(struct xen_sink *x, const struct rs_view *view, enum xen_handler handler);
/* Handles an event of a physical CPU. */
void rs_xen_pcpu_event(struct xen_sink *x, const struct rs_view *view, enum xen_handler handler);
void rs_xen_guest_exit_ends(struct xen_sink *x, struct xen_vcpu *v, int64_t now_ns);
void rs_xen_guest_halts(struct xen_sink *x, struct xen_vcpu *v, int64_t now_ns);
void rs_xen_guest_runs(struct xen_vcpu *v, int64_t now_ns);
void rs_xen_guest_stops(struct xen_sink *x, struct xen_vcpu *v, int64_t now_ns);
void rs_xen_guest_lost(struct xen_vcpu *v);

static inline uint64_t xen_arg(const struct rs_view *view, uint32_t at)
{
	const struct rs_field *field = &view->event->fields[at];
	uint32_t value;

	if (field->type != RS_TYPE_U32) /* most are */
		return rs_field_value(field, view->payload);
	memcpy(&value, view->payload + field->offset, sizeof(value));
	return value;
}

#endif
