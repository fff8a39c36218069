/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads QEMU's log of nondeterministic events, as versions 7.2 and later write it (log version
 * 0xe0200c): big endian, without padding,
 *
 *	version, 4 bytes; 8 unused   written when QEMU ends properly, zeros until then
 *	kind, 1 byte; its data       an event; those of kind 0 count instructions
 *	...
 *	the kind of the end
 *
 * The file is untrusted: each byte is read once, within bounds.
 */
#ifndef RS_REPLAY_RR_LOG_H
#define RS_REPLAY_RR_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ringside/error.h>

#define RS_RR_VERSION	0xe0200cu
#define RS_RR_HEADER	12u
#define RS_RR_BYTES_MAX (UINT64_C(1) << 32) /* limit of a log's size */

struct rs_rr_event {
	/* instructions executed before the event; for a count, including its own */
	uint64_t icount;
	uint64_t offset; /* offset in the log */
	uint8_t kind;
	const uint8_t *data; /* borrowed */
	size_t bytes;
};

enum rs_rr_next {
	RS_RR_EVENT,
	RS_RR_END,     /* the event that ends a log */
	RS_RR_CUT,     /* the bytes end, at an event's boundary or within one */
	RS_RR_UNKNOWN, /* a kind of unknown length, or an invalid one */
};

struct rs_rr_log {
	const uint8_t *bytes;
	size_t size, at;
	uint64_t icount;
	uint32_t version; /* 0: QEMU did not end properly */
};

/* Begins to read a log. Returns RS_DAMAGED if it is not a log, or has another version. Borrows the
 * bytes. */
struct rs_error *rs_rr_log_begin(const void *bytes, size_t size, struct rs_rr_log *log);

/* Reads the next event. Does not advance at results other than RS_RR_EVENT and RS_RR_END. */
enum rs_rr_next rs_rr_log_next(struct rs_rr_log *log, struct rs_rr_event *event);

/* Returns how many bytes the guest wrote on its serial port in this event; 0 for other events. */
uint32_t rs_rr_event_written(const struct rs_rr_event *event);

/* Returns whether an event of this kind comes from the host, and is independent of the guest's
 * actions: the host's clocks, which a guest with its own date does not read, and the ends of the
 * recording by the host. */
bool rs_rr_kind_is_external(uint8_t kind);
/* Returns whether the kind is an end caused by the guest: its power-off or reset. */
bool rs_rr_kind_ends_guest(uint8_t kind);

/* Returns whether QEMU may let the guest's clock run ahead of its instructions here, because the
 * guest sleeps. */
bool rs_rr_kind_may_sleep(uint8_t kind);

/* Returns a kind's name, such as "instructions" or "host clock"; never NULL. */
const char *rs_rr_kind_text(uint8_t kind);

/* Reads a whole file of at most 4 GiB into memory, which the caller frees. */
struct rs_error *rs_rr_log_load(int fd, const char *name, uint8_t **bytes, size_t *size);

/*
 * Repairs a log whose QEMU was killed, so that it can be replayed to its last complete event:
 * truncates it there, adds the end of a quit, and writes its header. Does not change a complete
 * log. Sets *icount to the last instruction at which a replay can be stopped reliably; at the next
 * one, the machine is ordered to end. Returns RS_DAMAGED if the log is empty.
 */
struct rs_error *rs_rr_log_repair(int fd, const char *name, uint64_t *icount);

#endif
