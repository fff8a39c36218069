/* SPDX-License-Identifier: BSD-2-Clause */
/* Spans whose begin or end is lost, in the Trace Event Format: the remaining ones are nested. */
#include "store_kit.h"

#include "export/export.h"
#include <ringside/record.h>

/* An export of a vCPU's stream to a file. */
struct fixture {
	char folder[32], path[64], got[4096];
	struct rs_schema *schema;
	struct rs_stream stream;
	struct rs_export *export;
};

static void create(struct fixture *f)
{
	*f = (struct fixture){
		.folder = "/tmp/ringside-chrome.XXXXXX",
		.stream = { .vm = "web", .vcpu = 5, .cpu = RS_UNKNOWN, .tid = RS_UNKNOWN }
	};
	REQUIRE(mkdtemp(f->folder) != NULL);
	snprintf(f->path, sizeof(f->path), "%s/out.json", f->folder);
	REQUIRE_OK(rs_schema_create("app", &f->schema));
	f->stream.schema = f->schema;
	REQUIRE_OK(rs_export_chrome(f->path, NULL, NULL, &f->export));
}

/* Ends the export, and compares the file with the expected events. */
static void compare(struct fixture *f, const char *expected)
{
	static const char head[] =
		"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"
		"{\"ph\":\"M\",\"pid\":1,\"tid\":1,\"name\":\"process_name\",\"args\":{\"name\":"
		"\"web\"}},\n"
		"{\"ph\":\"M\",\"pid\":1,\"tid\":1,\"name\":\"thread_name\",\"args\":{\"name\":"
		"\"vCPU 5\"}},\n";
	FILE *file;

	CHECK_OK(f->export->sink.ops->end(&f->export->sink));
	rs_export_destroy(f->export);
	file = fopen(f->path, "re");
	REQUIRE(file != NULL);
	f->got[fread(f->got, 1, sizeof(f->got) - 1, file)] = '\0';
	fclose(file);
	CHECK(!strncmp(f->got, head, sizeof(head) - 1));
	CHECK_STR(f->got + sizeof(head) - 1, expected);
	unlink(f->path);
	rmdir(f->folder);
	rs_schema_destroy(f->schema);
}

/* One span event of the stream, at a microsecond. */
static void span(struct fixture *f, uint64_t id, int64_t us, uint32_t depth, uint32_t name)
{
	const struct rs_span payload = { .name = name, .depth = depth, .arg = 3 };
	const struct rs_view view = { .ts_ns = us * 1000,
				      .event = rs_schema_find(f->schema, id),
				      .stream = &f->stream,
				      .payload = (const uint8_t *)&payload,
				      .payload_bytes = sizeof(payload),
				      .cpu = RS_UNKNOWN };

	CHECK_OK(f->export->sink.ops->events(&f->export->sink, &view, 1));
}

#define BEGIN(us, depth, name) span(&f, RS_ID_SPAN_BEGIN, us, depth, name)
#define END(us, depth, name)   span(&f, RS_ID_SPAN_END, us, depth, name)

#define B(us, name)                                                                                \
	"{\"ph\":\"B\",\"pid\":1,\"tid\":1,\"ts\":" us ".000,\"name\":\"#" name                    \
	"\",\"cat\":\"app\",\"args\":{\"arg\":3}}"
#define E(us) "{\"ph\":\"E\",\"pid\":1,\"tid\":1,\"ts\":" us ".000}"

TEST(spans_are_nested_if_some_are_lost)
{
	static const char expected[] = B("2", "7") ",\n" B("3", "7") ",\n" E(
		"4") ",\n"				    /* the end of the one at 3 was lost */
		B("4", "7") ",\n" E("5") ",\n" E("6") ",\n" /* and that of the one at 2 */
		B("6", "7") ",\n" B("7", "7") ",\n" B("8",
						      "7") ",\n" /* two ends at the same time */
		E("9") ",\n" E("9") ",\n" E("9") ",\n"		 /* 7 and 8 end with 6 */
		B("11", "7") ",\n" E("11") "\n]}\n";		 /* open at the end */
	struct fixture f;

	create(&f);
	END(1, 0, 7); /* its begin was before the trace */
	BEGIN(2, 0, 7);
	BEGIN(3, 1, 7);
	BEGIN(4, 1, 7);
	END(5, 1, 7);
	BEGIN(6, 0, 7);
	BEGIN(7, 1, 7);
	BEGIN(8, 2, 7);
	END(9, 0, 7);
	END(10, 0, 7);
	BEGIN(11, 0, 7);
	CHECK_EQ_U64(f.export->tally.records, 9);
	CHECK_EQ_U64(f.export->tally.left_out, 2);
	compare(&f, expected);
}

/* A trace that begins within two spans, as one of a flight recorder. */
TEST(spans_within_spans_that_began_before_the_trace)
{
	static const char expected[] =
		B("1", "7") ",\n" B("2", "8") ",\n" E("3") ",\n" E("4") ",\n" /* depths 2 and 3 */
		B("5",
		  "7") ",\n" E("6") ",\n" /* ends with the one at depth 1, which has no begin */
		B("8", "9") ",\n" E("9") "\n]}\n"; /* the first whole span of depth 0 */
	struct fixture f;

	create(&f);
	BEGIN(1, 2, 7);
	BEGIN(2, 3, 8);
	END(3, 3, 8);
	END(4, 2, 7);
	BEGIN(5, 2, 7);
	END(6, 1, 6); /* its begin was before the trace */
	END(7, 0, 5); /* likewise */
	BEGIN(8, 0, 9);
	END(9, 0, 9);
	CHECK_EQ_U64(f.export->tally.records, 7);
	CHECK_EQ_U64(f.export->tally.left_out, 2);
	compare(&f, expected);
}

/* Between 1 and 4, the end of 7 and the begin of 8 were lost. */
TEST(end_of_another_name)
{
	static const char expected[] =
		B("1", "7") ",\n" E("4") ",\n" B("5", "8") ",\n" E("6") "\n]}\n";
	struct fixture f;

	create(&f);
	BEGIN(1, 1, 7);
	END(4, 1, 8);
	BEGIN(5, 1, 8);
	END(6, 1, 8);
	CHECK_EQ_U64(f.export->tally.records, 3);
	CHECK_EQ_U64(f.export->tally.left_out, 1);
	compare(&f, expected);
}
