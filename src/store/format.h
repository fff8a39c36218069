/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The trace directory on disk: CTF 1.8 (diamon.org/ctf), laid out so that a ring's slot is an event
 * of a stream file without conversion.
 *
 *	DIR/metadata		TSDL, derived from the schemas; rewritten when they grow
 *	DIR/stream_N		one per ring: packets, each a run of slots behind a header
 *	DIR/ringside/describe	JSON lines: clocks, classes, events, names, streams, binaries
 *	DIR/ringside/index	struct rs_index_entry per packet; only a hint
 *	DIR/ringside/state	a block of JSON: how the recorder left the trace
 *	DIR/ringside/new	a new version of a file, before it replaces the old
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
	/* Both include this header. The content ends with the last record's last field, the packet
	 * with its last slot; otherwise a reader would parse the rest of the slot as one more
	 * event. */
	uint64_t content_bits, packet_bits;
	uint64_t events_discarded; /* number lost in this stream so far */
	uint64_t sequence;
	uint32_t cpu_id;  /* RS_PACKET_CPU_UNKNOWN if the stream has none */
	uint32_t records; /* except loss and clock records */
	uint64_t check;	  /* XXH3, 64 bits: check.h */
};
_Static_assert(sizeof(struct rs_packet_head) == 96, "three slots");
_Static_assert(offsetof(struct rs_packet_head, ts_begin) == 32, "metadata.c declares this layout");
_Static_assert(offsetof(struct rs_packet_head, cpu_id) == 80, "metadata.c declares this layout");

#define RS_PACKET_CPU_UNKNOWN UINT32_C(0xffffffff)
#define RS_PACKET_BYTES	      (128u << 10) /* of a packet's writer, without a record of a loss */
#define RS_PACKET_BYTES_MAX   (1u << 20)   /* of a packet that a reader accepts */

struct rs_index_entry {
	uint32_t stream, records;
	uint64_t offset, bytes; /* offset of the packet in its stream's file */
	uint64_t ts_begin, ts_end;
	uint64_t events_discarded;
};
_Static_assert(sizeof(struct rs_index_entry) == 48, "on disk");

#define RS_STORE_NEW "ringside/new"

/* The state's size, allocated at the start, so that an error can be written on a full disk. */
#define RS_STATE_BYTES 4096

#define RS_DESCRIBE_VERSION 1
#define RS_STREAMS_MAX	    65536u
#define RS_CLASSES_MAX	    4096u
#define RS_THREADS_MAX	    (1u << 20)
#define RS_DOMAINS_MAX	    4096u
#define RS_OWNERS_MAX	    (1u << 24)
#define RS_BAD_LINES_MAX    4096u /* a description with more is rejected */

#endif
