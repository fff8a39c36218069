/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * perf's ring, written by a hostile kernel: records lie within the ring and are sorted by time, and
 * the reader neither leaves it nor hangs.
 *
 *	input: the ring, 4096 bytes; then, for each poll, how far the head advances, and the time
 *	up to which records are read
 */
#include <linux/perf_event.h>

#include "live/perf_ring.h"

#include "fuzz.h"

#define BYTES  4096u
#define ROUNDS 256

static struct rs_perf_ring ring;
static _Alignas(4096) uint8_t page[4096];

static void read_until(uint64_t until)
{
	static uint8_t copy[1u << 16];
	struct rs_perf_record record;
	uint64_t last = 0;

	for (uint32_t n = 0; rs_perf_ring_next(&ring, until, &record); n++) {
		MUST(n < RS_PERF_IN_HAND && record.time >= last && record.time <= until);
		last = record.time;
		if (record.lost)
			continue;
		MUST(record.bytes < BYTES);
		if (record.bytes) /* a fork or an end has none, and raw is NULL */
			memcpy(copy, record.raw, record.bytes);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	/* A separate copy, so that a read beyond it is detected. */
	uint8_t *memory = malloc(BYTES);

	fuzz_take(&in, memory, BYTES);
	memset(page, 0, sizeof(page));
	MUST(memory && rs_perf_ring_init(&ring, page, memory, BYTES));
	for (int i = 0; i < ROUNDS && in.left; i++) {
		struct perf_event_mmap_page *head = (struct perf_event_mmap_page *)(void *)page;

		head->data_head += fuzz_u16(&in);
		rs_perf_ring_poll(&ring);
		MUST(head->data_tail <= ring.seen);
		read_until(fuzz_u8(&in) & 1 ? UINT64_MAX : fuzz_u32(&in));
	}
	rs_perf_ring_deinit(&ring);
	free(memory);
	return 0;
}
