/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A stored record, byte by byte. A slot is ACRN's trace_entry (hypervisor/debug/trace.c in
 * acrn-hypervisor): u64 tsc; u64 with the id in bits 0 to 47, n_data in 48 to 55, cpu in 56 to
 * 63; 16 bytes of payload. In the file a slot has the same bytes as in the ring, after a packet's
 * header of 96 bytes.
 */
#include "../test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/writer.h"

/* ACRN's VM_EXIT (id 0x10) of CPU 3 with two 64-bit words: reason 0x1e, rip 0xffffffff81000123. */
static const uint8_t vm_exit[32] = {
	0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, /* tsc 0x1122334455667788 */
	0x10, 0x00, 0x00, 0x00, 0x00, 0x00,		/* id */
	0x02,						/* n_data */
	0x03,						/* cpu */
	0x1e, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, /* reason */
	0x23, 0x01, 0x00, 0x81, 0xff, 0xff, 0xff, 0xff, /* rip */
};

/* Writes a trace of one record to a new directory. Returns the bytes of its stream. */
static size_t store_one(char *directory, uint8_t *bytes, size_t room)
{
	struct rs_clock clock = { .name = "host", .freq_hz = 1000000000, .freq_from = "test" };
	struct rs_stream identity = { .vcpu = RS_UNKNOWN, .cpu = 3, .tid = RS_UNKNOWN };
	struct rs_drained drained = { .bytes = 32,
				      .records = 1,
				      .first_tsc = 0x1122334455667788,
				      .last_tsc = 0x1122334455667788 };
	static const char declaration[] = "vm::exit(u64 reason, x64 rip)";
	struct rs_store_stream *stream;
	struct rs_schema *schema;
	struct rs_store *store;
	uint32_t class_index, space;
	char path[512];
	uint8_t *at;
	size_t n;
	FILE *file;

	CHECK(!rs_clock_init(&clock));
	CHECK(!rs_schema_create("acrn", &schema));
	CHECK(!rs_schema_declare(schema, 0x10, declaration, sizeof(declaration) - 1));
	CHECK(!rs_store_create(directory, &clock, "test", &store));
	CHECK(!rs_store_add_class(store, schema, &clock, &class_index));
	CHECK(!rs_store_add_stream(store, class_index, &identity, &stream));
	CHECK(!rs_store_room(stream, &at, &space));
	memcpy(at, vm_exit, sizeof(vm_exit));
	rs_store_commit(stream, &drained);
	CHECK(!rs_store_close(store, NULL, NULL));
	rs_schema_destroy(schema);
	snprintf(path, sizeof(path), "%s/stream_0", directory);
	file = fopen(path, "r");
	CHECK(file != NULL);
	n = fread(bytes, 1, room, file);
	fclose(file);
	return n;
}

static void remove_all(const char *directory)
{
	static const char *const names[] = {
		"metadata", "stream_0", "ringside/describe", "ringside/index", "ringside/state",
		"ringside", ""
	};
	char path[512];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", directory, names[i]);
		remove(path);
	}
}

TEST(a_stored_slot_is_acrn_s_trace_entry)
{
	char directory[] = "/tmp/ringside-layout-XXXXXX";
	uint8_t bytes[256];

	CHECK(mkdtemp(directory) != NULL);
	CHECK_EQ_U64(store_one(directory, bytes, sizeof(bytes)), 96 + 32);
	CHECK(!memcmp(bytes + 96, vm_exit, sizeof(vm_exit)));
	remove_all(directory);
}
