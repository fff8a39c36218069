/* SPDX-License-Identifier: BSD-2-Clause */
/* Aggregates, compared with rows that are written here or counted in an array. */
#include "event_kit.h"

#include <sys/mman.h>
#include <unistd.h>

#include "analyze/aggregate.h"
#include "view/view.h"

/* ---- events to count ------------------------------------------------------------------------ */

static const struct rs_enum doors[] = { { "front", 1 }, { "back", 70000 }, { NULL, 0 } };

enum { NUMBERS = 1, OTHER, TEXTUAL };

static struct rs_schema *schema_new(void)
{
	static const struct rs_field fields[] = {
		{ .name = "u", .type = RS_TYPE_U64 },
		{ .name = "s", .type = RS_TYPE_S16 },
		{ .name = "x", .type = RS_TYPE_U32, .show = RS_SHOW_HEX },
		{ .name = "who", .type = RS_TYPE_U32, .show = RS_SHOW_NAME },
		{ .name = "door",
		  .type = RS_TYPE_U32,
		  .show = RS_SHOW_ENUM,
		  .values = doors,
		  .values_name = "door" },
	};
	struct rs_event numbers = { .id = USER(NUMBERS),
				    .class_name = "c",
				    .name = "numbers",
				    .fields = fields,
				    .n_fields = 5 };
	struct rs_schema *schema = NULL;

	CHECK_OK(rs_schema_create("app", &schema));
	CHECK_OK(rs_schema_add(schema, &numbers));
	CHECK_OK(rs_schema_declare(schema, USER(OTHER), "c::other(u64 v, u16 u)", 22));
	CHECK_OK(rs_schema_declare(schema, USER(TEXTUAL), "c::said(u32 cpu, text u)", 24));
	return schema;
}

struct numbers {
	uint64_t u;
	int16_t s;
	uint32_t x, who, door;
} __attribute__((packed));

struct counted {
	uint32_t n_aggregates;
	struct rs_aggregate aggregates[32];
	struct rs_schema *schema;
	struct rs_stream streams[4];
	struct rs_sink *sink;
	const struct rs_aggregate_row *rows;
	size_t n;
	uint64_t dropped;
};

/* The spec of an aggregate: "key,key" or "key,key:value". */
static void aggregate_of(struct counted *c, char *spec)
{
	struct rs_aggregate *a = &c->aggregates[c->n_aggregates++];
	char *value = strchr(spec, ':'), *save = NULL;

	if (value) {
		*value = '\0';
		a->value = value + 1;
	}
	for (char *key = strtok_r(spec, ",", &save); key; key = strtok_r(NULL, ",", &save))
		a->keys[a->n_keys++] = key;
}

/* Streams: VM a's vCPUs 0 and 1, a thread of tid 77, and one without a context. */
static void counted_init(struct counted *c, char *const *specs, size_t n)
{
	*c = (struct counted){ .schema = schema_new() };
	for (size_t i = 0; i < n; i++)
		aggregate_of(c, specs[i]);
	for (uint32_t i = 0; i < 4; i++)
		c->streams[i] = (struct rs_stream){ .index = i,
						    .vm = i < 2 ? "a" : NULL,
						    .vcpu = i < 2 ? (int)i : RS_UNKNOWN,
						    .cpu = RS_UNKNOWN,
						    .tid = i == 2 ? 77 : RS_UNKNOWN,
						    .schema = c->schema };
	CHECK_OK(rs_aggregate_sink_create(c->aggregates, c->n_aggregates, &c->sink));
}

static void counted_free(struct counted *c)
{
	rs_aggregate_sink_destroy(c->sink);
	rs_schema_destroy(c->schema);
}

static void count(struct counted *c, uint32_t stream, int cpu, uint64_t id, const void *payload,
		  uint32_t bytes)
{
	struct rs_view view = { .event = rs_schema_find(c->schema, id),
				.stream = &c->streams[stream],
				.payload = payload,
				.payload_bytes = bytes,
				.cpu = cpu };

	CHECK_OK(c->sink->ops->events(c->sink, &view, 1));
}

static void count_numbers(struct counted *c, uint32_t stream, struct numbers numbers)
{
	count(c, stream, RS_UNKNOWN, USER(NUMBERS), &numbers, sizeof(numbers));
}

static void count_other(struct counted *c, uint32_t stream, int cpu, uint64_t v)
{
	uint8_t payload[10];

	memcpy(payload, &v, 8);
	memset(payload + 8, 0, 2);
	count(c, stream, cpu, USER(OTHER), payload, sizeof(payload));
}

static void finish(struct counted *c)
{
	CHECK_OK(c->sink->ops->end(c->sink));
}

static bool rows_are(struct counted *c, uint32_t aggregate, const struct rs_aggregate_row *expected,
		     size_t n)
{
	bool good;

	if (!CHECK_OK(rs_aggregate_rows(c->sink, aggregate, &c->rows, &c->n, &c->dropped)))
		return false;
	good = CHECK_EQ_U64(c->dropped, 0) && CHECK_EQ_U64(c->n, n);
	for (size_t i = 0; i < n && i < c->n; i++) {
		good &= CHECK_EQ_U64(c->rows[i].aggregate, aggregate);
		for (uint32_t k = 0; k < c->aggregates[aggregate].n_keys; k++)
			good &= CHECK_STR(c->rows[i].keys[k], expected[i].keys[k]);
		good &= CHECK_EQ_U64(c->rows[i].count, expected[i].count);
		if (!c->aggregates[aggregate].value)
			continue;
		good &= CHECK_EQ_S64(c->rows[i].sum, expected[i].sum);
		good &= CHECK_EQ_S64(c->rows[i].min, expected[i].min);
		good &= CHECK_EQ_S64(c->rows[i].max, expected[i].max);
	}
	return good;
}

#define ROWS(c, aggregate, ...)                                                                    \
	CHECK(rows_are(c, aggregate, (const struct rs_aggregate_row[]){ __VA_ARGS__ },             \
		       sizeof((const struct rs_aggregate_row[]){ __VA_ARGS__ }) /                  \
			       sizeof(struct rs_aggregate_row)))
#define KEYS(...) .keys = { __VA_ARGS__ }

#define SPECS(c, ...)                                                                              \
	counted_init(c, (char *[]){ __VA_ARGS__ },                                                 \
		     sizeof((char *[]){ __VA_ARGS__ }) / sizeof(char *))
#define SPEC(text) ((char[]){ text })

/* ---- keys ----------------------------------------------------------------------------------- */

TEST(each_context_key)
{
	struct counted c;

	SPECS(&c, SPEC("probe"), SPEC("vm"), SPEC("vcpu"), SPEC("cpu"), SPEC("tid"));
	for (uint64_t i = 0; i < 7; i++)
		count_other(&c, 0, 3, i);
	for (uint64_t i = 0; i < 3; i++)
		count_other(&c, 1, RS_UNKNOWN, i);
	count_other(&c, 2, 11, 1);
	count_other(&c, 2, 11, 1);
	count_numbers(&c, 3, (struct numbers){ 0 });
	finish(&c);
	ROWS(&c, 0, { KEYS("app:c::other"), .count = 12 }, { KEYS("app:c::numbers"), .count = 1 });
	ROWS(&c, 1, { KEYS("a"), .count = 10 }, { KEYS("-"), .count = 3 });
	ROWS(&c, 2, { KEYS("0"), .count = 7 }, { KEYS("-"), .count = 3 },
	     { KEYS("1"), .count = 3 });
	ROWS(&c, 3, { KEYS("3"), .count = 7 }, { KEYS("-"), .count = 4 },
	     { KEYS("11"), .count = 2 });
	ROWS(&c, 4, { KEYS("-"), .count = 11 }, { KEYS("77"), .count = 2 });
	counted_free(&c);
}

/* An event that lacks the argument is not counted: `other` has no x, s, who or door. */
TEST(arguments_as_print_shows_them)
{
	struct counted c;

	SPECS(&c, SPEC("u"), SPEC("s"), SPEC("x"), SPEC("who"), SPEC("door"));
	CHECK_OK(rs_schema_set_name(c.schema, 5, "five", 4));
	count_numbers(&c, 0, (struct numbers){ UINT64_MAX, -32768, 0xdeadbeef, 5, 1 });
	count_numbers(&c, 0, (struct numbers){ UINT64_MAX, -1, 0xdeadbeef, 5, 70000 });
	count_numbers(&c, 0, (struct numbers){ UINT64_MAX, -1, 0, 6, 2 });
	count_other(&c, 0, 1, 9);
	finish(&c);
	ROWS(&c, 0, { KEYS("18446744073709551615"), .count = 3 }, { KEYS("0"), .count = 1 });
	ROWS(&c, 1, { KEYS("-1"), .count = 2 }, { KEYS("-32768"), .count = 1 });
	ROWS(&c, 2, { KEYS("0xdeadbeef"), .count = 2 }, { KEYS("0x0"), .count = 1 });
	ROWS(&c, 3, { KEYS("five"), .count = 2 }, { KEYS("#6"), .count = 1 });
	ROWS(&c, 4, { KEYS("2"), .count = 1 }, { KEYS("back"), .count = 1 },
	     { KEYS("front"), .count = 1 });
	counted_free(&c);
}

/* A number without a name is distinct from a name with the same digits. */
TEST(a_number_without_a_name_is_not_a_name_of_digits)
{
	struct counted c;

	SPECS(&c, SPEC("who"));
	CHECK_OK(rs_schema_set_name(c.schema, 5, "6", 1));
	count_numbers(&c, 0, (struct numbers){ .who = 5 });
	count_numbers(&c, 0, (struct numbers){ .who = 6 });
	finish(&c);
	ROWS(&c, 0, { KEYS("#6"), .count = 1 }, { KEYS("6"), .count = 1 });
	counted_free(&c);
}

/* Names that differ only near their ends stay distinct, and are not cut within a character. */
TEST(long_names_stay_distinct)
{
	static char first[3001], second[3001];
	struct counted c;

	for (size_t i = 0; i < 3000; i += 2) {
		memcpy(first + i, "\xc3\xbc", 2);
		memcpy(second + i, "\xc3\xbc", 2);
	}
	first[2999] = '\xbd';
	SPECS(&c, SPEC("who"));
	CHECK_OK(rs_schema_set_name(c.schema, 1, first, 3000));
	CHECK_OK(rs_schema_set_name(c.schema, 2, second, 3000));
	count_numbers(&c, 0, (struct numbers){ .who = 1 });
	count_numbers(&c, 0, (struct numbers){ .who = 2 });
	finish(&c);
	ROWS(&c, 0, { KEYS(second), .count = 1 }, { KEYS(first), .count = 1 });
	counted_free(&c);
}

/* Streams of two schemas: the same name under two ids is one row, two names under one id two. */
TEST(names_of_two_schemas_are_compared_as_text)
{
	struct rs_schema *other = schema_new();
	struct counted c;

	SPECS(&c, SPEC("who"));
	c.streams[1].schema = other;
	CHECK_OK(rs_schema_set_name(c.schema, 1, "same", 4));
	CHECK_OK(rs_schema_set_name(other, 2, "same", 4));
	CHECK_OK(rs_schema_set_name(c.schema, 3, "mine", 4));
	CHECK_OK(rs_schema_set_name(other, 3, "theirs", 6));
	for (uint32_t stream = 0; stream < 2; stream++) {
		count_numbers(&c, stream, (struct numbers){ .who = stream + 1 });
		count_numbers(&c, stream, (struct numbers){ .who = 3 });
	}
	finish(&c);
	ROWS(&c, 0, { KEYS("same"), .count = 2 }, { KEYS("mine"), .count = 1 },
	     { KEYS("theirs"), .count = 1 });
	counted_free(&c);
	rs_schema_destroy(other);
}

TEST(several_keys)
{
	struct counted c;

	SPECS(&c, SPEC("vcpu,door,probe"), SPEC(""));
	for (int i = 0; i < 5; i++)
		count_numbers(&c, i % 2, (struct numbers){ .door = 1 });
	count_numbers(&c, 1, (struct numbers){ .door = 70000 });
	count_other(&c, 1, 0, 0);
	finish(&c);
	ROWS(&c, 0, { KEYS("0", "front", "app:c::numbers"), .count = 3 },
	     { KEYS("1", "front", "app:c::numbers"), .count = 2 },
	     { KEYS("1", "back", "app:c::numbers"), .count = 1 });
	ROWS(&c, 1, { .count = 7 }); /* no keys: one row for all */
	counted_free(&c);
}

/* An argument precedes a context of the same name; a text cannot be a key. */
TEST(an_argument_named_cpu)
{
	struct {
		uint32_t cpu;
		uint16_t len;
		char text[2];
	} __attribute__((packed)) said = { 4, 2, "hi" };
	struct counted c;

	SPECS(&c, SPEC("cpu"), SPEC("u"));
	count(&c, 0, 9, USER(TEXTUAL), &said, sizeof(said));
	count_other(&c, 0, 9, 0);
	count_other(&c, 0, 9, 0);
	finish(&c);
	ROWS(&c, 0, { KEYS("9"), .count = 2 }, { KEYS("4"), .count = 1 });
	ROWS(&c, 1, { KEYS("0"), .count = 2 });
	counted_free(&c);
}

/* ---- values --------------------------------------------------------------------------------- */

TEST(sum_minimum_and_maximum)
{
	static const int16_t values[] = { 5, -32768, 7, 32767, 0 };
	struct counted c;

	SPECS(&c, SPEC("vm:s"), SPEC("vcpu:v"), SPEC(":u"));
	for (size_t i = 0; i < 5; i++)
		count_numbers(&c, 0, (struct numbers){ .s = values[i], .u = i });
	count_numbers(&c, 3, (struct numbers){ .s = -3, .u = 40 });
	count_other(&c, 1, 0, 19);
	count_other(&c, 1, 0, 23);
	finish(&c);
	ROWS(&c, 0, { KEYS("a"), .count = 5, .sum = 11, .min = -32768, .max = 32767 },
	     { KEYS("-"), .count = 1, .sum = -3, .min = -3, .max = -3 });
	ROWS(&c, 1, { KEYS("1"), .count = 2, .sum = 42, .min = 19, .max = 23 });
	ROWS(&c, 2, { .count = 8, .sum = 50, .min = 0, .max = 40 });
	counted_free(&c);
}

/* Prints the rows of the first aggregate, and compares the text. */
static void print_is(struct counted *c, bool json, const char *expected)
{
	char got[1024] = "";
	int fd = memfd_create("rows", MFD_CLOEXEC);

	REQUIRE_OK(rs_aggregate_rows(c->sink, 0, &c->rows, &c->n, &c->dropped));
	CHECK_OK(rs_rows_print(fd, json, &c->aggregates[0], c->rows, c->n));
	CHECK(pread(fd, got, sizeof(got) - 1, 0) >= 0);
	CHECK_STR(got, expected);
	close(fd);
}

/* `v` is unsigned, so its upper half is not below 0. */
TEST(unsigned_values_in_the_upper_half)
{
	struct counted c;

	SPECS(&c, SPEC("vm:v"));
	count_other(&c, 0, 0, UINT64_MAX - 6);
	count_other(&c, 0, 0, 4);
	count_other(&c, 3, 0, 19);
	finish(&c);
	print_is(&c, true,
		 "{\"vm\":\"a\",\"count\":2,\"sum\":18446744073709551613,\"min\":4,"
		 "\"max\":18446744073709551609}\n"
		 "{\"vm\":\"-\",\"count\":1,\"sum\":19,\"min\":19,\"max\":19}\n");
	counted_free(&c);
}

TEST(rows_with_numbers_of_both_signs)
{
	struct counted c;

	SPECS(&c, SPEC("vm:s"));
	count_numbers(&c, 0, (struct numbers){ .s = -5 });
	count_numbers(&c, 0, (struct numbers){ .s = 3 });
	count_numbers(&c, 3, (struct numbers){ .s = 7 });
	finish(&c);
	print_is(&c, false,
		 "VM  COUNT  SUM  MIN  MAX\n"
		 "a       2   -2   -5    3\n"
		 "-       1    7    7    7\n");
	counted_free(&c);
}

TEST(a_sum_beyond_64_bits_is_unknown)
{
	struct counted c;

	SPECS(&c, SPEC(":v"));
	count_other(&c, 0, 0, UINT64_MAX);
	count_other(&c, 0, 0, 3);
	finish(&c);
	print_is(&c, true, "{\"count\":2,\"sum\":null,\"min\":3,\"max\":18446744073709551615}\n");
	counted_free(&c);
}

/* ---- many ----------------------------------------------------------------------------------- */

#define MANY 100003u

TEST(many_distinct_keys)
{
	struct counted c;

	SPECS(&c, SPEC("v:v"));
	for (uint64_t i = 0; i < MANY; i++) {
		count_other(&c, 0, 0, i * 0x10001);
		if (i % 7 == 0)
			count_other(&c, 1, 0, i * 0x10001);
	}
	finish(&c);
	REQUIRE_OK(rs_aggregate_rows(c.sink, 0, &c.rows, &c.n, &c.dropped));
	CHECK_EQ_U64(c.n, MANY);
	CHECK_EQ_U64(c.dropped, 0);
	for (size_t i = 0; i < c.n; i++) {
		uint64_t v = strtoull(c.rows[i].keys[0], NULL, 10), n = v / 0x10001;
		uint64_t expected = n % 7 == 0 ? 2 : 1;

		if (!CHECK_EQ_U64(v % 0x10001, 0) || !CHECK(n < MANY) ||
		    !CHECK_EQ_U64(c.rows[i].count, expected) ||
		    !CHECK_EQ_U64(c.rows[i].sum, v * expected))
			break;
		if (!i)
			continue;
		/* Sorted by count, then by keys, so that the order is unique. */
		if (!CHECK(c.rows[i - 1].count > c.rows[i].count ||
			   (c.rows[i - 1].count == c.rows[i].count &&
			    strcmp(c.rows[i - 1].keys[0], c.rows[i].keys[0]) < 0)))
			break;
	}
	counted_free(&c);
}

/*
 * Above the limit rows are refused, and their counts are reported; existing rows continue to count.
 */
TEST(rows_above_the_limit_are_refused_and_counted)
{
	struct counted c;

	SPECS(&c, SPEC("v"));
	for (uint64_t i = 0; i < RS_AGGREGATE_ROWS_MAX + 5; i++)
		count_other(&c, 0, 0, i);
	count_other(&c, 0, 0, RS_AGGREGATE_ROWS_MAX + 4);
	count_other(&c, 0, 0, 1);
	finish(&c);
	REQUIRE_OK(rs_aggregate_rows(c.sink, 0, &c.rows, &c.n, &c.dropped));
	CHECK_EQ_U64(c.n, RS_AGGREGATE_ROWS_MAX);
	CHECK_EQ_U64(c.dropped, 6);
	CHECK_STR(c.rows[0].keys[0], "1");
	CHECK_EQ_U64(c.rows[0].count, 2);
	counted_free(&c);
}

TEST(the_maximum_number_of_aggregates)
{
	static char specs[32][8];
	struct counted c;
	struct rs_sink *sink;

	SPECS(&c, SPEC("vm"));
	rs_aggregate_sink_destroy(c.sink);
	for (int i = 1; i < 32; i++)
		aggregate_of(&c, strcpy(specs[i], i % 2 ? "probe" : "vcpu"));
	REQUIRE_OK(rs_aggregate_sink_create(c.aggregates, c.n_aggregates, &c.sink));
	count_other(&c, 1, 0, 0);
	finish(&c);
	ROWS(&c, 0, { KEYS("a"), .count = 1 });
	for (uint32_t i = 1; i < 32; i += 2) {
		ROWS(&c, i, { KEYS("app:c::other"), .count = 1 });
		if (i < 31)
			ROWS(&c, i + 1, { KEYS("1"), .count = 1 });
	}
	CHECK_ERR(rs_aggregate_sink_create(c.aggregates, 33, &sink), RS_USAGE, "more than 32");
	counted_free(&c);
	rs_aggregate_sink_destroy(NULL);
}

TEST(no_events)
{
	struct counted c;

	SPECS(&c, SPEC("vm"), SPEC("nothing-is-called-this"));
	count_other(&c, 0, 0, 0);
	finish(&c);
	ROWS(&c, 0, { KEYS("a"), .count = 1 });
	CHECK_OK(rs_aggregate_rows(c.sink, 1, &c.rows, &c.n, &c.dropped));
	CHECK_EQ_U64(c.n, 0);
	CHECK_EQ_U64(c.dropped, 0);
	counted_free(&c);
}
