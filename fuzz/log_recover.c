/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The damaged memory of an earlier run's log: recovery of lines and traces, and the choice of a
 * half for a new run. For any content: no crash, no access outside of it, and an end.
 *
 *	input: words of where and what, written into the memory of an earlier run with traces
 */
#include "log/memory.h"
#include "ring/survive.h"

#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz.h"

#define BYTES	    (64u << 10)
#define TRACE_BYTES (16u << 10)

static uint8_t left[BYTES]; /* made once */
static char folder[64];

/* As a killed run leaves it: twenty lines, and a ring of traces. */
static void leave(void)
{
	struct rs_log_head *head = (void *)left;
	struct rs_log_layout layout;
	struct rs_survive_head *traces;
	struct rs_survive_place *place;
	struct rs_sbuf_producer p = { 0 };
	struct rs_log_line_buffer line = { 0 };
	struct rs_log_lane lane;

	MUST(rs_log_head_create(left, BYTES, 2, TRACE_BYTES, &layout) == RS_SBUF_OK);
	head->half[0] = (struct rs_log_half){
		.state = RS_LOG_HALF_IN_USE, .run = 1, .freq_hz = 1000000000, .first = 1
	};
	for (uint32_t i = 0; i < 2; i++) {
		rs_log_lane_of(head, &layout, 0, i, &lane);
		rs_log_lane_create(&lane, lane.ring, layout.elements);
		for (uint32_t n = 1; n <= 10; n++) {
			line.bytes =
				(uint32_t)snprintf((char *)line.words, sizeof(line.words),
						   "[%uus][cpu=%u][t][sev=5][seq=%u]:%0*u",
						   n, i, 2 * n - i, (int)n * 20, n);
			rs_log_lane_put(&lane, &line);
		}
	}
	traces = (void *)(left + rs_log_traces_at(&layout, 0));
	*traces = (struct rs_survive_head){ .magic = RS_SURVIVE_MAGIC,
					    .place_bytes = 4096,
					    .places = 2,
					    .definition_bytes = 1024,
					    .provider = "fuzz" };
	place = (void *)((uint8_t *)(traces + 1) + 1024);
	*place = (struct rs_survive_place){ .used = 1, .tid = 7, .vcpu = -1, .thread = "t" };
	MUST(rs_sbuf_create(place + 1, 4096 - sizeof(*place), RS_SLOT_BYTES) == RS_SBUF_OK);
	MUST(rs_sbuf_producer_init(&p, place + 1, 4096 - sizeof(*place)) == RS_SBUF_OK);
	for (uint32_t i = 0; i < 20; i++)
		rs_emit_text(&p, RS_ID_LOG, &(struct rs_log_message){ i, 5 },
			     sizeof(struct rs_log_message), "a text", 6);
	snprintf(folder, sizeof(folder), "/dev/shm/ringside-fuzz-%d", (int)getpid());
	mkdir(folder, 0700);
}

static void clean(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", folder);
	MUST(!system(command));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	struct rs_log_memory memory = { .map = { .bytes = BYTES, .fd = -1 }, .name = "fuzz" };
	struct rs_log_left sum = { 0 };
	struct rs_error *err;
	uint32_t half;

	if (!left[0]) {
		leave();
		atexit(clean);
	}
	memory.map.mem = aligned_alloc(4096, BYTES);
	if (!memory.map.mem)
		return 0;
	memcpy(memory.map.mem, left, BYTES);
	while (in.left >= 5) {
		uint32_t at = fuzz_u32(&in) % BYTES;

		((uint8_t *)memory.map.mem)[at] = fuzz_u8(&in);
	}
	memory.head = memory.map.mem;
	memory.sound = rs_log_head_check(memory.head, BYTES, &memory.layout) == RS_SBUF_OK;
	if (memory.sound)
		rs_log_settle(memory.head, &memory.layout);
	err = rs_log_memory_recover(&memory, folder, 1, &sum);
	MUST(!err || rs_error_text(err)[0]);
	rs_error_free(err);
	MUST(sum.lines <= BYTES / RS_LOG_ELEMENT_BYTES);
	if (memory.sound)
		rs_log_half_choose(memory.head, &half);
	free(memory.map.mem);
	return 0;
}
