/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Numbers, sizes and times on the command line. Functions with a parser's state as an argument
 * report a usage error and exit; `what` names the argument in errors, as in "--interval".
 */
#ifndef RS_CLI_NUMBERS_H
#define RS_CLI_NUMBERS_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

#include "replay/moment.h"

struct rs_cpu_set;

/* Reads digits, hexadecimal after 0x. Returns false, with *number unchanged, if the text has
 * anything else or the number is not from min to max. */
bool rs_cli_read_number(const char *text, uint64_t min, uint64_t max, uint64_t *number);

/* Reads a number of bytes, optionally followed by K, M or G, as rs_cli_read_number() does. */
bool rs_cli_read_size(const char *text, uint64_t min, uint64_t max, uint64_t *bytes);

/* Returns a size from 1 to max, in bytes. */
uint64_t rs_cli_size(const struct argp_state *state, const char *what, const char *text,
		     uint64_t max);

/* Adds the argument of --cpus, as in "0-3,7", to a set. */
void rs_cli_cpus(const struct argp_state *state, const char *list, struct rs_cpu_set *cpus);

/* Returns the argument of --poll in ns, from 1us to 10s; without a unit it is in unit_ns. */
uint64_t rs_cli_poll(const struct argp_state *state, const char *text, uint64_t unit_ns);

/* Returns a number from min to max. */
uint64_t rs_cli_number(const struct argp_state *state, const char *what, const char *text,
		       uint64_t min, uint64_t max);

/* Returns a number from min to INT_MAX. */
int rs_cli_int(const struct argp_state *state, const char *what, const char *text, int min);

/* Returns a positive time in ns, as in 500us or 1.5s; without a unit it is in unit_ns. */
uint64_t rs_cli_time(const struct argp_state *state, const char *what, const char *text,
		     uint64_t unit_ns);

/* Returns a time from min_ns to max_ns. */
uint64_t rs_cli_time_within(const struct argp_state *state, const char *what, const char *text,
			    uint64_t unit_ns, uint64_t min_ns, uint64_t max_ns);

/* Returns a moment of a recording, as in 1.5, 500ms or dmesg:2.570288. */
struct rs_moment rs_cli_moment(const struct argp_state *state, const char *what, const char *text);

/* Returns a frequency in Hz, from 1 MHz to 1 THz, as in 2596125000, 2596.125MHz or 2.6GHz. */
uint64_t rs_cli_frequency(const struct argp_state *state, const char *text);

/* Returns a time from a trace's start in ns, as in 1.25 (seconds) or 500ms. */
int64_t rs_cli_seconds(const struct argp_state *state, const char *text);

/* Refuses a to_ns that is not after from_ns. */
void rs_cli_span(const struct argp_state *state, int64_t from_ns, int64_t to_ns);

/* Adds the threads of a list, as in "7,8", to the n elements of tids. Returns the new number of
 * elements, 1 to max. */
uint32_t rs_cli_tids(const struct argp_state *state, const char *what, char *list, int *tids,
		     uint32_t n, uint32_t max);

#endif
