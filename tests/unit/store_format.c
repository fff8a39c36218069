/* SPDX-License-Identifier: BSD-2-Clause */
/* The store's output as literal bytes; the description, state and index; binaries. */
#include "store_kit.h"

#include <jansson.h>
#include <sys/file.h>
#include <xxhash.h>

#include "introspect/binary.h"

static uint8_t *trace_file(const struct kit_store *k, const char *name, size_t *bytes)
{
	char path[256];
	uint8_t *data = file_read(join(path, k->path, name), bytes);

	CHECK(data != NULL);
	return data;
}

/* Returns the description's UUID as bytes. */
static void uuid_of(const struct kit_store *k, uint8_t uuid[16])
{
	size_t bytes;
	char *text = (char *)trace_file(k, "ringside/describe", &bytes);
	const char *at = strstr(text, "\"uuid\":\"");

	REQUIRE(at != NULL);
	at += 8;
	for (int i = 0; i < 16; i++) {
		unsigned int byte;

		at += *at == '-';
		REQUIRE(sscanf(at, "%2x", &byte) == 1);
		uuid[i] = (uint8_t)byte;
		at += 2;
	}
	free(text);
}

TEST(a_stored_single_slot_record_byte_by_byte)
{
	/* clang-format off */
	static const uint8_t expected[128] = {
		/* packet.header: magic, uuid (below), stream class, stream */
		[0] = 0xc1, 0x1f, 0xfc, 0xc1,
		[20] = 0, 0, 0, 0,
		[24] = 1, 0, 0, 0, 0, 0, 0, 0,
		/* packet.context: begin, end, content and packet size in bits */
		[32] = 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11,
		[40] = 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11,
		[48] = 0xc0, 0x03, 0, 0, 0, 0, 0, 0, /* 960: up to the u64's end */
		[56] = 0x00, 0x04, 0, 0, 0, 0, 0, 0, /* 1024 */
		[64] = 0, 0, 0, 0, 0, 0, 0, 0,	     /* lost */
		[72] = 0, 0, 0, 0, 0, 0, 0, 0,	     /* number */
		[80] = 5, 0, 0, 0,		     /* CPU */
		[84] = 1, 0, 0, 0,		     /* records */
		/* 88: the check, below. The slot: tsc, id, n_data, cpu, payload */
		[96] = 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11,
		[104] = 0x01, 0x00, 0x20, 0x00, 0x00, 0x00, 0x81, 0xff,
		[112] = 0xf0, 0xde, 0xbc, 0x9a, 0x78, 0x56, 0x34, 0x12,
	};
	/* clang-format on */
	static const struct rs_stream on_cpu = { .vcpu = -1, .cpu = 5, .tid = -1 };
	struct slots s = { 0 };
	struct kit_store k;
	uint8_t uuid[16], *got;
	uint64_t check;
	size_t bytes;

	REQUIRE(kit_store_init(&k, NULL));
	REQUIRE_OK(kit_store_stream(&k, 0, NULL));
	REQUIRE_OK(kit_store_stream(&k, 1, &on_cpu));
	slots_one(&s, UINT64_C(0x1122334455667788), UINT64_C(0x123456789abcdef0));
	CHECK_OK(kit_store_put(&k, 1, &s));
	CHECK_OK(kit_store_close(&k, NULL));
	uuid_of(&k, uuid);
	got = trace_file(&k, "stream_1", &bytes);
	REQUIRE_EQ_U64(bytes, 128);
	CHECK_MEM(got + 4, uuid, 16);
	CHECK_EQ_U64(uuid[6] >> 4, 4);
	CHECK_EQ_U64(uuid[8] >> 6, 2);
	memcpy(&check, got + 88, 8);
	CHECK_EQ_U64(check, XXH3_64bits_withSeed(got + 96, 32, XXH3_64bits(got, 88)));
	memset(got + 4, 0, 16);
	memset(got + 88, 0, 8);
	CHECK_MEM(got, expected, 128);
	free(got);
	got = trace_file(&k, "stream_0", &bytes);
	CHECK_EQ_U64(bytes, 0);
	free(got);
	kit_store_deinit(&k);
}

static uint64_t word(const uint8_t *at)
{
	uint64_t value;

	memcpy(&value, at, 8);
	return value;
}

static uint32_t half(const uint8_t *at)
{
	return (uint32_t)word(at);
}

/* Walks a stream file by only the documented offsets, and the index with it. */
TEST(packets_are_contiguous_and_the_index_locates_them)
{
	struct kit_store k;
	uint8_t *file, *index;
	size_t bytes, index_bytes, at = 0, n = 0;
	uint64_t records = 0, slots = 0, last = 0, value = 0;
	struct slots s = { 0 };

	REQUIRE(kit_store_init(&k, NULL));
	REQUIRE_OK(kit_store_stream(&k, 0, NULL));
	for (uint64_t i = 0; i < 30011; i++)
		slots_one(&s, ORIGIN + i, i);
	CHECK_OK(kit_store_put(&k, 0, &s));
	CHECK_OK(kit_store_flush(&k, 0));
	slots_lost(&s, ORIGIN + 40000, 17, ORIGIN + 39000, RS_LOST_FULL);
	slots_one(&s, ORIGIN + 40000, 30011);
	CHECK_OK(kit_store_put(&k, 0, &s));
	CHECK_OK(kit_store_close(&k, NULL));
	file = trace_file(&k, "stream_0", &bytes);
	index = trace_file(&k, "ringside/index", &index_bytes);
	while (at < bytes) {
		const uint8_t *head = file + at, *entry = index + n * 48;
		uint64_t packet = word(head + 56) / 8, content = word(head + 48) / 8;

		REQUIRE_EQ_U64(half(head), 0xc1fc1fc1);
		REQUIRE(packet >= 128 && packet <= 131072 && packet % 32 == 0);
		CHECK(content <= packet && packet - content < 32);
		CHECK_EQ_U64(word(head + 72), n);
		CHECK_EQ_U64(half(head + 80), 0xffffffff);
		CHECK_EQ_U64(word(head + 32), word(head + 96));
		CHECK(word(head + 32) >= last);
		for (size_t i = 96; i < packet;) {
			uint32_t extent = head[i + 14] & 0x7f;

			CHECK(word(head + i) >= last);
			last = word(head + i);
			if (extent == 1)
				CHECK_EQ_U64(word(head + i + 16), value++);
			slots += extent;
			i += extent * 32;
		}
		CHECK_EQ_U64(word(head + 40), last);
		CHECK_EQ_U64(word(head + 64), last == ORIGIN + 40000 ? 17 : 0);
		records += half(head + 84);
		/* the index: stream, records, offset, bytes, begin, end, lost */
		REQUIRE((n + 1) * 48 <= index_bytes);
		CHECK_EQ_U64(half(entry), 0);
		CHECK_EQ_U64(half(entry + 4), half(head + 84));
		CHECK_EQ_U64(word(entry + 8), at);
		CHECK_EQ_U64(word(entry + 16), packet);
		CHECK_MEM(entry + 24, head + 32, 16);
		CHECK_MEM(entry + 40, head + 64, 8);
		at += packet;
		n++;
	}
	CHECK_EQ_U64(at, bytes);
	CHECK_EQ_U64(index_bytes, n * 48);
	CHECK(n > 7);
	CHECK_EQ_U64(records, 30012);
	CHECK_EQ_U64(slots, 30014);
	CHECK_EQ_U64(value, 30012);
	free(file);
	free(index);
	kit_store_deinit(&k);
}

static char *state_of(const struct kit_store *k)
{
	size_t bytes;
	char *text = (char *)trace_file(k, "ringside/state", &bytes);
	json_t *json = json_loadb(text, bytes, 0, NULL);
	const char *state = json_string_value(json_object_get(json, "state"));

	CHECK_EQ_U64(bytes, 4096);
	free(text);
	text = strdup(state ? state : "none");
	json_decref(json);
	return text;
}

TEST(the_state_is_written_and_locked_while_recording)
{
	struct kit_store k;
	struct rs_trace *trace;
	char path[256], *state;
	int fd;

	REQUIRE(kit_store_init(&k, NULL));
	state = state_of(&k);
	CHECK_STR(state, "recording");
	free(state);
	fd = open(join(path, k.path, "ringside/state"), O_RDONLY | O_CLOEXEC);
	CHECK(flock(fd, LOCK_SH | LOCK_NB) < 0);
	close(fd);
	REQUIRE_OK(rs_trace_open(k.path, &trace));
	CHECK_EQ_U64(rs_trace_end_state(trace), RS_TRACE_RECORDING);
	rs_trace_close(trace);
	CHECK_OK(kit_store_close(&k, NULL));
	state = state_of(&k);
	CHECK_STR(state, "closed");
	free(state);
	REQUIRE_OK(rs_trace_open(k.path, &trace));
	CHECK_EQ_U64(rs_trace_end_state(trace), RS_TRACE_CLOSED);
	CHECK_STR(rs_trace_directory(trace), k.path);
	rs_trace_close(trace);
	kit_store_deinit(&k);
}

TEST(written_events_are_read)
{
	struct got_sink got = got_sink();
	struct rs_store_summary sum;
	const struct rs_stream *stream;
	struct rs_trace *trace;
	struct kit_store k;

	REQUIRE(kit_store_init(&k, NULL));
	kit_store_everything(&k);
	CHECK_OK(kit_store_close(&k, &sum));
	CHECK_EQ_U64(sum.records, 10);
	CHECK_EQ_U64(sum.lost, 5);
	CHECK_EQ_U64(sum.streams, 3);
	REQUIRE_OK(rs_trace_open(k.path, &trace));
	CHECK_EQ_U64(rs_trace_stream_count(trace), 3);
	stream = rs_trace_stream(trace, 1);
	CHECK_STR(stream->vm, "hello");
	CHECK_STR(stream->thread, "CPU 0/KVM");
	CHECK(stream->vcpu == 0 && stream->cpu == 3 && stream->tid == 7 && stream->index == 1);
	CHECK(rs_trace_stream(trace, 0)->vm == NULL);
	CHECK_EQ_S64(rs_trace_clock(trace)->wall_ns, k.clock.wall_ns);
	CHECK_EQ_U64(rs_trace_clock(trace)->ns_mult, k.clock.ns_mult);
	CHECK_STR(rs_trace_clock(trace)->freq_from, "test");
	CHECK(rs_trace_binary(trace, 0) == NULL);
	/* the complete schema, unchanged */
	CHECK_EQ_U64(rs_schema_count(stream->schema), rs_schema_count(k.schema));
	for (uint32_t i = 0; i < rs_schema_count(k.schema); i++) {
		const struct rs_event *a = rs_schema_event(k.schema, i);
		const struct rs_event *b = rs_schema_find(stream->schema, a->id);

		REQUIRE(b != NULL);
		CHECK_STR(b->probe, a->probe);
		CHECK_STR(b->help, a->help);
		CHECK_EQ_U64(b->fixed_bytes, a->fixed_bytes);
		CHECK_EQ_U64(b->kind, a->kind);
		for (uint16_t j = 0; j < a->n_fields; j++) {
			CHECK_STR(b->fields[j].name, a->fields[j].name);
			CHECK_STR(b->fields[j].unit, a->fields[j].unit);
			CHECK_EQ_U64(b->fields[j].show, a->fields[j].show);
			CHECK_EQ_U64(b->fields[j].offset, a->fields[j].offset);
		}
	}
	CHECK_STR(rs_schema_name(stream->schema, 2), "gr\xc3\xbc\xc3\x9f \"q\" \\");
	CHECK_OK(trace_read(trace, NULL, &got));
	REQUIRE_EQ_U64(got.n, 11);
	for (size_t i = 0; i < got.n; i++) {
		static const struct {
			int64_t ns;
			const char *probe;
			int stream, cpu;
		} expected[] = {
			{ 10, "app:span::begin", 0, -1 }, { 15, "app:c::one", 1, 3 },
			{ 20, "app:c::one", 0, -1 },	  { 20, "app:c::one", 1, 3 },
			{ 25, "app:c::text", 1, 3 },	  { 30, "app:c::mixed", 0, -1 },
			{ 31, "app:d:f:signed", 0, -1 },  { 32, "app:trace::records-lost", 0, -1 },
			{ 33, "app:c::none", 0, -1 },	  { 50, "app:c::one", 1, 3 },
			{ 60, "app:span::end", 0, -1 },
		};

		CHECK_EQ_S64(got.at[i].ts_ns, expected[i].ns);
		CHECK_STR(got.at[i].event->probe, expected[i].probe);
		CHECK_EQ_S64(got.at[i].stream->index, expected[i].stream);
		CHECK_EQ_S64(got.at[i].cpu, expected[i].cpu);
	}
	CHECK_EQ_U64(got.lost, 5);
	CHECK(got.ended);
	got_free(&got);
	rs_trace_close(trace);
	kit_store_deinit(&k);
}

TEST(binaries_have_their_hash_and_build_id)
{
	struct kit_store k;
	struct rs_trace *trace;
	struct rs_binary read;
	const struct rs_trace_binary *binary;
	char path[256], command[400], line[200] = "";
	FILE *pipe;

	REQUIRE(kit_store_init(&k, NULL));
	file_write(join(path, k.temp, "plain"), "abc", 3);
	CHECK_OK(rs_binary_read(&read, "guest", path));
	CHECK_OK(rs_store_add_binary(k.store, &read.trace));
	CHECK_OK(rs_binary_read(&read, "vmm", "/proc/self/exe"));
	CHECK_OK(rs_store_add_binary(k.store, &read.trace));
	CHECK_ERR(rs_binary_read(&read, "guest", "/no/such"), RS_FAILED, "No such file");
	CHECK_ERR(rs_binary_read(&read, "guest", k.temp), RS_FAILED, "Is a directory");
	CHECK_OK(kit_store_close(&k, NULL));
	REQUIRE_OK(rs_trace_open(k.path, &trace));
	binary = rs_trace_binary(trace, 0);
	REQUIRE(binary != NULL);
	CHECK_STR(binary->role, "guest");
	CHECK_STR(binary->path, path);
	if (!strcmp(binary->hash_name, "sha256")) /* FIPS 180-2, appendix B.1 */
		CHECK_STR(binary->hash, "ba7816bf8f01cfea414140de5dae2223"
					"b00361a396177a9cb410ff61f20015ad");
	else
		CHECK_STR(binary->hash_name, "blake3");
	CHECK(binary->build_id == NULL);
	binary = rs_trace_binary(trace, 1);
	REQUIRE(binary != NULL);
	snprintf(command, sizeof(command), "sha256sum </proc/%d/exe", (int)getpid());
	pipe = popen(command, "re");
	if (pipe && fgets(line, sizeof(line), pipe) && !strcmp(binary->hash_name, "sha256")) {
		line[64] = '\0';
		CHECK_STR(binary->hash, line);
	}
	if (pipe)
		pclose(pipe);
	CHECK(rs_trace_binary(trace, 2) == NULL);
	rs_trace_close(trace);
	kit_store_deinit(&k);
}

TEST(later_names_and_events_are_on_disk_before_their_packets)
{
	struct slots s = { 0 };
	struct kit_store k;
	char path[256], copy[256];

	REQUIRE(kit_store_init(&k, NULL));
	REQUIRE_OK(kit_store_stream(&k, 0, NULL));
	for (uint32_t i = 0; i < 20; i++) {
		struct got_sink got = got_sink();
		struct rs_span span = { 1000 + i, 0, 0 };
		struct rs_trace *trace;
		char text[64];
		int len = snprintf(text, sizeof(text), "late::event-%u(u64 n)", i);

		CHECK_OK(rs_schema_declare(k.schema, USER(100 + i), text, (size_t)len));
		len = snprintf(text, sizeof(text), "late %u", i);
		CHECK_OK(rs_schema_set_name(k.schema, 1000 + i, text, (size_t)len));
		slots_record(&s, ORIGIN + i, USER(100 + i), "12345678", 8);
		slots_record(&s, ORIGIN + i, RS_ID_SPAN_BEGIN, &span, sizeof(span));
		CHECK_OK(kit_store_put(&k, 0, &s));
		CHECK_OK(kit_store_flush(&k, 0));
		/* as if the recorder had died here */
		join(copy, k.temp, "copy");
		copy_directory(k.path, copy);
		REQUIRE_OK(rs_trace_open(copy, &trace));
		CHECK_ERR(trace_read(trace, NULL, &got), RS_DAMAGED, "did not close it");
		CHECK_EQ_U64(got.n, (i + 1) * 2);
		CHECK_STR(rs_schema_name(rs_trace_stream(trace, 0)->schema, 1000 + i), text);
		got_free(&got);
		rs_trace_close(trace);
		remove_tree(copy);
	}
	CHECK_OK(kit_store_close(&k, NULL));
	CHECK(access(join(path, k.path, "ringside/metadata.new"), F_OK) < 0);
	kit_store_deinit(&k);
}

TEST(a_clock_that_is_measured_again_is_written_again)
{
	struct kit_store k;
	struct rs_clock refined;
	struct rs_trace *trace;

	REQUIRE(kit_store_init(&k, NULL));
	kit_store_everything(&k);
	refined = k.clock;
	refined.freq_hz = 2000000000;
	CHECK_OK(rs_clock_init(&refined));
	CHECK_OK(rs_store_close(k.store, &refined, NULL));
	k.store = NULL;
	REQUIRE_OK(rs_trace_open(k.path, &trace));
	CHECK_EQ_U64(rs_trace_clock(trace)->freq_hz, 2000000000);
	CHECK_EQ_S64(rs_clock_ns(rs_trace_stream(trace, 0)->clock, ORIGIN + 60), 30);
	rs_trace_close(trace);
	kit_store_deinit(&k);
}

TEST(paths_where_no_trace_can_be_made)
{
	struct rs_clock clock = kit_clock(0);
	struct rs_store *store = NULL;
	char temp[64], path[256], in[256];

	make_temp(temp);
	file_write(join(path, temp, "file"), "x", 1);
	CHECK_ERR(rs_store_create(path, &clock, NULL, &store), RS_USAGE, "exists already");
	CHECK_ERR(rs_store_create(temp, &clock, NULL, &store), RS_USAGE, "not empty");
	CHECK_ERR(rs_store_create(join(in, path, "x"), &clock, NULL, &store), RS_FAILED,
		  "Not a directory");
	CHECK_ERR(rs_store_create("/no/such/place", &clock, NULL, &store), RS_FAILED,
		  "No such file");
	CHECK(store == NULL);
	mkdir(join(path, temp, "empty"), 0755);
	REQUIRE_OK(rs_store_create(path, &clock, "with \"odd\" \\ bytes \xff\n\x01", &store));
	CHECK_OK(rs_store_close(store, NULL, NULL));
	remove_tree(temp);
}
