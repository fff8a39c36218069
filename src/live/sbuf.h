/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads rings of ACRN's layout that other programs write as a live source, without a recorder. A
 * path is one stream, however often its ring is created anew.
 *
 *	create -> source -> gate open -> the source is read -> gate closed -> read to its end
 *	-> source destroyed -> results -> destroy
 */
#ifndef RS_LIVE_SBUF_H
#define RS_LIVE_SBUF_H

#include "live/record_sbuf.h"

struct rs_sbuf_reading;

/* Creates a reading. host is the rings' clock, and must outlive the reading. */
struct rs_error *rs_sbuf_reading_create(const struct rs_sbuf_options *options,
					const struct rs_clock *host,
					struct rs_sbuf_reading **reading);
void rs_sbuf_reading_destroy(struct rs_sbuf_reading *reading); /* NULL is ignored */

/* Returns the source, once. The caller owns it. It ends some time after the gate is closed. */
struct rs_error *rs_sbuf_reading_source(struct rs_sbuf_reading *reading, struct rs_source **source);

/* Opens or closes the gate. Opening finds the rings and lends them, and skips their content unless
 * it is to be kept. */
struct rs_error *rs_sbuf_reading_gate(struct rs_sbuf_reading *reading, bool open);

/* Returns the i-th path's stream, or NULL past the last. */
const struct rs_stream *rs_sbuf_reading_stream(const struct rs_sbuf_reading *reading, uint32_t i);

/* Returns the recording of the rings, which has their results. */
const struct rs_sbuf_recording *rs_sbuf_reading_rings(const struct rs_sbuf_reading *reading);

#endif
