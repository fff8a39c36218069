/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel's formats, converted to a schema: types, names of values, texts. source_tracedat.c
 * tests records with them; tests/trace/tracepoint.test uses real ones.
 */
#include "event_kit.h"

#include <string.h>

#include "import/ftrace.h"

#define ID RS_ID(RS_IDS_USER, 7)

static const char format_text[] =
	"name: odd\nID: 7\nformat:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
	"\tfield:unsigned int vec;\toffset:8;\tsize:4;\tsigned:0;\n"
	"\tfield:int state;\toffset:12;\tsize:4;\tsigned:1;\n"
	"\tfield:void * at;\toffset:16;\tsize:8;\tsigned:0;\n"
	"\tfield:u8 bad;\toffset:24;\tsize:1;\tsigned:0;\n"
	"\tfield:pid_t tid;\toffset:28;\tsize:4;\tsigned:1;\n"
	"\tfield:char comm[16];\toffset:32;\tsize:16;\tsigned:0;\n\n"
	"print fmt: \"vec=%u [%s] %s %s %d\", REC->vec, "
	"__print_symbolic((int)REC->vec, { 0, \"HI\" }, { 0x3, \"NET\" }, { 3, \"again\" }), "
	"__print_symbolic(REC->state, { -1, \"gone\" }, { 1, \"there\" }), "
	"__print_symbolic(REC->bad, { 1 << 2, \"four\" }), REC->tid\n";

TEST(fields_have_their_types_and_values_their_names)
{
	struct rs_schema *schema = NULL;
	struct tep_handle *tep = tep_alloc();
	struct tep_event *format = NULL;
	const struct rs_event *event;
	struct rs_ftrace_event plan;
	static const struct {
		const char *name;
		enum rs_type type;
		enum rs_show show;
	} fields[] = {
		{ "tid", RS_TYPE_U32, RS_SHOW_DEC },	{ "vec", RS_TYPE_U32, RS_SHOW_ENUM },
		{ "state", RS_TYPE_S32, RS_SHOW_ENUM }, { "at", RS_TYPE_U64, RS_SHOW_HEX },
		{ "bad", RS_TYPE_U8, RS_SHOW_ENUM },	{ "tid_", RS_TYPE_S32, RS_SHOW_DEC },
		{ "comm", RS_TYPE_TEXT, RS_SHOW_DEC },
	};

	REQUIRE_OK(rs_schema_create("ftrace", &schema));
	CHECK(!tep_parse_format(tep, &format, format_text, strlen(format_text), "any"));
	rs_ftrace_plan(&plan, format);
	REQUIRE_OK(rs_ftrace_add(&plan, schema, ID));
	event = rs_schema_find(schema, ID);
	REQUIRE(event != NULL);
	CHECK_STR(event->probe, "ftrace:any::odd");
	REQUIRE_EQ_U64(event->n_fields, sizeof(fields) / sizeof(fields[0]));
	for (uint16_t i = 0; i < event->n_fields; i++) {
		CHECK_STR(event->fields[i].name, fields[i].name);
		CHECK_EQ_U64(event->fields[i].type, fields[i].type);
		CHECK_EQ_U64(event->fields[i].show, fields[i].show);
	}
	CHECK_STR(rs_enum_name(event->fields[1].values, 0), "HI");
	CHECK_STR(rs_enum_name(event->fields[1].values, 3), "NET");
	CHECK(!rs_enum_name(event->fields[1].values, 4));
	CHECK_STR(rs_enum_name(event->fields[2].values, UINT64_MAX), "gone");
	CHECK_STR(rs_enum_name(event->fields[2].values, 1), "there");
	CHECK_STR(rs_enum_name(event->fields[4].values, 4), "four");
	rs_schema_destroy(schema);
	tep_free(tep);
}

/* As in Linux 6.18; each record has the number of its frames. */
static const char stack_text[] =
	"name: kernel_stack\nID: 4\nformat:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
	"\tfield:int size;\toffset:8;\tsize:4;\tsigned:1;\n"
	"\tfield:unsigned long caller[8];\toffset:16;\tsize:64;\tsigned:0;\n\n"
	"print fmt: \"%d\", REC->size\n";

struct stack_record {
	uint16_t type;
	uint8_t flags, preempt;
	int32_t pid, size, padding;
	uint64_t caller[100];
};

static void check_stack(const struct rs_ftrace_event *plan, struct tep_handle *tep,
			const struct stack_record *record, uint32_t frames, const char *expected)
{
	uint8_t payload[RS_FTRACE_PAYLOAD_MAX];
	uint32_t bytes =
		rs_ftrace_payload(plan, tep, (const uint8_t *)record, 16 + frames * 8, payload);
	uint16_t len = 0;

	if (!expected) {
		CHECK_EQ_U64(bytes, 0);
		return;
	}
	REQUIRE(bytes >= 10);
	memcpy(&len, payload + 8, sizeof(len));
	REQUIRE_EQ_U64(bytes, 10u + len);
	CHECK(len == strlen(expected) && !memcmp(payload + 10, expected, len));
}

TEST(a_stack_has_the_frames_of_its_record)
{
	struct stack_record record = {
		.type = 4, .pid = 5, .size = 2, .caller = { 0x1005, 0x2fff }
	};
	struct tep_handle *tep = tep_alloc();
	struct tep_event *format = NULL;
	struct rs_ftrace_event plan;
	uint8_t payload[RS_FTRACE_PAYLOAD_MAX];
	uint32_t bytes;

	tep_register_function(tep, (char *)"first", 0x1000, NULL);
	tep_register_function(tep, (char *)"second", 0x2000, NULL);
	tep_register_function(tep, (char *)"last", 0x3000, NULL);
	CHECK(!tep_parse_format(tep, &format, stack_text, strlen(stack_text), "ftrace"));
	rs_ftrace_plan(&plan, format);
	check_stack(&plan, tep, &record, 2, "first+0x5 second+0xfff");
	record.size = 3;
	check_stack(&plan, tep, &record, 2, NULL); /* a number larger than the data */
	record.caller[2] = 0x1;
	check_stack(&plan, tep, &record, 3, "first+0x5 second+0xfff 0x1");
	record.size = -1;
	check_stack(&plan, tep, &record, 3, NULL);
	record.size = 0;
	check_stack(&plan, tep, &record, 0, "");
	record.size = 100; /* more frames than fit into a text */
	for (int i = 0; i < 100; i++)
		record.caller[i] = 0x2000 + (uint64_t)i;
	bytes = rs_ftrace_payload(&plan, tep, (const uint8_t *)&record, sizeof(record), payload);
	REQUIRE(bytes > 4 && bytes <= RS_FTRACE_TEXT_MAX + 10);
	payload[bytes] = '\0';
	CHECK_STR((const char *)payload + bytes - 4, " ...");
	tep_free(tep);
}

TEST(a_buffer_is_a_name_after_the_integers)
{
	struct tep_handle *tep = tep_alloc();
	struct tep_event *format = NULL;
	struct rs_ftrace_event plan;
	char text[256] = "";

	CHECK(!tep_parse_format(tep, &format, stack_text, strlen(stack_text), "ftrace"));
	rs_ftrace_plan(&plan, format);
	REQUIRE(rs_ftrace_plan_buffer(&plan) != NULL);
	text[rs_ftrace_declare(&plan, text, sizeof(text) - 1)] = '\0';
	CHECK_STR(text, "ftrace::kernel_stack(u32 tid, s32 size, name buffer, text caller)");
	tep_free(tep);
}

/* Of an array, only plain chars are text. An unsigned char is a number: its zeros end nothing. */
TEST(arrays_of_unsigned_char_are_numbers)
{
	static const char format_of[] =
		"name: arrays\nID: 9\nformat:\n"
		"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
		"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
		"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
		"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
		"\tfield:unsigned char cmnd[4];\toffset:8;\tsize:4;\tsigned:0;\n"
		"\tfield:const char name[4];\toffset:12;\tsize:4;\tsigned:1;\n"
		"\tfield:u8 bytes[2];\toffset:16;\tsize:2;\tsigned:0;\n"
		"\tfield:__data_loc unsigned char[] data;\toffset:20;\tsize:4;\tsigned:0;\n\n"
		"print fmt: \"%s\", REC->name\n";
	static const uint8_t record[] = {
		9,   0, 0,   0, 5,   0,	  0, 0, /* common */
		'*', 0, 'b', 1, 'x', 'y', 0, 'z', 0, 'c', 0, 0, 24, 0, 2, 0, 0, 'd',
	};
	static const char expected[] = "2a006201xy00630064";
	uint8_t payload[RS_FTRACE_PAYLOAD_MAX];
	struct tep_handle *tep = tep_alloc();
	struct tep_event *format = NULL;
	struct rs_ftrace_event plan;
	uint32_t bytes;

	CHECK(!tep_parse_format(tep, &format, format_of, strlen(format_of), "any"));
	rs_ftrace_plan(&plan, format);
	REQUIRE_EQ_U64(plan.n_texts, 4);
	bytes = rs_ftrace_payload(&plan, tep, record, sizeof(record), payload);
	REQUIRE_EQ_U64(bytes, 4 + 4 * sizeof(uint16_t) + strlen(expected));
	CHECK_MEM(payload + 12, expected, strlen(expected));
	tep_free(tep);
}
