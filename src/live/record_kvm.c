/* SPDX-License-Identifier: BSD-2-Clause */
/* Records a KVM session. */
#include "live/record_kvm.h"

#include <stdlib.h>
#include <string.h>

#include "kvm/wire.h"
#include "base/vector.h"

struct rs_kvm_recording {
	struct rs_kvm_session *session;
	struct rs_recorder *recorder;
	struct rs_schema *schema;
	struct rs_clock clock;
	struct rs_recorder_stream *stream; /* of the session's own events */
	/* The vCPU of each thread whose line is written; n_announced: threads with an event. */
	int *vcpus;
	uint32_t n_vcpus, room, n_announced;
	uint64_t dropped;
};

/* ---- threads ------------------------------------------------------------------------------ */

/* Returns the stamp from which a tid belongs to this thread: its first event if another thread had
 * the tid before, else 0. */
static uint64_t from_stamp(const struct rs_kvm_snapshot *snapshot, uint32_t at)
{
	const struct rs_kvm_thread *thread = &snapshot->threads[at];

	for (uint32_t i = 0; i < at; i++) {
		if (snapshot->threads[i].tid == thread->tid)
			return thread->time.since;
	}
	return 0;
}

static struct rs_error *line_write(struct rs_kvm_recording *r,
				   const struct rs_kvm_snapshot *snapshot, uint32_t at)
{
	const struct rs_kvm_thread *thread = &snapshot->threads[at];
	struct rs_thread line = { .tid = thread->tid,
				  .pid = thread->pid,
				  .vm = thread->vm[0] ? thread->vm : NULL,
				  .vcpu = thread->vcpu,
				  .from = from_stamp(snapshot, at) };

	r->vcpus[at] = thread->vcpu;
	return rs_recorder_add_thread(r->recorder, r->schema, &line);
}

/* Writes the lines of new threads, and of threads whose vCPU has become known. */
static struct rs_error *lines_write(struct rs_kvm_recording *r,
				    const struct rs_kvm_snapshot *snapshot)
{
	struct rs_error *err = NULL;

	if (!RS_VECTOR_RESERVE(r->vcpus, r->room, snapshot->n_threads))
		return rs_error_no_memory();
	for (uint32_t i = 0; !err && i < snapshot->n_threads; i++) {
		if (i >= r->n_vcpus || r->vcpus[i] != snapshot->threads[i].vcpu)
			err = line_write(r, snapshot, i);
	}
	r->n_vcpus = snapshot->n_threads;
	return err;
}

/* run, wait: since the thread's first event in the session. */
static struct rs_error *put_thread(struct rs_kvm_recording *r, const struct rs_kvm_thread *thread,
				   uint64_t stamp, uint64_t run_ns, uint64_t wait_ns)
{
	struct {
		struct rs_kvm_on_kvm_thread on;
		uint16_t len;
		char vm[RS_KVM_VM_MAX];
	} __attribute__((packed)) payload = {
		.on = { .tid = (uint32_t)thread->tid,
			.pid = (uint32_t)thread->pid,
			.vcpu = thread->vcpu,
			.sched_known = thread->sched_known,
			.asleep = thread->asleep,
			.complete = thread->complete,
			.run = run_ns,
			.wait = wait_ns },
	};
	size_t len = strnlen(thread->vm, sizeof(thread->vm));

	payload.len = (uint16_t)len;
	memcpy(payload.vm, thread->vm, len);
	return rs_recorder_put(r->stream, stamp, RS_KVM_ID_kvm_thread, &payload,
			       (uint32_t)(sizeof(payload.on) + sizeof(payload.len) + len));
}

/* Records an event for each new thread, at the thread's first stamp. */
static struct rs_error *announce(struct rs_kvm_recording *r, const struct rs_kvm_snapshot *snapshot)
{
	struct rs_error *err = NULL;

	for (; !err && r->n_announced < snapshot->n_threads; r->n_announced++) {
		const struct rs_kvm_thread *thread = &snapshot->threads[r->n_announced];

		err = put_thread(r, thread, thread->time.since, 0, 0);
	}
	return err;
}

/* Records an event for each thread, at the snapshot's time. */
static struct rs_error *put_threads(struct rs_kvm_recording *r,
				    const struct rs_kvm_snapshot *snapshot)
{
	struct rs_error *err = NULL;

	for (uint32_t i = 0; !err && i < snapshot->n_threads; i++) {
		const struct rs_kvm_thread *thread = &snapshot->threads[i];

		err = put_thread(r, thread, snapshot->now_ns, thread->run_ns, thread->wait_ns);
	}
	return err;
}

/* ---- the gate ----------------------------------------------------------------------------- */

static struct rs_error *gate_open(struct rs_kvm_recording *r)
{
	struct rs_kvm_snapshot snapshot;
	struct rs_error *err = rs_kvm_gate(r->session, true);

	if (err)
		return err;
	err = rs_kvm_snapshot(r->session, &snapshot);
	if (!err)
		err = lines_write(r, &snapshot);
	if (!err) {
		struct rs_kvm_on_kvm_open on = { .threads = snapshot.n_threads };

		err = rs_recorder_put(r->stream, snapshot.opened_ns, RS_KVM_ID_kvm_open, &on,
				      sizeof(on));
	}
	return err ? err : announce(r, &snapshot);
}

static struct rs_error *gate_shut(struct rs_kvm_recording *r)
{
	struct rs_kvm_snapshot snapshot;
	struct rs_error *err = rs_kvm_gate(r->session, false);

	if (!err)
		err = rs_kvm_snapshot(r->session, &snapshot);
	if (!err)
		err = lines_write(r, &snapshot);
	if (!err)
		err = announce(r, &snapshot);
	if (!err)
		err = put_threads(r, &snapshot);
	if (!err) {
		struct rs_kvm_on_kvm_close on = { .dropped = snapshot.dropped_threads };

		r->dropped = on.dropped;
		err = rs_recorder_put(r->stream, snapshot.now_ns, RS_KVM_ID_kvm_close, &on,
				      sizeof(on));
	}
	return err;
}

struct rs_error *rs_kvm_recording_gate(struct rs_kvm_recording *r, bool open)
{
	return rs_error_wrap(open ? gate_open(r) : gate_shut(r), "kvm");
}

static struct rs_error *recording_poll(struct rs_kvm_recording *r, bool all)
{
	struct rs_kvm_snapshot snapshot;
	struct rs_error *err = rs_kvm_snapshot(r->session, &snapshot);

	if (!err)
		err = lines_write(r, &snapshot);
	if (!err)
		err = announce(r, &snapshot);
	if (!err && all)
		err = put_threads(r, &snapshot);
	return rs_error_wrap(err, "kvm");
}

struct rs_error *rs_kvm_recording_poll(struct rs_kvm_recording *r)
{
	return recording_poll(r, false);
}

struct rs_error *rs_kvm_recording_snapshot(struct rs_kvm_recording *r)
{
	return recording_poll(r, true);
}

/* ---- beginning and end -------------------------------------------------------------------- */

struct rs_error *rs_kvm_recording_attach(struct rs_kvm_recording *r)
{
	static const struct rs_stream session = {
		.thread = "session", .vcpu = RS_UNKNOWN, .cpu = RS_UNKNOWN, .tid = RS_UNKNOWN
	};
	uint32_t n = rs_kvm_ring_count(r->session);
	struct rs_error *err = NULL;

	for (uint32_t cpu = 0; !err && cpu < n; cpu++) {
		struct rs_stream stream = { .vcpu = RS_UNKNOWN,
					    .cpu = (int)cpu,
					    .tid = RS_UNKNOWN };
		struct rs_recorder_ring ring = { .schema = r->schema,
						 .clock = &r->clock,
						 .stream = &stream };

		rs_kvm_ring(r->session, cpu, &ring.mem, &ring.bytes);
		err = rs_recorder_add_ring(r->recorder, &ring);
	}
	if (!err)
		err = rs_recorder_add_stream(r->recorder, r->schema, &r->clock, &session,
					     &r->stream);
	return rs_error_wrap(err, "kvm");
}

struct rs_error *rs_kvm_recording_create(struct rs_kvm_session *session,
					 struct rs_recorder *recorder, const struct rs_clock *host,
					 struct rs_kvm_recording **out)
{
	struct rs_kvm_recording *r = calloc(1, sizeof(*r));
	struct rs_error *err;

	if (!r)
		return rs_error_no_memory();
	r->session = session;
	r->recorder = recorder;
	err = rs_clock_monotonic(host, &r->clock);
	if (!err)
		err = rs_schema_create("kvm", &r->schema);
	if (!err)
		err = rs_schema_add_catalogue(r->schema, "kvm");
	if (err)
		rs_kvm_recording_destroy(r);
	else
		*out = r;
	return rs_error_wrap(err, "kvm");
}

uint32_t rs_kvm_recording_threads(const struct rs_kvm_recording *r, uint64_t *dropped)
{
	*dropped = r->dropped;
	return r->n_vcpus;
}

void rs_kvm_recording_destroy(struct rs_kvm_recording *r)
{
	if (!r)
		return;
	rs_schema_destroy(r->schema);
	free(r->vcpus);
	free(r);
}
