/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rest of a trace whose recorder was killed: the records that are still in the rings of the
 * program's threads (ring/survive.h, in the file that trace/file.c creates). The file is not
 * trusted: each part is copied once, and the copy is checked. Only one thread may call.
 */
#ifndef RS_STORE_REST_H
#define RS_STORE_REST_H

#include "event/drain.h"
#include "store/reader.h"

struct rs_rests;

/*
 * Opens the file of a trace's rings. Sets *rests to NULL if there is no such file. Adds the
 * program's latest definitions to the trace's description, and streams for rings that had none. The
 * caller writes those lines.
 */
struct rs_error *rs_rests_open(struct rs_trace *trace, struct rs_rests **rests);
/* Does that with a file that is open. Takes the descriptor; path is for messages. */
struct rs_error *rs_rests_open_file(struct rs_trace *trace, int fd, const char *path,
				    struct rs_rests **rests);
void rs_rests_close(struct rs_rests *rests); /* accepts NULL */

/* Removes the file, after all its records were written to the trace. */
struct rs_error *rs_rests_remove(struct rs_rests *rests);

/* Returns whether the rings have every record after the first `accounted` records and reported
 * losses of a stream. Accepts NULL. */
bool rs_rests_have(const struct rs_rests *rests, uint32_t stream, uint64_t accounted);

/* The rest of one ring. */
struct rs_rest {
	struct rs_sbuf_consumer consumer;
	struct rs_drain drain;
	uint64_t missing; /* number of records before it that were overwritten */
	bool ended;
	uint8_t *mem;
	_Alignas(8) uint8_t content[RS_PACKET_BYTES / 2];
};

/*
 * Begins the rest of the next ring of this stream, from place *at on, and sets *at to the place
 * after it. `accounted` is the number of the stream's records and reported losses, `stamp` its last
 * stamp. Sets *rest to NULL if no ring is left. The caller frees it with rs_rest_free().
 */
struct rs_error *rs_rest_begin(const struct rs_rests *rests, uint32_t stream, uint32_t *at,
			       uint64_t accounted, uint64_t last_tsc, struct rs_rest **rest);
void rs_rest_free(struct rs_rest *rest);

/* Reads the next records into rest->content. Returns false if there are no more. */
bool rs_rest_next(struct rs_rest *rest, struct rs_drained *got);

#endif
