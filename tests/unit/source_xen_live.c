/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A running Xen's buffers as a source. This file plays the hypervisor, which puts records as
 * public/trace.h specifies: positions are modulo twice the buffer, a record that would cross the
 * end begins after a WRAP_BUFFER, a full buffer loses records and reports that. It also plays an
 * invalid hypervisor.
 */
#include "xen_kit.h"

#include "live/xen.h"
#include <ringside/arch.h>

#define PAGES	  1u
#define BYTES	  (PAGES * RS_XEN_PAGE_BYTES)
#define DATA	  (BYTES - 8u)
#define CPUS	  2u
#define LOST_WARE (4u * 7u) /* bytes of a record of losses */

/* A buffer with the hypervisor's layout. */
struct hyper {
	_Alignas(4096) uint32_t mem[BYTES / 4]; /* cons, prod, data */
	uint32_t lost;
	uint64_t lost_tsc;
};

static struct hyper hypers[CPUS];

static uint32_t room(const struct hyper *h)
{
	uint32_t used = (h->mem[1] + 2 * DATA - h->mem[0]) % (2 * DATA);

	return DATA - used;
}

static void put_words(struct hyper *h, const uint32_t *words, uint32_t n)
{
	uint32_t at = h->mem[1] % DATA;

	memcpy((uint8_t *)&h->mem[2] + at, words, n * 4);
	h->mem[1] = (h->mem[1] + n * 4) % (2 * DATA);
}

/* Wraps to the end of the buffer, if a record of this many bytes would cross it. */
static void wrap(struct hyper *h, uint32_t bytes)
{
	uint32_t left = DATA - h->mem[1] % DATA;
	uint32_t words[8] = { 0 };

	if (bytes <= left)
		return;
	words[0] = 0x1f002 | (left / 4 - 1) << 28;
	put_words(h, words, left / 4);
}

static void put(uint32_t cpu, uint32_t event, uint64_t tsc, const uint32_t *args, uint32_t n)
{
	struct hyper *h = &hypers[cpu];
	uint32_t words[10] = { event | n << 28 | 1u << 31, (uint32_t)tsc, (uint32_t)(tsc >> 32) };
	uint32_t bytes = 12 + 4 * n;

	for (uint32_t i = 0; i < n; i++)
		words[3 + i] = args[i];
	if (room(h) < 2 * (bytes + LOST_WARE)) {
		h->lost_tsc = h->lost++ ? h->lost_tsc : tsc;
		return;
	}
	if (h->lost) {
		uint32_t said[7] = {
			0xc001f001,    (uint32_t)tsc,	      (uint32_t)(tsc >> 32),	    h->lost,
			3u | 1u << 16, (uint32_t)h->lost_tsc, (uint32_t)(h->lost_tsc >> 32)
		};

		wrap(h, sizeof(said));
		put_words(h, said, 7);
		h->lost = 0;
	}
	wrap(h, bytes);
	put_words(h, words, 3 + n);
}

#define PUT(cpu, event, tsc, ...)                                                                  \
	put(cpu, event, tsc, (const uint32_t[]){ 0, ##__VA_ARGS__ } + 1,                           \
	    sizeof((const uint32_t[]){ 0, ##__VA_ARGS__ }) / 4 - 1)

static struct rs_xen_tbuf buffers[CPUS];
static struct rs_clock host;

static struct rs_foreign *live_create(uint64_t freq_hz)
{
	struct rs_xen_live_options options = { buffers, CPUS, &host, NULL, 1, false };
	struct rs_foreign *live = NULL;

	host = (struct rs_clock){ .name = "tsc", .freq_hz = freq_hz, .origin = rs_tsc() };
	CHECK(!rs_clock_init(&host));
	for (uint32_t i = 0; i < CPUS; i++)
		CHECK(rs_xen_tbuf_init(&buffers[i], i, hypers[i].mem, BYTES) == RS_XEN_TBUF_OK);
	CHECK(!rs_xen_live_create(&options, &live));
	return live;
}

static void all_reset(void)
{
	memset(hypers, 0, sizeof(hypers));
}

/* Reads the available records, or until the end. */
static bool drain(struct rs_foreign *live, struct lines *lines, bool to_end)
{
	struct rs_batch batch = { .kind = RS_NEXT_EVENTS };
	int64_t last = INT64_MIN;

	while (batch.kind == RS_NEXT_EVENTS || (to_end && batch.kind == RS_NEXT_IDLE)) {
		lines->err = live->source.ops->next(&live->source, &batch);
		if (lines->err)
			return false;
		for (size_t i = 0; batch.kind == RS_NEXT_EVENTS && i < batch.n; i++) {
			CHECK(batch.views[i].ts_ns >= last);
			last = batch.views[i].ts_ns;
			if (lines->n < LINES_MAX)
				add_line(lines, &batch.views[i]);
		}
		CHECK(batch.watermark_ns >= last);
	}
	return true;
}

static void end(struct rs_foreign *live, struct lines *lines)
{
	rs_xen_live_stop(live);
	drain(live, lines, true);
	lines->tally = live->tally;
	rs_source_destroy(&live->source);
}

/* ---- the table ------------------------------------------------------------------------------ */

static enum rs_code table(const uint16_t *halves, size_t bytes, struct rs_xen_tinfo *info)
{
	struct rs_error *err = rs_xen_tinfo_init(info, halves, bytes);
	enum rs_code code = err ? rs_error_code(err) : RS_FAILED;

	rs_error_free(err);
	return code;
}

TEST(buffers_are_found)
{
	/* Three CPUs, the second without a buffer; two pages each. */
	uint32_t words[16] = { 0 };
	uint16_t *halves = (uint16_t *)words;
	struct rs_xen_tinfo info;

	halves[0] = 2;
	halves[1] = 4;
	halves[3] = 6;
	words[4] = 0x111;
	words[5] = 0x112;
	words[6] = 0x331;
	words[7] = 0x332;
	REQUIRE(!rs_xen_tinfo_init(&info, words, sizeof(words)));
	CHECK_EQ_U64(info.pages, 2);
	CHECK_EQ_U64(info.cpus, 3);
	CHECK_EQ_U64(rs_xen_tinfo_frames(&info, 0)[1], 0x112);
	CHECK(!rs_xen_tinfo_frames(&info, 1));
	CHECK_EQ_U64(rs_xen_tinfo_frames(&info, 2)[0], 0x331);
	rs_xen_tinfo_deinit(&info);
}

TEST(invalid_tables)
{
	static const uint16_t none[16] = { 1 }, no_pages[16] = { 0, 4, 5 },
			      outside[16] = { 2, 4, 7 }, before[16] = { 1, 4, 1 },
			      far[16] = { 1, 0xffff }, long_ones[16] = { 0xffff, 4 };
	struct rs_xen_tinfo info;

	CHECK(table(none, 32, &info) == RS_DAMAGED);
	CHECK(table(no_pages, 32, &info) == RS_DAMAGED);
	CHECK(table(outside, 32, &info) == RS_DAMAGED);
	CHECK(table(before, 32, &info) == RS_DAMAGED);
	CHECK(table(far, 32, &info) == RS_DAMAGED);
	CHECK(table(long_ones, 32, &info) == RS_DAMAGED);
	CHECK(table(before, 4, &info) == RS_DAMAGED);
	CHECK(table(before, (16u << 20) + 1, &info) == RS_DAMAGED);
}

/* ---- a buffer ------------------------------------------------------------------------------- */

TEST(positions_wrap_at_twice_the_buffer)
{
	struct rs_xen_tbuf buf;
	uint32_t bytes, got[DATA / 4];

	all_reset();
	hypers[0].mem[0] = hypers[0].mem[1] = 2 * DATA - 8;
	REQUIRE(!rs_xen_tbuf_init(&buf, 0, hypers[0].mem, BYTES));
	for (uint32_t i = 0; i < 5; i++)
		put_words(&hypers[0], &(const uint32_t){ 100 + i }, 1);
	CHECK(rs_xen_tbuf_poll(&buf, &bytes) == RS_XEN_TBUF_OK);
	CHECK_EQ_U64(bytes, 20);
	rs_xen_tbuf_read(&buf, got, bytes);
	for (uint32_t i = 0; i < 5; i++)
		CHECK_EQ_U64(got[i], 100 + i);
	CHECK_EQ_U64(hypers[0].mem[0], 12);
	CHECK(rs_xen_tbuf_poll(&buf, &bytes) == RS_XEN_TBUF_OK);
	CHECK_EQ_U64(bytes, 0);
	/* Full: as much as fits. */
	hypers[0].mem[1] = (12 + DATA) % (2 * DATA);
	CHECK(rs_xen_tbuf_poll(&buf, &bytes) == RS_XEN_TBUF_OK);
	CHECK_EQ_U64(bytes, DATA);
	rs_xen_tbuf_skip(&buf);
	CHECK_EQ_U64(hypers[0].mem[0], 12 + DATA);
}

TEST(impossible_positions)
{
	static const uint32_t bad[][2] = { { 0, 2 * DATA },
					   { 0, UINT32_MAX },
					   { 0, 6 },
					   { 0, DATA + 4 },
					   { DATA, DATA - 4 },
					   { 2 * DATA, 0 },
					   { 0x80000000u, 0x10 },
					   { 2, 2 } };
	struct rs_xen_tbuf buf;
	uint32_t bytes;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		all_reset();
		REQUIRE(!rs_xen_tbuf_init(&buf, 0, hypers[0].mem, BYTES));
		hypers[0].mem[0] = bad[i][0];
		hypers[0].mem[1] = bad[i][1];
		CHECK(rs_xen_tbuf_poll(&buf, &bytes) == RS_XEN_TBUF_BROKEN);
		CHECK_EQ_U64(bytes, 0);
	}
	CHECK(rs_xen_tbuf_init(&buf, 0, hypers[0].mem, BYTES) == RS_XEN_TBUF_BROKEN);
	all_reset();
	CHECK(rs_xen_tbuf_init(&buf, 0, hypers[0].mem, 8) == RS_XEN_TBUF_BROKEN);
	CHECK(rs_xen_tbuf_init(&buf, 0, hypers[0].mem, 4095) == RS_XEN_TBUF_BROKEN);
}

/* ---- live ----------------------------------------------------------------------------------- */

/* Puts events of two vCPUs on two CPUs, from tsc on, into buffers or a file. */
static void some_life(struct maker *m, uint32_t cpu, uint64_t tsc)
{
	const uint32_t wake[] = { 1, cpu }, change[] = { 1 << 16 | cpu }, exit[] = { 0x72, 0x1000 },
		       regs[] = { 1, 2, 3, 4, 5 };
	const struct {
		uint32_t event;
		const uint32_t *words;
		uint32_t n;
	} records[] = { { 0x28004, wake, 2 }, { 0x21101, change, 1 }, { 0x81003, exit, 2 },
			{ 0x8200e, regs, 5 }, { 0x81001, NULL, 0 },   { 0x21021, change, 1 },
			{ 0x8f123, regs, 3 } };

	for (uint32_t i = 0; i < sizeof(records) / sizeof(records[0]); i++) {
		uint64_t at = tsc + 10 * i;

		if (m)
			record(m, records[i].event, at, records[i].words, records[i].n);
		else
			put(cpu, records[i].event, at, records[i].words, records[i].n);
	}
}

TEST(the_same_events_as_from_a_file)
{
	static const struct rs_foreign_options ghz = { .freq_hz = 1000000000 };
	static struct maker m;
	struct lines file = { 0 }, live = { 0 };
	uint64_t tsc = rs_tsc();
	struct rs_foreign *source;

	m.n = 0;
	all_reset();
	source = live_create(1000000000);
	for (uint32_t cpu = 0; cpu < CPUS; cpu++) {
		window(&m, cpu);
		some_life(&m, cpu, tsc + 5 * cpu);
		some_life(NULL, cpu, tsc + 5 * cpu);
	}
	read_bytes(m.words, m.n * 4, &ghz, &file);
	end(source, &live);
	CHECK(!file.err && !live.err);
	CHECK_EQ_U64(live.tally.records, file.tally.records);
	REQUIRE_EQ_U64(live.n, file.n);
	for (uint32_t i = 0; i < live.n; i++)
		CHECK_STR(live.line[i], file.line[i]);
	CHECK(live.n > 10);
	lines_free(&file);
	lines_free(&live);
}

TEST(rounds_continue_until_it_is_stopped)
{
	struct lines lines = { 0 };
	struct rs_foreign *live;
	uint32_t n_put = 0, before = 0;

	all_reset();
	live = live_create(1000000000);
	/* A record is available two rounds after its own. */
	while (lines.n < 500 && n_put < 100000) {
		for (uint32_t i = 0; i < 8; i++, n_put++)
			PUT(n_put % CPUS, 0x81001, rs_tsc());
		before = lines.n;
		if (!drain(live, &lines, false))
			break;
		while (lines.n == before && room(&hypers[0]) < 1000)
			drain(live, &lines, false);
	}
	CHECK(lines.n >= 500);
	end(live, &lines);
	CHECK_EQ_U64(lines.tally.lost, 0);
	CHECK(!lines.err);
	before = 0;
	for (uint32_t i = 0; i < lines.n; i++)
		before += !strcmp(lines.line[i], "- xdt:hvm::vmentry");
	if (lines.n < LINES_MAX)
		CHECK_EQ_U64(before, n_put);
	lines_free(&lines);
}

TEST(losses_are_counted)
{
	struct lines lines = { 0 };
	struct rs_foreign *live;
	uint32_t events = 0, losses = 0;

	all_reset();
	live = live_create(1000000000);
	for (uint32_t i = 0; i < 1009; i++)
		PUT(0, 0x81001, rs_tsc());
	CHECK(hypers[0].lost > 0);
	rs_xen_tbuf_skip(&buffers[1]);
	while (lines.n < 200)
		drain(live, &lines, false);
	PUT(0, 0x81001, rs_tsc());
	end(live, &lines);
	for (uint32_t i = 0; i < lines.n; i++) {
		events += strstr(lines.line[i], "vmentry") != NULL;
		losses += strstr(lines.line[i], "records-lost") != NULL;
	}
	CHECK_EQ_U64(losses, 1);
	CHECK_EQ_U64(lines.tally.lost + events, 1010);
	CHECK_EQ_U64(lines.tally.gaps, 0);
	lines_free(&lines);
}

TEST(a_buffer_of_garbage_is_a_loss)
{
	static const uint32_t nonsense[] = { 0, 0x12345678, 0xffffffff };
	struct lines lines = { 0 };
	struct rs_foreign *live;

	all_reset();
	live = live_create(1000000000);
	PUT(0, 0x81001, rs_tsc());
	PUT(1, 0x81001, rs_tsc());
	put_words(&hypers[0], nonsense, 3);
	PUT(0, 0x81001, rs_tsc());
	while (lines.n < 5)
		drain(live, &lines, false);
	PUT(0, 0x28006, rs_tsc(), 1, 0);
	end(live, &lines);
	/* Two windows with a vmentry each, the loss; a window, and the records after it. */
	REQUIRE_EQ_U64(lines.n, 7);
	CHECK_STR(lines.line[6], "- xdt:sched::block domain=1 vcpu=0");
	CHECK_EQ_U64(lines.tally.gaps, 1);
	REQUIRE_EQ_U64(lines.tally.n_remarks, 1);
	CHECK_STR(lines.tally.remarks[0],
		  "1 time the content of a buffer was invalid, and was discarded");
	lines_free(&lines);
}

TEST(a_buffer_that_breaks_is_abandoned)
{
	struct lines lines = { 0 };
	struct rs_foreign *live;

	all_reset();
	live = live_create(1000000000);
	hypers[0].mem[1] = 7;
	PUT(1, 0x81001, rs_tsc());
	while (lines.n < 4)
		drain(live, &lines, false);
	hypers[0].mem[1] = 0;
	PUT(0, 0x81001, rs_tsc());
	PUT(1, 0x28006, rs_tsc(), 1, 0);
	end(live, &lines);
	CHECK_EQ_U64(lines.n, 6); /* the loss in a window; for CPU 1, twice a window and a record */
	CHECK_EQ_U64(lines.tally.gaps, 1);
	lines_free(&lines);
}

TEST(another_reader_is_detected)
{
	struct lines lines = { 0 };
	struct rs_foreign *live;

	all_reset();
	live = live_create(1000000000);
	PUT(0, 0x81001, rs_tsc());
	PUT(0, 0x81001, rs_tsc());
	hypers[0].mem[0] = 12;
	end(live, &lines);
	CHECK_EQ_U64(lines.n, 3); /* a window, the remaining records, the loss */
	CHECK_EQ_U64(lines.tally.gaps, 1);
	REQUIRE_EQ_U64(lines.tally.n_remarks, 1);
	CHECK(strstr(lines.tally.remarks[0], "another program read a buffer") != NULL);
	lines_free(&lines);
}

TEST(stamps_ahead_of_the_present)
{
	struct lines lines = { 0 };
	struct rs_foreign *live;

	all_reset();
	live = live_create(1000000000);
	PUT(0, 0x81001, rs_tsc());
	PUT(0, 0x81001, rs_tsc() + UINT64_C(3600000000000));
	end(live, &lines);
	CHECK_EQ_U64(lines.tally.gaps, 1);
	lines_free(&lines);
	/* All of them: a separate clock. */
	all_reset();
	live = live_create(1000000000);
	PUT(0, 0x81001, rs_tsc() + UINT64_C(3600000000000));
	PUT(0, 0x81001, rs_tsc() + UINT64_C(3600000000000));
	end(live, &lines);
	CHECK_EQ_U64(lines.tally.gaps, 0);
	CHECK_EQ_U64(lines.n, 3);
	REQUIRE_EQ_U64(lines.tally.n_remarks, 1);
	CHECK(strstr(lines.tally.remarks[0], "not this domain's TSC") != NULL);
	lines_free(&lines);
}
