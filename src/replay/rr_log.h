/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * QEMU's log of what was not deterministic, as versions 7.2 and later write it (log version
 * 0xe0200c): big endian, without padding,
 *
 *	version, 4 bytes; 8 unused   written when QEMU ends in good order, zeros until then
 *	kind, 1 byte; its data       an event; those of kind 0 count instructions
 *	...
 *	the kind of the end
 *
 * Whoever has the file may have written it: each byte is read once, within bounds.
 */
#ifndef RS_REPLAY_RR_LOG_H
#define RS_REPLAY_RR_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ringside/error.h>

#define RS_RR_VERSION	0xe0200cu
#define RS_RR_HEADER	12u
#define RS_RR_BYTES_MAX (UINT64_C(1) << 32) /* of a log that is read */

struct rs_rr_event {
	uint64_t icount; /* instructions done before it; its own included where it counts them */
	uint64_t offset; /* in the log */
	uint8_t kind;
	const uint8_t *data; /* borrowed */
	size_t bytes;
};

enum rs_rr_next {
	RS_RR_EVENT,
	RS_RR_END,     /* the event that ends a log */
	RS_RR_CUT,     /* the bytes end, at an event's boundary or within one */
	RS_RR_UNKNOWN, /* a kind whose length is not known, or none */
};

struct rs_rr_log {
	const uint8_t *bytes;
	size_t size, at;
	uint64_t icount;
	uint32_t version; /* 0: QEMU did not end in good order */
};

/* RS_DAMAGED: no log, or of another version. The bytes are borrowed. */
struct rs_error *rs_rr_log_begin(const void *bytes, size_t size, struct rs_rr_log *log);

/* The next one; stands still at all but RS_RR_EVENT and RS_RR_END. */
enum rs_rr_next rs_rr_log_next(struct rs_rr_log *log, struct rs_rr_event *event);

/* How many bytes the event says that the guest wrote on its serial port: 0 for other events. */
uint32_t rs_rr_event_written(const struct rs_rr_event *event);

/* Whether an event of this kind is the host's, and says nothing of what the guest did: the host's
 * clocks, which a guest with a date of its own does not see, and how the recording was ended. */
bool rs_rr_kind_is_hosts(uint8_t kind);
/* Whether it is how the guest ended: its power-off, its reset. */
bool rs_rr_kind_ends_guest(uint8_t kind);

/* "instructions", "host clock"; never NULL. */
const char *rs_rr_kind_text(uint8_t kind);

/* Reads a whole file of at most 4 GiB into memory, which the caller frees. */
struct rs_error *rs_rr_log_load(int fd, const char *name, uint8_t **bytes, size_t *size);

/* Makes a log whose QEMU was killed one that can be replayed to the last event it has whole: cuts
 * it there, ends it as a quit ends it, and writes its header. One that is whole stays as it is.
 * *icount: the last instruction where a replay stands still for sure; at the next the machine's end
 * is asked for. RS_DAMAGED: nothing is in it. */
struct rs_error *rs_rr_log_mend(int fd, const char *name, uint64_t *icount);

#endif
