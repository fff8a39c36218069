/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The registry: declarations, growth with concurrent lookups, names, layouts that equal C structs.
 */
#include "../test.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <ringside/record.h>
#include <ringside/schema.h>
#include <ringside/vmm.h>

#define USER(n) RS_ID(RS_IDS_USER, n)

static struct rs_schema *schema_new(void)
{
	struct rs_schema *schema = NULL;

	CHECK_OK(rs_schema_create("app", &schema));
	return schema;
}

static struct rs_error *declare(struct rs_schema *schema, uint64_t id, const char *text)
{
	return rs_schema_declare(schema, id, text, strlen(text));
}

/* ---- declarations ------------------------------------------------------------------------- */

TEST(a_declaration_becomes_an_event)
{
	struct rs_schema *schema = schema_new();
	const struct rs_event *e;
	static const struct {
		const char *name, *unit, *type;
		enum rs_type kind;
		enum rs_show show;
		uint16_t offset;
	} expected[] = {
		{ "a", "", "u8", RS_TYPE_U8, RS_SHOW_DEC, 0 },
		{ "b", "bytes", "u16", RS_TYPE_U16, RS_SHOW_DEC, 1 },
		{ "c", "", "u32", RS_TYPE_U32, RS_SHOW_DEC, 3 },
		{ "d", "B/s", "u64", RS_TYPE_U64, RS_SHOW_DEC, 7 },
		{ "e", "", "s8", RS_TYPE_S8, RS_SHOW_DEC, 15 },
		{ "f", "", "s16", RS_TYPE_S16, RS_SHOW_DEC, 16 },
		{ "g", "%", "s32", RS_TYPE_S32, RS_SHOW_DEC, 18 },
		{ "h", "", "s64", RS_TYPE_S64, RS_SHOW_DEC, 22 },
		{ "i", "", "x8", RS_TYPE_U8, RS_SHOW_HEX, 30 },
		{ "j", "", "x16", RS_TYPE_U16, RS_SHOW_HEX, 31 },
		{ "k", "", "x32", RS_TYPE_U32, RS_SHOW_HEX, 33 },
		{ "l", "", "x64", RS_TYPE_U64, RS_SHOW_HEX, 37 },
		{ "_m1", "", "name", RS_TYPE_U32, RS_SHOW_NAME, 45 },
		{ "n", "", "text", RS_TYPE_TEXT, RS_SHOW_DEC, 49 },
	};

	REQUIRE_OK(declare(schema, USER(1),
			   "io.x:do_it:disk-read(u8 a,u16 b:bytes, u32 c , u64 d:B/s,s8 e,"
			   "s16 f,s32 g:%,s64 h,x8 i,x16 j,x32 k,x64 l,name _m1,text n)"));
	e = rs_schema_find(schema, USER(1));
	REQUIRE(e != NULL);
	CHECK_STR(e->provider, "app");
	CHECK_STR(e->class_name, "io.x");
	CHECK_STR(e->function, "do_it");
	CHECK_STR(e->name, "disk-read");
	CHECK_STR(e->probe, "app:io.x:do_it:disk-read");
	CHECK_EQ_U64(e->n_fields, 14);
	CHECK_EQ_U64(e->fixed_bytes, 51); /* the text's length counts, its bytes do not */
	CHECK_EQ_U64(e->n_tails, 1);
	CHECK_EQ_U64(e->kind, RS_KIND_PLAIN);
	CHECK(rs_schema_event(schema, e->index) == e);
	for (size_t i = 0; i < 14; i++) {
		CHECK_STR(e->fields[i].name, expected[i].name);
		CHECK_STR(e->fields[i].unit, expected[i].unit);
		CHECK_EQ_U64(e->fields[i].type, expected[i].kind);
		CHECK_EQ_U64(e->fields[i].show, expected[i].show);
		CHECK_EQ_U64(e->fields[i].offset, expected[i].offset);
		CHECK_STR(rs_field_type_text(&e->fields[i]), expected[i].type);
	}
	rs_schema_destroy(schema);
}

TEST(small_declarations)
{
	static const char *const good[] = { "c::n()",	      "c::n( )",      "::n()",
					    "c::n(  u8 a  )", "c::n(text t)", "9:8:7(u8 A9_)" };
	struct rs_schema *schema = schema_new();

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		CHECK_OK(declare(schema, USER(i + 1), good[i]));
		CHECK(rs_schema_find(schema, USER(i + 1)) != NULL);
	}
	rs_schema_destroy(schema);
}

TEST(bad_declarations_are_reported_with_the_column)
{
#define WORD_63 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	static const struct {
		const char *text, *part;
	} bad[] = {
		{ "", "column 1: expected ':' after the class" },
		{ "c", "column 2: expected ':' after the class" },
		{ "c:f", "column 4: expected ':' after the function" },
		{ "c::", "column 4: expected the event's name" },
		{ "c::(u8 a)", "column 4: expected the event's name" },
		{ "c::n", "column 5: expected '('" },
		{ "c::n u8 a)", "column 5: expected '('" },
		{ "c::n(", "column 6: expected a type before here" },
		{ "c::n(u8", "column 8: expected a field's name before here" },
		{ "c::n(u8)", "column 8: expected a field's name before here" },
		{ "c::n(u8 a", "column 10: expected ',' or ')'" },
		{ "c::n(u8 a u8 b)", "column 11: expected ',' or ')'" },
		{ "c::n(u8 a,)", "column 11: expected a type before here" },
		{ "c::n(,u8 a)", "column 6: expected a type before here" },
		{ "c::n(u9 a)", "column 8: expected a type before here" },
		{ "c::n(u8 9a)", "column 11: expected a field's name before here" },
		{ "c::n(u8 a-b)", "column 10: expected ',' or ')'" },
		{ "c::n(u8 a) ", "column 11: expected nothing more" },
		{ "c::n(u8 a)x", "column 11: expected nothing more" },
		{ "c d::n()", "column 2: expected ':' after the class" },
		{ "c:::n()", "column 4: expected the event's name" },
		{ "\xc3\xbc::n()", "column 1: expected ':' after the class" },
		{ "c::n(\tu8 a)", "column 6: expected a type before here" },
		{ "c::n(text t, u8 a)", "field 'a' after a text" },
		{ "c::n(text a, u8 b, text c)", "field 'b' after a text" },
		{ "c::n(text t, text t_length)", "field 't_length' beside a field 't'" },
		{ "c::n(u8 a, u16 a)", "field 'a' beside a field 'a'" },
		{ "c::n(u16 t_length, text t)", "field 't' beside a field 't_length'" },
		{ WORD_63 "a::n()", "column 64: expected a shorter word" },
		{ "c::" WORD_63 "a()", "column 67: expected a shorter word" },
		{ "c::n(u8 " WORD_63 "a)", "column 72: expected a shorter word" },
		{ "c::n(u8 a:" WORD_63 "a)", "column 74: expected a shorter word" },
	};
	struct rs_schema *schema = schema_new();
	uint32_t n = rs_schema_count(schema);

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK_ERR(declare(schema, USER(1), bad[i].text), RS_DAMAGED, bad[i].part);
	CHECK_EQ_U64(rs_schema_count(schema), n);
	CHECK(rs_schema_find(schema, USER(1)) == NULL);
	CHECK_OK(declare(schema, USER(1),
			 WORD_63 ":" WORD_63 ":" WORD_63 "(u8 " WORD_63 ":" WORD_63 ")"));
	rs_schema_destroy(schema);
}

/* The text ends at the end of a page, so that reading a byte after it faults. */
static char *at_page_end(const char *text, size_t len)
{
	static char *page;
	size_t size = (size_t)sysconf(_SC_PAGESIZE) * 4;

	if (!page) {
		page = mmap(NULL, size + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);
		mprotect(page + size, 4096, PROT_NONE);
	}
	return memcpy(page + size - len, text, len);
}

TEST(every_prefix_of_a_valid_declaration_is_an_error)
{
	static const char good[] = "io:f:disk-read(u64 sector, x32 flags:bits, name who, text why)";
	struct rs_schema *schema = schema_new();

	for (size_t len = 0; len < sizeof(good) - 1; len++) {
		struct rs_error *err =
			rs_schema_declare(schema, USER(1), at_page_end(good, len), len);

		CHECK_ERR(err, RS_DAMAGED, "event declaration, column");
	}
	CHECK_OK(rs_schema_declare(schema, USER(1), at_page_end(good, sizeof(good) - 1),
				   sizeof(good) - 1));
	rs_schema_destroy(schema);
}

TEST(every_byte_of_a_valid_declaration_replaced_by_every_other)
{
	static const char good[] = "io::read(u64 a, text b)";
	struct rs_schema *schema = schema_new();

	for (size_t i = 0; i < sizeof(good) - 1; i++) {
		for (int c = 0; c < 256; c++) {
			char text[sizeof(good)];

			memcpy(text, good, sizeof(good));
			text[i] = (char)c;
			/*
			 * Valid or not: no crash, and accepted declarations use only their
			 * alphabet.
			 */
			rs_error_free(rs_schema_declare(schema, USER(i * 256 + (size_t)c + 1),
							at_page_end(text, sizeof(good) - 1),
							sizeof(good) - 1));
		}
	}
	for (uint32_t i = 0; i < rs_schema_count(schema); i++) {
		const struct rs_event *e = rs_schema_event(schema, i);

		CHECK(e->name[0] && !e->name[strspn(e->name, "abcdefghijklmnopqrstuvwxyz"
							     "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
							     "0123456789_.-")]);
	}
	rs_schema_destroy(schema);
}

TEST(declarations_of_hostile_length)
{
	struct rs_schema *schema = schema_new();
	char text[5000], *at;

	memset(text, ' ', sizeof(text));
	memcpy(text, "c::n(", 5);
	memcpy(text + 4096 - 5, "u8 a)", 5);
	CHECK_OK(rs_schema_declare(schema, USER(1), text, 4096));
	CHECK_ERR(rs_schema_declare(schema, USER(2), text, 4097), RS_DAMAGED, "4097 bytes");
	CHECK_ERR(rs_schema_declare(schema, USER(2), text, SIZE_MAX), RS_DAMAGED, "more than 4096");
	CHECK_ERR(rs_schema_declare(schema, USER(2), "c::n()\0", 7), RS_DAMAGED, "column 7");
	at = stpcpy(text, "c::n(u8 f0");
	for (int i = 1; i < RS_FIELDS_MAX; i++)
		at += sprintf(at, ",u8 f%d", i);
	strcpy(at, ")");
	CHECK_OK(declare(schema, USER(3), text));
	strcpy(at, ",u8 f32)");
	CHECK_ERR(declare(schema, USER(4), text), RS_DAMAGED, "expected no more fields");
	rs_schema_destroy(schema);
}

/* ---- adding ------------------------------------------------------------------------------- */

TEST(an_id_is_unique)
{
	struct rs_schema *schema = schema_new();
	const struct rs_event *first;

	REQUIRE_OK(declare(schema, USER(1), "c::n(u8 a, u16 b:bytes)"));
	first = rs_schema_find(schema, USER(1));
	CHECK_OK(declare(schema, USER(1), "c::n(u8 a,u16 b:bytes)"));
	CHECK(rs_schema_find(schema, USER(1)) == first);
	CHECK_ERR(declare(schema, USER(1), "c::n(u8 a,u16 b)"), RS_DAMAGED, "is already app:c::n");
	CHECK_ERR(declare(schema, USER(1), "c::m(u8 a,u16 b:bytes)"), RS_DAMAGED, "already");
	CHECK_ERR(declare(schema, USER(1), "d::n(u8 a,u16 b:bytes)"), RS_DAMAGED, "already");
	CHECK_ERR(declare(schema, USER(1), "c:f:n(u8 a,u16 b:bytes)"), RS_DAMAGED, "already");
	CHECK_ERR(declare(schema, USER(1), "c::n(x8 a,u16 b:bytes)"), RS_DAMAGED, "already");
	CHECK_ERR(declare(schema, USER(1), "c::n(u8 a)"), RS_DAMAGED, "already");
	CHECK_ERR(declare(schema, RS_ID_LOST, "c::n(u8 a)"), RS_DAMAGED,
		  "is already app:trace::records-lost");
	CHECK(rs_schema_find(schema, USER(1)) == first);
	CHECK_OK(declare(schema, USER(2), "c::n(u8 a,u16 b:bytes)")); /* another id, same event */
	rs_schema_destroy(schema);
}

TEST(too_many_or_too_long_fields)
{
	struct rs_field fields[RS_FIELDS_MAX + 1];
	char names[RS_FIELDS_MAX + 1][8], long_name[4000];
	struct rs_event event = { .id = USER(1), .class_name = "c", .name = "n", .fields = fields };
	struct rs_schema *schema = schema_new();

	for (int i = 0; i <= RS_FIELDS_MAX; i++) {
		snprintf(names[i], sizeof(names[i]), "f%d", i);
		fields[i] = (struct rs_field){ .name = names[i], .type = RS_TYPE_U64 };
	}
	event.n_fields = RS_FIELDS_MAX + 1;
	CHECK_ERR(rs_schema_add(schema, &event), RS_DAMAGED, "more than 32 fields");
	memset(long_name, 'l', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = '\0';
	event.n_fields = 1;
	fields[0].name = long_name;
	CHECK_ERR(rs_schema_add(schema, &event), RS_DAMAGED, "longer than");
	fields[0].name = names[0];
	event.name = long_name;
	CHECK_ERR(rs_schema_add(schema, &event), RS_DAMAGED, "longer than");
	event.name = "n";
	event.class_name = long_name;
	CHECK_ERR(rs_schema_add(schema, &event), RS_DAMAGED, "longer than");
	event.class_name = "c";
	event.n_fields = RS_FIELDS_MAX;
	CHECK_OK(rs_schema_add(schema, &event)); /* class's NULL function and help are "" */
	CHECK_STR(rs_schema_find(schema, USER(1))->probe, "app:c::n");
	CHECK_EQ_U64(rs_schema_find(schema, USER(1))->fixed_bytes, 256);
	rs_schema_destroy(schema);
}

TEST(the_schema_copies_what_is_added)
{
	struct rs_schema *schema = schema_new();
	struct rs_enum values[] = { { strdup("one"), 1 }, { strdup("two"), 2 }, { NULL, 0 } };
	struct rs_field field = { .name = strdup("f"),
				  .unit = strdup("u"),
				  .values = values,
				  .values_name = "v",
				  .type = RS_TYPE_U8,
				  .show = RS_SHOW_ENUM };
	struct rs_event event = { .id = USER(1),
				  .class_name = strdup("c"),
				  .function = strdup("f"),
				  .name = strdup("n"),
				  .help = strdup("h"),
				  .fields = &field,
				  .n_fields = 1 };
	const struct rs_event *e;

	REQUIRE_OK(rs_schema_add(schema, &event));
	memset((char *)values[0].name, 'x', 3);
	free((char *)values[0].name);
	free((char *)values[1].name);
	free((char *)field.name);
	free((char *)field.unit);
	free((char *)event.class_name);
	free((char *)event.function);
	free((char *)event.name);
	free((char *)event.help);
	e = rs_schema_find(schema, USER(1));
	CHECK_STR(e->probe, "app:c:f:n");
	CHECK_STR(e->help, "h");
	CHECK_STR(e->fields[0].name, "f");
	CHECK_STR(e->fields[0].unit, "u");
	CHECK_STR(rs_enum_name(e->fields[0].values, 1), "one");
	CHECK_STR(rs_enum_name(e->fields[0].values, 2), "two");
	CHECK(rs_enum_name(e->fields[0].values, 3) == NULL);
	rs_schema_destroy(schema);
}

TEST(providers)
{
	struct rs_schema *schema = schema_new();
	uint32_t n = rs_schema_count(schema);

	CHECK_STR(rs_schema_provider(schema), "app");
	CHECK_ERR(rs_schema_add_catalogue(schema, "nobody"), RS_USAGE, "no provider 'nobody'");
	CHECK_EQ_U64(rs_schema_count(schema), n);
	CHECK_OK(rs_schema_add_catalogue(schema, "vmm"));
	CHECK(rs_schema_count(schema) > n);
	/* under the schema's own name, which is the producer's */
	CHECK_STR(rs_schema_find(schema, RS_EVENT_vm_create)->probe, "app:vm::create");
	CHECK_OK(rs_schema_add_catalogue(schema, "vmm"));
	CHECK_STR(rs_catalogue_provider(0), "app");
	for (n = 0; rs_catalogue_provider(n); n++)
		CHECK_OK(rs_schema_add_catalogue(schema, rs_catalogue_provider(n)));
	CHECK(n > 1);
	CHECK(rs_catalogue_provider(UINT32_MAX - 1) == NULL);
	rs_schema_destroy(schema);
	rs_schema_destroy(NULL);
}

/* ---- names -------------------------------------------------------------------------------- */

TEST(invalid_names_are_mended_and_kept)
{
	struct rs_schema *schema = schema_new();
	uint32_t id;

	CHECK(rs_schema_name(schema, 1) == NULL);
	CHECK_OK(rs_schema_set_name(schema, 1, "plain", 5));
	CHECK_OK(rs_schema_set_name(schema, UINT32_MAX, "bad \xff\xc3\n\xc3\xbc", 9));
	CHECK_OK(rs_schema_set_name(schema, 0, "", 0));
	CHECK_OK(rs_schema_set_name(schema, 7, "with\0nul", 8));
	CHECK_STR(rs_schema_name(schema, 1), "plain");
	CHECK_STR(rs_schema_name(schema, UINT32_MAX), "bad ???\xc3\xbc");
	CHECK_STR(rs_schema_name(schema, 0), "");
	CHECK_STR(rs_schema_name(schema, 7), "with?nul");
	CHECK_OK(rs_schema_set_name(schema, 1, "plain", 5));
	CHECK_OK(rs_schema_set_name(schema, UINT32_MAX, "bad \xff\xc3\n\xc3\xbc", 9));
	CHECK_ERR(rs_schema_set_name(schema, 1, "other", 5), RS_DAMAGED, "name 1 is 'plain'");
	CHECK_OK(rs_schema_set_span(schema, 8, "with an argument", 16));
	CHECK_STR(rs_schema_name(schema, 8), "with an argument");
	CHECK(rs_schema_name_has_argument(schema, 8));
	CHECK(!rs_schema_name_has_argument(schema, 7));
	CHECK(!rs_schema_name_has_argument(schema, 9)); /* there is no such name */
	CHECK_EQ_U64(rs_schema_name_count(schema), 5);
	CHECK_STR(rs_schema_name_at(schema, 1, &id), "bad ???\xc3\xbc");
	CHECK_EQ_U64(id, UINT32_MAX);
	rs_schema_destroy(schema);
}

/* A name's length is its only limit; one that exceeds any use is cut between characters. */
TEST(a_name_of_hostile_length_is_cut)
{
	struct rs_schema *schema = schema_new();
	static char text[100000];
	const char *name;

	for (size_t i = 0; i + 2 < sizeof(text); i += 2)
		memcpy(text + i, "\xc3\xbc", 2);
	CHECK_OK(rs_schema_set_name(schema, 1, text, 99998));
	CHECK_OK(rs_schema_set_name(schema, 2, text + 1, 99997));
	name = rs_schema_name(schema, 1);
	CHECK(strlen(name) <= 4096 && strlen(name) > 4000 && strlen(name) % 2 == 0);
	CHECK_OK(rs_schema_set_name(schema, 1, text, 99998));
	rs_schema_destroy(schema);
}

/*
 * ---- growth with concurrent lookups
 * ------------------------------------------------------------------
 */

#define GROWN 10007u

struct growth {
	struct rs_schema *schema;
	uint32_t done; /* the number of events and names that exist; release, acquire */
	bool stop;
};

static void *grow(void *arg)
{
	struct growth *g = arg;

	for (uint32_t i = 1; i <= GROWN; i++) {
		char text[64];
		int len = snprintf(text, sizeof(text), "c::event-%u(u32 f%u)", i, i);

		CHECK_OK(rs_schema_declare(g->schema, USER(i), text, (size_t)len));
		len = snprintf(text, sizeof(text), "name %u", i);
		CHECK_OK(rs_schema_set_name(g->schema, i, text, (size_t)len));
		__atomic_store_n(&g->done, i, __ATOMIC_RELEASE);
	}
	__atomic_store_n(&g->stop, true, __ATOMIC_RELEASE);
	return NULL;
}

static bool find(const struct rs_schema *schema, uint32_t i)
{
	const struct rs_event *e = rs_schema_find(schema, USER(i));
	const char *name = rs_schema_name(schema, i);
	char expected[32];

	if (!e || !name)
		return false;
	snprintf(expected, sizeof(expected), "event-%u", i);
	if (strcmp(e->name, expected) != 0 || rs_schema_event(schema, e->index) != e)
		return false;
	snprintf(expected, sizeof(expected), "name %u", i);
	return !strcmp(name, expected);
}

static void *find_all(void *arg)
{
	struct growth *g = arg;
	uint64_t random = 1;
	bool stop;

	do {
		uint32_t done, n;

		stop = __atomic_load_n(&g->stop, __ATOMIC_ACQUIRE);
		done = __atomic_load_n(&g->done, __ATOMIC_ACQUIRE);
		random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
		n = done ? (uint32_t)(random >> 33) % done + 1 : 0;
		if (n && !CHECK(find(g->schema, n)))
			break;
		CHECK(rs_schema_find(g->schema, USER(GROWN + 1)) == NULL);
		n = rs_schema_count(g->schema);
		CHECK_EQ_U64(rs_schema_event(g->schema, n - 1)->index, n - 1);
	} while (!stop);
	return NULL;
}

TEST(lookups_are_right_while_the_schema_grows)
{
	struct growth g = { .schema = schema_new() };
	pthread_t grower, lookers[2];

	pthread_create(&lookers[0], NULL, find_all, &g);
	pthread_create(&lookers[1], NULL, find_all, &g);
	pthread_create(&grower, NULL, grow, &g);
	pthread_join(grower, NULL);
	pthread_join(lookers[0], NULL);
	pthread_join(lookers[1], NULL);
	for (uint32_t i = 1; i <= GROWN; i++)
		REQUIRE(find(g.schema, i));
	CHECK_EQ_U64(rs_schema_name_count(g.schema), GROWN);
	rs_schema_destroy(g.schema);
}

/* Ids that collide in any table whose size is a power of two. */
TEST(ids_of_all_patterns_are_distinguished)
{
	struct rs_schema *schema = schema_new();

	for (uint64_t i = 1; i < 2000; i++) {
		char text[32];
		int len = snprintf(text, sizeof(text), "c::e%u()", (unsigned int)i);

		CHECK_OK(rs_schema_declare(schema, i << 33, text, (size_t)len));
	}
	for (uint64_t i = 1; i < 2000; i++) {
		char text[32];

		snprintf(text, sizeof(text), "e%u", (unsigned int)i);
		REQUIRE(rs_schema_find(schema, i << 33) != NULL);
		CHECK_STR(rs_schema_find(schema, i << 33)->name, text);
		CHECK(rs_schema_find(schema, i << 33 | 1) == NULL);
	}
	rs_schema_destroy(schema);
}

/* ---- the same layout as C structs ----------------------------------------------------------- */

struct member {
	const char *name;
	size_t offset, bytes;
};

static void check_members(const struct rs_event *event, const struct member *members,
			  size_t struct_bytes)
{
	uint16_t n = 0;

	REQUIRE(event != NULL);
	for (; members[n].name; n++) {
		REQUIRE(n < event->n_fields);
		CHECK_STR(event->fields[n].name, members[n].name);
		CHECK_EQ_U64(event->fields[n].offset, members[n].offset);
		CHECK_EQ_U64(rs_type_bytes(event->fields[n].type), members[n].bytes);
	}
	CHECK_EQ_U64(event->n_fields, n);
	CHECK_EQ_U64(event->fixed_bytes, struct_bytes + event->n_tails * 2);
}

#define RS_FIELD(type, show, name, unit, values)                                                   \
	{ #name, offsetof(event_struct, name), sizeof(((event_struct *)0)->name) },
#define RS_TEXT(name) { #name, sizeof(event_struct), 2 },
#define RS_EVENT(symbol, n, kind, mask_class, class_name, name, help, fields)                      \
	static void members_of_##symbol(const struct rs_schema *schema)                            \
	{                                                                                          \
		typedef struct rs_event_##symbol event_struct;                                     \
		static const struct member members[] = { fields{ NULL, 0, 0 } };                   \
                                                                                                   \
		check_members(rs_schema_find(schema, RS_EVENT_##symbol), members,                  \
			      sizeof(event_struct));                                               \
	}
#include <ringside/event/vmm.def>
#undef RS_EVENT
#undef RS_FIELD
#undef RS_TEXT

TEST(the_catalogue_s_offsets_equal_c)
{
	struct rs_schema *schema = schema_new();

	REQUIRE_OK(rs_schema_add_catalogue(schema, "vmm"));
	REQUIRE_OK(rs_schema_add_catalogue(schema, "app"));
	CHECK_EQ_U64(rs_schema_find(schema, RS_ID_MEMORY_ALLOC)->fixed_bytes,
		     sizeof(struct rs_memory_alloc) + 2);
	CHECK_EQ_U64(rs_schema_find(schema, RS_ID_MEMORY_FREE)->fixed_bytes,
		     sizeof(struct rs_memory_free) + 2);
	CHECK_EQ_U64(rs_schema_find(schema, RS_ID_MEMORY_REALLOC)->fixed_bytes,
		     sizeof(struct rs_memory_realloc) + 2);
	CHECK_EQ_U64(rs_schema_find(schema, RS_ID_MEMORY_SAMPLING)->fixed_bytes,
		     sizeof(struct rs_memory_sampling));
	CHECK_EQ_U64(rs_schema_find(schema, RS_ID_STACK_SAMPLE)->fixed_bytes,
		     sizeof(struct rs_stack_sample) + 2);
	CHECK_EQ_U64(rs_schema_find(schema, RS_ID_FUNC_LEAVE)->fixed_bytes, sizeof(struct rs_func));
#define RS_EVENT(symbol, n, kind, mask_class, class_name, name, help, fields)                      \
	members_of_##symbol(schema);
#include <ringside/event/vmm.def>
#undef RS_EVENT
	rs_schema_destroy(schema);
}

RS_DEFINE_EVENT(every_type, span, "every-type", (u8, a), (s64, b), (x16, c), (s32, d), (name, e),
		(s8, f), (x64, g), (u16, h));

TEST(a_program_s_own_events_have_the_declared_layout)
{
	typedef struct rs_payload_every_type event_struct;
#define MEMBER(name)                                                                               \
	{                                                                                          \
#name, offsetof(event_struct, name), sizeof(((event_struct *)0)->name)             \
	}
	static const struct member members[] = { MEMBER(a), MEMBER(b), MEMBER(c),
						 MEMBER(d), MEMBER(e), MEMBER(f),
						 MEMBER(g), MEMBER(h), { NULL, 0, 0 } };
	struct rs_schema *schema = schema_new();
	const struct rs_site *site = &rs_site_of_every_type;

	CHECK_STR(site->text, "span::every-type(u8 a,s64 b,x16 c,s32 d,name e,s8 f,x64 g,u16 h)");
	CHECK_EQ_U64(site->len, strlen(site->text));
	REQUIRE_OK(rs_schema_declare(schema, site->id, site->text, site->len));
	check_members(rs_schema_find(schema, site->id), members, sizeof(event_struct));
	rs_schema_destroy(schema);
}

TEST(the_ring_s_own_records_match_the_catalogue)
{
	static const struct member lost[] = {
		{ "count", offsetof(struct rs_lost, count), 8 },
		{ "from", offsetof(struct rs_lost, from), 8 },
		{ "to", offsetof(struct rs_lost, to), 8 },
		{ "why", offsetof(struct rs_lost, why), 4 },
		{ NULL, 0, 0 },
	};
	static const struct member span[] = {
		{ "name", offsetof(struct rs_span, name), 4 },
		{ "depth", offsetof(struct rs_span, depth), 4 },
		{ "arg", offsetof(struct rs_span, arg), 8 },
		{ NULL, 0, 0 },
	};
	struct rs_schema *schema = schema_new();
	const struct rs_event *e = rs_schema_find(schema, RS_ID_LOST);

	check_members(e, lost, offsetof(struct rs_lost, reserved));
	CHECK_EQ_U64(e->kind, RS_KIND_LOSS);
	CHECK_EQ_U64(RS_LOST_PADDING, RS_RECORD_SLOTS(e->fixed_bytes) * RS_SLOT_BYTES -
					      RS_RECORD_HEAD - e->fixed_bytes);
	CHECK_STR(rs_enum_name(e->fields[3].values, RS_LOST_FULL), "full");
	CHECK_STR(rs_enum_name(e->fields[3].values, RS_LOST_DAMAGED), "damaged");
	CHECK_STR(rs_enum_name(e->fields[3].values, RS_LOST_STORAGE), "storage");
	e = rs_schema_find(schema, RS_ID_SPAN_BEGIN);
	check_members(e, span, sizeof(struct rs_span));
	CHECK_EQ_U64(e->kind, RS_KIND_SPAN_BEGIN);
	e = rs_schema_find(schema, RS_ID_SPAN_END);
	check_members(e, span, sizeof(struct rs_span));
	CHECK_EQ_U64(e->kind, RS_KIND_SPAN_END);
	CHECK(rs_schema_find(schema, RS_ID_FILLER) == NULL);
	rs_schema_destroy(schema);
}
