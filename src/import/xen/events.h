/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes views of the records of Xen's trace, in order of time, from a file or a running Xen. Each
 * has its context: the domain and vCPU that has its physical CPU. The view's stream is the context:
 * a virtual stream for each domain and vCPU, and one stream for an unknown context.
 */
#ifndef RS_IMPORT_XEN_EVENTS_H
#define RS_IMPORT_XEN_EVENTS_H

#include "import/foreign.h"
#include "xen/records.h"
#include "import/xen/frequency.h"
#include "import/xen/survey.h"
#include "xen/vcpus.h"

#define RS_XEN_EVENTS_VIEWS 256

/* A record, and its payload. */
struct rs_xen_slot {
	struct rs_xen_record record;
	_Alignas(8) uint8_t payload[RS_XEN_PAYLOAD_MAX];
};

struct rs_xen_events {
	struct rs_xen_records *records;
	const struct rs_clock *clock;
	struct rs_foreign_tally *tally;
	struct rs_xen_decoder decoder;
	struct rs_xen_decoder *lent; /* the owner of the decoder; NULL: the decoder is our own */
	struct rs_xen_vcpus vcpus;
	struct rs_xen_runs *runs; /* run times of the records; NULL: not needed */
	bool freq_known;	  /* given or estimated: times can be compared with Xen's */
	uint64_t lost_tsc;	  /* of the last loss; the state before it is unknown */
	uint64_t torn;		  /* vCPUs that began to run on a CPU while they ran on another */
	bool any_exit;		  /* their ISA has been decided */
	uint64_t isa_changed;
	int64_t last_ns;
	size_t n;
	struct rs_xen_slot slots[RS_XEN_EVENTS_VIEWS];
	struct rs_view views[RS_XEN_EVENTS_VIEWS];
};

/* Initializes a zeroed one. The arguments must outlive it. The clock may be set later, together
 * with the decoder's. lent: a decoder to use, which rs_xen_events_deinit() returns to the lender;
 * NULL: use an own one. */
struct rs_error *rs_xen_events_init(struct rs_xen_events *events, struct rs_xen_records *records,
				    const struct rs_clock *clock, struct rs_foreign_tally *tally,
				    struct rs_xen_decoder *lent);
void rs_xen_events_deinit(struct rs_xen_events *events); /* zeroed events are valid */

/* Makes views of records, until there is no room or no record. The caller sets n to 0 after it has
 * passed the views on. */
struct rs_error *rs_xen_events_gather(struct rs_xen_events *events);

/* Emits the records that are held at the end. */
void rs_xen_events_flush(struct rs_xen_events *events);

/* Adds remarks about the records to the tally. */
void rs_xen_events_end(struct rs_xen_events *events);

/* Adds remarks about the TSCs of physical CPUs, which a survey found, to the tally. */
void rs_xen_events_report_skew(struct rs_xen_events *events, const struct rs_xen_survey *survey);

__attribute__((format(printf, 2, 3))) void rs_xen_events_remark(struct rs_xen_events *events,
								const char *format, ...);

#endif
