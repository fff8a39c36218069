/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rings of ACRN's layout that other programs write, as a live source: those of sbuf.h, without a
 * recorder between. A path is a stream, however often its ring is begun anew.
 *
 *	create -> source -> gate open -> the source is read -> gate shut -> read to its end
 *	-> source destroyed -> what became of them -> destroy
 */
#ifndef RS_LIVE_SBUF_H
#define RS_LIVE_SBUF_H

#include "live/record_sbuf.h"

struct rs_sbuf_reading;

/* host: the rings' clock; must outlive it. */
struct rs_error *rs_sbuf_reading_create(const struct rs_sbuf_options *options,
					const struct rs_clock *host,
					struct rs_sbuf_reading **reading);
void rs_sbuf_reading_destroy(struct rs_sbuf_reading *reading); /* NULL is nothing */

/* Once; the caller's. It ends some time after the gate is shut. */
struct rs_error *rs_sbuf_reading_source(struct rs_sbuf_reading *reading, struct rs_source **source);

/* Opened: rings are looked for, and lent; what is in them already is skipped, unless it is to be
 * kept. */
struct rs_error *rs_sbuf_reading_gate(struct rs_sbuf_reading *reading, bool open);

/* The i-th path's stream; NULL past the last. */
const struct rs_stream *rs_sbuf_reading_stream(const struct rs_sbuf_reading *reading, uint32_t i);

/* The rings, for what became of them. */
const struct rs_sbuf_recording *rs_sbuf_reading_rings(const struct rs_sbuf_reading *reading);

#endif
