/* SPDX-License-Identifier: BSD-2-Clause */
/* ringside record --kvm: the host's KVM tracepoints, through a BPF session. */
#include "cli/cli.h"
#include "cli/record.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/duration.h"
#include "event/exit_reason.h"
#include "record/kvm.h"
#include "source/kvm.h"
#include "view/exits.h"

struct kvm_state {
	const struct rs_record_arguments *a;
	struct rs_kvm_session *session;
	struct rs_kvm_recording *recording;
	bool user; /* kvm_exit never fires here: returns to the VMM are counted */
};

static bool is_wanted(const struct rs_record_arguments *a)
{
	return a->kvm;
}

/* ---- which threads ------------------------------------------------------------------------ */

static struct rs_error *check_given(const struct rs_record_arguments *a)
{
	if (a->when_text && rs_kvm_only_user_exits())
		return rs_error_create(RS_ABSENT,
				       "--when: kvm_exit never fires on this host (its KVM works "
				       "without VMX and SVM); SIGUSR1 writes");
	return rs_cli_check_ids(a->pid, a->tids, a->n_tids);
}

/* The threads of VMs whose names match: of one process, all that it has and will have; else those
 * that there are. */
static struct rs_error *choose_vm(const char *glob, struct rs_kvm_options *options, int *tids)
{
	struct rs_kvm_vcpu *vcpus = NULL;
	struct rs_error *err;
	uint32_t n = 0, found = 0;
	bool one = true;

	err = rs_kvm_discover(&vcpus, &n);
	for (uint32_t i = 0; !err && i < n && found < RS_RECORD_TIDS_MAX; i++) {
		if (fnmatch(glob, vcpus[i].vm, 0))
			continue;
		one &= !found || vcpus[i].pid == options->pid;
		options->pid = vcpus[i].pid;
		tids[found++] = vcpus[i].tid;
	}
	free(vcpus);
	if (!err && !found)
		err = rs_error_create(RS_FAILED, "no VM that runs is named '%s'", glob);
	if (!err && !one) {
		options->pid = 0;
		options->tids = tids;
		options->n_tids = found;
	}
	return err;
}

static struct rs_error *kvm_open(const struct rs_record_arguments *a, void **state)
{
	struct rs_kvm_options options = { .latency = true,
					  .events = true,
					  .user = a->exits && rs_kvm_only_user_exits(),
					  .trigger_ns = a->when.than_ns,
					  .trigger_isa = a->when.isa,
					  .trigger_code = a->when.code,
					  .pid = a->pid,
					  .tids = a->tids,
					  .n_tids = a->n_tids,
					  .ring_bytes = a->buffer_bytes };
	struct kvm_state *s = calloc(1, sizeof(*s));
	int *tids = a->vm ? calloc(RS_RECORD_TIDS_MAX, sizeof(*tids)) : NULL;
	struct rs_error *err;

	if (!s || (a->vm && !tids)) {
		free(s);
		return rs_error_no_memory();
	}
	s->a = a;
	s->user = options.user;
	err = check_given(a);
	if (!err && a->vm)
		err = choose_vm(a->vm, &options, tids);
	if (!err)
		err = rs_kvm_open(&options, &s->session);
	free(tids);
	if (err)
		free(s);
	else
		*state = s;
	return err;
}

static struct rs_error *kvm_attach(void *state, struct rs_recorder *recorder,
				   const struct rs_clock *host)
{
	struct kvm_state *s = state;
	struct rs_error *err;

	err = rs_kvm_recording_create(s->session, recorder, host, &s->recording);
	return err ? err : rs_kvm_recording_attach(s->recording);
}

static struct rs_error *kvm_gate(void *state, bool open)
{
	struct kvm_state *s = state;

	return rs_kvm_recording_gate(s->recording, open);
}

static struct rs_error *kvm_look(void *state)
{
	struct kvm_state *s = state;

	return rs_kvm_recording_look(s->recording);
}

/* ---- the flight recorder ------------------------------------------------------------------- */

/* " of vm/v0", where that is known. */
static void whose(struct kvm_state *s, int tid, char *text, size_t bytes)
{
	struct rs_kvm_snapshot snapshot;
	struct rs_error *err = rs_kvm_snapshot(s->session, &snapshot);

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
	struct kvm_state *s = state;
	char took[RS_DURATION_TEXT_MAX], reason[RS_EXIT_TEXT_MAX], who[RS_KVM_VM_MAX + 32];
	struct rs_kvm_trigger trigger;

	if (!rs_kvm_triggered(s->session, &trigger))
		return false;
	whose(s, trigger.tid, who, sizeof(who));
	snprintf(why, RS_RECORD_WHY_MAX, "exit %s%s, thread %d, took %s",
		 rs_exit_text(trigger.isa, trigger.code, reason), who, trigger.tid,
		 rs_duration_text(trigger.cost_ns, took));
	return true;
}

static struct rs_error *kvm_tell(void *state)
{
	struct kvm_state *s = state;

	return rs_kvm_recording_tell(s->recording);
}

static void kvm_rearm(void *state)
{
	struct kvm_state *s = state;

	rs_kvm_rearm(s->session);
}

/* ---- the end ------------------------------------------------------------------------------- */

static void kvm_sum(const void *state, char text[RS_RECORD_WHY_MAX], json_t *json)
{
	const struct kvm_state *s = state;
	uint64_t dropped;
	uint32_t threads = rs_kvm_recording_threads(s->recording, &dropped);

	if (dropped)
		snprintf(text, RS_RECORD_WHY_MAX,
			 "%u vCPU threads, %llu exits of more of them not seen", threads,
			 (unsigned long long)dropped);
	else
		snprintf(text, RS_RECORD_WHY_MAX, "%u vCPU thread%s", threads,
			 threads == 1 ? "" : "s");
	json_object_set_new(json, "threads", json_integer(threads));
	json_object_set_new(json, "dropped", json_integer((json_int_t)dropped));
}

/* What the session has counted; its events were the trace's. */
static struct rs_error *counts_take(struct kvm_state *s, struct rs_sink *sink)
{
	struct rs_batch batch = { .kind = RS_NEXT_IDLE };
	struct rs_source *source = NULL;
	uint32_t pushed;
	struct rs_error *err = rs_kvm_source_create(s->session, &source);

	if (!err)
		err = source->ops->open(source, rs_exits_query(sink), &pushed);
	while (!err && batch.kind != RS_NEXT_END) {
		err = source->ops->next(source, &batch);
		if (!err && batch.kind == RS_NEXT_AGGREGATE)
			err = sink->ops->partial(sink, batch.partial);
	}
	rs_source_destroy(source);
	return err;
}

static struct rs_error *show_exits(struct kvm_state *s)
{
	struct rs_exits_show show = { .fd = STDOUT_FILENO,
				      .form = s->a->json ? RS_EXITS_JSON : RS_EXITS_TEXT };
	struct rs_exits_options options = { .user = s->user };
	struct rs_exits exits;
	struct rs_sink *sink;
	struct rs_error *err = rs_exits_sink_create(&options, &sink);

	if (err)
		return err;
	err = counts_take(s, sink);
	if (!err)
		err = rs_exits_take(sink, true, 0, &exits);
	if (!err)
		err = rs_exits_print(&show, &exits);
	rs_exits_sink_destroy(sink);
	return err;
}

static struct rs_error *kvm_report(void *state, bool *partial)
{
	struct kvm_state *s = state;
	uint64_t dropped;

	rs_kvm_recording_threads(s->recording, &dropped);
	*partial |= dropped != 0;
	return s->a->exits ? show_exits(s) : NULL;
}

static void kvm_close(void *state)
{
	struct kvm_state *s = state;

	rs_kvm_recording_destroy(s->recording);
	rs_kvm_close(s->session);
	free(s);
}

const struct rs_record_kind rs_record_kvm = {
	.name = "kvm",
	.is_wanted = is_wanted,
	.open = kvm_open,
	.attach = kvm_attach,
	.gate = kvm_gate,
	.look = kvm_look,
	.triggered = kvm_triggered,
	.tell = kvm_tell,
	.rearm = kvm_rearm,
	.sum = kvm_sum,
	.report = kvm_report,
	.close = kvm_close,
};
