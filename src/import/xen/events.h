/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Views made of records of Xen's trace, in their order by time, wherever the records come from:
 * each with its context, the domain and vCPU that has its physical CPU. A view's stream is the
 * context: a virtual stream for each domain and vCPU, and one for unknown.
 */
#ifndef RS_IMPORT_XEN_EVENTS_H
#define RS_IMPORT_XEN_EVENTS_H

#include "import/foreign.h"
#include "xen/records.h"
#include "import/xen/frequency.h"
#include "import/xen/survey.h"
#include "xen/vcpus.h"

#define RS_XEN_EVENTS_VIEWS 256

/* A record and what was made of it. */
struct rs_xen_slot {
	struct rs_xen_record record;
	_Alignas(8) uint8_t payload[RS_XEN_PAYLOAD_MAX];
};

struct rs_xen_events {
	struct rs_xen_records *records;
	const struct rs_clock *clock;
	struct rs_foreign_tally *tally;
	struct rs_xen_decoder decoder;
	struct rs_xen_decoder *lent; /* where it comes from; NULL: it is our own */
	struct rs_xen_vcpus vcpus;
	struct rs_xen_runs *runs; /* of the records that are taken; or NULL: nobody asks for them */
	bool freq_known;	  /* or estimated: times can be compared with Xen's */
	uint64_t lost_tsc;	  /* of the last loss: what was known of before is not known */
	uint64_t torn;		  /* vCPUs that came on a CPU while they ran on another */
	bool any_exit;		  /* their ISA has been decided */
	uint64_t isa_changed;
	int64_t last_ns;
	size_t n;
	struct rs_xen_slot slots[RS_XEN_EVENTS_VIEWS];
	struct rs_view views[RS_XEN_EVENTS_VIEWS];
};

/* Of one of zero bytes. What is pointed to must outlive it; the clock may be set later, and with it
 * the decoder's. lent: a decoder to use, which rs_xen_events_deinit() gives back; NULL: its own. */
struct rs_error *rs_xen_events_init(struct rs_xen_events *events, struct rs_xen_records *records,
				    const struct rs_clock *clock, struct rs_foreign_tally *tally,
				    struct rs_xen_decoder *lent);
void rs_xen_events_deinit(struct rs_xen_events *events); /* also one of zero bytes */

/* Takes records and makes views of them, until there is room for no more or nothing to take. The
 * caller sets n to 0 when it has given them away. */
struct rs_error *rs_xen_events_gather(struct rs_xen_events *events);

/* What was held when the records ended. */
void rs_xen_events_flush(struct rs_xen_events *events);

/* What else there is to say of them, into the tally. */
void rs_xen_events_end(struct rs_xen_events *events);

/* What a survey has found of the TSCs of physical CPUs, into the tally. */
void rs_xen_events_report_skew(struct rs_xen_events *events, const struct rs_xen_survey *survey);

__attribute__((format(printf, 2, 3))) void rs_xen_events_remark(struct rs_xen_events *events,
								const char *format, ...);

#endif
