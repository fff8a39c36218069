/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The guest's log, run in a program: early lines, the switch, lanes by vCPU, levels that the host
 * changes, a second boot that leaves the first one's lines for recovery; and lines that are events.
 */
#include "../test.h"

#include "log_kit.h"

/* The guest's own names, to request its lines. */
#undef RS_LOG
#include "guest/log.c"

#include "log/collect.h"
#include "log/memory.h"
#include <ringside/ring.h>

/* Provided by the runtime; here by the test. */
uint32_t rs_guest_mask;
struct rs_guest_area rs_guest_area = { .to_gpa = 0x1000 };

static struct rs_sbuf_producer vcpus[3];
static uint64_t trace_ring[256];
static char console[1024];

static void to_console(const char *text, uint32_t bytes)
{
	strncat(console, text, bytes);
	strcat(console, "\n");
}

static void boot(void)
{
	memset(&self, 0, sizeof(self));
	rs_guest_log_levels = private_levels;
	for (uint32_t i = 0; i < 3; i++)
		vcpus[i].cpu_bits = (uint64_t)i << RS_CPU_SHIFT;
}

static char seen[8192];

static struct rs_error *on_line(void *ctx, const struct rs_log_line *line)
{
	(void)ctx;
	sprintf(seen + strlen(seen), "%llu %u %.*s %u %.*s\n", (unsigned long long)line->seq,
		line->cpu, (int)line->thread_bytes, line->thread, line->level,
		(int)line->message_bytes, line->message);
	return NULL;
}

static struct rs_error *on_gap(void *ctx, const struct rs_log_gap *gap)
{
	(void)ctx;
	sprintf(seen + strlen(seen), "gap %llu-%llu\n", (unsigned long long)gap->first,
		(unsigned long long)gap->last);
	return NULL;
}

static void collect(const char *path)
{
	const char *paths[] = { path };
	struct rs_log_collect_options options = { .paths = paths, .n_paths = 1, .once = true };
	struct rs_log_taker taker = { NULL, on_line, on_gap };
	struct rs_log_collector *c;
	bool done = false;

	seen[0] = 0;
	REQUIRE_OK(rs_log_collector_create(&options, &taker, &c));
	while (!done)
		CHECK_OK(rs_log_collector_poll(c, kit_now_ms(), &done));
	rs_log_collector_destroy(c);
}

static void check_two_boots(struct rs_ring_memory *memory, const char *path)
{
	static char early[RS_GUEST_LOG_EARLY_BYTES] __attribute__((aligned(64)));
	struct rs_guest_log_config config = { .memory = memory->mem,
					      .bytes = memory->bytes,
					      .lanes = 3,
					      .tsc_hz = 1000000000,
					      .name = "guest",
					      .console = to_console };
	struct rs_log_head *head = memory->mem;
	struct rs_log_left left;
	struct rs_log_line line;

	boot();
	rs_guest_log_put(NULL, RS_LOG_INFO, "before initialization"); /* no number, nowhere */
	CHECK(rs_guest_log_early(early + 1, 100) == RS_GUEST_BAD_RING);
	REQUIRE(rs_guest_log_early(early, sizeof(early)) == RS_GUEST_OK);
	CHECK_EQ_U64(self.early.elements, 512);
	rs_guest_log_put(NULL, RS_LOG_INFO, "early %u", 1u);
	rs_guest_log_put(NULL, RS_LOG_DEBUG, "not at this level");
	rs_guest_log_put(NULL, RS_LOG_ERROR, "early %u", 2u);
	CHECK_STR(console, "");
	REQUIRE(rs_guest_log_start(&config) == RS_GUEST_OK);
	CHECK_EQ_U64(rs_guest_area.log, (uintptr_t)memory->mem + 0x1000);
	CHECK_EQ_U64(rs_guest_area.log_bytes, memory->bytes);
	memset(early, 0xaa, sizeof(early)); /* it belongs to the guest again */
	rs_guest_log_put(&vcpus[2], RS_LOG_WARNING, "from %s", "two");
	rs_guest_log_put(&vcpus[1], RS_LOG_ERROR, "from %s", "one");
	REQUIRE(rs_log_line_parse(console, strlen(console) - 1, &line));
	CHECK_EQ_U64(line.seq, 4);
	head->level[RS_LOG_MEMORY] = RS_LOG_DEBUG;
	rs_guest_log_put(&vcpus[0], RS_LOG_DEBUG, "at this one");
	collect(path);
	CHECK_STR(seen, "1 0 vcpu0 5 early 1\n"
			"2 0 vcpu0 3 early 2\n"
			"3 2 vcpu2 4 from two\n"
			"4 1 vcpu1 3 from one\n"
			"5 0 vcpu0 6 at this one\n");
	/*
	 * The guest resets twice: the first run's lines stay, and there is no place for a third
	 * run's.
	 */
	boot();
	REQUIRE(rs_guest_log_start(&config) == RS_GUEST_OK);
	rs_guest_log_put(&vcpus[0], RS_LOG_INFO, "second boot");
	collect(path);
	CHECK_STR(seen, "1 0 vcpu0 5 second boot\n");
	boot();
	CHECK(rs_guest_log_start(&config) == RS_GUEST_BAD_RING);
	REQUIRE_OK(rs_log_recover(path, kit_folder, 0, &left));
	CHECK_EQ_U64(left.runs, 2);
	CHECK_EQ_U64(left.lines, 6);
	CHECK_EQ_U64(left.torn + left.missing + left.damaged, 0);
	CHECK(rs_guest_log_start(&config) == RS_GUEST_OK);
}

TEST(boots)
{
	struct rs_ring_memory memory;
	const char *path;

	kit_folder_make();
	path = kit_path("guest");
	REQUIRE_OK(rs_ring_map_create(path, 256 << 10, &memory));
	check_two_boots(&memory, path);
	rs_ring_unmap(&memory);
	kit_folder_remove();
}

TEST(lines_are_events)
{
	static char early[RS_GUEST_LOG_EARLY_BYTES] __attribute__((aligned(64)));
	const struct rs_slot *slot = (const struct rs_slot *)(const void *)(trace_ring + 8);
	struct rs_log_message event;

	boot();
	REQUIRE(rs_sbuf_create(trace_ring, sizeof(trace_ring), RS_SLOT_BYTES) == RS_SBUF_OK);
	REQUIRE(rs_sbuf_producer_init(&vcpus[1], trace_ring, sizeof(trace_ring)) == RS_SBUF_OK);
	REQUIRE(rs_guest_log_early(early, sizeof(early)) == RS_GUEST_OK);
	rs_guest_mask = RS_CLASS_log;
	rs_guest_log_put(&vcpus[1], RS_LOG_ERROR, "no %s", "MSR");
	CHECK_EQ_U64(rs_slot_id(slot->head), RS_ID_LOG);
	memcpy(&event, slot->payload, sizeof(event));
	CHECK_EQ_U64(event.seq, 1);
	CHECK_EQ_U64(event.level, RS_LOG_ERROR);
	CHECK_MEM((const char *)slot + 16 + sizeof(event), "\6\0no MSR", 8);
	rs_guest_mask = 0;
}
