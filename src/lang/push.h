/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Push-down: what of a program a live source may do itself, before a record costs anything more. A
 * predicate, as far as it is of the event and of who speaks, becomes BPF that decides on records;
 * what it can't know it lets through, and the program decides again.
 *
 *	verified code --> rs_script_push() --> struct rs_filter --> the source
 */
#ifndef RS_LANG_PUSH_H
#define RS_LANG_PUSH_H

#include "event/filter.h"
#include "lang/lang.h"

struct rs_push_options {
	const struct rs_schema *schema; /* the source's; its events' ids are of `provider` */
	uint32_t provider;		/* RS_IDS_KVM */
};

/*
 * Makes the filter; its instructions are the script's. With the option nopushdown, or where nothing
 * can be left out, it has none and wants everything. Before rs_script_start().
 */
struct rs_error *rs_script_push(struct rs_script *script, const struct rs_push_options *options,
				struct rs_filter *filter);

/* The source can't do it after all: everything comes as events. */
void rs_script_push_not(struct rs_script *script);

/* What was pushed of each clause that rs_script_push() looked at, and why no more. */
void rs_script_push_explain(const struct rs_script *script, struct rs_out *out);

#endif
