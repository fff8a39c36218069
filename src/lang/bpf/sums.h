/* SPDX-License-Identifier: BSD-2-Clause */
/* The aggregations that a source adds up, for push.c. */
#ifndef RS_LANG_BPF_SUMS_H
#define RS_LANG_BPF_SUMS_H

#include "lang/bpf/code.h"
#include "lang/vm/runtime.h"

struct push_sums {
	struct push_rows rows;
	const char *why_not; /* why the source computes no sums, or NULL */
	bool *ordered;	     /* by aggregation: a clause of events reads it */
	bool *ticks;	     /* by tick: it reads aggregations, or may end the program */
	uint64_t epoch_ns;
	const char *(*vm)(void *ctx, uint64_t thread);
	void *ctx;
};

/* Expects sums to be zeroed except for vm, ctx and why_not. */
struct rs_error *rs_push_sums_begin(const struct rs_script *script, struct push_sums *sums);
void rs_push_sums_deinit(struct push_sums *sums);

uint32_t rs_push_sums_of(const struct rs_script *script, const struct clause *clause);
void rs_push_sums_filter(const struct rs_script *script, const struct push_sums *sums,
			 struct rs_filter *filter);
void rs_push_sums_receive(struct rs_script *script, const struct push_sums *sums,
			  const struct rs_filter_row *row);

#endif
