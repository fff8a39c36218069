/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The file of rings of a program that recorded itself and died, which another process may have
 * damaged: what 'repair' reads of it for a trace, and what 'repair --list' shows. No crash, no
 * access outside of it, an end, and no more records than its bytes can hold.
 *
 *	input: u8 records that the trace has, u32 bytes of the file (0: all); then patches:
 *	u16 offset / 8, u64 word, written into a file that a program left
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/rest.h"
#include "store/ring_file.h"
#include "store/writer.h"

#include "fuzz.h"
#include <ringside/clock.h>
#include <ringside/guest_abi.h>

#define PLACES	    3u
#define DEFINITIONS (4096u - (unsigned)sizeof(struct rs_survive_head))
#define PLACE_BYTES 8192u
#define RING_AT	    4096u
#define FILE_BYTES  (4096u + PLACES * PLACE_BYTES)
#define RECORDS	    20u
#define PATH	    "/tmp/a-trace"

static uint8_t left[FILE_BYTES]; /* made once */
static char folder[64], trace_path[80];
static int file;

static void clean(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", folder);
	MUST(!system(command));
}

static void trace_make(uint8_t uuid[16])
{
	struct rs_clock clock = { .name = "tsc",
				  .freq_hz = 1000000000,
				  .origin = 1000,
				  .invariant = true,
				  .freq_from = "fuzz" };
	const struct rs_stream identity = { .thread = "t", .vcpu = -1, .cpu = -1, .tid = 7 };
	struct rs_schema *schema = fuzz_schema();
	struct rs_store_stream *stream;
	struct rs_store *store;
	uint32_t class_index;

	MUST(!rs_clock_init(&clock));
	snprintf(folder, sizeof(folder), "/dev/shm/ringside-fuzz-%d", (int)getpid());
	snprintf(trace_path, sizeof(trace_path), "%s/trace", folder);
	MUST(!mkdir(folder, 0700));
	atexit(clean);
	MUST(!rs_store_create(trace_path, &clock, NULL, &store));
	memcpy(uuid, rs_store_uuid(store), 16);
	MUST(!rs_store_add_class(store, schema, &clock, &class_index));
	MUST(!rs_store_add_stream(store, class_index, &identity, &stream));
	MUST(!rs_store_close(store, NULL, &(struct rs_store_summary){ 0 }));
	rs_schema_destroy(schema);
}

/* A ring of records, of which the recorder has written some, and drained others. */
static void place_make(uint32_t i)
{
	struct rs_survive_place *place = (void *)(left + 4096 + i * (size_t)PLACE_BYTES);
	struct rs_survive_progress *progress = (void *)(place + 1);
	void *ring = (uint8_t *)place + RING_AT;
	struct rs_sbuf_producer p = { 0 };

	*place = (struct rs_survive_place){
		.used = 1, .tid = 7, .vcpu = -1, .ring_at = RING_AT, .thread = "t"
	};
	MUST(rs_sbuf_create(ring, PLACE_BYTES - RING_AT, RS_SLOT_BYTES) == RS_SBUF_OK);
	MUST(rs_sbuf_producer_init(&p, ring, PLACE_BYTES - RING_AT) == RS_SBUF_OK);
	for (uint32_t n = 0; n < RECORDS; n++) {
		const uint64_t payload[2] = { n, 512 };

		rs_record_put(&p, RS_ID(RS_IDS_USER, 1), payload, 12);
	}
	progress->stream = i ? 0 : 1; /* the recorder had not found the others */
	progress->n_marks = 2;
	progress->mark[1] = (struct rs_survive_mark){ .accounted = 5, .position = 160 };
	progress->now[0] = (struct rs_survive_mark){ .accounted = 11, .position = 352 };
}

static void file_make(void)
{
	static const char declaration[] = "io::late(u64 n)";
	struct rs_survive_head *head = (void *)left;
	struct rs_survive_definition d = { RS_GUEST_SITE_EVENT, sizeof(declaration) - 1 };

	*head = (struct rs_survive_head){ .magic = RS_SURVIVE_MAGIC,
					  .place_bytes = PLACE_BYTES,
					  .places = PLACES,
					  .definition_bytes = DEFINITIONS,
					  .defined_bytes = (sizeof(d) + d.len + 7) & ~UINT64_C(7),
					  .provider = "fuzz",
					  .pid = 7,
					  .path_bytes = sizeof(PATH) - 1 };
	trace_make(head->trace);
	memcpy(head + 1, &d, sizeof(d));
	memcpy((uint8_t *)(head + 1) + sizeof(d), declaration, d.len);
	memcpy(left + 4096 - head->path_bytes, PATH, head->path_bytes);
	for (uint32_t i = 0; i < PLACES - 1; i++)
		place_make(i);
	file = memfd_create("rings", MFD_CLOEXEC);
	MUST(file >= 0);
}

/* Writes the damaged file. */
FUZZ_OWN static void file_write(struct fuzz_input *in)
{
	static uint8_t bytes[FILE_BYTES];
	uint32_t size = fuzz_u32(in);

	memcpy(bytes, left, sizeof(bytes));
	while (in->left >= 10) {
		uint32_t at = fuzz_u16(in) % (FILE_BYTES / 8) * 8;
		uint64_t word = fuzz_u64(in);

		memcpy(bytes + at, &word, sizeof(word));
	}
	size = size && size < sizeof(bytes) ? size : (uint32_t)sizeof(bytes);
	MUST(!ftruncate(file, size));
	MUST(pwrite(file, bytes, size, 0) == (ssize_t)size);
}

/* What 'repair --list' reads. */
static void list(void)
{
	struct rs_ring_file rings;
	char path[PATH_MAX];
	struct rs_error *err = NULL;

	if (rs_ring_file_open(dup(file), &rings)) {
		if (rs_ring_file_trace(&rings, path))
			MUST(path[0] == '/');
		for (uint32_t i = 0; !err && i < rings.head.places; i++) {
			struct rs_ring_copy ring;

			if (!rs_ring_file_copy(&rings, i, &ring, &err))
				continue;
			MUST(rs_ring_copy_waiting(&ring) <= FILE_BYTES / RS_SLOT_BYTES);
			free(ring.mem);
		}
	}
	rs_ring_file_close(&rings);
	fuzz_drop(err);
}

/* What 'repair' reads of a stream. */
static void stream_read(const struct rs_rests *rests, uint32_t stream, uint64_t accounted)
{
	struct rs_rest *rest = NULL;
	uint32_t at = 0, places = 0;
	struct rs_error *err;

	rs_rests_have(rests, stream, accounted);
	for (;;) {
		struct rs_drained got;
		uint64_t records = 0, last = 0;

		err = rs_rest_begin(rests, stream, &at, accounted, 0, &rest);
		if (err || !rest)
			break;
		MUST(++places <= RS_SURVIVE_PLACES_MAX);
		while (rs_rest_next(rest, &got)) {
			MUST(got.bytes <= sizeof(rest->content) && got.first_tsc >= last);
			last = got.last_tsc;
			records += got.records;
			MUST(records <= FILE_BYTES / RS_SLOT_BYTES);
		}
		rs_rest_free(rest);
	}
	fuzz_drop(err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	uint8_t accounted = fuzz_u8(&in);
	struct rs_rests *rests = NULL;
	struct rs_trace *trace;
	struct rs_error *err;

	if (!left[0])
		file_make();
	file_write(&in);
	list();
	MUST(!rs_trace_open(trace_path, &trace));
	err = rs_rests_open_file(trace, dup(file), "rings", &rests);
	for (uint32_t i = 0; !err && i < trace->describe.n_streams; i++)
		stream_read(rests, i, accounted);
	fuzz_drop(err);
	rs_rests_close(err ? NULL : rests);
	rs_trace_close(trace);
	return 0;
}
