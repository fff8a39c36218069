/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Numbers, sizes and times on the command line. Functions that take a parser's state report a usage
 * error and exit; `what` is how an error names the argument, as in "--interval".
 */
#ifndef RS_CLI_NUMBERS_H
#define RS_CLI_NUMBERS_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

#include "replay/moment.h"

struct rs_cpu_set;

/* Digits, hexadecimal behind 0x, and nothing else. False, and *number untouched, if it is not that
 * or not from min to max. */
bool rs_cli_read_number(const char *text, uint64_t min, uint64_t max, uint64_t *number);

/* The same with K, M or G behind it, or none: bytes. */
bool rs_cli_read_size(const char *text, uint64_t min, uint64_t max, uint64_t *bytes);

/* The same from 1 to max, in bytes, or a usage error. */
uint64_t rs_cli_size(const struct argp_state *state, const char *what, const char *text,
		     uint64_t max);

/* The argument of --cpus, "0-3,7", added to a set. */
void rs_cli_cpus(const struct argp_state *state, const char *list, struct rs_cpu_set *cpus);

/* The argument of --poll, of unit_ns where it has no unit, in ns: 1us to 10s. */
uint64_t rs_cli_poll(const struct argp_state *state, const char *text, uint64_t unit_ns);

/* Returns a number from min to max. */
uint64_t rs_cli_number(const struct argp_state *state, const char *what, const char *text,
		       uint64_t min, uint64_t max);

/* Returns a number from min to INT_MAX. */
int rs_cli_int(const struct argp_state *state, const char *what, const char *text, int min);

/* A time above 0, as in 500us or 1.5s, in ns; without a unit it is of unit_ns. */
uint64_t rs_cli_time(const struct argp_state *state, const char *what, const char *text,
		     uint64_t unit_ns);

/* The same from min_ns to max_ns, or a usage error. */
uint64_t rs_cli_time_within(const struct argp_state *state, const char *what, const char *text,
			    uint64_t unit_ns, uint64_t min_ns, uint64_t max_ns);

/* A moment of a recording, as in 1.5, 500ms or dmesg:2.570288. */
struct rs_moment rs_cli_moment(const struct argp_state *state, const char *what, const char *text);

/* A frequency, as in 2596125000, 2596.125MHz or 2.6GHz, in Hz: 1 MHz to 1 THz. */
uint64_t rs_cli_frequency(const struct argp_state *state, const char *text);

/* A moment from a trace's start, in seconds as in 1.25 or with a unit as in 500ms, in ns. */
int64_t rs_cli_seconds(const struct argp_state *state, const char *text);

/* Refuses a time to that is not after the time from: nothing is between them. */
void rs_cli_span(const struct argp_state *state, int64_t from_ns, int64_t to_ns);

/* Adds the threads of a list, "7,8", to the n that tids has; how many there are then: 1 to max. */
uint32_t rs_cli_tids(const struct argp_state *state, const char *what, char *list, int *tids,
		     uint32_t n, uint32_t max);

#endif
