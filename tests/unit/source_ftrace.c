/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the kernel's formats become in a schema: types, names of values, texts. Records by them are
 * source_tracedat.c's; real ones, tests/trace/tracepoint.test's.
 */
#include "event_kit.h"

#include <string.h>

#include "source/ftrace.h"

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
