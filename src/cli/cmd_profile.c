/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ringside profile: samples what a guest of this host executes, while it runs.
 *
 *	sampler (BPF, the VMM's memory) -> rows of tasks and functions -> a table, or a file
 */
#include "cli/cli.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/now.h"
#include "cli/numbers.h"
#include "cli/shared.h"
#include "export/profile.h"
#include "kvm/kvm.h"
#include "view/guest_profile.h"

#define NS_PER_SEC  UINT64_C(1000000000)
#define NS_PER_MS   UINT64_C(1000000)
#define INTERVAL_NS (20 * NS_PER_MS)
#define POLL_NS	    (20 * NS_PER_MS)
#define POLL_TICKS  16u /* and at most this many intervals: a poll gives the clocks new periods */
#define STALL_NS    (2 * NS_PER_SEC)
#define TOP	    40u
#define STALL_TOP   3u

struct arguments {
	const char *vm; /* glob */
	int pid;
	uint64_t interval_ns, duration_ns; /* duration 0: until Ctrl-C */
	const char *symfs, *output;
	const struct rs_profile_format *format;
	uint32_t top;
	bool stall, json, quiet, has_top;
};

enum { OPT_INTERVAL = 256, OPT_TO, OPT_TOP };

static const struct argp_option options[] = {
	{ "pid", 'p', "PID", 0, "Sample the VM of this process", 1 },
	{ "interval", OPT_INTERVAL, "TIME", 0,
	  "Sample each vCPU once per TIME of its thread's CPU time, as in 1ms (20ms)", 2 },
	{ "stall", RS_CLI_FLAG(struct arguments, stall), NULL, 0,
	  "Show where each vCPU spins or is halted, after DURATION or 2 seconds", 2 },
	{ "symfs", RS_CLI_TEXT(struct arguments, symfs), "DIR", 0,
	  "Look up the guest's files below DIR, to name the functions of its programs", 2 },
	{ "top", OPT_TOP, "N", 0,
	  "Show this many rows (40), or with --stall, this many of each "
	  "vCPU (3); 0: all",
	  3 },
	{ "to", OPT_TO, "FORMAT", 0,
	  "With -o: write folded, flame (SVG), pprof, speedscope or callgrind instead of the table",
	  3 },
	{ "output", 'o', "FILE", RS_CLI_TEXT(struct arguments, output),
	  "With --to: write to this new file", 3 },
	{ 0 },
};

static const char doc[] =
	"Show which tasks and functions a guest on this host executes, for DURATION seconds or "
	"until Ctrl-C. The guest is not stopped and needs no agent. Needs KVM on AMD or Intel, and "
	"root.\v"
	"profile reads a vCPU's registers in an interrupt on its thread, and the guest's memory "
	"through the VMM's memory, while the guest continues to run. If the task has changed "
	"before its memory is read, the sample is dropped. profile finds a Linux kernel for x86-64 "
	"by its page tables, symbols and types. For another guest, the output shows addresses and "
	"page tables.\n\n"
	"Exit codes: 0 done; 1 failed; 2 usage error; 3 done, but no Linux was found, its tasks "
	"are unknown, or samples were dropped because a buffer was full.\n\n"
	"Examples:\n"
	"  ringside profile --vm web 10\n"
	"  ringside profile --vm web --stall\n"
	"  ringside profile --vm web --symfs /srv/web-root --to flame -o web.svg 30\n";

struct run {
	struct arguments *a;
	struct rs_guest_sampler *sampler;
	struct rs_guest_profile profile;
	char vm[RS_KVM_VM_MAX];
	int pid;
	uint64_t begin_ns, end_ns;
	bool has_ended; /* the VMM */
};

/* ---- arguments ------------------------------------------------------------------------------ */

static const struct rs_profile_format *format_of(const struct argp_state *state, const char *name)
{
	const struct rs_profile_format *format = rs_profile_format_find(name);

	if (!format)
		argp_error(state, "--to: there is no format '%s'", name);
	return format;
}

static void check(const struct argp_state *state, struct arguments *a)
{
	if (!a->vm && !a->pid)
		argp_error(state, "no VM given: --vm NAME or -p PID");
	if (!a->format != !a->output)
		argp_error(state, "--to and -o require each other");
	if (a->stall && !a->duration_ns)
		a->duration_ns = STALL_NS;
	if (!a->has_top)
		a->top = a->stall ? STALL_TOP : TOP;
}

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->vm;
		state->child_inputs[1] = &a->json;
		state->child_inputs[2] = &a->quiet;
		return 0;
	case 'p':
		a->pid = rs_cli_int(state, "--pid", text, 1);
		return 0;
	case OPT_INTERVAL:
		a->interval_ns = rs_cli_time_within(state, "--interval", text, NS_PER_MS,
						    RS_KVM_SAMPLE_NS_MIN, RS_KVM_SAMPLE_NS_MAX);
		return 0;
	case OPT_TOP:
		a->top = (uint32_t)rs_cli_int(state, "--top", text, 0);
		a->has_top = true;
		return 0;
	case OPT_TO:
		a->format = format_of(state, text);
		return 0;
	case ARGP_KEY_ARG:
		if (a->duration_ns)
			argp_error(state, "only one DURATION is allowed, got '%s'", text);
		a->duration_ns = rs_cli_time(state, "the duration", text, NS_PER_SEC);
		return 0;
	case ARGP_KEY_END:
		check(state, a);
		return 0;
	default:
		return rs_cli_store(options, key, text, state);
	}
}

/* ---- which VM ------------------------------------------------------------------------------- */

static struct rs_error *vm_choose(struct run *run)
{
	const struct arguments *a = run->a;
	struct rs_kvm_vcpu *vcpus = NULL;
	uint32_t n = 0;
	struct rs_error *err = rs_kvm_discover(&vcpus, &n);

	for (uint32_t i = 0; !err && i < n; i++) {
		if ((a->vm && fnmatch(a->vm, vcpus[i].vm, 0)) || (a->pid && a->pid != vcpus[i].pid))
			continue;
		if (run->pid && run->pid != vcpus[i].pid)
			err = rs_error_create(RS_USAGE,
					      "processes %d and %d both have a VM with a name that "
					      "matches '%s': choose one with -p",
					      run->pid, vcpus[i].pid, a->vm);
		run->pid = vcpus[i].pid;
		memcpy(run->vm, vcpus[i].vm, sizeof(run->vm));
	}
	free(vcpus);
	if (err || run->pid)
		return err;
	return a->vm ? rs_error_create(RS_FAILED, "no running VM has a name that matches '%s'",
				       a->vm)
		     : rs_error_create(RS_FAILED, "process %d runs no vCPU", a->pid);
}

/* ---- the run -------------------------------------------------------------------------------- */

static struct rs_error *on_sample(void *ctx, const struct rs_guest_sample *sample)
{
	struct run *run = ctx;

	return rs_guest_profile_add(&run->profile, sample);
}

static struct rs_error *on_now(void *ctx, enum rs_guest_now now,
			       const struct rs_guest_sample *sample)
{
	struct run *run = ctx;

	return rs_guest_profile_now(&run->profile, now, sample);
}

static struct rs_error *run_open(struct run *run)
{
	const struct arguments *a = run->a;
	struct rs_error *err = rs_kvm_sampler_check();

	if (!err)
		err = vm_choose(run);
	if (!err)
		err = rs_guest_sampler_open(
			&(struct rs_guest_sampler_options){ run->pid, a->interval_ns, a->symfs },
			&run->sampler);
	if (!err)
		err = rs_guest_sampler_start(run->sampler);
	return err ? err : rs_cli_confine(RS_CONFINE_SAMPLER);
}

static struct rs_error *run_sample(struct run *run)
{
	uint64_t duration = run->a->duration_ns, poll_ns = run->a->interval_ns * POLL_TICKS;
	struct rs_error *err = NULL;

	if (poll_ns > POLL_NS)
		poll_ns = POLL_NS;
	run->begin_ns = run->end_ns = rs_now_ns(CLOCK_MONOTONIC);
	while (!err && !run->has_ended && !rs_cli_stop) {
		uint64_t left = duration ? run->begin_ns + duration - run->end_ns : poll_ns;

		rs_sleep_ns(left < poll_ns ? left : poll_ns);
		run->end_ns = rs_now_ns(CLOCK_MONOTONIC);
		err = rs_guest_sampler_poll(run->sampler, on_sample, run, &run->has_ended);
		if (duration && run->end_ns - run->begin_ns >= duration)
			break;
	}
	if (!err && run->a->stall && !run->has_ended)
		err = rs_guest_sampler_now(run->sampler, on_now, run);
	rs_guest_sampler_stop(run->sampler);
	if (!err) /* the samples since the last poll */
		err = rs_guest_sampler_poll(run->sampler, on_sample, run, &run->has_ended);
	rs_guest_profile_sort(&run->profile);
	return err;
}

static struct rs_error *run_show(struct run *run)
{
	const struct arguments *a = run->a;
	struct rs_guest_profile_show show = {
		.fd = STDOUT_FILENO,
		.json = a->json,
		.stall = a->stall,
		.top = a->top,
		.vm = run->vm,
		.pid = run->pid,
		.kernel = rs_guest_sampler_kernel(run->sampler, NULL),
		.n_vcpus = rs_guest_sampler_vcpus(run->sampler),
		.interval_ns = a->interval_ns,
		.duration_ns = run->end_ns - run->begin_ns,
	};

	rs_guest_sampler_count(run->sampler, &show.counts);
	if (!a->format)
		return rs_guest_profile_print(&show, &run->profile);
	run->profile.profile.duration_ns = (int64_t)show.duration_ns;
	return rs_profile_write_file(a->output, &run->profile.profile,
				     &(struct rs_profile_what){ RS_GUEST_TIME, run->vm },
				     a->format->write);
}

/* ---- remarks -------------------------------------------------------------------------------- */

static void remark(const struct run *run, const char *what, const char *why)
{
	if (!run->a->quiet)
		fprintf(stderr, "ringside profile: %s%s%s\n", what, why ? ": " : "",
			why ? why : "");
}

/* Reports what the result lacks. Returns the exit code. */
static int judge(const struct run *run)
{
	const struct rs_guest_profile *p = &run->profile;
	const char *why = NULL, *no_tasks = rs_guest_sampler_no_tasks(run->sampler);
	struct rs_guest_sampler_counts counts;
	int code = RS_EXIT_OK;

	rs_guest_sampler_count(run->sampler, &counts);
	const struct rs_cli_loss losses[] = {
		{ counts.refused, "sample", "lost because the buffer was full" },
		{ p->left_out, "sample", "dropped because the table was full" },
		{ counts.vcpus_missed, "vCPU", "not sampled because it started later" }
	};

	if (run->has_ended)
		remark(run, "the VM has ended", NULL);
	else if (!counts.ticks && !run->a->stall)
		remark(run, "no vCPU ran: are they all halted? --stall shows where", NULL);
	if (!rs_guest_sampler_kernel(run->sampler, &why) && counts.ticks) {
		remark(run, "no Linux kernel was found in the guest", why);
		code = RS_EXIT_PARTIAL;
	} else if (no_tasks) {
		remark(run, "the guest's tasks are unknown", no_tasks);
		code = RS_EXIT_PARTIAL;
	}
	if (rs_cli_report_losses("profile", losses, sizeof(losses) / sizeof(losses[0])))
		code = RS_EXIT_PARTIAL;
	return code;
}

int cmd_profile(int argc, char **argv)
{
	static const struct argp_child children[] = { { &rs_cli_vm_argp, 0, NULL, 0 },
						      { &rs_cli_json_argp, 0, NULL, 0 },
						      { &rs_cli_quiet_argp, 0, NULL, 0 },
						      { 0 } };
	static const struct argp argp = { options, parse, "[DURATION]", doc, children, NULL, NULL };
	struct arguments a = { .interval_ns = INTERVAL_NS };
	struct run run = { .a = &a };
	struct rs_error *err;
	int code = RS_EXIT_OK;

	if (rs_cli_parse_writer(&argp, argc, argv, &a))
		return RS_EXIT_USAGE;
	rs_guest_profile_init(&run.profile, a.interval_ns, a.stall);
	rs_cli_catch_stop();
	err = run_open(&run);
	if (!err)
		err = run_sample(&run);
	if (!err)
		err = run_show(&run);
	if (!err)
		code = judge(&run);
	rs_guest_profile_deinit(&run.profile);
	rs_guest_sampler_close(run.sampler);
	return err ? rs_cli_fail("profile", err) : code;
}
