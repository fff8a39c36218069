/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads a trace directory, packet by packet. The packets' own headers are authoritative; the index
 * only helps to skip. The reader checks everything, because a trace may be damaged, cut, or
 * hostile.
 */
#ifndef RS_STORE_READER_H
#define RS_STORE_READER_H

#include "event/layout.h"
#include "store/describe.h"
#include "store/files.h"
#include "store/state.h"

struct rs_trace {
	struct rs_folder folder;
	struct rs_files files; /* the streams' */
	struct rs_describe describe;
	enum rs_trace_end end;
	char *end_error; /* reason why the trace was cut, or NULL */
	uint64_t unsaid; /* records lost at the end that belong to no stream */
	struct rs_state_private private; /* streams whose rings died with the program */
	/* The check of the description when the trace was closed. */
	bool check_known;
	uint64_t check;
};

/* A packet in memory, whose header was checked. */
struct rs_packet {
	struct rs_packet_head head;
	uint64_t offset;   /* offset in the file */
	const uint8_t *at; /* content */
	uint32_t bytes;	   /* bytes of content in the file */
	bool cut;	   /* the file ends before the packet's end */
	bool mismatch;	   /* the content differs from its check */
};

struct rs_packets {
	struct rs_trace *trace;
	const struct rs_stream *stream;
	uint32_t class_index;
	char *path;
	struct rs_file file;
	bool is_there; /* the stream has a file */
	uint64_t offset, size;
	uint64_t number;
	const struct rs_stream_end *end;
	uint8_t *buffer;
	size_t room;
};

/* *`packets` must not move in memory until it is closed. After a failure, there is nothing to
 * close. */
struct rs_error *rs_packets_open(struct rs_trace *trace, uint32_t stream,
				 struct rs_packets *packets);
void rs_packets_close(struct rs_packets *packets);

/* Ends reading: frees the descriptor, and the memory of the last packet. */
void rs_packets_rest(struct rs_packets *packets);

/*
 * Reads the next packet; *more is false at the end. Returns RS_DAMAGED if the packet's header is
 * invalid; no packet behind it can be found then.
 */
struct rs_error *rs_packets_next(struct rs_packets *packets, struct rs_packet *packet, bool *more);

/* Checks, after the last packet, that the file has the length that it had when the recorder closed
 * it. Returns RS_DAMAGED if not, or if the description lacks its length. */
struct rs_error *rs_packets_check_end(const struct rs_packets *packets);

/* Seeks to the first packet that ends at or after stamp, by the index; without a usable index, to
 * the first. Called before the first packet is read. */
void rs_packets_seek(struct rs_packets *packets, uint64_t stamp);

#endif
