/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes traces through the store's writer with chosen records, and reads them again. */
#ifndef RS_TESTS_UNIT_STORE_KIT_H
#define RS_TESTS_UNIT_STORE_KIT_H

#include "event_kit.h"

#include "event/query.h"
#include "store/reader.h"
#include "store/repair.h"
#include "store/writer.h"

#define ORIGIN UINT64_C(1000000)

/* Slots in a separate port, as one run. */
KIT bool flat_poll(void *ctx, uint32_t *tail, uint64_t *refused)
{
	*tail = ((struct slots *)ctx)->n * RS_SLOT_BYTES;
	*refused = 0;
	return true;
}

KIT bool flat_copy(void *ctx, uint32_t offset, void *to, uint32_t bytes)
{
	memcpy(to, (uint8_t *)((struct slots *)ctx)->at + offset, bytes);
	return true;
}

KIT bool flat_release(void *ctx, uint32_t head)
{
	(void)ctx, (void)head;
	return true;
}

/* A trace that is being written: one class, streams of it. */
struct kit_store {
	char temp[64], path[256];
	struct rs_schema *schema;
	struct rs_clock clock;
	struct rs_store *store;
	uint32_t class_index;
	struct rs_drain drain[8];
	struct rs_store_stream *stream[8];
};

KIT bool kit_store_init(struct kit_store *k, const char *directory)
{
	*k = (struct kit_store){ .schema = kit_schema("app"), .clock = kit_clock(ORIGIN) };
	join(k->path, directory ? directory : make_temp(k->temp), "trace");
	return CHECK_OK(rs_store_create(k->path, &k->clock, "a test", &k->store)) &&
	       CHECK_OK(rs_store_add_class(k->store, k->schema, &k->clock, &k->class_index));
}

/* Stream i of the test; a complete identity or, if it is NULL, a thread with a name from i. */
KIT struct rs_error *kit_store_stream(struct kit_store *k, uint32_t i,
				      const struct rs_stream *identity)
{
	char name[16];
	struct rs_stream plain = { .thread = name, .vcpu = -1, .cpu = -1, .tid = 100 + (int)i };

	snprintf(name, sizeof(name), "thread %u", i);
	rs_drain_init(&k->drain[i], &(struct rs_port){ 0 }, k->schema);
	return rs_store_add_stream(k->store, k->class_index, identity ? identity : &plain,
				   &k->stream[i]);
}

/* Records for a stream, as from a ring. The store's first error. */
KIT struct rs_error *kit_store_put(struct kit_store *k, uint32_t i, struct slots *s)
{
	struct rs_drain *drain = &k->drain[i];
	struct rs_error *err = NULL, *next;
	struct rs_drained got;
	uint8_t *at;
	uint32_t room;

	drain->port = (struct rs_port){ .ctx = s,
					.poll = flat_poll,
					.copy = flat_copy,
					.release = flat_release,
					.size = (s->n + 1) * RS_SLOT_BYTES };
	do {
		next = rs_store_room(k->stream[i], &at, &room);
		if (!err)
			err = next;
		else
			rs_error_free(next);
		CHECK_EQ_U64(rs_drain_read(drain, at, room, UINT64_MAX, &got), RS_DRAIN_OK);
		rs_store_commit(k->stream[i], &got);
	} while (got.bytes);
	slots_free(s);
	return err;
}

/* Writes the available records as a packet. */
KIT struct rs_error *kit_store_flush(struct kit_store *k, uint32_t i)
{
	return rs_store_flush(k->stream[i], 0, 0);
}

KIT struct rs_error *kit_store_close(struct kit_store *k, struct rs_store_summary *summary)
{
	struct rs_error *err = rs_store_close(k->store, NULL, summary);

	k->store = NULL;
	return err;
}

KIT void kit_store_deinit(struct kit_store *k)
{
	if (k->store)
		rs_error_free(kit_store_close(k, NULL));
	rs_schema_destroy(k->schema);
	if (k->temp[0])
		remove_tree(k->temp);
}

/* Reads a trace with a query (NULL: everything) into a sink. */
KIT struct rs_error *trace_read(struct rs_trace *trace, const struct rs_query *query,
				struct got_sink *got)
{
	struct rs_source *source = NULL;
	struct rs_error *err = rs_trace_source(trace, &source);

	if (!err)
		err = rs_run(source, query, &got->sink, NULL);
	rs_source_destroy(source);
	return err;
}

/* Returns the errors of a trace, when it is opened or read to its end. */
KIT struct rs_error *trace_complaint(const char *path)
{
	struct got_sink got = got_sink();
	struct rs_trace *trace = NULL;
	struct rs_error *err = rs_trace_open(path, &trace);

	if (!err)
		err = trace_read(trace, NULL, &got);
	got_free(&got);
	rs_trace_close(trace);
	return err;
}

/*
 * A small trace with every feature: three streams, names, every type of field, several packets,
 * losses, an empty stream. For tests of damage.
 */
KIT void kit_store_everything(struct kit_store *k)
{
	static const struct rs_stream vcpu = {
		.vm = "hello", .thread = "CPU 0/KVM", .vcpu = 0, .cpu = 3, .tid = 7
	};
	static const uint8_t mixed[] = { 1, 0, 0, 0, 0xff, 0xff, 0x7f, 2, 0, 0, 0 };
	static const uint8_t sign[] = { 0x80, 0, 0x80, 1, 0, 0, 0x80, 2, 0, 0, 0, 0, 0, 0, 0x80 };
	static const struct rs_span span = { 1, 0, 9 };
	struct slots a = { 0 }, b = { 0 };

	CHECK_OK(rs_schema_set_name(k->schema, 1, "crunch", 6));
	CHECK_OK(rs_schema_set_name(k->schema, 2, "gr\xc3\xbc\xc3\x9f \"q\" \\", 12));
	CHECK_OK(kit_store_stream(k, 0, NULL));
	CHECK_OK(kit_store_stream(k, 1, &vcpu));
	CHECK_OK(kit_store_stream(k, 2, NULL));
	slots_record(&a, ORIGIN + 10, RS_ID_SPAN_BEGIN, &span, sizeof(span));
	slots_one(&a, ORIGIN + 20, 1);
	slots_one(&b, ORIGIN + 15, 2);
	slots_one(&b, ORIGIN + 20, 3);
	CHECK_OK(kit_store_put(k, 0, &a));
	CHECK_OK(kit_store_flush(k, 0));
	CHECK_OK(kit_store_put(k, 1, &b));
	CHECK_OK(kit_store_flush(k, 1));
	slots_text(&a, ORIGIN + 30, USER(KIT_MIXED), mixed, sizeof(mixed), "a text", 6);
	slots_record(&a, ORIGIN + 31, USER(KIT_SIGNED), sign, sizeof(sign));
	slots_lost(&a, ORIGIN + 32, 5, ORIGIN + 31, RS_LOST_FULL);
	slots_record(&a, ORIGIN + 33, USER(KIT_NONE), NULL, 0);
	CHECK_OK(kit_store_put(k, 0, &a));
	CHECK_OK(kit_store_flush(k, 0));
	slots_text(&b, ORIGIN + 25, USER(KIT_TEXT), NULL, 0, "", 0);
	slots_one(&b, ORIGIN + 50, 4);
	CHECK_OK(kit_store_put(k, 1, &b));
	slots_record(&a, ORIGIN + 60, RS_ID_SPAN_END, &span, sizeof(span));
	CHECK_OK(kit_store_put(k, 0, &a));
}

#endif
