/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A recording under way: the kinds of sources that were chosen, on one clock, into one recorder.
 * One thread.
 *
 *	kinds opened -> clock, recorder -> gates opened -> wait -> gates shut
 *	-> what is left is drained, directory closed -> reports -> kinds closed
 */
#ifndef RS_CLI_RECORDING_H
#define RS_CLI_RECORDING_H

#include "cli/record.h"

struct rs_cli_recording {
	const struct rs_record_common *common;
	const struct rs_record_kind *kinds[RS_RECORD_KINDS_MAX]; /* the chosen ones */
	uint32_t n_kinds;
	char *command; /* as typed, for the trace */
	/* Zero before rs_cli_recording_run(). */
	uint32_t n_open;  /* of kinds */
	uint32_t n_gates; /* that are open */
	struct rs_clock clock;
	struct rs_recorder *recorder;
	uint64_t began_ns, look_ns;
	bool shows; /* how it goes, on a terminal */
	bool partial;
	/* The flight recorder. */
	uint32_t n_written;
	uint64_t quiet_until_ns; /* no trigger but a signal's, before */
};

/* From open to close. True in partial: records were lost, or not all was seen. */
struct rs_error *rs_cli_recording_run(struct rs_cli_recording *r);

/* One line on standard error, unless it is to be quiet. */
__attribute__((format(printf, 2, 3))) void rs_cli_recording_remark(const struct rs_cli_recording *r,
								   const char *format, ...);

/* ---- the flight recorder: flight.c -------------------------------------------------------- */

/* That its first directory can be made: said before hours have passed. */
struct rs_error *rs_flight_check(const struct rs_cli_recording *r);

/* From here on SIGUSR1 is a trigger; before, it is ignored: there is nothing to write yet. */
void rs_flight_listen(void);

/* Writes what is kept, if a signal or a kind asks for it. */
struct rs_error *rs_flight_look(struct rs_cli_recording *r, uint64_t now);

#endif
