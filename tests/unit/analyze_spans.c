/* SPDX-License-Identifier: BSD-2-Clause */
/* Times of spans by name and by path, of guests and of programs. */
#include "../test.h"

#include <sys/mman.h>
#include <unistd.h>

#include "analyze/call_tree.h"
#include "analyze/spans.h"
#include "view/spans.h"
#include <ringside/record.h>

/* A guest of one vCPU, and the thread of the VMM that runs it. */
struct kit {
	struct rs_schema *guest_schema, *vmm_schema;
	struct rs_stream guest, vmm;
	struct rs_sink *sink;
	struct rs_spans spans;
};

static void kit_init(struct kit *k)
{
	*k = (struct kit){ 0 };
	REQUIRE_OK(rs_schema_create("guest", &k->guest_schema));
	REQUIRE_OK(rs_schema_add_catalogue(k->guest_schema, "app"));
	REQUIRE_OK(rs_schema_create("vmm", &k->vmm_schema));
	REQUIRE_OK(rs_schema_add_catalogue(k->vmm_schema, "vmm"));
	for (uint32_t i = 1; i <= 3; i++)
		REQUIRE_OK(rs_schema_set_name(k->guest_schema, i, &"abc"[i - 1], 1));
	k->guest = (struct rs_stream){
		.vm = "vm", .vcpu = 0, .cpu = -1, .tid = -1, .schema = k->guest_schema
	};
	k->vmm = (struct rs_stream){
		.vm = "vm", .vcpu = 0, .cpu = -1, .tid = 7, .schema = k->vmm_schema, .index = 1
	};
	REQUIRE_OK(rs_spans_sink_create(&k->sink));
}

static void kit_deinit(struct kit *k)
{
	rs_spans_sink_destroy(k->sink);
	rs_schema_destroy(k->guest_schema);
	rs_schema_destroy(k->vmm_schema);
}

static void put(struct kit *k, const struct rs_stream *stream, int64_t ts_ns, uint64_t id,
		const void *payload, size_t bytes)
{
	uint8_t at[64] = { 0 };
	struct rs_view view = { .ts_ns = ts_ns,
				.event = rs_schema_find(stream->schema, id),
				.stream = stream,
				.payload = at,
				.payload_bytes = sizeof(at) };

	memcpy(at, payload, bytes);
	REQUIRE(view.event != NULL);
	CHECK_OK(k->sink->ops->events(k->sink, &view, 1));
}

static void span(struct kit *k, int64_t ts_ns, bool begins, uint32_t name, uint32_t depth)
{
	const struct rs_span payload = { .name = name, .depth = depth };

	put(k, &k->guest, ts_ns, begins ? RS_ID_SPAN_BEGIN : RS_ID_SPAN_END, &payload,
	    sizeof(payload));
}

static void host(struct kit *k, int64_t ts_ns, uint32_t n)
{
	put(k, &k->vmm, ts_ns, RS_ID(RS_IDS_VMM, n), &(uint32_t){ 0 }, sizeof(uint32_t));
}

static void function(struct kit *k, int64_t ts_ns, bool enters, uint64_t address, uint32_t depth)
{
	const struct rs_func payload = { .function = address, .depth = depth };

	put(k, &k->guest, ts_ns, enters ? RS_ID_FUNC_ENTER : RS_ID_FUNC_LEAVE, &payload,
	    sizeof(payload));
}

static const struct rs_span_row *row_of(const struct kit *k, const char *name)
{
	for (size_t i = 0; i < k->spans.n_rows; i++) {
		if (k->spans.rows[i]->key.name && !strcmp(k->spans.rows[i]->key.name, name))
			return k->spans.rows[i];
	}
	return NULL;
}

TEST(self_time_excludes_inner_spans)
{
	struct kit k;

	kit_init(&k);
	span(&k, 100, true, 1, 0);
	span(&k, 110, true, 2, 1);
	span(&k, 140, false, 2, 1);
	span(&k, 150, true, 2, 1);
	span(&k, 160, false, 2, 1);
	span(&k, 200, false, 1, 0);
	CHECK_OK(rs_spans_collect(k.sink, &k.spans));
	CHECK_EQ_U64(row_of(&k, "a")->total_ns, 100);
	CHECK_EQ_U64(row_of(&k, "a")->self_ns, 60);
	CHECK_EQ_U64(row_of(&k, "b")->count, 2);
	CHECK_EQ_U64(row_of(&k, "b")->min_ns, 10);
	CHECK_EQ_U64(row_of(&k, "b")->max_ns, 30);
	CHECK_EQ_U64(k.spans.n_nodes, 2);
	CHECK_EQ_U64(row_of(&k, "a")->timed, 0); /* no exits are known */
	kit_deinit(&k);
}

TEST(recursion_counts_once_in_the_total)
{
	struct kit k;

	kit_init(&k);
	span(&k, 0, true, 1, 0);
	span(&k, 10, true, 1, 1);
	span(&k, 20, false, 1, 1);
	span(&k, 50, false, 1, 0);
	CHECK_OK(rs_spans_collect(k.sink, &k.spans));
	CHECK_EQ_U64(row_of(&k, "a")->count, 2);
	CHECK_EQ_U64(row_of(&k, "a")->total_ns, 50);
	CHECK_EQ_U64(row_of(&k, "a")->self_ns, 50);
	CHECK_EQ_U64(row_of(&k, "a")->sum_ns, 60);
	CHECK_EQ_U64(k.spans.n_nodes, 2);
	kit_deinit(&k);
}

TEST(a_guest_s_time_is_split)
{
	const struct rs_span_row *a;
	struct kit k;

	kit_init(&k);
	host(&k, 0, 16); /* run */
	span(&k, 100, true, 1, 0);
	host(&k, 110, 17); /* exit */
	host(&k, 115, 34); /* host-begin */
	host(&k, 145, 35); /* host-end */
	host(&k, 150, 16); /* run */
	host(&k, 170, 17);
	host(&k, 177, 16);
	span(&k, 200, false, 1, 0);
	CHECK_OK(rs_spans_collect(k.sink, &k.spans));
	a = row_of(&k, "a");
	CHECK_EQ_U64(a->timed, 1);
	CHECK_EQ_U64(a->timed_ns, 100);
	CHECK_EQ_U64(a->calls_ns, 30);
	CHECK_EQ_U64(a->exits_ns, 17);
	kit_deinit(&k);
}

TEST(missing_ends_and_begins_are_counted)
{
	struct kit k;

	kit_init(&k);
	span(&k, 0, true, 1, 0);
	span(&k, 10, true, 2, 1); /* no end */
	span(&k, 20, false, 1, 0);
	span(&k, 30, false, 3, 0); /* no begin */
	span(&k, 40, true, 1, 2);  /* two spans around it are missing */
	span(&k, 50, false, 1, 2);
	span(&k, 60, true, 1, RS_SPANS_DEPTH_MAX);
	span(&k, 70, false, 1, RS_SPANS_DEPTH_MAX);
	span(&k, 80, true, 3, 0); /* open at the end */
	CHECK_OK(rs_spans_collect(k.sink, &k.spans));
	CHECK_EQ_U64(k.spans.open, 2);
	CHECK_EQ_U64(k.spans.unbegun, 1);
	CHECK_EQ_U64(k.spans.too_deep, 1);
	CHECK_EQ_U64(row_of(&k, "a")->count, 2);
	CHECK_EQ_U64(row_of(&k, "a")->total_ns, 30);
	kit_deinit(&k);
}

TEST(a_loss_makes_open_spans_uncertain)
{
	const struct rs_lost lost = { .count = 5 };
	struct kit k;

	kit_init(&k);
	span(&k, 0, true, 1, 0);
	put(&k, &k.guest, 10, RS_ID_LOST, &lost, sizeof(lost));
	span(&k, 20, false, 1, 0);
	span(&k, 30, true, 1, 0);
	span(&k, 40, false, 1, 0);
	CHECK_OK(rs_spans_collect(k.sink, &k.spans));
	CHECK_EQ_U64(row_of(&k, "a")->doubtful, 1);
	CHECK_EQ_U64(k.spans.lost, 5);
	kit_deinit(&k);
}

static uint32_t resolve(void *ctx, const struct rs_schema *schema, const uint64_t *addresses,
			uint32_t i, struct rs_profile_frame *frames, uint32_t max)
{
	(void)ctx, (void)schema, (void)max;
	if (addresses[i] != 0x4000)
		return 0;
	frames[0] = (struct rs_profile_frame){ .function = "main", .file = "main.c", .line = 3 };
	return 1;
}

/* Functions of -finstrument-functions are spans with an address, which the profile names. */
TEST(functions_and_their_call_tree)
{
	const struct rs_profile_resolver resolver = { NULL, resolve };
	const struct rs_call_node *node;
	struct rs_profile profile;
	struct rs_call_tree tree;
	struct kit k;

	kit_init(&k);
	function(&k, 0, true, 0x4000, 0);
	function(&k, 10, true, 0x5000, 1);
	function(&k, 30, false, 0x5000, 1);
	function(&k, 100, false, 0x4000, 0);
	CHECK_OK(rs_spans_collect(k.sink, &k.spans));
	CHECK_OK(rs_spans_profile(&k.spans, &resolver, &profile));
	CHECK_OK(rs_call_tree_make(&profile, RS_SPANS_TIME, &tree));
	node = rs_call_tree_next(&tree.root);
	REQUIRE(node != NULL);
	CHECK_STR(node->frame->function, "main");
	CHECK_EQ_U64(node->total, 100);
	CHECK_EQ_U64(node->self, 80);
	node = rs_call_tree_next(node);
	REQUIRE(node != NULL);
	CHECK_STR(node->frame->function, "0x5000");
	CHECK_EQ_U64(node->total, 20);
	CHECK(!rs_call_tree_next(node));
	rs_call_tree_deinit(&tree);
	rs_profile_deinit(&profile);
	kit_deinit(&k);
}

#define LONG 200u /* characters of a function's name, as those of C++ templates */
#define DEEP 40u

static uint32_t resolve_long(void *ctx, const struct rs_schema *schema, const uint64_t *addresses,
			     uint32_t i, struct rs_profile_frame *frames, uint32_t max)
{
	static char name[LONG + 1];

	(void)ctx, (void)schema, (void)max;
	memset(name, 'n', LONG);
	name[0] = (char)('A' + addresses[i]);
	frames[0] = (struct rs_profile_frame){ .function = name };
	return 1;
}

static FILE *printed(struct kit *k, bool tree)
{
	const struct rs_profile_resolver resolver = { NULL, resolve_long };
	const struct rs_spans_show show = { .fd = memfd_create("spans", MFD_CLOEXEC),
					    .tree = tree,
					    .resolver = &resolver };
	struct rs_profile profile;

	CHECK_OK(rs_spans_profile(&k->spans, &resolver, &profile));
	CHECK_OK(rs_spans_print(&show, &k->spans, &profile));
	rs_profile_deinit(&profile);
	CHECK_EQ_U64(lseek(show.fd, 0, SEEK_SET), 0);
	return fdopen(show.fd, "re");
}

/* Each name is whole, and in the tree further to the right than its caller's. */
TEST(long_names_and_deep_calls_in_text)
{
	char line[1024];
	struct kit k;
	size_t before = 0;
	FILE *text;

	kit_init(&k);
	for (uint32_t i = 0; i < DEEP; i++)
		function(&k, i, true, i, i);
	for (uint32_t i = DEEP; i-- > 0;)
		function(&k, 100 - i, false, i, i);
	CHECK_OK(rs_spans_collect(k.sink, &k.spans));
	text = printed(&k, false);
	REQUIRE(text && fgets(line, sizeof(line), text));
	for (uint32_t i = 0; i < DEEP && CHECK(fgets(line, sizeof(line), text)); i++)
		CHECK_EQ_U64(strcspn(line, " "), LONG);
	fclose(text);
	text = printed(&k, true);
	REQUIRE(text && fgets(line, sizeof(line), text));
	for (uint32_t i = 0; i < DEEP && CHECK(fgets(line, sizeof(line), text)); i++) {
		size_t at = strcspn(line, (char[]){ (char)('A' + i), 0 });

		if (i)
			CHECK_EQ_U64(at, before + 2);
		CHECK_EQ_U64(strlen(line + at), LONG + 1); /* and the line's end */
		before = at;
	}
	fclose(text);
	kit_deinit(&k);
}
