/* SPDX-License-Identifier: BSD-2-Clause */
/* Durations and frequencies as text: "500ns", "12.3us", "2s", "2.6GHz". */
#ifndef RS_BASE_DURATION_H
#define RS_BASE_DURATION_H

#include <ringside/error.h>
#include <stdint.h>

#define RS_DURATION_TEXT_MAX 16

/* The range of clock frequencies. */
#define RS_FREQUENCY_HZ_MIN UINT64_C(1000000)
#define RS_FREQUENCY_HZ_MAX UINT64_C(1000000000000)

/* Writes a duration with three or four digits and a unit, in at most eight bytes: "0", "999ns",
 * "1.23us", "45.6ms", "12345s". Returns text. */
const char *rs_duration_text(uint64_t ns, char text[RS_DURATION_TEXT_MAX]);

/* Writes a duration exactly, as an integer multiple of the greatest possible unit: "1us", "90m".
 * Digits that do not fit the text are cut. Returns text. */
const char *rs_duration_exact(uint64_t ns, char text[RS_DURATION_TEXT_MAX]);

/* Parses a number, with an optional fraction, and a unit: ns, us, ms, s, m (minutes) or h. Without
 * a unit, the number counts units of unit_ns. Returns RS_USAGE if the text is not a duration. */
struct rs_error *rs_duration_parse(const char *text, uint64_t unit_ns, uint64_t *ns);

/* Parses a number, with an optional fraction, and Hz, kHz, MHz or GHz, ignoring case. Without a
 * unit, the number is in Hz. Returns RS_USAGE if the text is not a frequency from 1 MHz to 1
 * THz. */
struct rs_error *rs_frequency_parse(const char *text, uint64_t *hz);

#endif
