/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Push-down: what of a program a live source may do itself, before a record costs anything more. A
 * predicate, as far as it is of the event and of who speaks, becomes BPF that decides on records;
 * what it can't know it lets through, and the program decides again.
 *
 * An aggregation, with keys that BPF can know, is added up there, too, and such an event is not
 * sent at all where nobody else wants it.
 *
 *	verified code --> rs_script_push() --> struct rs_filter --> the source
 *	                  rs_script_receive() <-- struct rs_filter_row <--
 */
#ifndef RS_LANG_BPF_PUSH_H
#define RS_LANG_BPF_PUSH_H

#include "event/filter.h"
#include "lang/lang.h"

struct rs_push_options {
	const struct rs_schema *schema; /* the source's; its events' ids are of `provider` */
	uint32_t provider;		/* RS_IDS_KVM */
	/*
	 * Where the source adds up, too; else NULL. sums() hands what it has added of records
	 * before a time (ns from the start; INT64_MAX: of all) to rs_script_receive(), and forgets
	 * it. vm() tells a thread's VM by the number that a row has for it.
	 */
	struct rs_error *(*sums)(void *ctx, struct rs_script *script, int64_t before_ns);
	const char *(*vm)(void *ctx, uint64_t thread);
	void *ctx;
	const char *sums_not; /* why they are NULL, for rs_script_push_explain() */
};

/*
 * Makes the filter; its instructions are the script's. With the option nopushdown, or where nothing
 * can be left out, it has none and wants everything. Before rs_script_start().
 */
struct rs_error *rs_script_push(struct rs_script *script, const struct rs_push_options *options,
				struct rs_filter *filter);

/* What the source has added up goes to the program's own. */
void rs_script_receive(struct rs_script *script, const struct rs_filter_row *row);

/* The source can't do it after all: everything comes as events. */
void rs_script_push_cancel(struct rs_script *script);

/* What was pushed of each clause that rs_script_push() looked at, and why no more. */
void rs_script_push_explain(const struct rs_script *script, struct rs_out *out);

#endif
