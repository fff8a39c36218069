/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Puts events of the provider kvm into an exits sink, for tests of its analysis and of its reports.
 */
#ifndef RS_TESTS_EXITS_KIT_H
#define RS_TESTS_EXITS_KIT_H

#include "../test.h"

#include "analyze/exits.h"
#include "kvm/counts.h"
#include <ringside/source.h>

#define KIT_THREADS_MAX 16
#define KIT_ARGS_MAX	12

struct kit {
	struct rs_schema *schema;
	struct rs_stream mixed;			   /* of losses */
	struct rs_stream streams[KIT_THREADS_MAX]; /* of threads, as in a store's description */
	uint32_t n_streams;
	struct rs_sink *sink;
	struct rs_exits exits; /* of the last kit_take() */
};

struct kit_arg {
	const char *name;
	uint64_t value;
};

__attribute__((unused)) static void kit_init(struct kit *k, const struct rs_exits_options *options)
{
	*k = (struct kit){ 0 };
	CHECK_OK(rs_schema_create("kvm", &k->schema));
	CHECK_OK(rs_schema_add_catalogue(k->schema, "kvm"));
	k->mixed = (struct rs_stream){
		.vcpu = RS_UNKNOWN, .cpu = 0, .tid = RS_UNKNOWN, .mixed = true, .schema = k->schema
	};
	CHECK_OK(rs_exits_sink_create(options, &k->sink));
}

__attribute__((unused)) static void kit_free(struct kit *k)
{
	rs_exits_sink_destroy(k->sink);
	rs_schema_destroy(k->schema);
}

/* From here on the tid's events belong to this thread. */
__attribute__((unused)) static void kit_thread(struct kit *k, int pid, int tid, const char *vm,
					       int vcpu)
{
	if (!CHECK(k->n_streams < KIT_THREADS_MAX))
		return;
	k->streams[k->n_streams++] = (struct rs_stream){ .vm = vm,
							 .vcpu = vcpu,
							 .cpu = RS_UNKNOWN,
							 .tid = tid,
							 .pid = pid,
							 .schema = k->schema };
}

static const struct rs_stream *kit_stream(const struct kit *k, int tid)
{
	for (uint32_t i = k->n_streams; i-- > 0;) {
		if (k->streams[i].tid == tid)
			return &k->streams[i];
	}
	return &k->mixed;
}

static const struct rs_event *kit_event(const struct kit *k, const char *class_name,
					const char *name)
{
	for (uint32_t i = 0; i < rs_schema_count(k->schema); i++) {
		const struct rs_event *e = rs_schema_event(k->schema, i);

		if (!strcmp(e->class_name, class_name) && !strcmp(e->name, name))
			return e;
	}
	test_fail(TEST_HERE, "no event %s::%s", class_name, name);
	return NULL;
}

static void kit_set(const struct rs_event *event, uint8_t *payload, const char *name,
		    uint64_t value)
{
	for (uint16_t i = 0; i < event->n_fields; i++) {
		const struct rs_field *f = &event->fields[i];

		if (!strcmp(f->name, name)) {
			memcpy(payload + f->offset, &value, rs_type_bytes(f->type));
			return;
		}
	}
	test_fail(TEST_HERE, "%s has no field %s", event->probe, name);
}

/* Puts one event at ts; args end with a NULL name. vm: the text of session::thread. */
__attribute__((unused)) static struct rs_error *
kit_put_text(struct kit *k, int64_t ts, int tid, const char *class_name, const char *name,
	     const struct kit_arg *args, const char *vm)
{
	const struct rs_event *event = kit_event(k, class_name, name);
	uint8_t payload[256] = { 0 };
	struct rs_view view = {
		.ts_ns = ts, .event = event, .payload = payload, .payload_bytes = sizeof(payload)
	};
	uint16_t len = (uint16_t)(vm ? strlen(vm) : 0);

	if (!event)
		return NULL;
	view.stream = event->kind == RS_KIND_LOSS ? &k->mixed : kit_stream(k, tid);
	if (event->kind != RS_KIND_LOSS)
		kit_set(event, payload, "tid", (uint64_t)tid);
	for (; args->name; args++)
		kit_set(event, payload, args->name, args->value);
	if (event->n_tails) {
		memcpy(payload + event->fixed_bytes - 2, &len, 2);
		memcpy(payload + event->fixed_bytes, vm ? vm : "", len);
	}
	return k->sink->ops->events(k->sink, &view, 1);
}

#define kit_put(k, ts, tid, class_name, name, ...)                                                 \
	CHECK_OK(kit_put_text(k, ts, tid, class_name, name,                                        \
			      (const struct kit_arg[]){ __VA_ARGS__ __VA_OPT__(, ){ NULL, 0 } },   \
			      NULL))

/* The common events. */
#define kit_vmx_exit(k, ts, tid, code)                                                             \
	kit_put(k, ts, tid, "vmx", "exit", { "reason", (code)&0xffff }, { "flags", (code) >> 16 })
#define kit_svm_exit(k, ts, tid, code) kit_put(k, ts, tid, "svm", "exit", { "reason", code })
#define kit_entry(k, ts, tid, vcpu)    kit_put(k, ts, tid, "vcpu", "entry", { "vcpu_id", vcpu })
#define kit_user_exit(k, ts, tid, why) kit_put(k, ts, tid, "user", "exit", { "reason", why })
#define kit_off(k, ts, tid, state)     kit_put(k, ts, tid, "sched", "off-cpu", { "state", state })
#define kit_on(k, ts, tid)	       kit_put(k, ts, tid, "sched", "on-cpu", )
#define kit_wake(k, ts, tid)	       kit_put(k, ts, tid, "sched", "wakeup", )

__attribute__((unused)) static void kit_take(struct kit *k, bool all, int64_t to_ns)
{
	CHECK_OK(rs_exits_collect(k->sink, all, to_ns, &k->exits));
}

/* Returns the row of a reason of a thread; if there is none, fails and returns an empty row. */
__attribute__((unused)) static const struct rs_exits_row *
kit_row(const struct kit *k, int tid, uint32_t isa, uint32_t nested, uint32_t code)
{
	static const struct rs_hist none_hist;
	static const struct rs_exits_row none = { .hist = &none_hist };

	for (size_t i = 0; i < k->exits.n_rows; i++) {
		const struct rs_exits_row *r = &k->exits.rows[i];

		if (r->tid == tid && r->isa == isa && r->nested == nested && r->code == code)
			return r;
	}
	test_fail(TEST_HERE, "no row of tid %d, isa %u, nested %u, code 0x%x", tid, isa, nested,
		  code);
	return &none;
}

__attribute__((unused)) static const struct rs_exits_vcpu *kit_vcpu(const struct kit *k, int tid)
{
	static const struct rs_exits_vcpu none;

	for (size_t i = 0; i < k->exits.n_vcpus; i++) {
		if (k->exits.vcpus[i].tid == tid)
			return &k->exits.vcpus[i];
	}
	test_fail(TEST_HERE, "no vCPU of tid %d", tid);
	return &none;
}

__attribute__((unused)) static const struct rs_exits_cause *kit_cause(const struct kit *k, int tid,
								      uint32_t kind, uint64_t key)
{
	static const struct rs_exits_cause none;

	for (size_t i = 0; i < k->exits.n_causes; i++) {
		const struct rs_exits_cause *c = &k->exits.cause_rows[i];

		if (c->tid == tid && c->kind == kind && c->key == key)
			return c;
	}
	test_fail(TEST_HERE, "no cause %u 0x%" PRIx64 " of tid %d", kind, key, tid);
	return &none;
}

#define CHECK_COST(row, total, kernel, user, poll, off)                                            \
	do {                                                                                       \
		CHECK_EQ_U64((row)->sum.total_ns, total);                                          \
		CHECK_EQ_U64((row)->sum.kernel_ns, kernel);                                        \
		CHECK_EQ_U64((row)->sum.user_ns, user);                                            \
		CHECK_EQ_U64((row)->sum.poll_ns, poll);                                            \
		CHECK_EQ_U64((row)->sum.off_ns, off);                                              \
	} while (0)

#endif
