/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The flight recorder of `ringside record`: events stay in memory, and the newest are written to a
 * directory when SIGUSR1 comes or a kind of sources asks for it. One thread.
 */
#ifndef RS_CLI_FLIGHT_H
#define RS_CLI_FLIGHT_H

#include "cli/record.h"

struct rs_flight {
	const struct rs_record_common *common;
	const struct rs_record_kind *const *kinds; /* the chosen ones */
	uint32_t n_kinds;
	/* Zero at first. */
	uint32_t n_written;	 /* directories */
	uint64_t quiet_until_ns; /* before this time only SIGUSR1 triggers */
	bool partial;		 /* records were lost of those that were written */
};

/* Returns an error if the first directory cannot be made. */
struct rs_error *rs_flight_check(const struct rs_flight *flight);

/* Makes SIGUSR1 a trigger from now on. The verb ignores it before. */
void rs_flight_listen(void);

/* Writes what the recorder keeps, if a signal or a kind asks for it. now_ns: CLOCK_MONOTONIC. */
struct rs_error *rs_flight_poll(struct rs_flight *flight, struct rs_recorder *recorder,
				uint64_t now_ns);

#endif
