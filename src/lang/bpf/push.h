/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Push-down: the parts of a program that a live source executes, before a record costs more. A
 * predicate on the event and its thread becomes BPF that filters records. What BPF cannot decide
 * passes, and the program decides again.
 *
 * BPF also adds up aggregations whose keys it has. The source then sends the event only if another
 * clause needs it.
 *
 *	verified code --> rs_script_push() --> struct rs_filter --> the source
 *	                  rs_script_receive() <-- struct rs_filter_row <--
 */
#ifndef RS_LANG_BPF_PUSH_H
#define RS_LANG_BPF_PUSH_H

#include "event/filter.h"
#include "lang/lang.h"

struct rs_push_options {
	const struct rs_schema *schema; /* of the source; `provider` has its events' ids */
	uint32_t provider;		/* RS_IDS_KVM */
	/*
	 * For a source that aggregates; else NULL. sums() passes the sums over the records before a
	 * time (ns from the start; INT64_MAX: over all records) to rs_script_receive() and resets
	 * them. vm() returns the VM of a thread by its number in a row.
	 */
	struct rs_error *(*sums)(void *ctx, struct rs_script *script, int64_t before_ns);
	const char *(*vm)(void *ctx, uint64_t thread);
	void *ctx;
	const char *sums_not; /* why the callbacks are NULL, for rs_script_push_explain() */
};

/*
 * Builds the filter. Its instructions belong to the script. With the option nopushdown, or if
 * nothing can be filtered, the filter has no instructions and keeps every record. Must be called
 * before rs_script_start().
 */
struct rs_error *rs_script_push(struct rs_script *script, const struct rs_push_options *options,
				struct rs_filter *filter);

/* Adds a row of the source's sums to the program's aggregations. */
void rs_script_receive(struct rs_script *script, const struct rs_filter_row *row);

/* Cancels the push-down: the source delivers every event. */
void rs_script_push_cancel(struct rs_script *script);

/* Prints, for each clause that rs_script_push() examined, what was pushed down and why not more. */
void rs_script_push_explain(const struct rs_script *script, struct rs_out *out);

#endif
