/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The flight recorder of `ringside record`: events stay in memory, and the newest are written to a
 * directory at SIGUSR1 or when a kind of source triggers it. One thread.
 */
#ifndef RS_CLI_FLIGHT_H
#define RS_CLI_FLIGHT_H

#include "cli/record.h"

struct rs_flight {
	const struct rs_record_common *common;
	const struct rs_record_kind *const *kinds; /* the selected ones */
	uint32_t n_kinds;
	/* Zero at first. */
	uint32_t n_written;	 /* directories */
	uint64_t quiet_until_ns; /* before this time, only SIGUSR1 triggers */
	bool partial;		 /* some of the written records were lost */
};

/* Returns an error if the first directory cannot be created. */
struct rs_error *rs_flight_check(const struct rs_flight *flight);

/* Makes SIGUSR1 a trigger from now on. Before that, the verb ignores it. */
void rs_flight_listen(void);

/* Writes what the recorder keeps, if a signal or a kind has triggered it. now_ns:
 * CLOCK_MONOTONIC. */
struct rs_error *rs_flight_poll(struct rs_flight *flight, struct rs_recorder *recorder,
				uint64_t now_ns);

#endif
