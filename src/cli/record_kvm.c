/* SPDX-License-Identifier: BSD-2-Clause */
/* ringside record --kvm: the host's KVM tracepoints, through a BPF session. */
#include "cli/cli.h"
#include "cli/record.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/count.h"
#include "base/duration.h"
#include "cli/numbers.h"
#include "cli/shared.h"
#include "event/exit_reason.h"
#include "live/record_kvm.h"
#include "live/when.h"
#include "live/kvm.h"
#include "view/exits.h"

#define TIDS_MAX 4096u

/* The only session of the process; zero at first. */
static struct kvm {
	/* The options. */
	bool selected, exits;
	int pid;
	int tids[TIDS_MAX];
	uint32_t n_tids;
	const char *vm; /* glob */
	const char *when_text;
	struct rs_when when;
	bool json;
	/* The session and its recording. */
	struct rs_kvm_session *session;
	struct rs_kvm_recording *recording;
	bool user; /* kvm_exit never fires here; returns to the VMM are counted */
} the_kvm;

/* ---- arguments ---------------------------------------------------------------------------- */

enum { KEY_WHEN = 512 };

static const struct argp_option options[] = {
	{ "kvm", RS_CLI_FLAG(struct kvm, selected), NULL, 0,
	  "Record the host's KVM: exits and entries, their causes, and when vCPUs' threads were "
	  "off the CPU",
	  1 },
	{ "exits", RS_CLI_FLAG(struct kvm, exits), NULL, 0,
	  "With --kvm: also count the exits in that time, and show their table at the end", 1 },
	{ "pid", 'p', "PID", 0, "With --kvm: record only this process's vCPUs", 3 },
	{ "tid", 't', "TID", 0, "With --kvm: record only this thread", 3 },
	{ "tids", 'T', "TID,...", 0, "With --kvm: record only these threads", 3 },
	{ "when", KEY_WHEN, "COND", 0,
	  "With --flight and --kvm: write when an exit takes longer than a limit, as in 'exit > "
	  "1ms' or 'exit HLT > 5ms'; at most once per TIME",
	  4 },
	{ 0 },
};

static void set_when(const struct argp_state *state, struct kvm *k, const char *text)
{
	struct rs_error *err = rs_when_parse(text, rs_when_host_isa(), &k->when);

	if (err)
		argp_error(state, "--when: %s", rs_error_text(err));
	k->when_text = text;
}

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct kvm *k = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &k->vm;
		break;
	case 'p':
		k->pid = rs_cli_int(state, "--pid", text, 1);
		break;
	case 't':
		k->n_tids = rs_cli_tids(state, "--tid", text, k->tids, k->n_tids, TIDS_MAX);
		break;
	case 'T':
		k->n_tids = rs_cli_tids(state, "--tids", text, k->tids, k->n_tids, TIDS_MAX);
		break;
	case KEY_WHEN:
		set_when(state, k, text);
		break;
	default:
		return rs_cli_store(options, key, text, state);
	}
	return 0;
}

static const struct argp_child children[] = { { &rs_cli_vm_argp, 0, NULL, 0 }, { 0 } };
static const struct argp argp = { options, parse, NULL, NULL, children, NULL, NULL };

static bool is_selected(const void *state)
{
	const struct kvm *k = state;

	return k->selected;
}

static void check(const void *state, const struct argp_state *argp_state,
		  const struct rs_record_common *common)
{
	const struct kvm *k = state;

	if (k->exits && !k->selected)
		argp_error(argp_state, "--exits requires --kvm");
	if (!k->selected && (k->pid || k->n_tids || k->vm || k->when_text))
		argp_error(argp_state, "-p, -t, -T, --vm and --when require --kvm");
	if (k->when_text && !common->flight_ns)
		argp_error(argp_state, "--when requires --flight");
}

/* ---- selected threads ---------------------------------------------------------------------- */

static struct rs_error *check_given(const struct kvm *k)
{
	if (k->when_text && rs_kvm_only_user_exits())
		return rs_error_create(RS_ABSENT,
				       "--when: kvm_exit never fires on this host, whose KVM uses "
				       "neither VMX nor SVM; SIGUSR1 works");
	return rs_cli_check_ids(k->pid, k->tids, k->n_tids);
}

/* Selects the threads of VMs with matching names. If all are of one process, selects the process,
 * including its future threads; otherwise selects the threads that run now. */
static struct rs_error *choose_vm(const char *glob, struct rs_kvm_options *options, int *tids)
{
	struct rs_kvm_vcpu *vcpus = NULL;
	struct rs_error *err;
	uint32_t n = 0, found = 0;
	bool one = true;

	err = rs_kvm_discover(&vcpus, &n);
	for (uint32_t i = 0; !err && i < n && found < TIDS_MAX; i++) {
		if (fnmatch(glob, vcpus[i].vm, 0))
			continue;
		one &= !found || vcpus[i].pid == options->pid;
		options->pid = vcpus[i].pid;
		tids[found++] = vcpus[i].tid;
	}
	free(vcpus);
	if (!err && !found)
		err = rs_error_create(RS_FAILED, "no running VM has a name that matches '%s'",
				      glob);
	if (!err && !one) {
		options->pid = 0;
		options->tids = tids;
		options->n_tids = found;
	}
	return err;
}

static struct rs_error *kvm_open(void *state, const struct rs_record_common *common)
{
	struct kvm *k = state;
	struct rs_kvm_options o = { .latency = true,
				    .events = true,
				    .user = k->exits && rs_kvm_only_user_exits(),
				    .trigger_ns = k->when.than_ns,
				    .trigger_isa = k->when.isa,
				    .trigger_code = k->when.code,
				    .pid = k->pid,
				    .tids = k->tids,
				    .n_tids = k->n_tids,
				    .ring_bytes = common->buffer_bytes };
	struct rs_error *err;

	k->user = o.user;
	k->json = common->json;
	err = check_given(k);
	if (!err && k->vm)
		err = choose_vm(k->vm, &o, k->tids);
	return err ? err : rs_kvm_open(&o, &k->session);
}

static struct rs_error *kvm_attach(void *state, struct rs_recorder *recorder,
				   const struct rs_clock *host)
{
	struct kvm *k = state;
	struct rs_error *err;

	err = rs_kvm_recording_create(k->session, recorder, host, &k->recording);
	return err ? err : rs_kvm_recording_attach(k->recording);
}

static struct rs_error *kvm_gate(void *state, bool open)
{
	struct kvm *k = state;

	return rs_kvm_recording_gate(k->recording, open);
}

static struct rs_error *kvm_poll(void *state)
{
	struct kvm *k = state;

	return rs_kvm_recording_poll(k->recording);
}

/* ---- the flight recorder ------------------------------------------------------------------- */

/* Writes " of vm/v0" for a thread, or an empty text if its vCPU is unknown. */
static void write_vcpu(struct kvm *k, int tid, char *text, size_t bytes)
{
	struct rs_kvm_snapshot snapshot;
	struct rs_error *err = rs_kvm_snapshot(k->session, &snapshot);

	text[0] = '\0';
	for (uint32_t i = 0; !err && i < snapshot.n_threads; i++) {
		const struct rs_kvm_thread *thread = &snapshot.threads[i];

		if (thread->tid == tid && thread->vcpu >= 0)
			snprintf(text, bytes, " of %s/v%d", thread->vm, thread->vcpu);
	}
	rs_error_free(err);
}

static bool kvm_triggered(void *state, char why[RS_RECORD_WHY_MAX])
{
	struct kvm *k = state;
	char took[RS_DURATION_TEXT_MAX], reason[RS_EXIT_TEXT_MAX], vcpu[RS_KVM_VM_MAX + 32];
	struct rs_kvm_trigger trigger;

	if (!k->when_text || !rs_kvm_triggered(k->session, &trigger))
		return false;
	write_vcpu(k, trigger.tid, vcpu, sizeof(vcpu));
	snprintf(why, RS_RECORD_WHY_MAX, "exit %s%s, thread %d, took %s",
		 rs_exit_text(trigger.isa, trigger.code, reason), vcpu, trigger.tid,
		 rs_duration_text(trigger.cost_ns, took));
	return true;
}

static struct rs_error *kvm_describe(void *state)
{
	struct kvm *k = state;

	return rs_kvm_recording_snapshot(k->recording);
}

static void kvm_rearm(void *state)
{
	struct kvm *k = state;

	rs_kvm_rearm(k->session);
}

/* ---- the end ------------------------------------------------------------------------------- */

static void kvm_sum(const void *state, char text[RS_RECORD_WHY_MAX])
{
	const struct kvm *k = state;
	uint64_t dropped;
	uint32_t threads = rs_kvm_recording_threads(k->recording, &dropped);

	if (dropped)
		snprintf(text, RS_RECORD_WHY_MAX, "%s, %s of further ones missed",
			 RS_COUNT_OF(threads, "vCPU thread"), RS_COUNT_OF(dropped, "exit"));
	else
		snprintf(text, RS_RECORD_WHY_MAX, "%s", RS_COUNT_OF(threads, "vCPU thread"));
}

static void kvm_sum_json(const void *state, struct rs_json *json)
{
	const struct kvm *k = state;
	uint64_t dropped;

	rs_json_unsigned(rs_json_key(json, "threads"),
			 rs_kvm_recording_threads(k->recording, &dropped));
	rs_json_unsigned(rs_json_key(json, "dropped"), dropped);
}

/* Feeds the session's counts to the sink. The session's events are in the trace. */
static struct rs_error *feed_counts(struct kvm *k, struct rs_sink *sink)
{
	struct rs_source *source = NULL;
	struct rs_error *err = rs_kvm_source_create(k->session, &source);

	if (!err)
		err = rs_run(source, rs_exits_query(sink), sink, NULL);
	rs_source_destroy(source);
	return err;
}

static struct rs_error *show_exits(struct kvm *k)
{
	struct rs_exits_show show = { .fd = STDOUT_FILENO,
				      .form = k->json ? RS_TABLE_JSON : RS_TABLE_TEXT };
	struct rs_exits_options options = { .user = k->user };
	struct rs_exits exits;
	struct rs_sink *sink;
	struct rs_error *err = rs_exits_sink_create(&options, &sink);

	if (err)
		return err;
	err = feed_counts(k, sink);
	if (!err)
		err = rs_exits_collect(sink, true, 0, &exits);
	if (!err)
		err = rs_exits_print(&show, &exits);
	rs_exits_sink_destroy(sink);
	return err;
}

static struct rs_error *kvm_report(void *state, bool *partial)
{
	struct kvm *k = state;
	uint64_t dropped;

	rs_kvm_recording_threads(k->recording, &dropped);
	*partial |= dropped != 0;
	return k->exits ? show_exits(k) : NULL;
}

static void kvm_close(void *state)
{
	struct kvm *k = state;

	rs_kvm_recording_destroy(k->recording);
	rs_kvm_close(k->session);
}

const struct rs_record_kind rs_record_kvm = {
	.name = "kvm",
	.state = &the_kvm,
	.argp = &argp,
	.uses = RS_RECORD_BUFFER | RS_RECORD_POLL,
	.is_selected = is_selected,
	.check = check,
	.open = kvm_open,
	.attach = kvm_attach,
	.gate = kvm_gate,
	.poll = kvm_poll,
	.triggered = kvm_triggered,
	.describe = kvm_describe,
	.rearm = kvm_rearm,
	.sum = kvm_sum,
	.sum_json = kvm_sum_json,
	.report = kvm_report,
	.close = kvm_close,
};
