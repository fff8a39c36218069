/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * "ringside/state": whether a trace is being recorded, and how its recording ended. It is one JSON
 * object, padded with spaces to RS_STATE_BYTES, so that a full disk does not prevent the last
 * update.
 */
#ifndef RS_STORE_STATE_H
#define RS_STORE_STATE_H

#include <stdint.h>
#include <sys/types.h>

#include "base/json.h"
#include "base/out.h"
#include "store/format.h"

/* Streams whose rings die with the program. */
#define RS_STATE_PRIVATE_MAX 32u
#define RS_STATE_WHY_BYTES   256u
struct rs_state_private {
	uint32_t n;
	uint32_t stream[RS_STATE_PRIVATE_MAX]; /* the first of them */
	char why[RS_STATE_WHY_BYTES];	       /* of the first */
};

/* Writes the private rings as an object: n, streams, why. */
void rs_state_private_json(const struct rs_state_private *private, struct rs_json *json);

struct rs_state {
	const char *word; /* "recording", "closed", "cut", "repaired" */
	pid_t pid;	  /* the recorder's process; 0: left out */
	/* check of the description, check.h; NULL: the description is incomplete */
	const uint64_t *check;
	uint64_t unsaid;   /* number of lost records that no stream reports */
	const char *error; /* the first error of any write, or NULL */
	const struct rs_state_private *private; /* NULL: left out, as if there were none */
};

/*
 * Formats the file's content. Cuts an error that is too long. Needs no memory: it uses the buffer
 * of an empty output that rs_out_init_put() initialized.
 */
void rs_state_format(const struct rs_state *state, struct rs_out *out, char block[RS_STATE_BYTES]);

#endif
