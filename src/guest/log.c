/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The guest's log: chooses the lane of each line. Before rs_guest_log_start(), at most one early
 * lane exists. A handler may interrupt the switch: the second rs_log_move() moves the lines that it
 * wrote to the early lane before `lanes` was set, and later lines do not use the early lane.
 */
/* Symbols that other files of the runtime define are also hidden, so that no access needs a global
 * offset table. */
#pragma GCC visibility push(hidden)
#include <ringside/guest_log.h>
#pragma GCC visibility pop

#include "guest/log.h"
#include "ring/survive.h"

#define NS_OF_US 1000

static uint32_t private_levels[RS_LOG_SINKS] = {
	[RS_LOG_CONSOLE] = RS_LOG_LEVEL_CONSOLE,
	[RS_LOG_MEMORY] = RS_LOG_LEVEL_MEMORY,
};
const uint32_t *rs_guest_log_levels = private_levels;

static struct {
	uint32_t lanes; /* 0 before the start; written last, with release */
	bool has_early;
	struct rs_log_lane early;
	struct rs_log_lane lane[RS_LOG_LANES_MAX];
	uint64_t number; /* the number of the last line */
	uint64_t origin, us_mult;
	void (*console)(const char *text, uint32_t bytes);
	void *region; /* the region of the trace rings; NULL: none */
	uint64_t region_bytes;
} self;

static uint32_t elements_in(uint64_t bytes)
{
	uint32_t elements = RS_LOG_ELEMENTS_MIN;

	if (rs_log_lane_bytes(elements) > bytes)
		return 0;
	while (elements < RS_LOG_ELEMENTS_MAX && rs_log_lane_bytes(elements * 2) <= bytes)
		elements *= 2;
	return elements;
}

enum rs_guest_status rs_guest_log_early(void *mem, uint64_t bytes)
{
	uint32_t elements = elements_in(bytes);

	if ((uintptr_t)mem % 64 || !elements)
		return RS_GUEST_BAD_RING;
	self.origin = rs_tsc();
	rs_log_lane_create(&self.early, mem, elements);
	self.has_early = true;
	return RS_GUEST_OK;
}

uint32_t rs_guest_log_name(uint32_t cpu, char *name)
{
	uint32_t at = 4;

	__builtin_memcpy(name, "vcpu", 4);
	if (cpu >= 100)
		name[at++] = (char)('0' + cpu / 100 % 10);
	if (cpu >= 10)
		name[at++] = (char)('0' + cpu / 10 % 10);
	name[at++] = (char)('0' + cpu % 10);
	name[at] = 0;
	return at;
}

/* Returns the lane for lines of this CPU, or NULL if no lane exists. */
static const struct rs_log_lane *lane_of(uint32_t cpu)
{
	/* Pairs with the release in rs_guest_log_start(). */
	uint32_t lanes = __atomic_load_n(&self.lanes, __ATOMIC_ACQUIRE);

	if (lanes)
		return &self.lane[cpu % lanes];
	return self.has_early ? &self.early : NULL;
}

static void put(struct rs_sbuf_producer *p, enum rs_log_level level, const char *format,
		va_list args)
{
	const uint32_t *levels = __atomic_load_n(&rs_guest_log_levels, __ATOMIC_ACQUIRE);
	bool memory = __atomic_load_n(&levels[RS_LOG_MEMORY], __ATOMIC_RELAXED) >= (uint32_t)level;
	bool console =
		__atomic_load_n(&levels[RS_LOG_CONSOLE], __ATOMIC_RELAXED) >= (uint32_t)level;
	uint32_t cpu = p ? (uint32_t)(p->cpu_bits >> RS_CPU_SHIFT) : 0, bytes;
	const struct rs_log_lane *lane = memory ? lane_of(cpu) : NULL;
	struct rs_log_line_buffer line;
	struct rs_log_prefix prefix = { .cpu = cpu, .level = level };
	char name[8];

	prefix.us = rs_log_us(rs_tsc(), self.origin, self.us_mult);
	prefix.thread_bytes = rs_guest_log_name(cpu, name);
	prefix.thread = name;
	if (lane)
		prefix.seq = __atomic_add_fetch(&self.number, 1, __ATOMIC_RELAXED);
	rs_log_line_make(&line, &prefix, format, args);
	if (lane) {
		rs_log_lane_put(lane, &line);
		if (p && rs_guest_mask & RS_CLASS_log) {
			struct rs_log_message event = { .seq = prefix.seq, .level = level };
			const char *text = rs_log_line_message(&line, &bytes);

			rs_emit_text(p, RS_ID_LOG, &event, sizeof(event), text, bytes);
		}
	}
	if (console && self.console)
		self.console((const char *)line.words, line.bytes);
}

void rs_guest_log_put(struct rs_sbuf_producer *p, enum rs_log_level level, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	put(p, level, format, args);
	va_end(args);
}

static void half_prepare(struct rs_log_head *head, const struct rs_log_layout *layout, uint32_t at,
			 const struct rs_guest_log_config *config)
{
	struct rs_log_half *half = &head->half[at];
	uint64_t runs[2] = { head->half[0].run, head->half[1].run };
	uint64_t hz = config->tsc_hz ? config->tsc_hz : half->freq_hz;

	if (!self.origin)
		self.origin = rs_tsc();
	self.us_mult = rs_log_us_mult(hz);
	*half = (struct rs_log_half){ .run = (runs[0] > runs[1] ? runs[0] : runs[1]) + 1,
				      .origin = self.origin,
				      .freq_hz = hz,
				      .first = 1 };
	if (config->wall_ns)
		half->wall_ns = config->wall_ns +
				(int64_t)rs_log_us(self.origin, 0, self.us_mult) * NS_OF_US;
	for (uint32_t i = 0; config->name && config->name[i] && i < RS_LOG_NAME_MAX - 1; i++)
		half->name[i] = config->name[i];
	for (uint32_t i = 0; i < layout->lanes; i++) {
		rs_log_lane_of(head, layout, at, i, &self.lane[i]);
		rs_log_lane_create(&self.lane[i], self.lane[i].ring, layout->elements);
	}
	self.region_bytes = layout->trace_bytes;
	self.region = NULL;
	if (self.region_bytes >= sizeof(struct rs_survive_head)) {
		self.region = (uint8_t *)head + rs_log_traces_at(layout, at);
		/* The head describes an earlier run. rs_guest_log_rings() writes a new one. */
		__builtin_memset(self.region, 0, sizeof(struct rs_survive_head));
	}
}

void *rs_guest_log_region(uint64_t *bytes)
{
	*bytes = self.region_bytes;
	return self.region;
}

/* Publishes the log in the trace area, where the host also finds the rings. */
static void log_publish(const struct rs_guest_log_config *config)
{
	rs_guest_area.log = (uintptr_t)config->memory + rs_guest_area.to_gpa;
	/* Pairs with the host's read of log_bytes, which is 0 until the log exists. */
	__atomic_store_n(&rs_guest_area.log_bytes, config->bytes, __ATOMIC_RELEASE);
}

enum rs_guest_status rs_guest_log_start(const struct rs_guest_log_config *config)
{
	struct rs_log_head *head = config->memory;
	struct rs_log_reader early = { 0 };
	struct rs_log_layout layout;
	uint32_t half;

	if ((uintptr_t)config->memory % 64)
		return RS_GUEST_BAD_RING;
	if (rs_log_head_check(head, config->bytes, &layout) != RS_SBUF_OK &&
	    rs_log_head_create(head, config->bytes, config->lanes ? config->lanes : 1,
			       config->trace_bytes, &layout) != RS_SBUF_OK)
		return RS_GUEST_BAD_RING;
	rs_log_settle(head, &layout);
	if (!rs_log_half_choose(head, &half))
		return RS_GUEST_BAD_RING;
	self.console = config->console;
	half_prepare(head, &layout, half, config);
	if (self.has_early) {
		rs_log_reader_init(&early, &self.early, 0);
		rs_log_move(&early, self.lane, layout.lanes);
	}
	__atomic_store_n(&self.lanes, layout.lanes, __ATOMIC_RELEASE);
	if (self.has_early)
		rs_log_move(&early, self.lane, layout.lanes);
	self.has_early = false;
	/* Pairs with the acquire in the logging macros. */
	__atomic_store_n(&rs_guest_log_levels, head->level, __ATOMIC_RELEASE);
	/* Pairs with the acquires of collectors. */
	__atomic_store_n(&head->half[half].state, RS_LOG_HALF_IN_USE, __ATOMIC_RELEASE);
	__atomic_store_n(&head->current, half, __ATOMIC_RELEASE);
	log_publish(config);
	return RS_GUEST_OK;
}
