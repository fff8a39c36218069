/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Adds up samples of a guest's vCPUs (live/guest_sampler.h) into a row for each task and function,
 * and a profile for exporters, whose paths begin with the task.
 *
 * Memory grows with the number of different tasks and functions, at most RS_GUEST_ROWS_MAX rows.
 */
#ifndef RS_ANALYZE_GUEST_PROFILE_H
#define RS_ANALYZE_GUEST_PROFILE_H

#include "analyze/profile.h"
#include "live/guest_sampler.h"

#define RS_GUEST_ROWS_MAX (1u << 20)

/* Values of the profile. */
enum { RS_GUEST_SAMPLES, RS_GUEST_TIME, RS_GUEST_VALUES };

struct rs_guest_row {
	uint32_t vcpu; /* KVM's number; UINT32_MAX: all of them */
	bool is_user, is_nested, is_unplaced, has_task;
	int32_t tgid;
	const char *task;     /* the thread's name; NULL: unknown */
	const char *function; /* NULL: unknown */
	const char *module;   /* NULL: unknown */
	uint64_t cr3;	      /* the page table, if the task is unknown; else 0 */
	uint64_t samples;
	uint64_t handled; /* the samples taken while the host handled an exit */
};

struct rs_guest_vcpu_row {
	uint32_t vcpu;
	enum rs_guest_now now;
	uint64_t samples;
	struct rs_guest_row at; /* the place at which it is halted; samples 0 */
};

struct rs_guest_profile {
	uint64_t interval_ns;
	bool by_vcpu;
	struct rs_map map;
	struct rs_guest_row **rows;
	size_t n_rows, rows_room;
	uint64_t left_out; /* samples whose rows had no room */
	struct rs_guest_vcpu_row *vcpus;
	size_t n_vcpus, vcpus_room;
	struct rs_profile profile;
	struct rs_arena arena;
};

void rs_guest_profile_init(struct rs_guest_profile *p, uint64_t interval_ns, bool by_vcpu);
void rs_guest_profile_deinit(struct rs_guest_profile *p);

/* Adds a sample. */
struct rs_error *rs_guest_profile_add(struct rs_guest_profile *p,
				      const struct rs_guest_sample *sample);

/* Sets a vCPU's current state and place. Call it once for each vCPU, after the samples. */
struct rs_error *rs_guest_profile_now(struct rs_guest_profile *p, enum rs_guest_now now,
				      const struct rs_guest_sample *sample);

/* Sorts the rows by vCPU, and then by samples, the most first. */
void rs_guest_profile_sort(struct rs_guest_profile *p);

#endif
