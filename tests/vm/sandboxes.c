/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs many VMs in one process, some concurrently, and records all of them in one trace.
 *
 *	sandboxes TRACE GUEST FUNCTION VMS AT_ONCE RECORDS
 *
 * VM i is called sandbox-i and calls FUNCTION(i, 2 * i). Each puts RECORDS records; a VM begins
 * when at most AT_ONCE * RECORDS records of the VMs that have ended are not drained. Prints
 * "records lost streams" and the descriptors that were open after the first VM and after the last.
 */
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "vm/vm.h"
#include <ringside/recorder.h>
#include <ringside/trace.h>

static struct {
	const char *guest, *function;
	struct rs_recorder *recorder;
	struct rs_clock clock;
	uint32_t vms, next;
	uint64_t records, behind; /* of a VM; not drained when one begins */
	uint64_t ended;		  /* VMs; relaxed */
	int descriptors_first, descriptors_last;
} all;

static void must(struct rs_error *err)
{
	if (!err)
		return;
	fprintf(stderr, "%s\n", rs_error_text(err));
	exit(1);
}

static int descriptors(void)
{
	DIR *folder = opendir("/proc/self/fd");
	int n = 0;

	while (readdir(folder))
		n++;
	closedir(folder);
	return n;
}

/* A VM from its creation to its end. */
static void sandbox(uint32_t number)
{
	char name[32];
	struct rs_kit_value args[RS_KIT_ARGS_MAX] = {
		{ .type = RS_KIT_INT, .v = number },
		{ .type = RS_KIT_INT, .v = 2 * (uint64_t)number },
	};
	const struct rs_vm_options options = { .name = name,
					       .vcpus = 1,
					       .memory_bytes = 8 << 20,
					       .ring_bytes = 64 << 10,
					       .hand_over = RS_KIT_DOORBELL };
	const struct rs_vm_export *function;
	struct rs_vm_outcome outcome;
	struct rs_host_guest *guest;
	struct rs_vm *vm;

	snprintf(name, sizeof(name), "sandbox-%u", number);
	must(rs_vm_create(&options, &vm));
	must(rs_vm_load(vm, all.guest));
	must(rs_host_guest_create(
		&(struct rs_host_options){
			.vm = name, .memory = rs_vm_memory(vm), .clock = &all.clock, .vcpus = 1 },
		&guest));
	must(rs_vm_trace(vm, guest, all.recorder));
	must(rs_recorder_add_guest(all.recorder, guest, false));
	must(rs_vm_boot(vm, 0, &outcome));
	must(rs_vm_export_find(vm, all.function, 2, &function));
	must(rs_vm_call(vm, function, args, 0, &outcome));
	if (outcome.end != RS_VM_RETURNED || outcome.result.v != 3 * (uint64_t)number) {
		fprintf(stderr, "%s: %s\n", name, outcome.why);
		exit(1);
	}
	rs_vm_end(vm);
	must(rs_vm_trace_error(vm));
	must(rs_recorder_remove_guest(all.recorder, guest));
	rs_host_guest_destroy(guest);
	rs_vm_destroy(vm);
	__atomic_fetch_add(&all.ended, 1, __ATOMIC_RELAXED);
}

/* A recorder without a CPU sees no thread end, and its rings need streams of their own. */
static void catch_up(void)
{
	uint64_t put = __atomic_load_n(&all.ended, __ATOMIC_RELAXED) * all.records;
	struct rs_recorder_summary sum;

	for (;;) {
		rs_recorder_progress(all.recorder, &sum);
		if (sum.records + sum.lost + all.behind >= put)
			return;
		usleep(100);
	}
}

static void *run_some(void *arg)
{
	uint32_t number;

	while ((number = __atomic_fetch_add(&all.next, 1, __ATOMIC_RELAXED)) < all.vms) {
		catch_up();
		sandbox(number);
	}
	return arg;
}

int main(int argc, char **argv)
{
	struct rs_recorder_summary sum;
	pthread_t threads[64];
	uint32_t at_once = argc == 7 ? (uint32_t)atoi(argv[5]) : 0;

	if (!at_once || at_once > 64)
		return 2;
	all.guest = argv[2];
	all.function = argv[3];
	all.vms = (uint32_t)atoi(argv[4]);
	all.records = (uint64_t)atoi(argv[6]);
	all.behind = at_once * all.records;
	must(rs_clock_host(&all.clock));
	must(rs_trace_start(&(struct rs_trace_options){ .provider = "vmm" }));
	must(rs_recorder_create(
		&(struct rs_recorder_options){ .directory = argv[1], .clock = all.clock },
		&all.recorder));
	must(rs_recorder_add_trace(all.recorder));
	sandbox(all.next++);
	all.descriptors_first = descriptors();
	for (uint32_t i = 0; i < at_once; i++)
		pthread_create(&threads[i], NULL, run_some, NULL);
	for (uint32_t i = 0; i < at_once; i++)
		pthread_join(threads[i], NULL);
	all.descriptors_last = descriptors();
	must(rs_recorder_close(all.recorder, &sum));
	printf("%llu %llu %llu %d %d\n", (unsigned long long)sum.records,
	       (unsigned long long)sum.lost, (unsigned long long)sum.streams, all.descriptors_first,
	       all.descriptors_last);
	return 0;
}
