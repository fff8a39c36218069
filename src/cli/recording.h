/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A recording: drains the selected kinds of sources, on one clock, into one recorder. One thread.
 *
 *	kinds opened -> clock, recorder -> gates opened -> wait -> gates shut
 *	-> rings drained for the last time, directory closed -> reports -> kinds closed
 */
#ifndef RS_CLI_RECORDING_H
#define RS_CLI_RECORDING_H

#include "cli/flight.h"
#include "cli/record.h"

struct rs_cli_recording {
	const struct rs_record_common *common;
	const struct rs_record_kind *kinds[RS_RECORD_KINDS_MAX]; /* the selected ones */
	uint32_t n_kinds;
	char *command; /* as typed, for the trace */
	/* Zero before rs_cli_recording_run(). */
	uint32_t n_open;  /* of kinds */
	uint32_t n_gates; /* the number of open kinds */
	struct rs_clock clock;
	struct rs_recorder *recorder;
	uint64_t began_ns, polled_ns;
	bool partial;
	struct rs_flight flight;
};

/* Records from open to close. Sets `partial` if records were lost or events were missed. */
struct rs_error *rs_cli_recording_run(struct rs_cli_recording *r);

#endif
