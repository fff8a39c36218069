/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The trace directory on disk: CTF 1.8 (diamon.org/ctf), laid out so that a slot of a ring is an
 * event of a stream file as it stands.
 *
 *	DIR/metadata		TSDL, derived from the schemas; rewritten whole when they grow
 *	DIR/stream_N		one per ring: packets, each a run of slots behind a header
 *	DIR/ringside/describe	JSON lines: clocks, classes, events, names, streams, binaries
 *	DIR/ringside/index	struct rs_index_entry per packet; a hint, the packets are the truth
 *	DIR/ringside/state	JSON in a block of its own: how the recorder left the trace
 *	DIR/ringside/new	a file that is to replace another
 *
 * Little endian. CTF sizes are in bits.
 */
#ifndef RS_STORE_FORMAT_H
#define RS_STORE_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#define RS_CTF_MAGIC UINT32_C(0xc1fc1fc1)

struct rs_packet_head {
	/* packet.header */
	uint32_t magic;
	uint8_t uuid[16];
	uint32_t class_index;  /* CTF: stream_id */
	uint64_t stream_index; /* CTF: stream_instance_id */
	/* packet.context */
	uint64_t ts_begin, ts_end; /* stamps of the first and last record */
	/* This header included. Content ends with the last record's last field, the packet with
	 * its last slot: a reader would take the rest of the slot for one more event. */
	uint64_t content_bits, packet_bits;
	uint64_t events_discarded; /* lost in this stream so far */
	uint64_t sequence;
	uint32_t cpu_id;  /* RS_PACKET_CPU_UNKNOWN where none */
	uint32_t records; /* but loss and clock records */
	uint64_t check;	  /* XXH3, 64 bits: check.h */
};
_Static_assert(sizeof(struct rs_packet_head) == 96, "three slots");
_Static_assert(offsetof(struct rs_packet_head, ts_begin) == 32, "as in metadata.c");
_Static_assert(offsetof(struct rs_packet_head, cpu_id) == 80, "as in metadata.c");

#define RS_PACKET_CPU_UNKNOWN UINT32_C(0xffffffff)
#define RS_PACKET_BYTES	      (128u << 10) /* that the writer makes; more for a loss of its own */
#define RS_PACKET_BYTES_MAX   (1u << 20)   /* that a reader takes */

struct rs_index_entry {
	uint32_t stream, records;
	uint64_t offset, bytes; /* of the packet in its stream's file */
	uint64_t ts_begin, ts_end;
	uint64_t events_discarded;
};
_Static_assert(sizeof(struct rs_index_entry) == 48, "on disk");

#define RS_STORE_NEW "ringside/new"

#define RS_STATE_BYTES 4096 /* allocated at the start, for errors of a full disk */

#define RS_DESCRIBE_VERSION 1
#define RS_STREAMS_MAX	    65536u
#define RS_CLASSES_MAX	    4096u
#define RS_THREADS_MAX	    (1u << 20)
#define RS_DOMAINS_MAX	    4096u
#define RS_OWNERS_MAX	    (1u << 24)
#define RS_BAD_LINES_MAX    4096u /* of a description that is still read */

#endif
