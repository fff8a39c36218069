/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the two halves of the store's writer share: the directory and its description (writer.c),
 * the packets (packets.c).
 *
 * Threads: the packet being filled belongs to its filler. A stream's file and counts belong to the
 * thread that writes its packets, or to the filler if packets do not wait (behind.h). The store's
 * lock, which the writing thread takes once a packet, covers the description, metadata, index and
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
#include "store/writer.h"

#define INDEX_ENTRIES 128

struct rs_store_stream {
	struct rs_store *store;
	struct rs_store_stream *next;
	const struct rs_stream *identity;
	struct rs_class *class;
	/* The filler's. */
	struct rs_store_packet *packet; /* NULL: ended */
	struct rs_kept_owner *owner;	/* where packets are kept; NULL: the first owner */
	bool waiting;			/* since since_ns */
	uint64_t since_ns;
	struct rs_behind *behind; /* where finished packets wait; NULL: they do not */
	uint32_t n_behind;	  /* of its own there, or being written; atomic */
	/* The writing thread's. */
	struct rs_file file;
	bool made; /* its file is there */
	bool gone; /* its file was deleted: what was in it is lost */
	uint64_t inode;
	uint64_t offset; /* where the next packet goes */
	uint64_t sequence;
	uint64_t total_records, total_lost; /* since the start */
	/* Records that the store lost, and that no record reports yet. */
	uint64_t unsaid, unsaid_from, unsaid_to;
};

struct rs_store {
	struct rs_folder folder; /* or it keeps packets in memory: */
	struct rs_keep *keep;
	struct rs_describe describe;
	pthread_mutex_t lock;
	struct rs_store_stream *streams;
	uint8_t uuid[16];
	/* The description's lines: how many of each kind there are, those that are not on the disk
	 * yet, where they go. */
	uint32_t written[RS_LINE_KINDS];
	struct rs_lines lines;
	uint64_t describe_done;
	int describe_fd;
	bool metadata_stale;
	bool described; /* at the end: all of it */
	int state_fd;
	char *made_at;	       /* the directory's name in the file system when it was made */
	struct rs_files files; /* the streams', and the index */
	/* The index, and entries that are not in it yet. It ends where it could not be written. */
	struct rs_file index;
	struct rs_index_entry entries[INDEX_ENTRIES];
	uint32_t n_entries;
	uint64_t index_done;
	bool index_ended;
	struct rs_behind **behind; /* queues of finished packets, streams take turns */
	uint32_t n_behind;
	struct rs_error *error; /* the first of any write, for the state and close */
	uint64_t unsaid;	/* lost before they came to a stream */
	struct rs_store_summary progress;
};

/* Writes what is new in the description, if anything, and then the metadata. Under the lock. */
struct rs_error *rs_store_describe_sync(struct rs_store *store);

/* Makes the line of a stream's owner. Under the lock. RS_NO_MEMORY: there is none. */
struct rs_error *rs_store_describe_owner(struct rs_store *store, uint32_t stream,
					 const struct rs_owner *owner);

/* Writes the index's entries. Under the lock. */
void rs_store_index_flush(struct rs_store *store);

/* Counts the contents of a stream's deleted file as lost, and keeps an error. */
struct rs_error *rs_store_stream_gone(struct rs_store_stream *stream);

/* Creates the file of a stream, if it has none yet. */
struct rs_error *rs_store_stream_make(struct rs_store_stream *stream);

/* Keeps a copy of the first error. Returns err. Under the lock. */
struct rs_error *rs_store_keep_error(struct rs_store *store, struct rs_error *err);

/* Writes what is left of a stream, also if it is only a loss. Errors are kept. */
void rs_store_stream_close(struct rs_store_stream *stream);

#endif
