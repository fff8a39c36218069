/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the two halves of the store's writer share: the directory and its description (writer.c),
 * the packets (packets.c).
 *
 * Threads: the packet being filled belongs to its filler. A stream's file and counts belong to the
 * thread that writes its packets, or to the filler if packets do not wait (behind.h). The store's
 * lock, which the writing thread takes once per packet, covers the description, metadata, index and
 * list of streams.
 */
#ifndef RS_STORE_INSIDE_H
#define RS_STORE_INSIDE_H

#include <pthread.h>
#include <stdio.h>

#include "store/behind.h"
#include "store/describe.h"
#include "store/files.h"
#include "store/keep.h"
#include "store/state.h"
#include "store/writer.h"

#define INDEX_ENTRIES 128

struct rs_store_stream {
	struct rs_store *store;
	struct rs_store_stream *next;
	const struct rs_stream *identity;
	struct rs_class *class;
	/* The filler's. */
	struct rs_store_packet *packet; /* NULL: ended */
	/* where packets are kept in memory; NULL: the first owner */
	struct rs_kept_owner *owner;
	bool waiting; /* since since_ns */
	uint64_t since_ns;
	uint64_t finished;	  /* records and reported losses in finished packets */
	struct rs_behind *behind; /* queue for finished packets; NULL: the filler writes them */
	uint32_t n_behind;	  /* this stream's packets that wait or are being written; atomic */
	/* Members of the writing thread. */
	struct rs_file file;
	bool made; /* its file was created */
	bool gone; /* its file was deleted, and its content is lost */
	uint64_t inode;
	uint64_t offset; /* offset of the next packet */
	uint64_t sequence;
	uint64_t total_records, total_lost; /* since the recording began */
	/* Lost records that no record reports yet. */
	uint64_t unsaid, unsaid_from, unsaid_to;
};

struct rs_store {
	struct rs_folder folder; /* not used if packets are kept in memory: */
	struct rs_keep *keep;
	struct rs_describe describe;
	pthread_mutex_t lock;
	struct rs_store_stream *streams;
	uint8_t uuid[16];
	/* The description's lines: the number of each kind, the lines that are not on the disk yet,
	 * and the file. */
	uint32_t written[RS_LINE_KINDS];
	struct rs_lines lines;
	uint64_t describe_done;
	int describe_fd;
	bool metadata_stale;
	bool described; /* at the close: all lines are on the disk */
	int state_fd;
	char *made_at;	       /* the directory's path when it was created */
	struct rs_files files; /* files of the streams, and the index */
	/* The index, and entries that are not in it yet. After a failed write it gets no more
	 * entries. */
	struct rs_file index;
	struct rs_index_entry entries[INDEX_ENTRIES];
	uint32_t n_entries;
	uint64_t index_done;
	bool index_ended;
	/* queues of finished packets, shared by the streams in rotation */
	struct rs_behind **behind;
	uint32_t n_behind;
	struct rs_error *error; /* the first error of any write, for the state and the close */
	uint64_t unsaid;	/* records lost before they reached a stream */
	struct rs_state_private private; /* streams whose rings die with the program */
	struct rs_store_summary progress;
};

/* Writes the new lines of the description, if any, and then the metadata. The caller holds the
 * lock. */
struct rs_error *rs_store_describe_sync(struct rs_store *store);

/* Adds the line of a stream's owner. The caller holds the lock. Returns RS_NO_MEMORY without it. */
struct rs_error *rs_store_describe_owner(struct rs_store *store, uint32_t stream,
					 const struct rs_owner *owner);

/* Writes the index's entries. The caller holds the lock. */
void rs_store_index_flush(struct rs_store *store);

/* Counts the content of a stream's deleted file as lost, and keeps an error. */
struct rs_error *rs_store_stream_gone(struct rs_store_stream *stream);

/* Creates the file of a stream, if it does not exist yet. */
struct rs_error *rs_store_stream_make(struct rs_store_stream *stream);

/* Keeps a copy of the first error. Returns err. The caller holds the lock. */
struct rs_error *rs_store_keep_error(struct rs_store *store, struct rs_error *err);

/* Writes the rest of a stream, even if that is only a loss. Keeps errors. */
void rs_store_stream_close(struct rs_store_stream *stream);

#endif
