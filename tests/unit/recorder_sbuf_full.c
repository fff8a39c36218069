/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Four producers of 10 million records each at full speed, in separate processes, and one
 * collector: its kept records and counted losses add up to those emitted.
 */
#include "event_kit.h"

#include <sys/mman.h>
#include <sys/wait.h>

#include "live/record_sbuf.h"
#include <ringside/overwrite.h>
#include <ringside/ring.h>

#define PRODUCERS 4u
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define RECORDS UINT64_C(200003) /* these check each access */
#else
#define RECORDS UINT64_C(10000019) /* a prime */
#endif
#define ELEMENTS   131070u /* of ACRN's rings: TRACE_SBUF_SIZE */
#define RING_BYTES ((size_t)64 + ELEMENTS * RS_SLOT_BYTES)
#define CPUID	   UINT64_C(0x10004)

/* Shared by all: a producer's counts, and whether the collector has started. */
struct shared {
	uint32_t begun;
	struct counts {
		uint64_t accepted, refused;
	} of[PRODUCERS];
};

static struct rs_slot slot_of(uint32_t cpu, uint64_t n)
{
	struct rs_slot slot = { .tsc = rs_tsc(),
				.head = CPUID | UINT64_C(2) << 48 | (uint64_t)cpu << 56 };

	memcpy(slot.payload, &n, sizeof(n));
	return slot;
}

static void produce(struct rs_ring_memory *memory, uint32_t cpu, bool overwrites,
		    struct counts *counts)
{
	struct rs_sbuf_producer plain = { 0 };
	struct rs_overwriter over = { 0 };

	if (overwrites ? rs_overwriter_init(&over, memory->mem, memory->bytes)
		       : rs_sbuf_producer_init(&plain, memory->mem, memory->bytes))
		_exit(1);
	for (uint64_t n = 0; n < RECORDS; n++) {
		struct rs_slot slot = slot_of(cpu, n);

		if (overwrites)
			rs_overwriter_put(&over, &slot);
		else
			counts->accepted += rs_sbuf_put(&plain, &slot, RS_SLOT_BYTES);
	}
	counts->refused = overwrites ? 0 : RECORDS - counts->accepted;
	_exit(0);
}

static void run(bool overwrites)
{
	struct rs_ring_memory memory[PRODUCERS];
	char temp[64], paths[PRODUCERS][256];
	const char *list[PRODUCERS];
	struct rs_recorder_options options = { .poll_us = 500,
					       .threads = 2,
					       .keep_ns = UINT64_C(3600000000000),
					       .keep_bytes = 64u << 20 };
	struct rs_sbuf_options sbuf = { .paths = list, .n_paths = PRODUCERS };
	struct shared *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t accepted = 0, refused = 0;
	struct rs_sbuf_recording *recording;
	struct rs_recorder_summary sum;
	struct rs_recorder *recorder;
	pid_t pids[PRODUCERS];

	REQUIRE(shared != MAP_FAILED);
	make_temp(temp);
	for (uint32_t i = 0; i < PRODUCERS; i++) {
		char name[16];

		snprintf(name, sizeof(name), "%u", i);
		list[i] = join(paths[i], temp, name);
		REQUIRE_OK(rs_ring_map_create(list[i], RING_BYTES, &memory[i]));
		if (overwrites)
			rs_overwrite_create(memory[i].mem, RING_BYTES, RS_SLOT_BYTES,
					    RS_SBUF_POSITIONED);
		else
			rs_sbuf_create(memory[i].mem, RING_BYTES, RS_SLOT_BYTES);
	}
	REQUIRE_OK(rs_clock_host(&options.clock));
	for (uint32_t i = 0; i < PRODUCERS; i++) {
		/*
		 * Forks before this process has threads; the producers begin when the collector has
		 * started.
		 */
		pids[i] = fork();
		if (pids[i])
			continue;
		while (!__atomic_load_n(&shared->begun, __ATOMIC_ACQUIRE))
			usleep(100);
		produce(&memory[i], i, overwrites, &shared->of[i]);
	}
	REQUIRE_OK(rs_recorder_create(&options, &recorder));
	REQUIRE_OK(rs_sbuf_recording_create(&sbuf, &recording));
	REQUIRE_OK(rs_sbuf_recording_attach(recording, recorder, &options.clock));
	__atomic_store_n(&shared->begun, 1, __ATOMIC_RELEASE);
	for (uint32_t i = 0; i < PRODUCERS; i++) {
		int status;

		CHECK(waitpid(pids[i], &status, 0) == pids[i] && WIFEXITED(status) &&
		      !WEXITSTATUS(status));
		accepted += shared->of[i].accepted;
		refused += shared->of[i].refused;
	}
	CHECK_OK(rs_recorder_close(recorder, &sum));
	printf("# %" PRIu64 " kept, %" PRIu64 " lost\n", sum.records, sum.lost);
	CHECK_EQ_U64(sum.records + sum.lost, PRODUCERS * RECORDS);
	if (!overwrites) {
		CHECK_EQ_U64(sum.records, accepted);
		CHECK_EQ_U64(sum.lost, refused);
	}
	rs_sbuf_recording_destroy(recording);
	for (uint32_t i = 0; i < PRODUCERS; i++)
		rs_ring_unmap(&memory[i]);
	munmap(shared, sizeof(*shared));
	remove_tree(temp);
}

TEST(kept_and_lost_equal_emitted_if_full_rings_refuse)
{
	run(false);
}

TEST(kept_and_lost_equal_emitted_if_the_oldest_are_dropped)
{
	run(true);
}
