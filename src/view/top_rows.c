/* SPDX-License-Identifier: BSD-2-Clause */
/* The list of `ringside top`: VMs and their vCPUs, sorted and filtered. */
#include "view/top.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

/* The state that a sort compares; RS_VCPU_STATES: none. */
static const enum rs_vcpu_state sort_states[RS_TOP_SORTS] = {
	[RS_TOP_BY_EXITS] = RS_VCPU_STATES,  [RS_TOP_BY_GUEST] = RS_VCPU_GUEST,
	[RS_TOP_BY_KERNEL] = RS_VCPU_KERNEL, [RS_TOP_BY_USER] = RS_VCPU_USER,
	[RS_TOP_BY_POLL] = RS_VCPU_POLL,     [RS_TOP_BY_HALTED] = RS_VCPU_HALTED,
	[RS_TOP_BY_WAIT] = RS_VCPU_WAIT,     [RS_TOP_BY_NAME] = RS_VCPU_STATES,
};

/* A VM with its vCPUs. Groups are sorted by the VM's figures. */
struct group {
	struct rs_top_row vm;
	size_t first, n; /* of the vCPUs, sorted by pid */
};

static const char *vm_name(const char *vm)
{
	return vm ? vm : "-";
}

static bool passes_filter(const struct rs_top *top, const char *vm)
{
	char glob[RS_TOP_FILTER_MAX + 2];
	size_t len = strlen(top->filter);

	if (!len)
		return true;
	if (strpbrk(top->filter, "*?["))
		return !fnmatch(top->filter, vm_name(vm), 0);
	glob[0] = '*'; /* a plain word matches anywhere */
	memcpy(glob + 1, top->filter, len);
	memcpy(glob + 1 + len, "*", 2);
	return !fnmatch(glob, vm_name(vm), 0);
}

static void row_add(struct rs_top_row *to, const struct rs_exits_vcpu *vcpu)
{
	to->exits += vcpu->exits;
	to->wall_ns += vcpu->wall_ns;
	for (int i = 0; i < RS_VCPU_STATES; i++)
		to->ns[i] += vcpu->ns[i];
}

static uint64_t row_share(const struct rs_top_row *row, enum rs_vcpu_state state)
{
	/* In units of 2^-20 of the time, independent of the number of vCPUs. */
	return row->wall_ns ? (uint64_t)(((__uint128_t)row->ns[state] << 20) / row->wall_ns) : 0;
}

static int row_compare(const struct rs_top_row *a, const struct rs_top_row *b,
		       enum rs_top_sort sort)
{
	enum rs_vcpu_state state = sort_states[sort];
	uint64_t of_a = 0, of_b = 0;
	int order;

	if (sort == RS_TOP_BY_EXITS) {
		of_a = a->exits;
		of_b = b->exits;
	} else if (state != RS_VCPU_STATES) {
		of_a = row_share(a, state);
		of_b = row_share(b, state);
	}
	if (of_a != of_b)
		return of_a < of_b ? 1 : -1;
	order = strcmp(vm_name(a->vm), vm_name(b->vm));
	return order ? order : (a->pid > b->pid) - (a->pid < b->pid);
}

static int group_compare(const void *a, const void *b, void *sort)
{
	return row_compare(&((const struct group *)a)->vm, &((const struct group *)b)->vm,
			   *(const enum rs_top_sort *)sort);
}

/* Sorts vCPUs by number, and those without a number by thread. */
static int vcpu_compare(const void *pa, const void *pb)
{
	const struct rs_exits_vcpu *a = *(const struct rs_exits_vcpu *const *)pa;
	const struct rs_exits_vcpu *b = *(const struct rs_exits_vcpu *const *)pb;

	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	if (a->vcpu != b->vcpu)
		return a->vcpu < b->vcpu ? -1 : 1;
	return (a->tid > b->tid) - (a->tid < b->tid);
}

static size_t groups_make(const struct rs_exits_vcpu **vcpus, size_t n, struct group *groups)
{
	size_t n_groups = 0;

	for (size_t i = 0; i < n; i++) {
		struct group *group = n_groups ? &groups[n_groups - 1] : NULL;

		if (!group || group->vm.pid != vcpus[i]->pid) {
			group = &groups[n_groups++];
			group->first = i;
			group->vm = (struct rs_top_row){ .vm = vcpus[i]->vm,
							 .pid = vcpus[i]->pid,
							 .vcpu = -1,
							 .is_vm = true,
							 .ended = true };
		}
		group->n++;
		group->vm.ended &= vcpus[i]->ended;
		row_add(&group->vm, vcpus[i]);
	}
	return n_groups;
}

static size_t rows_make(const struct rs_top *top, const struct group *groups, size_t n_groups,
			const struct rs_exits_vcpu **vcpus, struct rs_top_row *rows)
{
	size_t n = 0;

	for (size_t g = 0; g < n_groups; g++) {
		rows[n++] = groups[g].vm;
		for (size_t i = 0; !top->vms && i < groups[g].n; i++) {
			const struct rs_exits_vcpu *vcpu = vcpus[groups[g].first + i];

			rows[n] = (struct rs_top_row){ .vm = vcpu->vm,
						       .pid = vcpu->pid,
						       .tid = vcpu->tid,
						       .vcpu = vcpu->vcpu,
						       .ended = vcpu->ended };
			row_add(&rows[n++], vcpu);
		}
	}
	return n;
}

struct rs_error *rs_top_rows(const struct rs_top *top, const struct rs_exits *exits,
			     struct rs_top_row **rows, size_t *n)
{
	const struct rs_exits_vcpu **vcpus = calloc(exits->n_vcpus + 1, sizeof(*vcpus));
	struct group *groups = calloc(exits->n_vcpus + 1, sizeof(*groups));
	struct rs_top_row *made = calloc(2 * exits->n_vcpus + 1, sizeof(*made));
	enum rs_top_sort sort = top->sort;
	size_t n_vcpus = 0, n_groups;

	if (!vcpus || !groups || !made) {
		free(vcpus);
		free(groups);
		free(made);
		return rs_error_no_memory();
	}
	for (size_t i = 0; i < exits->n_vcpus; i++) {
		if (passes_filter(top, exits->vcpus[i].vm))
			vcpus[n_vcpus++] = &exits->vcpus[i];
	}
	qsort(vcpus, n_vcpus, sizeof(*vcpus), vcpu_compare);
	n_groups = groups_make(vcpus, n_vcpus, groups);
	qsort_r(groups, n_groups, sizeof(*groups), group_compare, &sort);
	*n = rows_make(top, groups, n_groups, vcpus, made);
	*rows = made;
	free(vcpus);
	free(groups);
	return NULL;
}
