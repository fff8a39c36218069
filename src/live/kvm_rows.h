/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A session's counts as partial aggregates: what each row grew by since it was given last. The
 * snapshot is cumulative; what was given is remembered here.
 *
 *	kvm_rows_see(snapshot)	any number of times
 *	kvm_rows_begin()		a round: of the snapshot seen last
 *	kvm_rows_next() ...		each row that grew, thread by thread, its end last
 *
 * A state's time can shrink: a halt's polling is first taken for work of the kernel's. Its growth
 * is negative then, and the sums stay exact.
 */
#ifndef RS_LIVE_KVM_ROWS_H
#define RS_LIVE_KVM_ROWS_H

#include "event/query.h"
#include "kvm/aggregates.h"
#include "kvm/kvm.h"

/* What all rows that were given have in common; ordered in a tree (tsearch). */
struct given_key {
	uint32_t thread;
	uint32_t kind; /* of a cause; of an exit RS_CAUSE_KINDS, isa and nested */
	uint64_t key;
};

struct given_exit {
	struct given_key of;
	uint64_t count, entered;
	struct rs_vcpu_cost sum;
	uint64_t min_ns, max_ns; /* of what was not given yet; max 0: nothing */
	struct rs_hist *hist;	 /* NULL without latency */
};

struct given_cause {
	struct given_key of;
	uint64_t count, entered, total_ns;
};

struct given_thread {
	uint64_t ns[RS_VCPU_STATES], wall_ns;
	uint64_t run_ns, wait_ns;
	uint64_t held_ns; /* since then, for want of its vCPU's number; 0: not */
	bool ended;
};

struct given_order {
	uint32_t thread, at;
};

#define ROWS_QUEUE  12 /* rows of one thing, at most */
#define ROWS_DIGITS 24

struct kvm_rows {
	/* Of the query: where each aggregate stands in it; -1: not asked for. */
	int asked[RS_KVM_AGGREGATES];
	struct rs_query query;

	void *given; /* a tree of given_exit and given_cause */
	struct given_thread *threads;
	uint32_t threads_room;
	uint64_t given_dropped[3];

	struct rs_kvm_snapshot snapshot;
	struct given_exit **exits; /* of each row of the snapshot */
	struct given_cause **causes;
	struct given_order *exit_order, *cause_order;
	uint32_t exits_room, causes_room;

	bool last; /* this round */

	/* Where the round stands. */
	uint32_t thread, exit, cause, stage;
	struct rs_partial queue[ROWS_QUEUE];
	uint32_t queue_n, queue_at;
	struct rs_hist hist;
	char vm[RS_KVM_VM_MAX];
	char pid[ROWS_DIGITS], tid[ROWS_DIGITS], vcpu[ROWS_DIGITS];
	char number[ROWS_DIGITS], key[ROWS_DIGITS];
};

/* Whether every aggregate of the query is known, and can be answered with its other parts. */
bool kvm_rows_ask(struct kvm_rows *rows, const struct rs_query *query);
void kvm_rows_deinit(struct kvm_rows *rows);

/* A new snapshot, valid until the next one. */
struct rs_error *kvm_rows_see(struct kvm_rows *rows, const struct rs_kvm_snapshot *snapshot);

void kvm_rows_begin(struct kvm_rows *rows, bool last);

/* NULL: the round is over. Valid until the next call. */
const struct rs_partial *kvm_rows_next(struct kvm_rows *rows);

#endif
