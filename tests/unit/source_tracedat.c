/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * trace.dat: the conversion of the reader's messages, invalid ones, and the conversion of the
 * kernel's events by their formats. tests/trace/import.test uses real files.
 */
#include "event_kit.h"

#include "import/tracedat/tracedat.h"
#include "import/tracedat/map.h"

#define FIRST	 UINT64_C(1000)
#define STUCK_MS 200

/* ---- messages ----------------------------------------------------------------------------- */

struct messages {
	uint8_t at[8192];
	uint32_t used;
};

static void add(struct messages *m, uint16_t kind, uint16_t class, uint32_t id, const void *body,
		uint32_t bytes, const char *text)
{
	uint32_t len = text ? (uint32_t)strlen(text) : 0;
	struct rs_tracedat_head head = { .bytes =
						 (uint32_t)sizeof(head) + ((bytes + len + 7) & ~7u),
					 .kind = kind,
					 .class = class,
					 .id = id,
					 .text_bytes = len };

	memset(m->at + m->used, 0, head.bytes);
	memcpy(m->at + m->used, &head, sizeof(head));
	if (bytes)
		memcpy(m->at + m->used + sizeof(head), body, bytes);
	if (len)
		memcpy(m->at + m->used + sizeof(head) + bytes, text, len);
	m->used += head.bytes;
}

static void add_record(struct messages *m, uint16_t class, uint32_t cpu, uint64_t tsc, uint64_t id,
		       const void *payload, uint32_t bytes)
{
	struct slots s = { 0 };

	slots_record(&s, tsc, id, payload, bytes);
	add(m, RS_TRACEDAT_RECORD, class, cpu, s.at, s.n * RS_SLOT_BYTES, NULL);
	slots_free(&s);
}

static void add_pio(struct messages *m, uint64_t tsc, uint32_t tid)
{
	struct {
		uint32_t tid;
		uint16_t port;
		uint8_t write, size;
		uint32_t count, value;
	} pio = { tid, 0x3f8, 1, 1, 1, 7 };

	add_record(m, RS_TRACEDAT_KVM, 3, tsc, RS_ID(RS_IDS_KVM, 32), &pio, sizeof(pio));
}

static void add_thread(struct messages *m, int tid, int vcpu, bool is_vcpu, const char *comm)
{
	struct rs_tracedat_thread thread = { .tid = tid, .vcpu = vcpu, .is_vcpu = is_vcpu };

	snprintf(thread.comm, sizeof(thread.comm), "%s", comm);
	add(m, RS_TRACEDAT_THREAD, 0, 0, &thread, sizeof(thread), NULL);
}

static void begin(struct messages *m)
{
	struct rs_tracedat_clock clock = { .first = FIRST, .name = "local" };

	*m = (struct messages){ .used = 0 };
	add(m, RS_TRACEDAT_ALIVE, 0, 0, NULL, 0, NULL);
	add(m, RS_TRACEDAT_CPU, 0, 3, NULL, 0, NULL);
	add_thread(m, 97, -1, true, "CPU 11/KVM");
	add_thread(m, 101, 2, true, "vmm");
	add_thread(m, 103, -1, false, "CPU 1/KVM");
	add(m, RS_TRACEDAT_CLOCK, 0, 0, &clock, sizeof(clock), NULL);
	add(m, RS_TRACEDAT_READY, 0, 0, NULL, 0, NULL);
}

static void finish(struct messages *m, const struct rs_tracedat_end *end, const char *why)
{
	add(m, RS_TRACEDAT_END, 0, 0, end, sizeof(*end), why);
}

/* The result of messages; `ends` selects how the pipe is left: closed, or open without a writer. */
static struct rs_error *give(const struct messages *m, bool closed, struct got_sink *got,
			     struct rs_foreign **foreign)
{
	struct rs_error *err;
	int ends[2];

	CHECK(!pipe(ends));
	CHECK(write(ends[1], m->at, m->used) == (ssize_t)m->used);
	if (closed)
		close(ends[1]);
	*foreign = NULL;
	err = rs_tracedat_open_pipe(ends[0], STUCK_MS, foreign);
	if (!err)
		err = rs_run(&(*foreign)->source, NULL, &got->sink, NULL);
	if (!closed)
		close(ends[1]);
	return err;
}

static void drop(struct got_sink *got, struct rs_foreign *foreign)
{
	got_free(got);
	if (foreign)
		rs_source_destroy(&foreign->source);
}

/* Sends messages, and expects an error of damage with this text, after n events. */
static void check_damage(const struct messages *m, bool closed, const char *says, size_t n)
{
	struct got_sink got = got_sink();
	struct rs_foreign *foreign;
	struct rs_error *err = give(m, closed, &got, &foreign);

	if (CHECK(err != NULL)) {
		CHECK_EQ_U64(rs_error_code(err), RS_DAMAGED);
		if (!CHECK(strstr(rs_error_text(err), says) != NULL))
			printf("# %s\n", rs_error_text(err));
	}
	CHECK_EQ_U64(got.n, n);
	rs_error_free(err);
	drop(&got, foreign);
}

TEST(messages_become_views)
{
	static const char fork[] = "sched::fork(u32 tid, s32 child, text comm)";
	static const struct rs_tracedat_end end = {
		.records = 5, .lost = 17, .gaps = 1, .undescribed = 2, .short_ones = 3, .fields = 4
	};
	const struct rs_lost lost = { .count = 17, .from = FIRST, .to = FIRST + 2 };
	uint8_t payload[12] = { 103, 0, 0, 0, 5, 0, 0, 0, 2, 0, 's', 'h' };
	struct got_sink got = got_sink();
	struct rs_foreign *foreign;
	struct messages m;

	begin(&m);
	add_pio(&m, FIRST, 97);
	add_pio(&m, FIRST + 1, 101);
	add(&m, RS_TRACEDAT_EVENT, RS_TRACEDAT_FTRACE, 7, NULL, 0, fork);
	add_record(&m, RS_TRACEDAT_FTRACE, 3, FIRST + 1, USER(7), payload, sizeof(payload));
	add_record(&m, RS_TRACEDAT_KVM, 3, FIRST + 2, RS_ID_LOST, &lost, 28);
	add_pio(&m, FIRST + 3, 107); /* a thread without a name so far */
	finish(&m, &end, NULL);
	REQUIRE_OK(give(&m, true, &got, &foreign));
	REQUIRE_EQ_U64(got.n, 5);
	CHECK_EQ_S64(got.at[0].ts_ns, 0);
	CHECK_EQ_S64(got.at[0].cpu, 3);
	CHECK_EQ_S64(got.at[0].stream->vcpu, 11); /* of its name, which then belongs to no VM */
	CHECK(!got.at[0].stream->vm);
	CHECK_EQ_S64(got.at[1].stream->vcpu, 2);
	CHECK_STR(got.at[1].stream->vm, "vmm");
	CHECK_STR(got.at[2].event->probe, "ftrace:sched::fork");
	CHECK_EQ_S64(got.at[2].stream->tid, 103);
	CHECK(!got.at[2].stream->vm && got.at[2].stream->vcpu == RS_UNKNOWN);
	CHECK(got.at[3].is_loss && got.at[3].stream->mixed);
	CHECK(got.at[4].stream == got.at[3].stream);
	CHECK_EQ_U64(got.lost, 17);
	CHECK_STR(foreign->clock.name, "ftrace_local");
	CHECK_EQ_U64(foreign->n_streams, 2);
	CHECK_EQ_U64(foreign->tally.records, 5);
	CHECK_EQ_U64(foreign->tally.left_out, 5);
	CHECK_EQ_U64(foreign->tally.n_remarks, 4);
	drop(&got, foreign);
}

TEST(an_invalid_message_ends_the_file_there)
{
	static const struct rs_tracedat_end end = { .records = 1 };
	struct messages m;

	begin(&m);
	add_pio(&m, FIRST + 2, 97);
	add_pio(&m, FIRST + 1, 97); /* back in time */
	finish(&m, &end, NULL);
	check_damage(&m, true, "invalid messages after 1 record", 1);
	begin(&m);
	add_record(&m, RS_TRACEDAT_KVM, 3, FIRST, RS_ID(RS_IDS_KVM, 32), "short", 5);
	add_record(&m, RS_TRACEDAT_KVM, 3, FIRST, RS_ID(RS_IDS_KVM, 4000), "unknown", 8);
	check_damage(&m, true, "invalid messages after 1 record",
		     1); /* one slot, as its event has */
	begin(&m);
	add_record(&m, RS_TRACEDAT_KVM, 2, FIRST, RS_ID_CLOCK_BACK, "12345678", 8);
	check_damage(&m, true, "invalid messages after 0 records",
		     0); /* a CPU without a name so far */
	begin(&m);
	add(&m, RS_TRACEDAT_READY, 0, 0, NULL, 0, NULL);
	check_damage(&m, true, "invalid messages", 0);
	begin(&m);
	add(&m, RS_TRACEDAT_END + 1, 0, 0, NULL, 0, NULL);
	check_damage(&m, true, "invalid messages", 0);
}

TEST(a_reader_that_dies_or_hangs_is_damage)
{
	static const struct rs_tracedat_end end = { .records = 1 };
	struct messages m;

	begin(&m);
	add_pio(&m, FIRST, 97);
	check_damage(&m, true, "ended early in it, after 1 record", 1);
	check_damage(&m, false, "makes no progress after 1 record", 1);
	finish(&m, &end, "the file is cut");
	check_damage(&m, true, "the file is cut", 1);
	m = (struct messages){ .used = 0 };
	finish(&m, &end, "no trace in it");
	check_damage(&m, true, "no trace in it", 0);
}

TEST(an_event_that_cannot_be_declared_costs_only_its_records)
{
	static const struct rs_tracedat_end end = { .records = 2 };
	struct got_sink got = got_sink();
	struct rs_foreign *foreign;
	struct messages m;

	begin(&m);
	add(&m, RS_TRACEDAT_EVENT, RS_TRACEDAT_FTRACE, 9, NULL, 0, "a::b(u32 tid");
	add_record(&m, RS_TRACEDAT_FTRACE, 3, FIRST, USER(9), "1234", 4);
	add_pio(&m, FIRST, 97);
	finish(&m, &end, NULL);
	CHECK_OK(give(&m, true, &got, &foreign));
	CHECK_EQ_U64(got.n, 1);
	CHECK_EQ_U64(foreign->tally.left_out, 1);
	CHECK_EQ_U64(foreign->tally.n_remarks, 1);
	drop(&got, foreign);
}

TEST(a_clock_that_counts_no_time_causes_a_warning)
{
	static const struct rs_tracedat_clock clock = { .first = 1,
							.is_cycles = 1,
							.name = "x86-tsc" };
	static const struct rs_tracedat_end end = { 0 };
	struct got_sink got = got_sink();
	struct rs_foreign *foreign;
	struct messages m = { .used = 0 };

	add(&m, RS_TRACEDAT_CLOCK, 0, 0, &clock, sizeof(clock), NULL);
	add(&m, RS_TRACEDAT_READY, 0, 0, NULL, 0, NULL);
	finish(&m, &end, NULL);
	CHECK_OK(give(&m, true, &got, &foreign));
	CHECK_STR(foreign->clock.name, "ftrace_x86_tsc");
	CHECK(!foreign->clock.invariant);
	CHECK_EQ_U64(foreign->tally.n_remarks, 1);
	drop(&got, foreign);
}

TEST(stamps_in_unix_time_give_the_wall_clock)
{
	static const struct rs_tracedat_clock clock = { .first = UINT64_C(1795260483547800323),
							.name = "local" };
	static const struct rs_tracedat_end end = { 0 };
	struct got_sink got = got_sink();
	struct rs_foreign *foreign;
	struct messages m = { .used = 0 };

	add(&m, RS_TRACEDAT_CLOCK, 0, 0, &clock, sizeof(clock), NULL);
	add(&m, RS_TRACEDAT_READY, 0, 0, NULL, 0, NULL);
	finish(&m, &end, NULL);
	CHECK_OK(give(&m, true, &got, &foreign));
	CHECK_EQ_S64(foreign->clock.wall_ns, INT64_C(1795260483547800323));
	drop(&got, foreign);
}

/* ---- formats ------------------------------------------------------------------------------ */

#define HEAD(name)                                                                                 \
	"name: " name "\nID: 42\nformat:\n"                                                        \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"                     \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"                     \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"             \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
#define PRINT "\nprint fmt: \"%d\", REC->common_pid\n"

/* The conversion of a record: by its first plan, or by the one for its isa. */
struct known {
	struct tep_handle *tep;
	struct rs_schema *kvm;
	struct rs_tracedat_event event;
	const struct rs_event *as;
	uint8_t payload[256];
};

static bool convert(struct known *k, const char *format, uint32_t isa, const uint8_t *data,
		    uint32_t bytes)
{
	struct tep_event *parsed = NULL;

	*k = (struct known){ .tep = tep_alloc() };
	CHECK_OK(rs_schema_create("kvm", &k->kvm));
	CHECK_OK(rs_schema_add_catalogue(k->kvm, "kvm"));
	CHECK(!tep_parse_format(k->tep, &parsed, format, strlen(format), "kvm"));
	rs_tracedat_plan(&k->event, parsed, k->kvm);
	for (uint32_t i = 0; i < k->event.n_plans; i++) {
		const struct rs_tracedat_plan *plan = &k->event.plans[i];

		if (plan->isa != isa)
			continue;
		k->as = plan->event;
		return CHECK_EQ_U64(rs_tracedat_known(plan, k->tep, data, bytes, k->payload),
				    plan->event->fixed_bytes);
	}
	return CHECK(!"a plan for it");
}

static uint64_t field(const struct known *k, const char *name)
{
	for (uint16_t i = 0; i < k->as->n_fields; i++) {
		if (!strcmp(k->as->fields[i].name, name))
			return rs_field_value(&k->as->fields[i], k->payload);
	}
	CHECK(!"a field of this name");
	return 0;
}

static void forget(struct known *k)
{
	rs_schema_destroy(k->kvm);
	tep_free(k->tep);
}

struct record_head {
	uint16_t type;
	uint8_t flags, preempt_count;
	int32_t pid;
};

TEST(a_vmx_exit_has_its_upper_half_as_flags)
{
	static const char format[] = HEAD(
		"kvm_exit") "\tfield:unsigned int exit_reason;\toffset:8;\tsize:4;\tsigned:0;\n"
			    "\tfield:unsigned long guest_rip;\toffset:16;\tsize:8;\tsigned:0;\n"
			    "\tfield:u32 isa;\toffset:24;\tsize:4;\tsigned:0;\n" PRINT;
	struct {
		struct record_head head;
		uint32_t reason, pad;
		uint64_t rip;
		uint32_t isa, pad2;
	} data = { { 42, 0, 0, 4711 }, 0x80000021, 0, 0xfff0, 1, 0 };
	struct known k;

	REQUIRE(convert(&k, format, 1, (const uint8_t *)&data, sizeof(data)));
	CHECK_STR(k.as->probe, "kvm:vmx::exit");
	CHECK_EQ_U64(field(&k, "tid"), 4711);
	CHECK_EQ_U64(field(&k, "reason"), 0x21);
	CHECK_EQ_U64(field(&k, "flags"), 0x8000);
	CHECK_EQ_U64(field(&k, "rip"), 0xfff0);
	CHECK_EQ_U64(field(&k, "info1"), 0); /* this kernel has none */
	CHECK(k.event.is_kvm);
	/* A truncated record is invalid. */
	for (uint32_t n = 0; n < 24; n++)
		CHECK_EQ_U64(rs_tracedat_known(&k.event.plans[0], k.tep, (const uint8_t *)&data, n,
					       k.payload),
			     0);
	forget(&k);
}

TEST(an_arm64_exit_is_a_trap_s_class_or_another_number)
{
	static const char format[] =
		HEAD("kvm_exit") "\tfield:int ret;\toffset:8;\tsize:4;\tsigned:1;\n"
				 "\tfield:unsigned int esr_ec;\toffset:12;\tsize:4;\tsigned:0;\n"
				 "\tfield:unsigned long "
				 "vcpu_pc;\toffset:16;\tsize:8;\tsigned:0;\n" PRINT;
	struct {
		struct record_head head;
		int32_t ret;
		uint32_t ec;
		uint64_t pc;
	} data = { { 42, 0, 0, 13 }, 2, 0x24, 0x40080000 };
	struct known k;

	REQUIRE(convert(&k, format, 0, (const uint8_t *)&data, sizeof(data)));
	CHECK_STR(k.as->probe, "kvm:arm64::exit");
	CHECK_EQ_U64(field(&k, "reason"), 0x24);
	CHECK_EQ_U64(field(&k, "pc"), 0x40080000);
	forget(&k);
	data.ret = 0xbadca11; /* the hypervisor's code is missing (HVC_STUB_ERR) */
	REQUIRE(convert(&k, format, 0, (const uint8_t *)&data, sizeof(data)));
	CHECK_EQ_U64(field(&k, "reason"), 0xbadcb11);
	forget(&k);
	data.ret = 0; /* an interrupt */
	data.ec = 0;
	REQUIRE(convert(&k, format, 0, (const uint8_t *)&data, sizeof(data)));
	CHECK_EQ_U64(field(&k, "reason"), 0x100);
	forget(&k);
}

TEST(a_page_fault_s_error_code_is_as_wide_as_the_kernel_s)
{
	static const char wide[] = HEAD(
		"kvm_page_fault") "\tfield:unsigned int vcpu_id;\toffset:8;\tsize:4;\tsigned:0;\n"
				  "\tfield:unsigned long "
				  "guest_rip;\toffset:16;\tsize:8;\tsigned:0;\n"
				  "\tfield:u64 fault_address;\toffset:24;\tsize:8;\tsigned:0;\n"
				  "\tfield:u64 error_code;\toffset:32;\tsize:8;\tsigned:0;\n" PRINT;
	static const char narrow[] = /* before 6.0 */
		HEAD("kvm_page_fault") "\tfield:unsigned long "
				       "fault_address;\toffset:8;\tsize:8;\tsigned:0;\n"
				       "\tfield:unsigned int "
				       "error_code;\toffset:16;\tsize:4;\tsigned:0;\n" PRINT;
	struct {
		struct record_head head;
		uint32_t vcpu_id, pad;
		uint64_t rip, address, error_code;
	} data = { { 42, 0, 0, 13 }, 1, 0, 0x1000, 0xfe000000, 0x100000014 };
	struct {
		struct record_head head;
		uint64_t address;
		uint32_t error_code, pad;
	} old = { { 42, 0, 0, 13 }, 0xfe000000, 0x14, 0 };
	struct known k;

	REQUIRE(convert(&k, wide, 0, (const uint8_t *)&data, sizeof(data)));
	CHECK_STR(k.as->probe, "kvm:mmu::page-fault");
	CHECK_EQ_U64(field(&k, "error_code"), 0x100000014);
	CHECK_EQ_U64(field(&k, "address"), 0xfe000000);
	forget(&k);
	REQUIRE(convert(&k, narrow, 0, (const uint8_t *)&old, sizeof(old)));
	CHECK_EQ_U64(field(&k, "error_code"), 0x14);
	forget(&k);
}

TEST(an_arm64_system_register_has_five_numbers)
{
	static const char format[] =
		HEAD("kvm_sys_access") "\tfield:unsigned long "
				       "vcpu_pc;\toffset:8;\tsize:8;\tsigned:0;\n"
				       "\tfield:bool is_write;\toffset:16;\tsize:1;\tsigned:0;\n"
				       "\tfield:const char * "
				       "name;\toffset:24;\tsize:8;\tsigned:0;\n"
				       "\tfield:u8 Op0;\toffset:32;\tsize:1;\tsigned:0;\n"
				       "\tfield:u8 Op1;\toffset:33;\tsize:1;\tsigned:0;\n"
				       "\tfield:u8 CRn;\toffset:34;\tsize:1;\tsigned:0;\n"
				       "\tfield:u8 CRm;\toffset:35;\tsize:1;\tsigned:0;\n"
				       "\tfield:u8 Op2;\toffset:36;\tsize:1;\tsigned:0;\n" PRINT;
	struct {
		struct record_head head;
		uint64_t pc;
		uint8_t is_write, pad[7];
		uint64_t name;
		uint8_t op0, op1, crn, crm, op2, pad2[3];
	} data = { { 42, 0, 0, 13 }, 0x40080000, 1, { 0 }, 0, 3, 1, 12, 11, 5, { 0 } };
	struct known k;

	REQUIRE(convert(&k, format, 0, (const uint8_t *)&data, sizeof(data)));
	CHECK_STR(k.as->probe, "kvm:arm64::sysreg");
	CHECK_EQ_U64(field(&k, "tid"), 13);
	CHECK_EQ_U64(field(&k, "op0"), 3);
	CHECK_EQ_U64(field(&k, "op1"), 1);
	CHECK_EQ_U64(field(&k, "crn"), 12);
	CHECK_EQ_U64(field(&k, "crm"), 11);
	CHECK_EQ_U64(field(&k, "op2"), 5);
	CHECK_EQ_U64(field(&k, "write"), 1);
	CHECK_EQ_U64(field(&k, "pc"), 0x40080000);
	forget(&k);
}

TEST(an_arm64_guest_s_faults_calls_and_waits)
{
	static const char fault[] = HEAD(
		"kvm_guest_fault") "\tfield:unsigned long "
				   "vcpu_pc;\toffset:8;\tsize:8;\tsigned:0;\n"
				   "\tfield:unsigned long hsr;\toffset:16;\tsize:8;\tsigned:0;\n"
				   "\tfield:unsigned long "
				   "hxfar;\toffset:24;\tsize:8;\tsigned:0;\n"
				   "\tfield:unsigned long long "
				   "ipa;\toffset:32;\tsize:8;\tsigned:0;\n" PRINT;
	static const char call[] =
		HEAD("kvm_hvc_arm64") "\tfield:unsigned long "
				      "vcpu_pc;\toffset:8;\tsize:8;\tsigned:0;\n"
				      "\tfield:unsigned long r0;\toffset:16;\tsize:8;\tsigned:0;\n"
				      "\tfield:unsigned long "
				      "imm;\toffset:24;\tsize:8;\tsigned:0;\n" PRINT;
	static const char wait[] = HEAD(
		"kvm_wfx_arm64") "\tfield:unsigned long "
				 "vcpu_pc;\toffset:8;\tsize:8;\tsigned:0;\n"
				 "\tfield:bool is_wfe;\toffset:16;\tsize:1;\tsigned:0;\n" PRINT;
	struct {
		struct record_head head;
		uint64_t words[4];
	} data = { { 42, 0, 0, 13 }, { 0x1000, 0x93c08046, 0xd0000, 0xd1000 } };
	struct known k;

	REQUIRE(convert(&k, fault, 0, (const uint8_t *)&data, sizeof(data)));
	CHECK_STR(k.as->probe, "kvm:arm64::guest-fault");
	CHECK_EQ_U64(field(&k, "esr"), 0x93c08046);
	CHECK_EQ_U64(field(&k, "pc"), 0x1000);
	CHECK_EQ_U64(field(&k, "address"), 0xd0000);
	CHECK_EQ_U64(field(&k, "ipa"), 0xd1000);
	forget(&k);
	data.words[1] = 0x84000008;
	data.words[2] = 7;
	REQUIRE(convert(&k, call, 0, (const uint8_t *)&data, sizeof(data)));
	CHECK_STR(k.as->probe, "kvm:arm64::hvc");
	CHECK_EQ_U64(field(&k, "nr"), 0x84000008);
	CHECK_EQ_U64(field(&k, "imm"), 7);
	forget(&k);
	data.words[1] = 1;
	REQUIRE(convert(&k, wait, 0, (const uint8_t *)&data, sizeof(data)));
	CHECK_STR(k.as->probe, "kvm:arm64::wfx");
	CHECK_EQ_U64(field(&k, "event"), 1);
	CHECK_EQ_U64(field(&k, "pc"), 0x1000);
	forget(&k);
}

TEST(a_fast_mmio_is_a_write_without_details)
{
	static const char format[] =
		HEAD("kvm_fast_mmio") "\tfield:u64 gpa;\toffset:8;\tsize:8;\tsigned:0;\n" PRINT;
	struct {
		struct record_head head;
		uint64_t gpa;
	} data = { { 42, 0, 0, 13 }, 0xfeb00000 };
	struct known k;

	REQUIRE(convert(&k, format, 0, (const uint8_t *)&data, sizeof(data)));
	CHECK_STR(k.as->probe, "kvm:io::mmio");
	CHECK_EQ_U64(field(&k, "type"), 2);
	CHECK_EQ_U64(field(&k, "gpa"), 0xfeb00000);
	CHECK_EQ_U64(field(&k, "size"), 0);
	CHECK_EQ_U64(field(&k, "value"), 0);
	forget(&k);
}

TEST(a_riscv_exit_has_its_interrupt_bit_at_31)
{
	static const char format[] = HEAD(
		"kvm_exit") "\tfield:unsigned long sepc;\toffset:8;\tsize:8;\tsigned:0;\n"
			    "\tfield:unsigned long scause;\toffset:16;\tsize:8;\tsigned:0;\n"
			    "\tfield:unsigned long stval;\toffset:24;\tsize:8;\tsigned:0;\n" PRINT;
	struct {
		struct record_head head;
		uint64_t sepc, scause, stval;
	} data = { { 42, 0, 0, 13 }, 0x80200000, UINT64_C(1) << 63 | 5, 3 };
	struct known k;

	REQUIRE(convert(&k, format, 0, (const uint8_t *)&data, sizeof(data)));
	CHECK_STR(k.as->probe, "kvm:riscv::exit");
	CHECK_EQ_U64(field(&k, "reason"), 0x80000005);
	CHECK_EQ_U64(field(&k, "pc"), 0x80200000);
	CHECK_EQ_U64(field(&k, "stval"), 3);
	forget(&k);
}

TEST(an_exception_is_injected)
{
	static const char format[] = HEAD(
		"kvm_inj_exception") "\tfield:u8 exception;\toffset:8;\tsize:1;\tsigned:0;\n"
				     "\tfield:u8 has_error;\toffset:9;\tsize:1;\tsigned:0;\n"
				     "\tfield:u32 error_code;\toffset:12;\tsize:4;\tsigned:0;\n"
				     "\tfield:bool "
				     "reinjected;\toffset:16;\tsize:1;\tsigned:0;\n" PRINT;
	struct {
		struct record_head head;
		uint8_t vector, has_error, hole[2];
		uint32_t error_code;
		uint8_t reinjected;
	} data = { { 42, 0, 0, 13 }, 14, 1, { 0 }, 0x7, 1 };
	struct known k;

	REQUIRE(convert(&k, format, 0, (const uint8_t *)&data, sizeof(data)));
	CHECK_STR(k.as->probe, "kvm:cpu::exception");
	CHECK_EQ_U64(field(&k, "vector"), 14);
	CHECK_EQ_U64(field(&k, "has_error"), 1);
	CHECK_EQ_U64(field(&k, "again"), 1);
	CHECK_EQ_U64(field(&k, "error_code"), 7);
	forget(&k);
}

TEST(an_entry_without_a_vcpu_number_does_not_have_0)
{
	static const char format[] =
		HEAD("kvm_entry") "\tfield:unsigned long "
				  "vcpu_pc;\toffset:8;\tsize:8;\tsigned:0;\n" PRINT;
	struct {
		struct record_head head;
		uint64_t pc;
	} data = { { 42, 0, 0, 13 }, 0x1000 };
	struct known k;

	REQUIRE(convert(&k, format, 0, (const uint8_t *)&data, sizeof(data)));
	CHECK_STR(k.as->probe, "kvm:vcpu::entry");
	CHECK_EQ_S64((int64_t)field(&k, "vcpu_id"), -1);
	CHECK_EQ_U64(field(&k, "rip"), 0x1000);
	forget(&k);
}

/* Linux before 5.16 has exit_code where later ones have exit_reason. */
TEST(older_field_names_are_recognized)
{
	static const char format[] =
		HEAD("kvm_nested_vmexit") "\tfield:__u64 rip;\toffset:8;\tsize:8;\tsigned:0;\n"
					  "\tfield:__u32 "
					  "exit_code;\toffset:16;\tsize:4;\tsigned:0;\n" PRINT;
	struct {
		struct record_head head;
		uint64_t rip;
		uint32_t code, pad;
	} data = { { 42, 0, 0, 13 }, 0x7c00, 0x400, 0 };
	struct known k;

	REQUIRE(convert(&k, format, 0, (const uint8_t *)&data, sizeof(data)));
	CHECK_EQ_U64(field(&k, "code"), 0x400);
	CHECK_EQ_U64(field(&k, "rip"), 0x7c00);
	forget(&k);
}

TEST(each_array_is_a_text)
{
	static const char format[] = HEAD(
		"odd") "\tfield:s16 n;\toffset:8;\tsize:2;\tsigned:1;\n"
		       "\tfield:u8 bytes[3];\toffset:10;\tsize:3;\tsigned:0;\n"
		       "\tfield:__data_loc char[] name;\toffset:16;\tsize:4;\tsigned:0;\n" PRINT;
	struct {
		struct record_head head;
		int16_t n;
		uint8_t bytes[6];
		uint32_t loc;
		char name[4];
	} data = { { 42, 0, 0, 13 }, -2, { 0xab, 0, 0x7f }, 20 | 4 << 16, "vm0" };
	static const char text[] = "\6\0\3\0ab007fvm0"; /* the lengths, then the bytes */
	struct rs_schema *kvm = NULL;
	struct rs_tracedat_event event;
	struct tep_event *parsed = NULL;
	struct tep_handle *tep = tep_alloc();
	uint8_t payload[256];
	char declared[256];
	uint32_t n;

	REQUIRE_OK(rs_schema_create("kvm", &kvm));
	CHECK(!tep_parse_format(tep, &parsed, format, strlen(format), "any"));
	rs_tracedat_plan(&event, parsed, kvm);
	CHECK_EQ_U64(event.n_plans, 0);
	n = rs_ftrace_declare(&event.own, declared, sizeof(declared));
	declared[n] = '\0';
	CHECK_STR(declared, "any::odd(u32 tid, s16 n, text bytes, text name)");
	n = rs_ftrace_payload(&event.own, tep, (const uint8_t *)&data, sizeof(data), payload);
	REQUIRE_EQ_U64(n, 4 + 2 + sizeof(text) - 1);
	CHECK_EQ_U64(payload[0], 13);
	CHECK_EQ_U64(payload[4], 0xfe);
	CHECK(!memcmp(payload + 6, text, sizeof(text) - 1));
	data.loc = 22 | 4 << 16; /* after the record's end */
	CHECK_EQ_U64(
		rs_ftrace_payload(&event.own, tep, (const uint8_t *)&data, sizeof(data), payload),
		0);
	rs_schema_destroy(kvm);
	tep_free(tep);
}
