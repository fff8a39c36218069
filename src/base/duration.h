/* SPDX-License-Identifier: BSD-2-Clause */
/* Durations as people write and read them: "500ns", "12.3us", "1ms", "2s". */
#ifndef RS_BASE_DURATION_H
#define RS_BASE_DURATION_H

#include <ringside/error.h>
#include <stdint.h>

#define RS_DURATION_TEXT_MAX 16

/* Three or four digits and a unit, at most eight bytes: "0", "999ns", "1.23us", "45.6ms",
 * "12345s". Returns text. */
const char *rs_duration_text(uint64_t ns, char text[RS_DURATION_TEXT_MAX]);

/* A number, with a fraction or without, and ns, us, ms, s, m (minutes) or h; without a unit it is
 * of unit_ns. RS_USAGE says what makes no sense. */
struct rs_error *rs_duration_parse(const char *text, uint64_t unit_ns, uint64_t *ns);

#endif
