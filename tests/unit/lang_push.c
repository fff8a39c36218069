/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Push-down: what BPF says of a record, by instructions that the compiler made of a predicate, is
 * what the language's own machine says of the event; in the kernel, by BPF_PROG_TEST_RUN. Of
 * predicates that are written down here, and of some thousand that are made at random.
 */
#include "../test.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <string.h>
#include <unistd.h>

#include "kvm/session.h"
#include "lang/push.h"
#include "lang/runtime.h"

/* ---- a filter, in a program of its own ------------------------------------------------------ */

/* What the program finds in its map, and leaves there. */
struct stand {
	uint64_t words[RS_FILTER_WORDS];
	uint64_t id, cpu, who, verdict;
};

#define INSN(c, d, s, o, i)                                                                        \
	((struct bpf_insn){ .code = (c), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i) })
#define AT(field)	    ((int16_t)offsetof(struct stand, field))
#define LOAD(to, from, off) INSN(BPF_LDX | BPF_MEM | BPF_DW, to, from, off, 0)
#define MOVE(to, from)	    INSN(BPF_ALU64 | BPF_MOV | BPF_X, to, from, 0, 0)
#define ADD(to, n)	    INSN(BPF_ALU64 | BPF_ADD | BPF_K, to, 0, 0, n)
#define EXIT		    INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)

static char verifier_says[1u << 20];

/* The program's descriptor, or a negative errno. */
static int stand_load(const struct rs_filter *filter, int map)
{
	const struct bpf_insn head[] = {
		INSN(BPF_ST | BPF_MEM | BPF_W, 10, 0, -4, 0),
		INSN(BPF_LD | BPF_DW | BPF_IMM, 1, BPF_PSEUDO_MAP_FD, 0, map),
		INSN(0, 0, 0, 0, 0),
		MOVE(2, 10),
		ADD(2, -4),
		INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_map_lookup_elem),
		INSN(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 7, 0),
		MOVE(6, 0),
		MOVE(1, 6),
		LOAD(2, 6, AT(id)),
		LOAD(3, 6, AT(cpu)),
		LOAD(4, 6, AT(who)),
		INSN(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_CALL, 0, 3),
		INSN(BPF_STX | BPF_MEM | BPF_DW, 6, 0, AT(verdict), 0),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 0),
		EXIT,
	};
	static struct bpf_insn insns[RS_FILTER_INSNS + 32];
	LIBBPF_OPTS(bpf_prog_load_opts, options, .log_buf = verifier_says,
		    .log_size = sizeof(verifier_says), .log_level = 0);
	size_t n = sizeof(head) / sizeof(head[0]);
	int fd;

	memcpy(insns, head, sizeof(head));
	memcpy(insns + n, filter->insns, filter->n * sizeof(*insns));
	n += filter->n;
	insns[n++] = EXIT;
	fd = bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "push", "GPL", insns, n, &options);
	if (fd < 0) { /* again, for what it has to say */
		options.log_level = 1;
		bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "push", "GPL", insns, n, &options);
	}
	return fd;
}

static bool stand_run(int program, int map, struct stand *stand)
{
	LIBBPF_OPTS(bpf_test_run_opts, options);
	uint32_t zero = 0;

	stand->verdict = ~UINT64_C(0);
	return !bpf_map_update_elem(map, &zero, stand, BPF_ANY) &&
	       !bpf_prog_test_run_opts(program, &options) &&
	       !bpf_map_lookup_elem(map, &zero, stand);
}

static int stand_map(void)
{
	return bpf_map_create(BPF_MAP_TYPE_ARRAY, "stand", sizeof(uint32_t), sizeof(struct stand),
			      1, NULL);
}

/* ---- programs and events -------------------------------------------------------------------- */

static struct rs_schema *schema;

static void drop_line(void *ctx, const char *text)
{
	(void)ctx, (void)text;
}

static struct rs_error *compile(const char *text, struct rs_script **script)
{
	const struct rs_script_config config = { .name = "test",
						 .text = text,
						 .len = strlen(text),
						 .schemas =
							 (const struct rs_schema *const *)&schema,
						 .n_schemas = 1 };

	return rs_script_compile(&config, script);
}

static struct rs_error *push(struct rs_script *script, struct rs_filter *filter)
{
	const struct rs_push_options options = { .schema = schema, .provider = RS_IDS_KVM };

	return rs_script_push(script, &options, filter);
}

static const struct rs_event *event_of(const char *probe)
{
	for (uint32_t i = 0; i < rs_schema_count(schema); i++) {
		const struct rs_event *event = rs_schema_event(schema, i);

		if (!strcmp(event->probe, probe))
			return event;
	}
	return NULL;
}

/* What the machine says: 1 it holds, 0 it does not, -1 it failed. */
static int machine(struct rs_script *script, const struct rs_event *event,
		   const struct rs_stream *stream, const struct stand *stand)
{
	const struct rs_view view = { .event = event,
				      .stream = stream,
				      .payload = (const uint8_t *)(stand->words + RS_FILTER_HEAD),
				      .payload_bytes = sizeof(stand->words) - RS_FILTER_HEAD * 8,
				      .cpu = (int)stand->cpu };
	const struct binding *binding = bind_event(script, event);
	struct firing f = { .script = script,
			    .rt = script->runtime,
			    .view = &view,
			    .binding = binding,
			    .probe = &script->probes.at[binding->probe] };
	uint32_t pc;

	script->runtime->scratch_used = 0;
	if (run_predicate(&f, script->clauses, &pc))
		return 1;
	return f.fault ? -1 : 0;
}

/* ---- chance --------------------------------------------------------------------------------- */

static uint64_t state = UINT64_C(0x9e3779b97f4a7c15);

static uint32_t chance(uint32_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 33) % n;
}

/* Numbers at the edges of all widths, and small ones. */
static uint64_t number(void)
{
	uint64_t value = UINT64_C(1) << chance(64);

	switch (chance(6)) {
	case 0:
		return value - 1;
	case 1:
		return value;
	case 2:
		return -value;
	case 3:
		return chance(2) ? UINT64_MAX : 0;
	case 4:
		return chance(20);
	default:
		return state;
	}
}

static void record_make(struct stand *stand, const struct rs_event *event, struct rs_stream *stream)
{
	uint8_t *payload = (uint8_t *)(stand->words + RS_FILTER_HEAD);

	memset(stand, 0, sizeof(*stand));
	for (uint16_t i = 0; i < event->n_fields; i++) {
		uint64_t value = number();

		memcpy(payload + event->fields[i].offset, &value,
		       rs_type_bytes(event->fields[i].type));
	}
	stream->tid = 1 + (int)chance(1u << 20);
	stream->pid = 1 + (int)chance(1u << 20);
	stream->vcpu = (int)chance(300);
	memcpy(payload, &stream->tid, sizeof(stream->tid));
	stand->id = event->id;
	stand->cpu = chance(4096);
	stand->who = (uint32_t)stream->vcpu | (uint64_t)(uint32_t)stream->pid << 32;
}

/* ---- predicates at random ------------------------------------------------------------------- */

static const struct rs_event *about; /* whose arguments they are of */
static bool in_part;		     /* some of it is not of the event alone */

static void say(char **at, const char *end, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(*at, (size_t)(end - *at), format, args);
	va_end(args);
	*at += n < end - *at ? n : end - *at - 1;
}

static void expression(char **at, const char *end, uint32_t depth);

static void leaf(char **at, const char *end)
{
	static const char *const names[] = { "cpu", "tid", "pid", "vcpu", "arg0", "arg1", "arg9" };
	static const char *const texts[] = { "probename == \"pio\"", "probeprov == \"kvm\"",
					     "probemod < \"user\"", "probefunc != \"\"" };

	static const char *const beyond[] = { "(vm == \"a\")",
					      "strlen(probename)",
					      "timestamp",
					      "n",
					      "n++",
					      "epid",
					      "(probename == strjoin(vm, \"\"))" };

	if (in_part && !chance(6)) {
		say(at, end, "%s", beyond[chance(7)]);
		return;
	}
	if (in_part && !chance(6)) {
		say(at, end, "((args.%s ? \"pio\" : vm) == (cpu > %u ? probename : \"exit\"))",
		    about->fields[chance(about->n_fields)].name, chance(4096));
		return;
	}
	switch (chance(8)) {
	case 0:
	case 1:
		say(at, end, "0x%llx", (unsigned long long)number());
		break;
	case 2:
		say(at, end, "%u", chance(40));
		break;
	case 3:
		say(at, end, "%s", names[chance(7)]);
		break;
	case 4:
		say(at, end, "(%s)", texts[chance(4)]);
		break;
	default:
		say(at, end, "args.%s", about->fields[chance(about->n_fields)].name);
	}
}

static void expression(char **at, const char *end, uint32_t depth)
{
	static const char *const operators[] = { "+", "-",  "*",  "/",	"%",  "&",  "|",
						 "^", "<<", ">>", "==", "!=", "<",  "<=",
						 ">", ">=", "&&", "||", "^^", "==", "&&" };
	static const char *const before[] = { "-",	   "~",		"!",
					      "(uint8_t)", "(int16_t)", "(uint32_t)",
					      "(int)",	   "(int64_t)", "(char)" };

	if (!depth || !chance(6)) {
		leaf(at, end);
		return;
	}
	say(at, end, "(");
	switch (chance(6)) {
	case 0:
		say(at, end, "%s", before[chance(9)]);
		expression(at, end, depth - 1);
		break;
	case 1:
		expression(at, end, depth - 1);
		say(at, end, " ? ");
		expression(at, end, depth - 1);
		say(at, end, " : ");
		expression(at, end, depth - 1);
		break;
	default:
		expression(at, end, depth - 1);
		say(at, end, " %s ", operators[chance(21)]);
		expression(at, end, depth - 1);
	}
	say(at, end, ")");
}

/* ---- one against the other ------------------------------------------------------------------ */

#define RECORDS 24 /* that a predicate is tried with */

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
			printf("# %s of %s: the machine says %d\n", text, about->probe, says);
			return false;
		}
	}
	return true;
}

/* False: the two differ. A program that the compiler refuses is none. */
static bool try_one(const char *text, int map, struct tally *tally)
{
	static struct rs_clock clock = { .freq_hz = 1000000000 };
	const struct rs_script_io io = { .tell = drop_line, .clock = &clock };
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

static const char *missing(void)
{
	int map;

	if (geteuid())
		return "loading BPF programs takes root";
	map = stand_map();
	if (map < 0)
		return "this kernel refuses BPF maps";
	close(map);
	return NULL;
}

#define NEEDS()                                                                                    \
	do {                                                                                       \
		const char *lacks = missing();                                                     \
                                                                                                   \
		if (lacks)                                                                         \
			TEST_SKIP(lacks);                                                          \
		if (!CHECK_OK(rs_schema_create("kvm", &schema)) ||                                 \
		    !CHECK_OK(rs_schema_add_catalogue(schema, "kvm")))                             \
			return;                                                                    \
	} while (0)

TEST(predicates_that_are_written_down)
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
		say(&at, end, "%s%s /", in_part ? "int n; " : "", about->probe);
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

TEST(predicates_at_random)
{
	struct tally tally = { 0 };

	NEEDS();
	at_random(&tally, 4000);
	CHECK(tally.programs > 2000);
	CHECK(tally.kept > 1000 && tally.rejected > 1000 && tally.faults > 100);
	rs_schema_destroy(schema);
}

TEST(predicates_that_go_down_in_part)
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

/* Who the record is of is not known to BPF: then it is let through. */
TEST(what_is_not_known_is_let_through)
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
	stand.id = event_of("kvm:io::mmio")->id; /* nothing was said of it */
	stand.who = 4 | UINT64_C(4) << 32;
	CHECK(stand_run(program, map, &stand));
	CHECK_EQ_U64(stand.verdict, RS_FILTER_KEEP);
	close(program);
	close(map);
	rs_script_destroy(script);
	rs_schema_destroy(schema);
}

TEST(a_filter_goes_into_its_room)
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
	CHECK_ERR(rs_kvm_filter_in(elf, sizeof(elf), &large, &out), RS_FAILED, "there is room for");
	REQUIRE(CHECK_OK(rs_kvm_filter_in(elf, sizeof(elf), &filter, &out)));
	made = (struct bpf_insn *)out + 7;
	CHECK(!memcmp(made, &one, sizeof(one)));
	CHECK_EQ_U64(made[2].code, BPF_JMP | BPF_JEQ | BPF_K);
	CHECK_EQ_U64(made[2 + 1 + made[2].off].code, BPF_JMP | BPF_EXIT);
	CHECK(&made[2 + 1 + made[2].off] == &made[RS_FILTER_INSNS - 1]);
	free(out);
}
