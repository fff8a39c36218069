/* SPDX-License-Identifier: BSD-2-Clause */
/* Spans whose begin or end is lost, in the Trace Event Format: the remaining ones are nested. */
#include "store_kit.h"

#include "export/export.h"
#include <ringside/record.h>

/* One span event of a stream, at a microsecond. */
static void span(struct rs_export *export, const struct rs_stream *stream, uint64_t id, int64_t us,
		 uint32_t depth)
{
	const struct rs_span payload = { .name = 7, .depth = depth, .arg = 3 };
	const struct rs_view view = { .ts_ns = us * 1000,
				      .event = rs_schema_find(stream->schema, id),
				      .stream = stream,
				      .payload = (const uint8_t *)&payload,
				      .payload_bytes = sizeof(payload),
				      .cpu = RS_UNKNOWN };

	CHECK_OK(export->sink.ops->events(&export->sink, &view, 1));
}

#define BEGIN(us, depth) span(export, &stream, RS_ID_SPAN_BEGIN, us, depth)
#define END(us, depth)	 span(export, &stream, RS_ID_SPAN_END, us, depth)

TEST(spans_are_nested_if_some_are_lost)
{
	static const char expected[] =
		"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"
		"{\"ph\":\"M\",\"pid\":1,\"tid\":1,\"name\":\"process_name\",\"args\":{\"name\":"
		"\"web\"}},\n"
		"{\"ph\":\"M\",\"pid\":1,\"tid\":1,\"name\":\"thread_name\",\"args\":{\"name\":"
		"\"vCPU 5\"}},\n"
#define B(us)                                                                                      \
	"{\"ph\":\"B\",\"pid\":1,\"tid\":1,\"ts\":" us                                             \
	".000,\"name\":\"#7\",\"cat\":\"app\",\"args\":{\"arg\":3}}"
#define E(us) "{\"ph\":\"E\",\"pid\":1,\"tid\":1,\"ts\":" us ".000}"
		B("2") ",\n" B("3") ",\n" E("4") ",\n" /* the end of the one at 3 was lost */
		B("4") ",\n" E("5") ",\n" E("6") ",\n" /* and that of the one at 2 */
		B("6") ",\n" B("7") ",\n" B("8") ",\n" /* two ends at the same time */
		E("9") ",\n" E("9") ",\n" E("9") ",\n" /* 7 and 8 end with 6 */
		B("11") ",\n" E("11") "\n]}\n";	       /* open at the end */
	struct rs_stream stream = { .vm = "web", .vcpu = 5, .cpu = RS_UNKNOWN, .tid = RS_UNKNOWN };
	struct rs_export *export = NULL;
	char folder[] = "/tmp/ringside-chrome.XXXXXX", path[64], got[4096] = "";
	struct rs_schema *schema = NULL;
	FILE *file;

	REQUIRE(mkdtemp(folder) != NULL);
	snprintf(path, sizeof(path), "%s/out.json", folder);
	REQUIRE_OK(rs_schema_create("app", &schema));
	stream.schema = schema;
	REQUIRE_OK(rs_export_chrome(path, NULL, NULL, &export));
	END(1, 0); /* its begin was before the trace */
	BEGIN(2, 0);
	BEGIN(3, 1);
	BEGIN(4, 1);
	END(5, 1);
	BEGIN(6, 0);
	BEGIN(7, 1);
	BEGIN(8, 2);
	END(9, 0);
	END(10, 0);
	BEGIN(11, 0);
	CHECK_OK(export->sink.ops->end(&export->sink));
	CHECK_EQ_U64(export->tally.records, 9);
	CHECK_EQ_U64(export->tally.left_out, 2);
	rs_export_destroy(export);
	file = fopen(path, "re");
	REQUIRE(file != NULL);
	got[fread(got, 1, sizeof(got) - 1, file)] = '\0';
	fclose(file);
	CHECK_STR(got, expected);
	unlink(path);
	rmdir(folder);
	rs_schema_destroy(schema);
}
