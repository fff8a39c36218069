/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A replay's probes: the meaning of names, invalid ones, and where timers fire. tests/replay tests
 * replays.
 */
#include "../test.h"

#include "replay/probe.h"

static bool parses(const char *text, struct rs_replay_probe *probe)
{
	bool ours = false;

	CHECK_OK(rs_replay_probe_parse(text, 1, probe, &ours));
	return ours;
}

TEST(a_timer_s_period_is_in_instructions)
{
	static const struct {
		const char *name;
		uint64_t period;
	} rows[] = { { "guest:timer::997us", 498500 }, { "timer::2ns", 1 },
		     { ":timer::3ms", 1500000 },       { "guest:timer::1s", 500000000 },
		     { "guest:timer::17insns", 17 },   { "guest:timer::5msec", 2500000 } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rs_replay_probe probe;

		CHECK(parses(rows[i].name, &probe));
		CHECK_EQ_U64(probe.kind, RS_REPLAY_TIMER);
		CHECK_EQ_U64(probe.period, rows[i].period);
	}
}

TEST(a_timer_s_window_limits_its_times)
{
	struct rs_replay_probe probe;
	const uint64_t times[] = { 501, 502, 503 };

	CHECK(parses("guest:timer:1us+3:1insns", &probe));
	CHECK_EQ_U64(probe.from, 500);
	CHECK_EQ_U64(probe.limit, 3);
	CHECK(probe.steps && !probe.counts);
	rs_replay_timer_start(&probe, 501, false, 0);
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		CHECK_EQ_U64(probe.next, times[i]);
		rs_replay_timer_next(&probe, probe.next, false, 0);
	}
	CHECK_EQ_U64(probe.next, UINT64_MAX);
	CHECK(parses("guest:timer:3ms:10us", &probe));
	rs_replay_timer_start(&probe, 0, false, 7);
	CHECK(probe.next >= 1500000 && probe.next < 1505000 + 5000);
	CHECK(!probe.limit && !probe.steps && !probe.counts);
	CHECK(parses("guest:timer:+5:17insns", &probe));
	CHECK_EQ_U64(probe.limit, 5);
	CHECK(probe.counts && !probe.steps);
	CHECK(parses("guest:timer:9insns:1insns", &probe));
	CHECK(probe.counts && !probe.steps);
}

TEST(addresses_and_accesses)
{
	struct rs_replay_probe probe;

	CHECK(parses("guest:addr:0xffffffff81000000:exec", &probe));
	CHECK_EQ_U64(probe.address, UINT64_C(0xffffffff81000000));
	CHECK_EQ_U64(probe.point, RS_GDB_EXEC);
	CHECK(parses("guest:mem:0x4a7340:write", &probe));
	CHECK_EQ_U64(probe.point, RS_GDB_WRITE);
	CHECK_EQ_U64(probe.bytes, 1);
	CHECK(parses("guest:mem:0x4a7340+8:read|write", &probe));
	CHECK_EQ_U64(probe.point, RS_GDB_ACCESS);
	CHECK_EQ_U64(probe.bytes, 8);
	CHECK(parses("mem:0x1+4096:read", &probe));
	CHECK_EQ_U64(probe.point, RS_GDB_READ);
}

TEST(probes_of_other_providers_are_ignored)
{
	struct rs_replay_probe probe;

	CHECK(!parses("BEGIN", &probe));
	CHECK(!parses("kvm:timer::1ms", &probe));
	CHECK(!parses("guest:timer::*", &probe));
	CHECK(!parses("guest:addr:0x1000:", &probe));
	CHECK(!parses("guest:::", &probe));
	CHECK(!parses("a:b:c:d:e", &probe));
}

TEST(invalid_probes_are_refused)
{
	static const char *const names[] = { "guest:timer::0us",
					     "guest:timer::us",
					     "guest:timer::5",
					     "guest:timer::1ns",
					     "guest:timer:x:1ms",
					     "guest:timer:1ms+0:1ms",
					     "guest:timer:1ms+x:1ms",
					     "guest:timer:1ms+5x:1ms",
					     "guest:timer:1+5:1ms",
					     "guest:timer:0s+5:1ms",
					     "guest:timer::5parsecs",
					     "guest:timer::-1ms",
					     "guest:addr:1000:exec",
					     "guest:addr:0x:exec",
					     "guest:addr:0x10:read",
					     "guest:addr:0x10+4:exec",
					     "guest:mem:0x10:exec",
					     "guest:mem:0x10+0:read",
					     "guest:mem:0x10+:read",
					     "guest:mem:0x10+4097:read",
					     "guest:mem:0x10+4z:read",
					     "guest:mem::read",
					     "guest:timer::18446744073709551615s",
					     "guest:addr:0x11111111111111111111:exec" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct rs_replay_probe probe;
		bool ours;

		CHECK_ERR(rs_replay_probe_parse(names[i], 1, &probe, &ours), RS_USAGE, "guest:");
	}
}

/* Once in each period, at instructions that depend only on the seed. */
TEST(a_timer_fires_once_in_each_period)
{
	struct rs_replay_probe one = { .kind = RS_REPLAY_TIMER, .period = 1009 }, same = one,
			       other = one;
	uint64_t different = 0, moved = 0;

	rs_replay_timer_start(&one, 0, false, 5);
	rs_replay_timer_start(&same, 0, false, 5);
	rs_replay_timer_start(&other, 0, false, 6);
	for (uint64_t k = 0; k < 1000; k++) {
		CHECK(one.next > k * 1009 && one.next <= (k + 1) * 1009);
		CHECK_EQ_U64(one.next, same.next);
		different += one.next != other.next;
		moved += one.next != (k + 1) * 1009;
		rs_replay_timer_next(&one, one.next, false, 5);
		rs_replay_timer_next(&same, same.next, false, 5);
		rs_replay_timer_next(&other, other.next, false, 6);
	}
	CHECK(different > 900 && moved > 900);
	rs_replay_timer_start(&one, 0, true, 5);
	CHECK_EQ_U64(one.next, 1009);
	rs_replay_timer_next(&one, 1009 * 3, true, 5); /* a skipped one does not fire late */
	CHECK_EQ_U64(one.next, 1009 * 4);
}
