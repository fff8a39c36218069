/* SPDX-License-Identifier: BSD-2-Clause */
/* A ring with the kernel's layout, for tests of its reader. */
#ifndef RS_TESTS_UNIT_PERF_KIT_H
#define RS_TESTS_UNIT_PERF_KIT_H

#include <linux/perf_event.h>
#include <string.h>

#include "live/perf_ring.h"

#define KIT_BYTES 4096u

struct perf_kit {
	_Alignas(4096) uint8_t page[4096];
	uint8_t data[KIT_BYTES];
	uint64_t head;
	struct rs_perf_ring ring;
};

static inline struct perf_event_mmap_page *kit_page(struct perf_kit *kit)
{
	return (struct perf_event_mmap_page *)(void *)kit->page;
}

static inline void kit_bytes(struct perf_kit *kit, const void *from, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		kit->data[(kit->head + i) % KIT_BYTES] = ((const uint8_t *)from)[i];
	kit->head += bytes;
}

static inline void kit_publish(struct perf_kit *kit)
{
	kit_page(kit)->data_head = kit->head;
}

static inline void kit_sample(struct perf_kit *kit, uint64_t time, uint32_t tid, const void *raw,
			      uint32_t bytes)
{
	static const uint8_t zeroes[8];
	uint32_t padded = (bytes + 4 + 7) / 8 * 8 - 4;
	struct perf_event_header header = { .type = PERF_RECORD_SAMPLE,
					    .size = (uint16_t)(8 + 16 + 4 + padded) };
	uint32_t ids[] = { tid, tid };

	kit_bytes(kit, &header, sizeof(header));
	kit_bytes(kit, ids, sizeof(ids));
	kit_bytes(kit, &time, sizeof(time));
	kit_bytes(kit, &padded, sizeof(padded));
	kit_bytes(kit, raw, bytes);
	kit_bytes(kit, zeroes, padded - bytes);
}

static inline void kit_lost(struct perf_kit *kit, uint64_t time, uint64_t lost)
{
	struct perf_event_header header = { .type = PERF_RECORD_LOST, .size = 40 };
	uint64_t words[] = { 1, lost, 0, time };

	kit_bytes(kit, &header, sizeof(header));
	kit_bytes(kit, words, sizeof(words));
}

/* PERF_RECORD_COMM */
static inline void kit_renamed(struct perf_kit *kit, uint64_t time, uint32_t tid, const char *name)
{
	struct perf_event_header header = { .type = PERF_RECORD_COMM, .size = 48 };
	uint32_t ids[] = { tid + 100, tid };
	char text[16] = "";

	strncpy(text, name, sizeof(text) - 1);
	kit_bytes(kit, &header, sizeof(header));
	kit_bytes(kit, ids, sizeof(ids));
	kit_bytes(kit, text, sizeof(text));
	kit_bytes(kit, ids, sizeof(ids));
	kit_bytes(kit, &time, sizeof(time));
}

/* PERF_RECORD_FORK, PERF_RECORD_EXIT */
static inline void kit_task(struct perf_kit *kit, uint32_t type, uint64_t time, uint32_t tid,
			    uint32_t parent)
{
	struct perf_event_header header = { .type = type, .size = 48 };
	uint32_t ids[] = { tid + 100, parent + 100, tid, parent };

	kit_bytes(kit, &header, sizeof(header));
	kit_bytes(kit, ids, sizeof(ids));
	kit_bytes(kit, &time, sizeof(time));
	kit_bytes(kit, ids, 2 * sizeof(ids[0]));
	kit_bytes(kit, &time, sizeof(time));
}

#endif
