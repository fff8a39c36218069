/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rings into which BPF programs put events: their content and order, and the refusals of a full
 * one; and the agreement of counts and rings when the gate is shut.
 */
#include "kvm_kit.h"

#include "event/drain.h"

#include <pthread.h>

/* What was read from a ring. */
struct read {
	uint64_t records, lost;
	uint64_t exits; /* of records */
	uint64_t last_tsc;
	uint8_t first[RS_RECORD_SLOTS_MAX * RS_SLOT_BYTES]; /* the first record of `look_for` */
	uint64_t look_for;
};

struct reader {
	struct rs_sbuf_consumer consumer;
	struct rs_schema *schema;
	struct rs_drain drain;
};

static bool reader_open(struct reader *r, const struct rs_kvm_session *session, uint32_t cpu)
{
	struct rs_port port;
	size_t bytes;
	void *mem;

	rs_kvm_ring(session, cpu, &mem, &bytes);
	*r = (struct reader){ 0 };
	if (!CHECK_OK(rs_schema_create("kvm", &r->schema)) ||
	    !CHECK_OK(rs_schema_add_catalogue(r->schema, "kvm")) ||
	    !CHECK_EQ_U64(rs_sbuf_attach(&r->consumer, mem, bytes), RS_SBUF_OK))
		return false;
	port = rs_port_local(&r->consumer);
	rs_drain_init(&r->drain, &port, r->schema);
	return true;
}

/* Records that pass the drain, which checks each against the schema. */
static void count_records(struct read *read, const uint8_t *at, uint32_t bytes)
{
	while (bytes) {
		const struct rs_slot *slot = (const void *)at;
		uint32_t slots = rs_slot_count(slot->head);
		uint64_t id = rs_slot_id(slot->head);

		if (!CHECK(slots && slots * RS_SLOT_BYTES <= bytes))
			return;
		CHECK(slot->tsc >= read->last_tsc);
		read->last_tsc = slot->tsc;
		read->records += RS_ID_PROVIDER(id) == RS_IDS_KVM;
		read->exits += id == RS_KVM_ID_kvm_vmx_exit;
		if (id == read->look_for && !read->first[8])
			memcpy(read->first, at, slots * RS_SLOT_BYTES);
		CHECK(id != RS_ID_CLOCK_BACK);
		at += slots * RS_SLOT_BYTES;
		bytes -= slots * RS_SLOT_BYTES;
	}
}

static void read_some(struct reader *r, struct read *read, bool end)
{
	static uint8_t buffer[1u << 16] __attribute__((aligned(8)));
	struct rs_drained out;

	for (;;) {
		CHECK_EQ_U64(rs_drain_read(&r->drain, buffer, sizeof(buffer), UINT64_MAX, &out),
			     RS_DRAIN_OK);
		count_records(read, buffer, out.bytes);
		read->lost += out.lost;
		if (!out.bytes)
			break;
	}
	if (!end)
		return;
	rs_drain_end(&r->drain, buffer, sizeof(buffer), UINT64_MAX, &out);
	read->lost += out.lost;
	CHECK_EQ_U64(r->drain.damaged_total, 0);
	rs_schema_destroy(r->schema);
}

static void read_all(const struct rs_kvm_session *session, struct read *read)
{
	for (uint32_t cpu = 0; cpu < rs_kvm_ring_count(session); cpu++) {
		struct reader reader;

		read->last_tsc = 0;
		if (reader_open(&reader, session, cpu))
			read_some(&reader, read, true);
	}
}

/* ---- payloads -------------------------------------------------------------------------------- */

TEST(an_exit_is_recorded_whole)
{
	struct read read = { .look_for = RS_KVM_ID_kvm_vmx_exit };
	struct rs_kvm_on_kvm_vmx_exit exit;
	struct machine m;

	KIT_NEEDS();
	REQUIRE(machine_open(&m, &(struct rs_kvm_options){ .events = true }, 0));
	REQUIRE_OK(rs_kvm_gate(m.session, true));
	kit_exit_run(m.exit, RS_ISA_VMX, 0x80000021, 5);
	REQUIRE_OK(rs_kvm_gate(m.session, false));
	read_all(m.session, &read);
	CHECK_EQ_U64(read.records, 1);
	memcpy(&exit, read.first + RS_RECORD_HEAD, sizeof(exit));
	CHECK_EQ_U64(exit.tid, kit_tid());
	CHECK_EQ_U64(exit.reason, 0x21);
	CHECK_EQ_U64(exit.flags, 0x8000);
	CHECK_EQ_U64(exit.rip, 0x1000 + 0x80000021u);
	CHECK_EQ_U64(exit.info1, 1);
	CHECK_EQ_U64(exit.info2, 2);
	CHECK_EQ_U64(exit.intr_info, 3);
	CHECK_EQ_U64(exit.error_code, 4);
	rs_kvm_close(m.session);
}

/* The layout since 6.10, when error_code became wider than 32 bits. */
static bool page_fault_has_wide_error(void)
{
	struct btf *base = btf__load_vmlinux_btf(), *module = NULL;
	const char name[] = "trace_event_raw_kvm_page_fault";
	const struct btf_type *type;
	bool wide = false;
	int id = base ? btf__find_by_name_kind(base, name, BTF_KIND_STRUCT) : -1;

	if (id < 0 && base) {
		module = btf__load_module_btf("kvm", base);
		id = module ? btf__find_by_name_kind(module, name, BTF_KIND_STRUCT) : -1;
	}
	type = id > 0 ? btf__type_by_id(module ? module : base, (uint32_t)id) : NULL;
	for (int i = 0; type && i < btf_vlen(type); i++) {
		const struct btf_member *member = btf_members(type) + i;

		if (!strcmp(btf__name_by_offset(module ? module : base, member->name_off),
			    "error_code"))
			wide = btf_member_bit_offset(type, (uint32_t)i) == 32 * 8 &&
			       btf__resolve_size(module ? module : base, member->type) == 8;
	}
	btf__free(module);
	btf__free(base);
	return wide;
}

/*
 * SVM's nested faults have bits from 32 on: for the guest's own page, and for its page tables (APM
 * volume 2, 15.25.6).
 */
TEST(a_page_fault_s_error_code_keeps_its_upper_half)
{
	struct {
		uint64_t ent;
		uint32_t vcpu_id, pad;
		uint64_t rip, address, error_code;
	} record = { .rip = 0x1000, .address = 0xfe000000, .error_code = 0x100000014 };
	struct read read = { .look_for = RS_KVM_ID_kvm_page_fault };
	struct rs_kvm_on_kvm_page_fault fault;
	struct machine m;

	KIT_NEEDS();
	if (!page_fault_has_wide_error())
		TEST_SKIP("this kernel's kvm_page_fault is older than 6.10's");
	REQUIRE(machine_open(&m, &(struct rs_kvm_options){ .events = true }, 0));
	REQUIRE_OK(rs_kvm_gate(m.session, true));
	kit_run(m.page_fault, &record, sizeof(record));
	REQUIRE_OK(rs_kvm_gate(m.session, false));
	read_all(m.session, &read);
	CHECK_EQ_U64(read.records, 1);
	memcpy(&fault, read.first + RS_RECORD_HEAD, sizeof(fault));
	CHECK_EQ_U64(fault.tid, kit_tid());
	CHECK_EQ_U64(fault.error_code, 0x100000014);
	CHECK_EQ_U64(fault.rip, 0x1000);
	CHECK_EQ_U64(fault.address, 0xfe000000);
	rs_kvm_close(m.session);
}

TEST(every_kind_of_event_fits_its_schema)
{
	const uint64_t tid = (uint64_t)kit_tid();
	struct read read = { 0 };
	struct machine m;

	KIT_NEEDS();
	REQUIRE(machine_open(&m, &(struct rs_kvm_options){ .events = true }, 0));
	REQUIRE_OK(rs_kvm_gate(m.session, true));
	kit_exit_run(m.exit, RS_ISA_SVM, 0x400, 5);
	kit_exit_run(kit_program(m.session, "kvm_nested_vmexit"), RS_ISA_SVM, 0x400, 5);
	run_words(m.pio, 1, 0x3f8, 1, 0);
	run_words(m.mmio, 2, 4, 0xfe000000, 0);
	kit_run(m.fast_mmio, &(uint64_t[2]){ 0, 0xfe000000 }, 16);
	run_words(m.msr, 1, 0x6e0, 0, 0);
	run_words(m.cpuid, 7, 1, 0, 0);
	kit_run(m.hypercall, &(uint64_t[6]){ 0, 9, 1, 2, 3, 4 }, 48);
	run_words(m.virq, 0x20, 0, 0, 0);
	run_words(m.page_fault, 0, 0, 0x1000, 0xfe000000);
	kit_run(m.wakeup, &(struct kit_wakeup){ .ns = 1 }, sizeof(struct kit_wakeup));
	run_user_exit(&m, 2, 0);
	run_switch(&m, true, 1);
	kit_run(m.sched_wakeup, &tid, sizeof(tid));
	run_switch(&m, false, 0);
	run_entry(&m);
	kit_run(m.end, "", 0);
	REQUIRE_OK(rs_kvm_gate(m.session, false));
	read_all(m.session, &read);
	CHECK_EQ_U64(read.records, 17);
	CHECK_EQ_U64(read.lost, 0);
	rs_kvm_close(m.session);
}

static void cause_exit(const struct machine *m, uint64_t in_the_vmm_ns)
{
	kit_exit_run(m->exit, RS_ISA_SVM, 0x7b, 5);
	run_words(m->pio, 1, 0x3f8, 1, 0);
	run_user_exit(m, 2, 0);
	spend_ns(in_the_vmm_ns);
	run_entry(m);
}

/* A session that has seen one exit, which was certainly short. */
static bool open_after_a_short_one(struct machine *m)
{
	const struct rs_kvm_options options = { .than_ns = LONG_NS, .causes = true };
	uint64_t began;

	for (;;) {
		if (!machine_open(m, &options, 0) || !CHECK_OK(rs_kvm_gate(m->session, true)))
			return false;
		began = rs_now_ns(CLOCK_MONOTONIC);
		cause_exit(m, 0);
		if (was_short(began))
			return true;
		rs_kvm_close(m->session);
	}
}

TEST(only_long_exits_are_recorded)
{
	struct read read = { .look_for = RS_KVM_ID_kvm_long_exit };
	struct rs_kvm_on_kvm_long_exit exit;
	struct machine m;

	KIT_NEEDS();
	REQUIRE(open_after_a_short_one(&m));
	cause_exit(&m, 2 * LONG_NS);
	REQUIRE_OK(rs_kvm_gate(m.session, false));
	read_all(m.session, &read);
	CHECK_EQ_U64(read.records, 1);
	memcpy(&exit, read.first + RS_RECORD_HEAD, sizeof(exit));
	CHECK_EQ_U64(exit.tid, kit_tid());
	CHECK_EQ_U64(exit.isa, RS_ISA_SVM);
	CHECK_EQ_U64(exit.code, 0x7b);
	CHECK_EQ_U64(exit.kind, RS_CAUSE_PIO_WRITE);
	CHECK_EQ_U64(exit.key, 0x3f8);
	CHECK_EQ_U64(exit.rip, 0x1000 + 0x7b);
	CHECK(exit.user >= 2 * LONG_NS);
	CHECK_EQ_U64(exit.total, exit.kernel + exit.user + exit.poll + exit.off);
	rs_kvm_close(m.session);
}

/* ---- a full ring ----------------------------------------------------------------------------- */

TEST(a_full_ring_refuses_and_counts)
{
	struct rs_kvm_options options = { .events = true, .ring_bytes = 4096 };
	struct rs_kvm_snapshot got;
	struct read read = { 0 };
	struct reader reader;
	uint64_t put = 0;
	struct machine m;

	KIT_NEEDS();
	REQUIRE(machine_open(&m, &options, 0));
	REQUIRE_OK(rs_kvm_gate(m.session, true));
	REQUIRE(reader_open(&reader, m.session, (uint32_t)sched_getcpu()));
	/*
	 * One slot and two, so that each lap ends at another place; and more and more between two
	 * reads.
	 */
	for (uint32_t round = 0; round < 400; round++) {
		for (uint32_t i = 0; i < round % 100; i++, put += 2) {
			kit_exit_run(m.exit, RS_ISA_VMX, 12, 5);
			run_entry(&m);
			if (i % 3 == 0) {
				run_entry(&m);
				put++;
			}
		}
		read_some(&reader, &read, false);
	}
	REQUIRE_OK(rs_kvm_gate(m.session, false));
	read_some(&reader, &read, true);
	REQUIRE_OK(rs_kvm_snapshot(m.session, &got));
	CHECK(read.lost > 0);
	CHECK_EQ_U64(read.records + read.lost, put);
	CHECK_EQ_U64(read.lost, got.dropped_records);
	rs_kvm_close(m.session);
}

/* ---- nested events --------------------------------------------------------------------------- */

/*
 * A wake-up arrives in an interrupt while a program is active: it is deferred, and then put in
 * order.
 */
TEST(nested_events_are_deferred)
{
	const uint64_t tid = (uint64_t)kit_tid();
	struct read read = { 0 };
	struct rs_kvm_cpu *cpu;
	struct machine m;
	uint64_t put = 0;

	KIT_NEEDS();
	REQUIRE(machine_open(&m, &(struct rs_kvm_options){ .events = true }, 0));
	REQUIRE_OK(rs_kvm_gate(m.session, true));
	cpu = rs_kvm_cpu(m.session, (uint32_t)sched_getcpu());
	for (uint32_t round = 0; round < 300; round++) {
		run_entry(&m);
		__atomic_store_n(&cpu->busy, 1, __ATOMIC_SEQ_CST); /* as if one were active */
		put += 1 + round % 8;
		for (uint32_t i = 0; i < round % 8; i++)
			kit_run(m.sched_wakeup, &tid, sizeof(tid));
		__atomic_store_n(&cpu->busy, 0, __ATOMIC_SEQ_CST);
	}
	run_entry(&m);
	REQUIRE_OK(rs_kvm_gate(m.session, false));
	read_all(m.session, &read);
	CHECK_EQ_U64(read.lost, 0);
	CHECK_EQ_U64(read.records, put + 1);
	rs_kvm_close(m.session);
}

TEST(a_deferred_event_without_room_is_counted_as_lost)
{
	const uint64_t tid = (uint64_t)kit_tid();
	struct rs_kvm_snapshot got;
	struct read read = { 0 };
	struct rs_kvm_cpu *cpu;
	struct machine m;

	KIT_NEEDS();
	REQUIRE(machine_open(&m, &(struct rs_kvm_options){ .events = true }, 0));
	REQUIRE_OK(rs_kvm_gate(m.session, true));
	cpu = rs_kvm_cpu(m.session, (uint32_t)sched_getcpu());
	run_entry(&m);
	__atomic_store_n(&cpu->busy, 1, __ATOMIC_SEQ_CST);
	for (uint32_t i = 0; i < RS_KVM_PENDING + 5; i++)
		kit_run(m.sched_wakeup, &tid, sizeof(tid));
	REQUIRE_OK(rs_kvm_gate(m.session, false));
	REQUIRE_OK(rs_kvm_snapshot(m.session, &got));
	CHECK_EQ_U64(got.dropped_records, RS_KVM_PENDING + 5);
	read_all(m.session, &read);
	CHECK_EQ_U64(read.records, 1);
	CHECK_EQ_U64(read.lost, RS_KVM_PENDING + 5);
	rs_kvm_close(m.session);
}

/* ---- counts and rings ------------------------------------------------------------------------ */

#define WRITERS 4

struct writer {
	pthread_t thread;
	int exit, entry;
	uint64_t rounds; /* relaxed */
};

static bool stop;

static void *write_exits(void *arg)
{
	struct writer *w = arg;
	const struct kit_words entry = { .word = { 1 } };

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		kit_exit_run(w->exit, RS_ISA_VMX, 12, 1);
		kit_run(w->entry, &entry, sizeof(entry));
		__atomic_fetch_add(&w->rounds, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* Waits until each has made an exit and its entry, however long it waits for a CPU. */
static void all_write(const struct writer *writers)
{
	for (int i = 0; i < WRITERS; i++) {
		uint64_t before = __atomic_load_n(&writers[i].rounds, __ATOMIC_RELAXED);

		while (__atomic_load_n(&writers[i].rounds, __ATOMIC_RELAXED) < before + 2)
			sched_yield();
	}
}

/* Threads on all CPUs are active while the gate is shut. */
TEST(counts_and_rings_agree_when_the_gate_is_shut)
{
	struct rs_kvm_options options = { .events = true,
					  .latency = true,
					  .ring_bytes = RS_KVM_RING_MAX };
	struct writer writers[WRITERS];
	struct rs_kvm_snapshot got;
	struct read read = { 0 };
	uint64_t exits = 0, entered = 0;
	struct machine m;

	KIT_NEEDS();
	REQUIRE(machine_open(&m, &options, 0));
	sched_setaffinity(0, sizeof(m.cpus), &m.cpus);
	stop = false;
	for (int i = 0; i < WRITERS; i++) {
		writers[i] = (struct writer){ .exit = m.exit, .entry = m.entry };
		REQUIRE(!pthread_create(&writers[i].thread, NULL, write_exits, &writers[i]));
	}
	REQUIRE_OK(rs_kvm_gate(m.session, true));
	all_write(writers);
	REQUIRE_OK(rs_kvm_gate(m.session, false));
	read_all(m.session, &read);
	REQUIRE_OK(rs_kvm_snapshot(m.session, &got));
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (int i = 0; i < WRITERS; i++)
		pthread_join(writers[i].thread, NULL);
	for (uint32_t i = 0; i < got.n_exits; i++) {
		exits += got.exits[i].count;
		entered += got.exits[i].entered;
	}
	printf("# %u threads, %" PRIu64 " exits, %" PRIu64 " records, %" PRIu64 " lost\n",
	       got.n_threads, exits, read.records, read.lost);
	CHECK(exits > 0 && entered <= exits && exits - entered <= WRITERS);
	CHECK_EQ_U64(read.lost, got.dropped_records);
	if (!read.lost)
		CHECK_EQ_U64(read.exits, exits);
	CHECK(read.exits <= exits && read.exits + read.lost >= exits);
	rs_kvm_close(m.session);
}
