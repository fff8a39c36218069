/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * make_trace KIND DIR: writes a trace directory with constant stamps and contents, through the
 * store's writer, for tests of readers. Kinds:
 *
 *	all	every kind of record, field and stream
 *	long	many packets: 20 011 events of two streams
 *	empty	streams without a record
 *	names	names, classes and texts that are difficult for other readers
 *	threads	streams of CPUs, with the events of many threads, on a separate clock
 *	kvm	20 ms of three vCPUs of two VMs, as in a recording of KVM's events
 *	kvm-lost the same, with a loss in the middle
 *	kvm-user only returns to the VMM, as on hosts where kvm_exit never fires
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kvm/wire.h"
#include "store/writer.h"
#include <ringside/vmm.h>

#define ORIGIN	UINT64_C(5000000000)
#define FREQ	UINT64_C(2000000000) /* two cycles per ns */
#define USER(n) RS_ID(RS_IDS_USER, n)
#define VM	"vm \"one\""
/* Guest 0 started 500 ns after the trace, with its own counter; guest 1's counter is ahead. */
#define YOUNG (-(int64_t)ORIGIN - 1000)
#define AHEAD 7777

static void need(struct rs_error *err)
{
	if (!err)
		return;
	fprintf(stderr, "make_trace: %s\n", rs_error_text(err));
	exit(1);
}

/*
 * ---- a trace that is being written
 * ----------------------------------------------------------------
 */

struct making {
	struct rs_clock clock;
	struct rs_store *store;
};

/* A producer: its schema and its class. */
struct producer {
	struct rs_schema *schema;
	uint32_t class_index;
};

static struct making making_begin(const char *directory)
{
	struct making m = { .clock = { .name = "host",
				       .freq_hz = FREQ,
				       .origin = ORIGIN,
				       .wall_ns = INT64_C(1700000000123456789),
				       .invariant = true,
				       .freq_from = "test" } };

	need(rs_clock_init(&m.clock));
	need(rs_store_create(directory, &m.clock, "make_trace \"all\" \\ \x01\n\xff", &m.store));
	return m;
}

static struct producer producer_new(struct making *m, const char *provider)
{
	struct producer p = { 0 };

	need(rs_schema_create(provider, &p.schema));
	if (!strcmp(provider, "vmm"))
		need(rs_schema_add_catalogue(p.schema, provider));
	need(rs_store_add_class(m->store, p.schema, &m->clock, &p.class_index));
	return p;
}

/* The streams of the same producer on another clock. */
static uint32_t class_on(struct making *m, const struct producer *p, const char *clock_name,
			 int64_t offset)
{
	struct rs_clock clock;
	uint32_t index;

	rs_clock_guest(&m->clock, clock_name, offset, 12, &clock);
	need(rs_store_add_class(m->store, p->schema, &clock, &index));
	return index;
}

static struct rs_store_stream *stream_new(struct making *m, uint32_t class_index,
					  struct rs_stream identity)
{
	struct rs_store_stream *stream;

	need(rs_store_add_stream(m->store, class_index, &identity, &stream));
	return stream;
}

static void declare(const struct producer *p, uint32_t n, const char *text)
{
	need(rs_schema_declare(p->schema, USER(n), text, strlen(text)));
}

static void name(const struct producer *p, uint32_t id, const char *text)
{
	need(rs_schema_set_name(p->schema, id, text, strlen(text)));
}

/* ---- records ------------------------------------------------------------------------------ */

static void record(struct rs_store_stream *stream, uint64_t tsc, uint64_t id, const void *payload,
		   uint32_t bytes)
{
	uint32_t slots = RS_RECORD_SLOTS(bytes), room;
	struct rs_drained got = { .bytes = slots * RS_SLOT_BYTES,
				  .records = id != RS_ID_LOST && id != RS_ID_CLOCK_BACK,
				  .first_tsc = tsc,
				  .last_tsc = tsc,
				  .padding = slots * RS_SLOT_BYTES - RS_RECORD_HEAD - bytes };
	struct rs_slot *slot;
	uint8_t *at;

	need(rs_store_room(stream, &at, &room));
	memset(at, 0, got.bytes);
	slot = (struct rs_slot *)(void *)at;
	slot->tsc = tsc;
	slot->head = rs_record_head(id, slots) | (uint64_t)RS_CPU_UNKNOWN << RS_CPU_SHIFT;
	if (bytes)
		memcpy(at + RS_RECORD_HEAD, payload, bytes);
	if (id == RS_ID_LOST)
		memcpy(&got.lost, payload, sizeof(got.lost));
	rs_store_commit(stream, &got);
}

static void text(struct rs_store_stream *stream, uint64_t tsc, uint64_t id, const void *fixed,
		 uint32_t bytes, const char *string, size_t len)
{
	uint8_t payload[RS_RECORD_PAYLOAD_MAX];
	uint16_t n = (uint16_t)len;

	if (bytes)
		memcpy(payload, fixed, bytes);
	memcpy(payload + bytes, &n, sizeof(n));
	memcpy(payload + bytes + sizeof(n), string, n);
	record(stream, tsc, id, payload, bytes + 2 + n);
}

static void span(struct rs_store_stream *stream, uint64_t tsc, bool begin, uint32_t id,
		 uint32_t depth, uint64_t arg)
{
	struct rs_span payload = { id, depth, arg };

	record(stream, tsc, begin ? RS_ID_SPAN_BEGIN : RS_ID_SPAN_END, &payload, sizeof(payload));
}

static void lost(struct rs_store_stream *stream, uint64_t tsc, uint64_t count, uint64_t from,
		 uint32_t why)
{
	struct rs_lost payload = { .count = count, .from = from, .to = tsc, .why = why };

	record(stream, tsc, RS_ID_LOST, &payload, offsetof(struct rs_lost, reserved));
}

/* Returns the host stamp of a time in ns from the trace's start. */
static uint64_t at(int64_t ns)
{
	return ORIGIN + (uint64_t)ns * 2;
}

static void making_end(struct making *m)
{
	need(rs_store_close(m->store, NULL, NULL));
}

/* ---- all ---------------------------------------------------------------------------------- */

/* Fields of every type, at both limits of their range. */
static void all_types(struct rs_store_stream *stream, int64_t ns)
{
	struct {
		uint8_t a;
		uint16_t b;
		uint32_t c;
		uint64_t d;
		int8_t e;
		int16_t f;
		int32_t g;
		int64_t h;
		uint8_t i;
		uint16_t j;
		uint32_t k;
		uint64_t l;
		uint32_t m;
	} __attribute__((packed))
	least = { .e = INT8_MIN, .f = INT16_MIN, .g = INT32_MIN, .h = INT64_MIN, .m = 77 },
	most = { UINT8_MAX, UINT16_MAX, UINT32_MAX, UINT64_MAX,
		 INT8_MAX,  INT16_MAX,	INT32_MAX,  INT64_MAX,
		 0x9a,	    0xbcde,	0xf0123456, UINT64_C(0x789abcdef0123456),
		 3 },
	edge = { .d = UINT64_C(1) << 53, .h = -(INT64_C(1) << 53), .l = (UINT64_C(1) << 53) + 1 };

	record(stream, at(ns), USER(1), &least, sizeof(least));
	record(stream, at(ns + 1), USER(1), &most, sizeof(most));
	record(stream, at(ns + 2), USER(1), &edge, sizeof(edge));
	edge.d++;
	edge.h--;
	record(stream, at(ns + 3), USER(1), &edge, sizeof(edge));
}

static void all_texts(struct rs_store_stream *stream, int64_t ns)
{
	static const char *const texts[] = {
		"",
		"plain",
		"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x90\xa7",
		"a \"quote\", a back\\slash",
		"line\nbreak\ttab \x01 \x1b[31m \x7f",
		"not UTF-8: \xff \xc3( \xed\xa0\x80",
	};
	char long_text[1500];

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		text(stream, at(ns + (int64_t)i), USER(2), &(uint32_t){ (uint32_t)i }, 4, texts[i],
		     strlen(texts[i]));
	memset(long_text, 'x', sizeof(long_text));
	text(stream, at(ns + 10), USER(2), &(uint32_t){ 10 }, 4, long_text, sizeof(long_text));
}

static void all_vmm(struct rs_store_stream *thread, struct rs_store_stream *vcpu)
{
	struct rs_event_vm_create create = { .vcpus = 2, .memory = 1 << 21 };
	struct rs_event_vm_load load = { .entry = 0x100000, .size = 4096 };
	struct rs_event_vcpu_create vcpu_create = { .vcpu = 0, .tsc_offset = YOUNG };
	struct rs_event_vcpu_run run = { .vcpu = 0 };
	struct rs_event_vcpu_exit out = { .vcpu = 0, .reason = 5, .detail = 0x5253 };

	span(thread, at(0), true, 1, 0, 0);
	record(thread, at(100), RS_EVENT_vm_create, &create, sizeof(create));
	text(thread, at(200), RS_EVENT_vm_load, &load, sizeof(load), "a/guest", 7);
	record(thread, at(300), RS_EVENT_vcpu_create, &vcpu_create, sizeof(vcpu_create));
	span(thread, at(400), false, 1, 0, 0);
	record(vcpu, at(500), RS_EVENT_vcpu_run, &run, sizeof(run));
	record(vcpu, at(2000), RS_EVENT_vcpu_exit, &out, sizeof(out));
	out.reason = 4000; /* no such */
	record(vcpu, at(2000), RS_EVENT_vcpu_exit, &out, sizeof(out));
	all_types(thread, 3000);
	all_texts(thread, 3100);
	record(thread, at(1500000000), RS_EVENT_vm_destroy, NULL, 0);
}

/* Returns a guest's stamp: its counter at a time in ns from the trace's start. */
static void all_guest(struct rs_store_stream *young, struct rs_store_stream *ahead)
{
	uint64_t y = at(600) + (uint64_t)YOUNG, a = at(700) + AHEAD;
	uint64_t said = y - 50;

	span(young, y, true, 1, 0, 0);
	span(young, y + 200, true, 2, 1, 41);
	record(young, y + 300, USER(1), &(uint64_t){ 7 }, 8);
	span(young, y + 400, false, 2, 1, 0);
	lost(young, y + 500, 13, y + 410, RS_LOST_FULL);
	record(young, y + 500, RS_ID_CLOCK_BACK, &said, sizeof(said));
	record(young, y + 500, USER(1), &(uint64_t){ 8 }, 8);
	span(young, y + 600, false, 1, 0, 0);
	/* an end whose beginning was lost, a beginning without an end, an unknown name */
	span(ahead, a, false, 1, 0, 0);
	span(ahead, a + 100, true, 99, 0, UINT64_MAX);
	/* deeper than the tree's limit; events between were lost */
	for (uint32_t depth = 62; depth < 67; depth++)
		span(ahead, a + 100 + depth, true, 2, depth, 0);
	for (uint32_t depth = 66; depth > 61; depth--)
		span(ahead, a + 300 - depth, false, 2, depth, 0);
	lost(ahead, a + 300, 1, a + 300, RS_LOST_DAMAGED);
	lost(ahead, a + 301, UINT64_C(1) << 60, a + 300, RS_LOST_STORAGE);
	lost(ahead, a + 302, 2, a + 300, 9);
}

static void make_all(const char *directory)
{
	struct making m = making_begin(directory);
	struct producer vmm = producer_new(&m, "vmm"), guest = { 0 };
	struct rs_store_stream *thread, *vcpu, *young, *ahead, *pinned;
	uint32_t on_young, on_ahead;

	need(rs_schema_create("guest", &guest.schema));
	on_young = class_on(&m, &guest, "guest_one_vcpu0", YOUNG);
	on_ahead = class_on(&m, &guest, "guest_one_vcpu1", AHEAD);
	declare(&vmm, 1,
		"types::all(u8 a,u16 b,u32 c,u64 d,s8 e,s16 f,s32 g,s64 h,x8 i,x16 j,"
		"x32 k,x64 l:flags,name m)");
	declare(&vmm, 2, "types::text(u32 n, text said)");
	declare(&guest, 1, "work:crunch:primes(u64 found)");
	name(&vmm, 1, "boot");
	name(&vmm, 3, "caf\xc3\xa9 \"quoted\" back\\slash");
	name(&guest, 1, "main");
	name(&guest, 2, "crunch");
	thread = stream_new(
		&m, vmm.class_index,
		(struct rs_stream){ .thread = "main", .vcpu = -1, .cpu = -1, .tid = 100 });
	vcpu = stream_new(
		&m, vmm.class_index,
		(struct rs_stream){
			.vm = VM, .thread = "CPU 0/KVM", .vcpu = 0, .cpu = -1, .tid = 101 });
	young = stream_new(&m, on_young,
			   (struct rs_stream){ .vm = VM, .vcpu = 0, .cpu = -1, .tid = -1 });
	ahead = stream_new(&m, on_ahead,
			   (struct rs_stream){ .vm = VM, .vcpu = 1, .cpu = -1, .tid = -1 });
	pinned = stream_new(
		&m, vmm.class_index,
		(struct rs_stream){ .thread = "pinned", .vcpu = -1, .cpu = 3, .tid = 103 });
	stream_new(&m, vmm.class_index,
		   (struct rs_stream){ .thread = "silent", .vcpu = -1, .cpu = -1, .tid = 104 });
	all_vmm(thread, vcpu);
	all_guest(young, ahead);
	record(pinned, ORIGIN - 3, USER(2), "\7\0\0\0\0", 6); /* before the trace's start */
	record(pinned, at(2000), USER(2), "\7\0\0\0\3\0abc", 9);
	making_end(&m);
	rs_schema_destroy(vmm.schema);
	rs_schema_destroy(guest.schema);
}

/* ---- the others --------------------------------------------------------------------------- */

static void make_long(const char *directory)
{
	struct making m = making_begin(directory);
	struct producer app = producer_new(&m, "app");
	struct rs_store_stream *streams[2];

	declare(&app, 1, "c::tick(u64 n)");
	declare(&app, 2, "c::other(u64 n, u64 square, u64 cube)");
	for (int i = 0; i < 2; i++)
		streams[i] = stream_new(&m, app.class_index,
					(struct rs_stream){ .thread = i ? "odd" : "even",
							    .vcpu = -1,
							    .cpu = i,
							    .tid = 200 + i });
	for (uint64_t n = 0; n < 20011; n++) {
		uint64_t values[] = { n, n * n, n * n * n };
		bool other = n % 100 == 99;

		record(streams[n % 2], at((int64_t)n * 1000), USER(other ? 2 : 1), values,
		       other ? sizeof(values) : sizeof(values[0]));
	}
	making_end(&m);
	rs_schema_destroy(app.schema);
}

static void make_empty(const char *directory)
{
	struct making m = making_begin(directory);
	struct producer app = producer_new(&m, "app");

	for (int i = 0; i < 3; i++)
		stream_new(&m, app.class_index,
			   (struct rs_stream){ .vcpu = -1, .cpu = -1, .tid = -1 });
	making_end(&m);
	rs_schema_destroy(app.schema);
}

static void make_names(const char *directory)
{
	static const char *const odd[] = {
		"",
		" ",
		"\"",
		"\\",
		"\\n",
		"a\nb",
		"struct",
		"enum",
		"*/",
		"/* x */",
		"// x",
		"'",
		"caf\xc3\xa9",
		"\xff\xfe",
		"%s%n",
		"\xe2\x80\xae",
		"a=b, c = d",
		"{}",
	};
	static const char *const keywords[] = { "struct", "event",  "fields", "clock", "integer",
						"_id",	  "string", "align",  "const", "u8" };
	struct making m = making_begin(directory);
	struct producer app = producer_new(&m, "app");
	struct rs_store_stream *stream;
	char long_name[5000], declaration[256];

	memset(long_name, 'n', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = '\0';
	for (uint32_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
		name(&app, i, odd[i]);
	name(&app, 100, long_name);
	name(&app, 101, "main"); /* two ids, one name */
	name(&app, 102, "main");
	name(&app, UINT32_MAX, "last");
	stream = stream_new(
		&m, app.class_index,
		(struct rs_stream){
			.vm = "vm\n\x01\xff", .thread = "\xff\"", .vcpu = 0, .cpu = -1, .tid = 1 });
	for (uint32_t i = 0; i < sizeof(keywords) / sizeof(keywords[0]); i++) {
		snprintf(declaration, sizeof(declaration), "%s:%s:%s(name %s, text text)",
			 keywords[i], keywords[i], keywords[i], keywords[i]);
		declare(&app, 10 + i, declaration);
		text(stream, at(i), USER(10 + i), &(uint32_t){ i }, 4, odd[i], strlen(odd[i]));
	}
	for (uint32_t i = 0; i < sizeof(odd) / sizeof(odd[0]) + 1; i++)
		span(stream, at(100 + i), true, i, 0, 0);
	for (uint32_t i = 100; i < 103; i++)
		span(stream, at(100 + i), true, i, 0, 0);
	span(stream, at(300), true, UINT32_MAX, 0, 0);
	declare(&app, 30, "::bare()");
	record(stream, at(400), USER(30), NULL, 0);
	making_end(&m);
	rs_schema_destroy(app.schema);
}

/* CLOCK_MONOTONIC started before the trace began, and its ns are not the TSC's cycles. */
#define UP_NS UINT64_C(86400123456789)

static void on(struct rs_store_stream *stream, uint64_t ns, uint32_t tid, uint64_t n)
{
	struct {
		uint32_t tid;
		uint64_t n;
	} __attribute__((packed)) payload = { tid, n };

	record(stream, UP_NS + ns, USER(1), &payload, sizeof(payload));
}

static void thread(struct making *m, uint32_t class_index, struct rs_thread thread)
{
	need(rs_store_add_thread(m->store, class_index, &thread));
}

static struct rs_clock monotonic_of(const struct making *m)
{
	struct rs_clock monotonic = { .name = "monotonic",
				      .freq_hz = 1000000000,
				      .origin = UP_NS,
				      .wall_ns = m->clock.wall_ns,
				      .error_cycles = 31,
				      .invariant = true,
				      .monotonic = true,
				      .freq_from = "monotonic" };

	need(rs_clock_init(&monotonic));
	return monotonic;
}

static void make_threads(const char *directory)
{
	struct making m = making_begin(directory);
	struct rs_clock monotonic = monotonic_of(&m);
	struct producer kernel = { 0 };
	struct rs_store_stream *cpus[3];

	need(rs_schema_create("kernel", &kernel.schema));
	need(rs_store_add_class(m.store, kernel.schema, &monotonic, &kernel.class_index));
	declare(&kernel, 1, "c::on(u32 tid, u64 n)");
	declare(&kernel, 2, "c::rest(u64 n)");
	for (int i = 0; i < 3; i++)
		cpus[i] = stream_new(&m, kernel.class_index,
				     (struct rs_stream){ .vcpu = -1, .cpu = i * 7, .tid = -1 });
	for (int i = 0; i < 4; i++)
		thread(&m, kernel.class_index,
		       (struct rs_thread){ 1000 + i, 990 + i / 2, i / 2 ? "two" : VM, i % 2, 0 });
	/* a reused tid, and a thread of no known VM */
	thread(&m, kernel.class_index,
	       (struct rs_thread){ 1000, 1000, "again", 5, UP_NS + 700000 });
	thread(&m, kernel.class_index, (struct rs_thread){ 2000, 0, NULL, -1, 0 });
	for (uint64_t n = 0; n < 1013; n++)
		on(cpus[n % 3], n * 1000, n % 101 ? 1000 + (uint32_t)(n % 5) : 2000, n);
	lost(cpus[1], UP_NS + 1013000, 17, UP_NS + 1012500, RS_LOST_FULL);
	record(cpus[1], UP_NS + 1013000, USER(2), &(uint64_t){ 7 }, 8);
	on(cpus[1], 1013001, 0, 1);
	making_end(&m);
	rs_schema_destroy(kernel.schema);
}

/* ---- kvm ---------------------------------------------------------------------------------- */

#define KVM_US	UINT64_C(1000)
#define KVM_END (20000 * KVM_US)

#define kvm_put(stream, ns, symbol, ...)                                                           \
	record(stream, UP_NS + (ns), RS_KVM_ID_##symbol,                                           \
	       &(struct rs_kvm_on_##symbol){ __VA_ARGS__ }, sizeof(struct rs_kvm_on_##symbol))

struct kvm_vcpu {
	uint32_t pid, tid;
	int32_t vcpu;
	const char *vm;
	struct rs_store_stream *stream; /* of the CPU on which it stays */
};

/* The session's record of a thread, with the scheduler's figures at that time. */
static void kvm_line(const struct kvm_vcpu *v, uint64_t ns, uint64_t run, uint64_t wait)
{
	const struct rs_kvm_on_kvm_thread line = { v->tid, v->pid, v->vcpu, 1, 0, 1, run, wait };

	text(v->stream, UP_NS + ns, RS_KVM_ID_kvm_thread, &line, sizeof(line), v->vm,
	     strlen(v->vm));
}

/* A byte to COM1, for which the VMM needs user_us. */
static void kvm_com1(const struct kvm_vcpu *v, uint64_t ns, uint64_t user_us)
{
	kvm_put(v->stream, ns, kvm_vmx_exit, v->tid, 30, 0, 0x1000);
	kvm_put(v->stream, ns + 1 * KVM_US, kvm_pio, v->tid, 0x3f8, 1, 1, 1, 'x');
	kvm_put(v->stream, ns + 4 * KVM_US, kvm_user_exit, v->tid, 2);
	kvm_put(v->stream, ns + (4 + user_us) * KVM_US, kvm_entry, v->tid, (uint32_t)v->vcpu);
}

/* 3 us in the kernel, 20 of polling, 500 of sleep, 7 of waiting for the CPU. */
static void kvm_halt(const struct kvm_vcpu *v, uint64_t ns)
{
	kvm_put(v->stream, ns, kvm_vmx_exit, v->tid, 12, 0, 0x2000);
	kvm_put(v->stream, ns + 22 * KVM_US, kvm_off_cpu, v->tid, 1);
	kvm_put(v->stream, ns + 522 * KVM_US, kvm_sched_wakeup, v->tid, 4711);
	kvm_put(v->stream, ns + 529 * KVM_US, kvm_on_cpu, v->tid, 0);
	kvm_put(v->stream, ns + 529 * KVM_US, kvm_wakeup, v->tid, 1, 1, 527 * KVM_US);
	kvm_put(v->stream, ns + 530 * KVM_US, kvm_entry, v->tid, (uint32_t)v->vcpu);
}

static void kvm_web0(const struct kvm_vcpu *v)
{
	for (uint64_t i = 0; i < 7; i++)
		kvm_com1(v, (100 + i * 100) * KVM_US, 6 + i);
	for (uint64_t i = 0; i < 3; i++) {
		kvm_put(v->stream, (1000 + i * 100) * KVM_US, kvm_vmx_exit, v->tid, 32, 0, 0x3000);
		kvm_put(v->stream, (1001 + i * 100) * KVM_US, kvm_msr, v->tid, 0x6e0, 77, 1);
		kvm_put(v->stream, (1002 + i * 100) * KVM_US, kvm_entry, v->tid, 0);
	}
	kvm_halt(v, 2000 * KVM_US);
	kvm_halt(v, 4000 * KVM_US);
}

static void kvm_web1(const struct kvm_vcpu *v)
{
	for (uint64_t i = 0; i < 5; i++) {
		uint64_t ns = (100 + i * 1000) * KVM_US;

		kvm_put(v->stream, ns, kvm_vmx_exit, v->tid, 48, 0, 0x4000);
		kvm_put(v->stream, ns + KVM_US, kvm_page_fault, v->tid, 0, 6, 0x4000, 0x123000);
		kvm_put(v->stream, ns + 30 * KVM_US, kvm_entry, v->tid, 1);
	}
	/* an unknown reason, and the trace ends before its entry */
	kvm_put(v->stream, 19000 * KVM_US, kvm_vmx_exit, v->tid, 86, 0, 0x5000);
}

static void kvm_db0(const struct kvm_vcpu *v)
{
	for (uint64_t i = 0; i < 11; i++) {
		uint64_t ns = (100 + i * 1500) * KVM_US;

		kvm_put(v->stream, ns, kvm_vmx_exit, v->tid, 10, 0, 0x6000);
		kvm_put(v->stream, ns + 500, kvm_cpuid, v->tid, i % 2, 0);
		kvm_put(v->stream, ns + 1300, kvm_entry, v->tid, 0);
	}
}

static void kvm_make(const char *directory, void (*fill)(struct kvm_vcpu vcpus[3]))
{
	struct making m = making_begin(directory);
	struct rs_clock monotonic = monotonic_of(&m);
	struct kvm_vcpu vcpus[] = { { 100, 101, 0, "web", NULL },
				    { 100, 102, 1, "web", NULL },
				    { 200, 201, 0, "db", NULL } };
	struct rs_schema *schema;
	uint32_t class_index;

	need(rs_schema_create("kvm", &schema));
	need(rs_schema_add_catalogue(schema, "kvm"));
	need(rs_store_add_class(m.store, schema, &monotonic, &class_index));
	for (int i = 0; i < 3; i++) {
		struct kvm_vcpu *v = &vcpus[i];

		v->stream = stream_new(&m, class_index,
				       (struct rs_stream){ .vcpu = -1, .cpu = i, .tid = -1 });
		thread(&m, class_index,
		       (struct rs_thread){ (int)v->tid, (int)v->pid, v->vm, v->vcpu, 0 });
	}
	kvm_put(vcpus[0].stream, 0, kvm_open, 0, 3);
	for (int i = 0; i < 3; i++)
		kvm_line(&vcpus[i], 0, 5000 * KVM_US, 10 * KVM_US);
	fill(vcpus);
	/* they ran all the time except for the first one's two halts */
	kvm_line(&vcpus[0], KVM_END, 5000 * KVM_US + KVM_END - 2 * 507 * KVM_US, 24 * KVM_US);
	kvm_line(&vcpus[1], KVM_END, 5000 * KVM_US + KVM_END, 10 * KVM_US);
	kvm_line(&vcpus[2], KVM_END, 5000 * KVM_US + KVM_END, 10 * KVM_US);
	kvm_put(vcpus[0].stream, KVM_END, kvm_close, 0);
	making_end(&m);
	rs_schema_destroy(schema);
}

static void kvm_enter(const struct kvm_vcpu vcpus[3])
{
	for (int i = 0; i < 3; i++)
		kvm_put(vcpus[i].stream, 10 * KVM_US, kvm_entry, vcpus[i].tid,
			(uint32_t)vcpus[i].vcpu);
}

static void kvm_whole(struct kvm_vcpu vcpus[3])
{
	kvm_enter(vcpus);
	kvm_web0(&vcpus[0]);
	kvm_web1(&vcpus[1]);
	kvm_db0(&vcpus[2]);
}

static void kvm_lost(struct kvm_vcpu vcpus[3])
{
	kvm_whole(vcpus);
	lost(vcpus[0].stream, UP_NS + 5000 * KVM_US, 13, UP_NS + 4600 * KVM_US, RS_LOST_FULL);
}

static void kvm_user(struct kvm_vcpu vcpus[3])
{
	for (uint64_t i = 0; i < 5; i++)
		kvm_put(vcpus[0].stream, (100 + i) * KVM_US, kvm_user_exit, vcpus[0].tid, 2);
	kvm_put(vcpus[0].stream, 200 * KVM_US, kvm_user_exit, vcpus[0].tid, 17, -4);
	kvm_put(vcpus[2].stream, 300 * KVM_US, kvm_user_exit, vcpus[2].tid, 5);
}

static void make_kvm(const char *directory)
{
	kvm_make(directory, kvm_whole);
}

static void make_kvm_lost(const char *directory)
{
	kvm_make(directory, kvm_lost);
}

static void make_kvm_user(const char *directory)
{
	kvm_make(directory, kvm_user);
}

static const struct {
	const char *name;
	void (*make)(const char *directory);
} kinds[] = {
	{ "all", make_all },	       { "long", make_long },	      { "empty", make_empty },
	{ "names", make_names },       { "threads", make_threads },   { "kvm", make_kvm },
	{ "kvm-lost", make_kvm_lost }, { "kvm-user", make_kvm_user },
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc == 3 && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (!strcmp(argv[1], kinds[i].name)) {
			kinds[i].make(argv[2]);
			return 0;
		}
	}
	fputs("usage: make_trace KIND DIR; kinds:", stderr);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		fprintf(stderr, " %s", kinds[i].name);
	fputc('\n', stderr);
	return 2;
}
