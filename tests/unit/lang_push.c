/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Push-down: the instructions that the compiler made of a predicate give the same result in the
 * kernel, by BPF_PROG_TEST_RUN, as the language's own machine. Predicates are written here, and
 * some thousand are made at random.
 */
#include "push_kit.h"

static struct rs_error *push(struct rs_script *script, struct rs_filter *filter)
{
	const struct rs_push_options options = { .schema = schema, .provider = RS_IDS_KVM };

	return rs_script_push(script, &options, filter);
}

/* The machine's result: 1 it holds, 0 it does not, -1 it failed. */
static int machine(struct rs_script *script, const struct rs_event *event,
		   const struct rs_stream *stream, const struct stand *stand)
{
	const struct rs_view view = { .event = event,
				      .stream = stream,
				      .payload = (const uint8_t *)(stand->words + RS_FILTER_HEAD),
				      .payload_bytes = sizeof(stand->words) - RS_FILTER_HEAD * 8,
				      .cpu = (int)stand->cpu };
	const struct binding *binding = rs_lang_bind_event(script, event);
	struct firing f = { .script = script,
			    .rt = script->runtime,
			    .view = &view,
			    .binding = binding,
			    .probe = &script->probes.at[binding->probe] };
	uint32_t pc;

	script->runtime->scratch_used = 0;
	if (rs_lang_run_predicate(&f, script->clauses, &pc))
		return 1;
	return f.fault ? -1 : 0;
}

/* ---- comparison ----------------------------------------------------------------------------- */

#define RECORDS 24 /* events on which a predicate is tried */

struct tally {
	uint32_t programs, refused, rejected, kept, faults, unfiltered;
};

static bool agrees(const char *text, struct rs_script *script, int program, int map,
		   struct tally *tally)
{
	struct rs_stream stream = { .cpu = -1, .schema = schema };
	struct stand stand;

	for (uint32_t i = 0; i < RECORDS; i++) {
		int says;

		record_make(&stand, about, &stream);
		says = machine(script, about, &stream, &stand);
		if (!CHECK(stand_run(program, map, &stand)))
			return false;
		if (in_part && !says && stand.verdict == RS_FILTER_KEEP)
			continue; /* it lets too much through, never too little */
		tally->kept += says > 0;
		tally->rejected += !says;
		tally->faults += says < 0;
		if (!CHECK_EQ_U64(stand.verdict, says ? RS_FILTER_KEEP : 0)) {
			printf("# %s of %s: the machine returns %d\n", text, about->probe, says);
			return false;
		}
	}
	return true;
}

/* Returns false if the two differ. A program that the compiler refuses is skipped. */
static bool try_one(const char *text, int map, struct tally *tally)
{
	static struct rs_clock clock = { .freq_hz = 1000000000 };
	const struct rs_script_io io = { .report = drop_line, .clock = &clock };
	struct rs_script *script = NULL;
	struct rs_filter filter = { 0 };
	struct rs_sink *sink;
	struct rs_error *err = compile(text, &script);
	bool good = true;
	int program;

	if (err) {
		tally->refused++;
		rs_error_free(err);
		return true;
	}
	tally->programs++;
	if (CHECK_OK(push(script, &filter)) && CHECK_OK(rs_script_start(script, &io, &sink))) {
		tally->unfiltered += !filter.n;
		program = filter.n ? stand_load(&filter, map) : -1;
		if (filter.n && !CHECK(program >= 0)) {
			printf("# %s\n# %.3000s\n", text, verifier_says);
			good = false;
		} else if (filter.n) {
			good = agrees(text, script, program, map, tally);
			close(program);
		}
	}
	rs_script_destroy(script);
	return good;
}

/* Names of an enumeration, as texts or not, compared with an argument. */
TEST(literal_names)
{
	static const char *const predicates[] = {
		"args.reason == \"HLT\"",
		"\"EXIT_REASON_CPUID\" != args.reason || args.reason == hlt",
		"args.reason < \"IO\"",
		"args.reason == \"no name\"",
		"execname == \"qemu\" || args.reason == \"HLT\"",
	};
	struct tally tally = { 0 };
	char text[512];
	int map;

	NEEDS();
	map = stand_map();
	about = event_of("kvm:vmx::exit");
	REQUIRE(about);
	for (size_t i = 0; i < sizeof(predicates) / sizeof(predicates[0]); i++) {
		snprintf(text, sizeof(text), "kvm:vmx::exit /%s/ { n++; }", predicates[i]);
		CHECK(try_one(text, map, &tally));
	}
	CHECK_EQ_U64(tally.refused, 1);
	CHECK_EQ_U64(tally.unfiltered, 2); /* an order of names, a thread's name */
	CHECK(tally.rejected);
	close(map);
	rs_schema_destroy(schema);
}

TEST(literal_predicates)
{
	static const char *const predicates[] = {
		"args.port == 0x3f8",
		"args.port != 0x3f8 && args.write",
		"args.size > 1 || args.count == 0 || args.value & 1",
		"args.value >> args.size == 3",
		"(int8_t)args.value / (int8_t)args.count < -1",
		"(int)args.value % 7 == -3",
		"(int64_t)args.value / -1 == (int64_t)arg3",
		"arg9 == 0",
		"cpu == 3 ? tid > 100 : pid % 2",
		"vcpu < 100 && probename == \"pio\"",
		"args.port in_no_way",
		"!(args.write ^^ args.size)",
		"-(-(-(-(-(-args.value))))) > 5",
		"1 + (2 + (3 + (4 + (5 + (6 + (7 + args.port)))))) > 0x1000",
		"args.port * 2 - (args.size + (args.count * (args.value - (args.port - 1)))) > 0",
	};
	struct tally tally = { 0 };
	char text[512];
	int map;

	NEEDS();
	map = stand_map();
	about = event_of("kvm:io::pio");
	REQUIRE(about);
	for (size_t i = 0; i < sizeof(predicates) / sizeof(predicates[0]); i++) {
		snprintf(text, sizeof(text), "kvm:io::pio /%s/ { n++; }", predicates[i]);
		CHECK(try_one(text, map, &tally));
	}
	CHECK_EQ_U64(tally.refused, 1);
	CHECK_EQ_U64(tally.unfiltered, 0);
	close(map);
	rs_schema_destroy(schema);
}

static void at_random(struct tally *tally, uint32_t n)
{
	static const char *const probes[] = { "kvm:io::pio", "kvm:user::exit", "kvm:vmx::exit",
					      "kvm:cpu::msr", "kvm:io::mmio" };
	char text[4096];
	int map = stand_map();

	for (uint32_t i = 0; i < n; i++) {
		char *at = text, *end = text + sizeof(text) - 32;

		about = event_of(probes[i % 5]);
		append(&at, end, "%s%s /", in_part ? "int n; " : "", about->probe);
		expression(&at, end, 1 + i % 6);
		memcpy(at, "/ { n++; }", 11);
		if (!try_one(text, map, tally))
			break;
	}
	printf("# %u programs, %u refused, %u not filtered: %u kept, %u not, %u faults\n",
	       tally->programs, tally->refused, tally->unfiltered, tally->kept, tally->rejected,
	       tally->faults);
	close(map);
}

TEST(random_predicates)
{
	struct tally tally = { 0 };

	NEEDS();
	at_random(&tally, 4000);
	CHECK(tally.programs > 2000);
	CHECK(tally.kept > 1000 && tally.rejected > 1000 && tally.faults > 100);
	rs_schema_destroy(schema);
}

TEST(predicates_that_are_pushed_down_in_part)
{
	struct tally tally = { 0 };

	NEEDS();
	in_part = true;
	at_random(&tally, 2000);
	in_part = false;
	CHECK(tally.programs > 1000);
	CHECK(tally.kept > 500 && tally.rejected > 500 && tally.unfiltered > 20);
	rs_schema_destroy(schema);
}

/* BPF does not know the record's VM: then it is let through. */
TEST(unknown_values_are_let_through)
{
	const char *text = "kvm:io::pio /vcpu == 5 || pid == 5/ { n++; }";
	struct rs_script *script = NULL;
	struct rs_filter filter;
	struct stand stand = { 0 };
	int map, program;

	NEEDS();
	map = stand_map();
	REQUIRE(CHECK_OK(compile(text, &script)) && CHECK_OK(push(script, &filter)));
	CHECK(filter.thread);
	program = stand_load(&filter, map);
	REQUIRE(program >= 0);
	stand.id = event_of("kvm:io::pio")->id;
	stand.who = 4 | UINT64_C(4) << 32;
	CHECK(stand_run(program, map, &stand));
	CHECK_EQ_U64(stand.verdict, 0);
	stand.who = (uint32_t)-1 | UINT64_C(4) << 32;
	CHECK(stand_run(program, map, &stand));
	CHECK_EQ_U64(stand.verdict, RS_FILTER_KEEP);
	stand.who = 4;
	CHECK(stand_run(program, map, &stand));
	CHECK_EQ_U64(stand.verdict, RS_FILTER_KEEP);
	stand.id = event_of("kvm:io::mmio")->id; /* no reason was given */
	stand.who = 4 | UINT64_C(4) << 32;
	CHECK(stand_run(program, map, &stand));
	CHECK_EQ_U64(stand.verdict, RS_FILTER_KEEP);
	close(program);
	close(map);
	rs_script_destroy(script);
	rs_schema_destroy(schema);
}

TEST(a_filter_fits_into_its_room)
{
	static struct bpf_insn elf[2 * RS_FILTER_INSNS];
	const struct bpf_insn one = INSN(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 1);
	const struct rs_filter filter = { .insns = &one, .n = 1 };
	const struct rs_filter large = { .insns = elf, .n = RS_FILTER_INSNS };
	struct bpf_insn *room = elf + 7, *made;
	void *out = NULL;

	CHECK_ERR(rs_kvm_filter_in(elf, sizeof(elf), &filter, &out), RS_FAILED, "no room");
	room[0] = INSN(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, RS_KVM_FILTER_MARK);
	room[1] = INSN(BPF_JMP | BPF_JNE | BPF_K, 0, 0, RS_KVM_FILTER_ROOM, 0);
	for (uint32_t i = 2; i < RS_FILTER_INSNS - 1; i++)
		room[i] = MOVE(0, 0);
	CHECK_ERR(rs_kvm_filter_in(elf, sizeof(elf), &filter, &out), RS_FAILED, "no room");
	room[RS_FILTER_INSNS - 1] = EXIT;
	CHECK_ERR(rs_kvm_filter_in(elf, sizeof(elf), &large, &out), RS_FAILED, "at most");
	REQUIRE(CHECK_OK(rs_kvm_filter_in(elf, sizeof(elf), &filter, &out)));
	made = (struct bpf_insn *)out + 7;
	CHECK(!memcmp(made, &one, sizeof(one)));
	CHECK_EQ_U64(made[2].code, BPF_JMP | BPF_JEQ | BPF_K);
	CHECK_EQ_U64(made[2 + 1 + made[2].off].code, BPF_JMP | BPF_EXIT);
	CHECK(&made[2 + 1 + made[2].off] == &made[RS_FILTER_INSNS - 1]);
	free(out);
}
