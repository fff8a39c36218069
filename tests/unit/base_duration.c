/* SPDX-License-Identifier: BSD-2-Clause */
/* Durations: how they are printed, and which texts are accepted. */
#include "../test.h"

#include "base/duration.h"

TEST(a_duration_is_printed)
{
	static const struct {
		uint64_t ns;
		const char *text;
	} cases[] = {
		{ 0, "0" },
		{ 1, "1ns" },
		{ 999, "999ns" },
		{ 1000, "1.00us" },
		{ 9994, "9.99us" },
		{ 9996, "10.0us" },
		{ 99960, "100us" },
		{ 999499, "999us" },
		{ 999500, "1.00ms" },
		{ 45600000, "45.6ms" },
		{ 999500000, "1.00s" },
		{ 12345000000000, "12345s" },
	};
	char text[RS_DURATION_TEXT_MAX];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK_STR(rs_duration_text(cases[i].ns, text), cases[i].text);
	CHECK(strlen(rs_duration_text(UINT64_MAX, text)) < RS_DURATION_TEXT_MAX);
}

TEST(a_bound_is_printed)
{
	static const struct {
		uint64_t ns;
		const char *text;
	} cases[] = {
		{ 0, "0ns" },
		{ 1000, "1us" },
		{ 1500, "1500ns" },
		{ 999000000, "999ms" },
		{ 10000000000, "10s" },
		{ 5400000000000, "90m" },
		{ 604800000000000, "168h" },
	};
	char text[RS_DURATION_TEXT_MAX];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK_STR(rs_duration_exact(cases[i].ns, text), cases[i].text);
	CHECK(strlen(rs_duration_exact(UINT64_MAX, text)) < RS_DURATION_TEXT_MAX);
}

TEST(a_duration_is_parsed)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} cases[] = {
		{ "0", 0 },
		{ "1", 1000000000 },
		{ "1.5", 1500000000 },
		{ "500us", 500000 },
		{ "1ms", 1000000 },
		{ "0.25ms", 250000 },
		{ "17ns", 17 },
		{ "10s", 10000000000 },
		{ "2m", 120000000000 },
		{ "1h", 3600000000000 },
		{ "1e3us", 1000000 },
		{ ".5", 500000000 },
	};
	uint64_t ns;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CHECK_OK(rs_duration_parse(cases[i].text, 1000000000, &ns));
		CHECK_EQ_U64(ns, cases[i].ns);
	}
}

TEST(an_invalid_duration_is_refused)
{
	static const char *const cases[] = { "",    "ms",  "-1ms",  "+1s",  " 1s",    "1 s", "1x",
					     "inf", "nan", "0x10s", "1mss", "1e300s", "1,5s" };
	uint64_t ns = 7;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rs_error *err = rs_duration_parse(cases[i], 1, &ns);

		CHECK(err && rs_error_code(err) == RS_USAGE);
		rs_error_free(err);
	}
	CHECK_EQ_U64(ns, 7);
}

TEST(a_frequency_is_parsed)
{
	static const struct {
		const char *text;
		uint64_t hz;
	} cases[] = {
		{ "2596125000", 2596125000 }, { "2596.125MHz", 2596125000 },
		{ "2.6GHz", 2600000000 },     { "2.6ghz", 2600000000 },
		{ "2596125kHz", 2596125000 }, { "1e6", 1000000 },
		{ "1000GHz", 1000000000000 }, { "1000000Hz", 1000000 },
	};
	uint64_t hz;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CHECK_OK(rs_frequency_parse(cases[i].text, &hz));
		CHECK_EQ_U64(hz, cases[i].hz);
	}
}

TEST(an_invalid_frequency_is_refused)
{
	static const char *const cases[] = { "",      "GHz",   "999999", "0.9MHz", "1001GHz",
					     "-2GHz", "2 GHz", "2GHzz",	 "2THz",   "0x9abcdef0",
					     "inf",   "nan",   ".",	 "2ms",	   "1e300" };
	uint64_t hz = 7;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rs_error *err = rs_frequency_parse(cases[i], &hz);

		CHECK(err && rs_error_code(err) == RS_USAGE);
		rs_error_free(err);
	}
	CHECK_EQ_U64(hz, 7);
}
