// SPDX-License-Identifier: BSD-2-Clause
/*
 * Shared by the tests of push-down: a filter in its own program, run in the kernel by
 * BPF_PROG_TEST_RUN; random records and expressions.
 */
#ifndef RS_TESTS_PUSH_KIT_H
#define RS_TESTS_PUSH_KIT_H

#include "../test.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <string.h>
#include <unistd.h>

#include "kvm/session.h"
#include "lang/bpf/push.h"
#include "lang/vm/runtime.h"

/* ---- a filter in its own program ------------------------------------------------------------ */

/* The program's input and output in its map. */
struct stand {
	uint64_t words[RS_FILTER_WORDS];
	uint64_t thread; /* RS_FILTER_WHO */
	uint64_t rows[RS_FILTER_ROWS][RS_FILTER_ROW];
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

/* Returns the program's descriptor, or a negative errno. */
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
	if (fd < 0) { /* again, for the verifier's log */
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

static const struct rs_event *event_of(const char *probe)
{
	for (uint32_t i = 0; i < rs_schema_count(schema); i++) {
		const struct rs_event *event = rs_schema_event(schema, i);

		if (!strcmp(event->probe, probe))
			return event;
	}
	return NULL;
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

/* Numbers at the limits of all widths, and small ones. */
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
	stand->thread = 1 + chance(5);
	stand->who = (uint32_t)stream->vcpu | (uint64_t)(uint32_t)stream->pid << 32;
}

/* ---- random predicates ---------------------------------------------------------------------- */

static const struct rs_event *about; /* whose arguments they are of */
static bool in_part;		     /* some of it is not only about the event */

static void append(char **at, const char *end, const char *format, ...)
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
		append(at, end, "%s", beyond[chance(7)]);
		return;
	}
	if (in_part && !chance(6)) {
		append(at, end, "((args.%s ? \"pio\" : vm) == (cpu > %u ? probename : \"exit\"))",
		       about->fields[chance(about->n_fields)].name, chance(4096));
		return;
	}
	switch (chance(8)) {
	case 0:
	case 1:
		append(at, end, "0x%llx", (unsigned long long)number());
		break;
	case 2:
		append(at, end, "%u", chance(40));
		break;
	case 3:
		append(at, end, "%s", names[chance(7)]);
		break;
	case 4:
		append(at, end, "(%s)", texts[chance(4)]);
		break;
	default:
		append(at, end, "args.%s", about->fields[chance(about->n_fields)].name);
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
	append(at, end, "(");
	switch (chance(6)) {
	case 0:
		append(at, end, "%s", before[chance(9)]);
		expression(at, end, depth - 1);
		break;
	case 1:
		expression(at, end, depth - 1);
		append(at, end, " ? ");
		expression(at, end, depth - 1);
		append(at, end, " : ");
		expression(at, end, depth - 1);
		break;
	default:
		expression(at, end, depth - 1);
		append(at, end, " %s ", operators[chance(21)]);
		expression(at, end, depth - 1);
	}
	append(at, end, ")");
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

#endif
