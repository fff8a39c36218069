/* SPDX-License-Identifier: BSD-2-Clause */
/* Durations and frequencies as people write and read them: "500ns", "12.3us", "2s", "2.6GHz". */
#ifndef RS_BASE_DURATION_H
#define RS_BASE_DURATION_H

#include <ringside/error.h>
#include <stdint.h>

#define RS_DURATION_TEXT_MAX 16

/* Of a clock that can be. */
#define RS_FREQUENCY_HZ_MIN UINT64_C(1000000)
#define RS_FREQUENCY_HZ_MAX UINT64_C(1000000000000)

/* Three or four digits and a unit, at most eight bytes: "0", "999ns", "1.23us", "45.6ms",
 * "12345s". Returns text. */
const char *rs_duration_text(uint64_t ns, char text[RS_DURATION_TEXT_MAX]);

/* A whole number of the greatest unit that it is one of, as a bound is written: "1us", "90m".
 * More digits than fit the text are cut. Returns text. */
const char *rs_duration_exact(uint64_t ns, char text[RS_DURATION_TEXT_MAX]);

/* A number, with a fraction or without, and ns, us, ms, s, m (minutes) or h; without a unit it is
 * of unit_ns. RS_USAGE says what makes no sense. */
struct rs_error *rs_duration_parse(const char *text, uint64_t unit_ns, uint64_t *ns);

/* A number, with a fraction or without, and Hz, kHz, MHz or GHz in either case; without a unit it
 * is in Hz. RS_USAGE says what is expected, where it is none or not from 1 MHz to 1 THz. */
struct rs_error *rs_frequency_parse(const char *text, uint64_t *hz);

#endif
