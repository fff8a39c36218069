/* SPDX-License-Identifier: BSD-2-Clause */
/* Clocks: cycles to ns compared with exact arithmetic, guests' offsets, the metadata of both. */
#include "../test.h"

#include <ringside/arch.h>
#include <ringside/clock.h>
#include <time.h>

#include "store/describe.h"

#define NS_PER_SEC 1000000000

static uint64_t random_state = 88172645463325252u;

static uint64_t random64(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state * UINT64_C(0x2545f4914f6cdd1d);
}

static struct rs_clock clock_of(uint64_t freq, uint64_t origin)
{
	struct rs_clock clock = { .name = "host", .freq_hz = freq, .origin = origin };

	CHECK_OK(rs_clock_init(&clock));
	return clock;
}

/* floor(cycles * 1e9 / freq), exactly: 64 bits of cycles and 30 of ns fit. */
static __int128 exact_ns(int64_t cycles, uint64_t freq)
{
	__int128 wide = (__int128)cycles * NS_PER_SEC;
	__int128 ns = wide / (__int128)freq;

	return wide % (__int128)freq < 0 ? ns - 1 : ns;
}

static void check_one(uint64_t freq, int64_t cycles)
{
	struct rs_clock clock = clock_of(freq, 1000);
	__int128 exact = exact_ns(cycles, freq);
	int64_t got = rs_clock_ns(&clock, 1000 + (uint64_t)cycles);
	/*
	 * The factor has an error of up to half of 2^-54 ns per cycle, and floor may round to
	 * either side.
	 */
	__int128 bound = (cycles < 0 ? -(__int128)cycles : cycles) / ((__int128)1 << 55) + 1;

	if (exact > INT64_MAX || exact < INT64_MIN)
		return;
	if (got - exact > bound || exact - got > bound)
		test_fail(TEST_HERE,
			  "%" PRIu64 " Hz, %" PRId64 " cycles: %" PRId64 " ns, not %" PRId64, freq,
			  cycles, got, (int64_t)exact);
}

TEST(ns_equal_exact_arithmetic)
{
	static const uint64_t freqs[] = { 1000000,    1000001,	  19200000,
					  24000000,   62500000,	  1000000000,
					  2596124120, 3400000000, 1000000000000 };
	static const int64_t cycles[] = { 0,
					  1,
					  2,
					  3,
					  999,
					  1000,
					  1001,
					  2596124120,
					  -1,
					  -2,
					  -3,
					  -1000,
					  -2596124120,
					  INT64_C(1) << 40,
					  -(INT64_C(1) << 40),
					  INT64_C(1) << 55,
					  -(INT64_C(1) << 55),
					  INT64_MAX,
					  INT64_MIN,
					  INT64_MIN + 1 };

	for (size_t i = 0; i < sizeof(freqs) / sizeof(freqs[0]); i++) {
		for (size_t j = 0; j < sizeof(cycles) / sizeof(cycles[0]); j++)
			check_one(freqs[i], cycles[j]);
		for (size_t j = 0; j < 2000; j++)
			check_one(freqs[i], (int64_t)random64() >> random64() % 60);
	}
	for (size_t i = 0; i < 20000; i++)
		check_one(1000000 + random64() % 999999000000,
			  (int64_t)random64() >> random64() % 60);
}

/* At 1 GHz a cycle is 1 ns: no rounding over the whole range. */
TEST(a_gigahertz_is_exact)
{
	struct rs_clock clock = clock_of(NS_PER_SEC, 12345);

	CHECK_EQ_S64(rs_clock_ns(&clock, 12345), 0);
	CHECK_EQ_S64(rs_clock_ns(&clock, 12344), -1);
	CHECK_EQ_S64(rs_clock_ns(&clock, 12345 + (UINT64_C(1) << 62)), INT64_C(1) << 62);
	for (int i = 0; i < 1000; i++) {
		int64_t cycles = (int64_t)random64();

		CHECK_EQ_S64(rs_clock_ns(&clock, 12345 + (uint64_t)cycles), cycles);
	}
}

TEST(ns_increase_with_the_stamp)
{
	struct rs_clock clock = clock_of(2596124120, 1u << 20);
	int64_t last = INT64_MIN;

	for (uint64_t stamp = 0; stamp < 1u << 21; stamp++) {
		int64_t ns = rs_clock_ns(&clock, stamp);

		REQUIRE(ns >= last);
		last = ns;
	}
}

TEST(bad_frequencies_are_refused)
{
	static const uint64_t bad[] = { 0, 1, 999999, 1000000000001, UINT64_MAX };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct rs_clock clock = { .freq_hz = bad[i], .ns_mult = 77 };

		CHECK_ERR(rs_clock_init(&clock), RS_DAMAGED, "expected 1 MHz to 1 THz");
		CHECK_EQ_U64(clock.ns_mult, 77);
	}
}

TEST(guest_stamps_convert_to_host_times)
{
	struct rs_clock host = clock_of(2596124120, UINT64_C(15630096190798));
	static const int64_t offsets[] = {
		0, 1, -1, INT64_C(-15630096190798), INT64_MAX, INT64_MIN
	};

	for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
		struct rs_clock guest;

		rs_clock_guest(&host, "guest", offsets[i], 17, &guest);
		CHECK_STR(guest.name, "guest");
		CHECK_EQ_U64(guest.error_cycles, 17);
		CHECK_EQ_S64(guest.offset, offsets[i]);
		for (int j = 0; j < 100; j++) {
			uint64_t at = host.origin + random64() % (UINT64_C(1) << 50);

			CHECK_EQ_S64(rs_clock_ns(&guest, at + (uint64_t)offsets[i]),
				     rs_clock_ns(&host, at));
			CHECK_EQ_U64(rs_clock_to_host(&guest, at + (uint64_t)offsets[i]), at);
		}
	}
}

TEST(a_long_clock_name_is_cut)
{
	struct rs_clock host = clock_of(NS_PER_SEC, 0), guest;
	char name[200];

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	rs_clock_guest(&host, name, 0, 0, &guest);
	CHECK_EQ_U64(strlen(guest.name), sizeof(guest.name) - 1);
}

/*
 * ---- the host's clock -------------------------------------------------------------------------
 */

TEST(the_host_s_clock_is_that_of_this_machine)
{
	struct rs_clock clock;
	uint64_t before = rs_tsc();

	REQUIRE_OK(rs_clock_host(&clock));
	CHECK(clock.origin >= before && clock.origin <= rs_tsc());
	CHECK_STR(clock.name, "host");
	CHECK_EQ_S64(clock.offset, 0);
	CHECK_EQ_U64(clock.error_cycles, 0);
	CHECK(clock.freq_from[0] != '\0');
	CHECK(clock.freq_hz >= 1000000 && clock.freq_hz <= 1000000000000);
	CHECK(clock.wall_ns > INT64_C(1600000000) * NS_PER_SEC);
}

/* A clock that was measured wrong, ten seconds ago by its own time, finds the right frequency. */
TEST(refining_measures_again)
{
	struct rs_clock clock, wrong;

	REQUIRE_OK(rs_clock_host(&clock));
	wrong = clock;
	snprintf(wrong.freq_from, sizeof(wrong.freq_from), "measured");
	wrong.freq_hz += wrong.freq_hz / 50;
	wrong.raw_ns -= UINT64_C(10) * NS_PER_SEC;
	wrong.origin -= 10 * clock.freq_hz;
	REQUIRE_OK(rs_clock_init(&wrong));
	CHECK(rs_clock_refine(&wrong));
	CHECK(wrong.freq_hz > clock.freq_hz - clock.freq_hz / 200);
	CHECK(wrong.freq_hz < clock.freq_hz + clock.freq_hz / 200);
	/* Rounded down; a factor rounded to the nearest may be one less than it. */
	CHECK(rs_clock_ns(&wrong, wrong.origin + wrong.freq_hz) >= (int64_t)NS_PER_SEC - 1);
	CHECK(rs_clock_ns(&wrong, wrong.origin + wrong.freq_hz) <= (int64_t)NS_PER_SEC);
	wrong = clock;
	snprintf(wrong.freq_from, sizeof(wrong.freq_from), "kernel");
	CHECK(!rs_clock_refine(&wrong));
	CHECK_EQ_U64(wrong.freq_hz, clock.freq_hz);
}

/* ---- CTF metadata ---------------------------------------------------------------------------- */

__attribute__((noinline)) static char *metadata_of(const struct rs_clock *clocks, size_t n)
{
	struct rs_describe describe = { 0 };
	char *text = NULL;
	size_t bytes;
	FILE *file = open_memstream(&text, &bytes);

	for (size_t i = 0; i < n; i++)
		CHECK_OK(rs_describe_add_clock(&describe, &clocks[i]));
	rs_metadata_write(file, &describe);
	fclose(file);
	rs_describe_deinit(&describe);
	return text;
}

/*
 * A reader converts stamp s to offset_s + (offset + s) / freq, which must be wall_ns at the origin,
 * to within a cycle. A counter that started before 1970 has no such offset, and gets none.
 */
static void check_block(const char *metadata, const struct rs_clock *clock)
{
	char wanted[sizeof(clock->name) + 16];
	const char *block;
	uint64_t freq, offset;
	int64_t offset_s;
	__int128 said, is, cycle;

	snprintf(wanted, sizeof(wanted), "\tname = %.63s;\n", clock->name);
	block = strstr(metadata, wanted);
	REQUIRE(block != NULL);
	block = strstr(block, "\tfreq = ");
	REQUIRE(block &&
		sscanf(block,
		       "\tfreq = %" SCNu64 ";\n\toffset_s = %" SCNd64 ";\n\toffset = %" SCNu64 ";",
		       &freq, &offset_s, &offset) == 3);
	CHECK_EQ_U64(freq, clock->freq_hz);
	CHECK(offset < freq);
	/* in units of 1 / (1e9 * freq) seconds */
	said = ((__int128)offset_s * (__int128)freq + offset) * NS_PER_SEC;
	is = (__int128)clock->wall_ns * (__int128)freq -
	     ((__int128)clock->origin + clock->offset) * NS_PER_SEC;
	is = is < 0 ? 0 : is;
	cycle = NS_PER_SEC;
	CHECK(said - is <= cycle && is - said <= cycle);
}

/*
 * A reading of one clock lies between two readings of the other, whatever ran in between. The drift
 * in that time is far below the tolerance.
 */
TEST(monotonic_is_on_the_host_s_timeline)
{
	const int64_t slack_ns = 100000;
	struct rs_clock host, mono;

	CHECK_OK(rs_clock_host(&host));
	CHECK_OK(rs_clock_monotonic(&host, &mono));
	CHECK_EQ_U64(mono.freq_hz, 1000000000);
	CHECK_EQ_U64(mono.ns_mult, UINT64_C(1) << RS_CLOCK_SHIFT);
	CHECK(mono.error_cycles > 0);
	for (int i = 0; i < 100; i++) {
		int64_t before = rs_clock_ns(&host, rs_clock_now(&host));
		int64_t said = rs_clock_ns(&mono, rs_clock_now(&mono));
		int64_t after = rs_clock_ns(&host, rs_clock_now(&host));
		int64_t error = (int64_t)mono.error_cycles + slack_ns;

		CHECK(said >= before - error && said <= after + error);
	}
	/* A clock that started 5 ms early has an error of 5 ms. */
	mono.origin += 5000000;
	CHECK(rs_clock_monotonic_drift(&host, &mono) > 4000000);
	CHECK(rs_clock_monotonic_drift(&host, &mono) < 6000000);
}

TEST(metadata_clock_zero_is_the_wall_time)
{
	struct rs_clock clocks[4];
	char *metadata;

	for (int round = 0; round < 200; round++) {
		uint64_t freq = 1000000 + random64() % 5000000000;

		clocks[0] = clock_of(freq, random64() >> (1 + random64() % 40));
		clocks[0].wall_ns = (int64_t)(random64() >> (1 + random64() % 8));
		rs_clock_guest(&clocks[0], "ahead", (int64_t)(random64() >> 20), 3, &clocks[1]);
		/*
		 * A guest whose counter started with it: its zero is later than the trace's start.
		 */
		rs_clock_guest(&clocks[0], "young", -(int64_t)clocks[0].origin, 0, &clocks[2]);
		rs_clock_guest(&clocks[0], "later", -(int64_t)clocks[0].origin - 1000000, 0,
			       &clocks[3]);
		metadata = metadata_of(clocks, 4);
		for (int i = 0; i < 4; i++)
			check_block(metadata, &clocks[i]);
		free(metadata);
	}
}
