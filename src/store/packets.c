/* SPDX-License-Identifier: BSD-2-Clause */
/* Fills, finishes, and writes or keeps the packets of a store's streams. The next packet reports
 * the records lost with a packet. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/copy.h"
#include "store/check.h"
#include "store/inside.h"

static struct rs_error *stream_get(struct rs_store_stream *stream, int *fd)
{
	int flags = O_WRONLY | (stream->made ? 0 : O_CREAT | O_EXCL);
	struct rs_error *err;
	char name[32];

	snprintf(name, sizeof(name), "stream_%u", stream->identity->index);
	if (stream->gone)
		return rs_error_create(RS_FAILED, "%s/%s was deleted while it was recorded",
				       stream->store->folder.path, name);
	err = rs_files_get(&stream->store->files, &stream->file, name, flags, fd);
	if (!err && !stream->made) {
		struct stat st;

		stream->inode = fstat(*fd, &st) ? 0 : st.st_ino;
		stream->made = true;
	}
	return err;
}

struct rs_error *rs_store_stream_gone(struct rs_store_stream *stream)
{
	struct rs_store *store = stream->store;
	struct stat st;

	stream->gone = true;
	stream->unsaid += stream->total_records;
	stream->total_lost += stream->total_records;
	pthread_mutex_lock(&store->lock);
	store->progress.records -= stream->total_records;
	store->progress.lost += stream->total_records;
	pthread_mutex_unlock(&store->lock);
	stream->total_records = 0;
	if (!fstat(store->folder.fd, &st) && !st.st_nlink)
		return rs_error_create(RS_FAILED,
				       "%s: the trace's directory was deleted while it was "
				       "recorded: its content is lost",
				       store->folder.path);
	return rs_error_create(RS_FAILED,
			       "%s/stream_%u was deleted or replaced while it was recorded: its "
			       "records are lost",
			       store->folder.path, stream->identity->index);
}

struct rs_error *rs_store_stream_make(struct rs_store_stream *stream)
{
	struct rs_error *err = NULL;
	int fd;

	if (stream->made || stream->store->keep)
		return NULL;
	err = stream_get(stream, &fd);
	if (!err)
		rs_files_put(&stream->store->files, &stream->file);
	return err;
}

/* Writes a packet whole or not at all: a partial packet must not precede the next one. If it cannot
 * be removed, the reader finds and reports it. */
static struct rs_error *write_all(struct rs_store_stream *stream, const uint8_t *from,
				  uint32_t bytes)
{
	size_t done;
	struct stat st;
	int fd;
	struct rs_error *err = stream_get(stream, &fd);

	if (err)
		return err;
	done = rs_write_at(fd, from, bytes, stream->offset);
	if (done < bytes)
		err = rs_error_errno(errno, "%s/stream_%u, offset 0x%llx",
				     stream->store->folder.path, stream->identity->index,
				     (unsigned long long)(stream->offset + done));
	if (!err && !fstat(fd, &st) && !st.st_nlink)
		err = rs_store_stream_gone(stream);
	else if (err && ftruncate(fd, (off_t)stream->offset))
		errno = 0; /* the partial packet stays, and the reader reports it */
	rs_files_put(&stream->store->files, &stream->file);
	return err;
}

/* Keeps a packet in memory instead of writing it. */
static struct rs_error *keep_packet(const struct rs_store_stream *stream,
				    const struct rs_drained *what, const uint8_t *content)
{
	if (rs_keep_add(stream->store->keep, stream->identity->index, stream->owner, what, content,
			rs_clock_ns(stream->class->clock, what->last_tsc)))
		return NULL;
	return rs_error_no_memory();
}

/* Puts a packet's head before its content. */
static void head_put(const struct rs_store_stream *stream, const struct rs_drained *what,
		     uint8_t *content)
{
	int cpu = stream->identity->cpu;
	uint64_t bytes = sizeof(struct rs_packet_head) + what->bytes;
	struct rs_packet_head head = {
		.magic = RS_CTF_MAGIC,
		.class_index = stream->class->index,
		.stream_index = stream->identity->index,
		.ts_begin = what->first_tsc,
		.ts_end = what->last_tsc,
		.content_bits = (bytes - what->padding) * 8,
		.packet_bits = bytes * 8,
		.events_discarded = stream->total_lost,
		.sequence = stream->sequence,
		.cpu_id = cpu < 0 ? RS_PACKET_CPU_UNKNOWN : (uint32_t)cpu,
		.records = what->records,
	};

	memcpy(head.uuid, stream->store->uuid, sizeof(head.uuid));
	head.check = rs_packet_check(&head, content, what->bytes);
	memcpy(content - sizeof(head), &head, sizeof(head));
}

/* Puts a record of the loss of earlier packets before a packet's content. Updates *what to cover
 * both. */
static uint8_t *unsaid_put(const struct rs_store_stream *stream, struct rs_drained *what,
			   uint8_t *content)
{
	const uint32_t bytes = RS_LOST_SLOTS * RS_SLOT_BYTES;
	struct rs_lost lost = { .count = stream->unsaid,
				.from = stream->unsaid_from,
				.to = stream->unsaid_to,
				.why = RS_LOST_STORAGE };

	content -= bytes;
	rs_record_write_lost(content, (uint64_t)RS_CPU_UNKNOWN << RS_CPU_SHIFT, &lost,
			     stream->unsaid_to);
	if (!what->bytes) {
		what->last_tsc = stream->unsaid_to;
		what->padding = RS_LOST_PADDING;
	}
	what->first_tsc = stream->unsaid_to;
	what->bytes += bytes;
	what->lost += stream->unsaid;
	return content;
}

/* After a failed write, counts the packet's records as lost, and the losses that it reports as not
 * reported. */
static void packet_lost(struct rs_store_stream *stream, const struct rs_drained *what)
{
	if (!stream->unsaid)
		stream->unsaid_from = what->first_tsc;
	if (what->bytes)
		stream->unsaid_to = what->last_tsc;
	stream->unsaid += what->records + what->lost;
	stream->total_lost += what->records;
}

/* Adds the result of packet_write() to the store's index, progress and error. */
static void packet_report(struct rs_store *store, const struct rs_index_entry *entry, uint64_t lost,
			  struct rs_error *err)
{
	pthread_mutex_lock(&store->lock);
	if (!err && !store->keep) {
		store->entries[store->n_entries++] = *entry;
		if (store->n_entries == INDEX_ENTRIES)
			rs_store_index_flush(store);
	}
	rs_store_keep_error(store, err);
	store->progress.records += err ? 0 : entry->records;
	store->progress.bytes += err ? 0 : entry->bytes;
	store->progress.lost += lost + (err ? entry->records : 0);
	pthread_mutex_unlock(&store->lock);
}

/* Writes an empty packet for a stream that lost records before its first packet. CTF readers
 * compute losses from the difference between two packets' counts, so they would otherwise miss
 * these. */
static struct rs_error *base_write(struct rs_store_stream *stream, const struct rs_drained *first)
{
	uint8_t head[sizeof(struct rs_packet_head)];
	const struct rs_drained none = { .first_tsc = first->first_tsc,
					 .last_tsc = first->first_tsc };
	uint64_t lost = stream->total_lost;
	struct rs_error *err;

	stream->total_lost = 0;
	head_put(stream, &none, head + sizeof(head));
	stream->total_lost = lost;
	err = write_all(stream, head, sizeof(head));
	if (!err) {
		stream->offset += sizeof(head);
		stream->sequence++;
	}
	return err;
}

/* Writes a packet's records, after the pending loss and the head in its front. */
static struct rs_error *packet_write(struct rs_store_stream *stream,
				     const struct rs_drained *records, uint8_t *content)
{
	const uint32_t head = sizeof(struct rs_packet_head);
	struct rs_store *store = stream->store;
	struct rs_drained what = *records;
	struct rs_index_entry entry;
	struct rs_error *err;

	stream->total_lost += records->lost;
	if (stream->unsaid) /* its count was added to total_lost when the loss happened */
		content = unsaid_put(stream, &what, content);
	pthread_mutex_lock(&store->lock);
	err = rs_store_describe_sync(store);
	pthread_mutex_unlock(&store->lock);
	if (!err && !store->keep && !stream->sequence && stream->total_lost)
		err = base_write(stream, &what);
	entry = (struct rs_index_entry){
		.stream = stream->identity->index,
		.records = what.records,
		.offset = stream->offset,
		.bytes = head + what.bytes,
		.ts_begin = what.first_tsc,
		.ts_end = what.last_tsc,
		.events_discarded = stream->total_lost,
	};
	if (!err && store->keep) {
		err = keep_packet(stream, &what, content);
	} else if (!err) {
		head_put(stream, &what, content);
		err = write_all(stream, content - head, head + what.bytes);
	}
	if (err) {
		packet_lost(stream, records);
	} else {
		stream->offset += head + what.bytes;
		stream->sequence++;
		stream->total_records += what.records;
		stream->unsaid = 0;
	}
	packet_report(store, &entry, records->lost, err);
	return err;
}

/* Writes a packet from the queue. */
static void write_behind(struct rs_store_packet *packet)
{
	struct rs_store_stream *stream = packet->stream;

	if (packet->what.bytes) /* rs_store_keep_error() keeps errors */
		rs_error_free(packet_write(stream, &packet->what, packet->content));
	/* Pairs with the acquire in rs_store_is_behind(). */
	__atomic_fetch_sub(&stream->n_behind, 1, __ATOMIC_RELEASE);
}

struct rs_error *rs_store_set_behind(struct rs_store *store, uint32_t queues, uint64_t bytes,
				     bool ahead)
{
	uint64_t packets = bytes / sizeof(struct rs_store_packet) / queues;

	store->behind = calloc(queues, sizeof(struct rs_behind *));
	if (!store->behind)
		return rs_error_no_memory();
	for (; store->n_behind < queues; store->n_behind++) {
		store->behind[store->n_behind] =
			rs_behind_create(packets ? (uint32_t)packets : 1, ahead, write_behind);
		if (!store->behind[store->n_behind])
			return rs_error_no_memory();
	}
	return NULL;
}

bool rs_store_waits(const struct rs_store_stream *stream)
{
	return stream->behind && rs_behind_waits(stream->behind);
}

void rs_store_write(const struct rs_store_stream *stream)
{
	if (stream->behind)
		rs_behind_write(stream->behind);
}

void rs_store_write_queue(struct rs_store *store, uint32_t queue)
{
	if (queue < store->n_behind)
		rs_behind_write(store->behind[queue]);
}

/* Finishes the packet being filled, and begins a new one. */
static struct rs_error *packet_finish(struct rs_store_stream *stream)
{
	struct rs_store_packet *packet = stream->packet;
	struct rs_error *err = NULL;

	stream->waiting = false;
	stream->finished += packet->what.records + packet->what.lost;
	if (stream->behind) {
		__atomic_fetch_add(&stream->n_behind, 1, __ATOMIC_RELAXED);
		stream->packet = rs_behind_swap(stream->behind, packet);
	} else {
		err = packet_write(stream, &packet->what, packet->content);
		packet->what = (struct rs_drained){ 0 };
	}
	return err;
}

/* Returns the room in a packet. A packet that is kept in memory has less, since the oldest packet
 * is dropped whole, and it may begin with a loss. */
static uint32_t content_bytes(const struct rs_store_stream *stream)
{
	const struct rs_keep *keep = stream->store->keep;
	uint64_t part = keep ? keep->limits.bytes / 4 & ~UINT64_C(7) : RS_PACKET_BYTES;

	if (part < 2 * RS_DRAIN_ROOM_MIN)
		part = 2 * RS_DRAIN_ROOM_MIN;
	if (part > RS_PACKET_BYTES)
		part = RS_PACKET_BYTES;
	part -= sizeof(struct rs_packet_head);
	return (uint32_t)part - (keep ? RS_LOST_SLOTS * RS_SLOT_BYTES : 0);
}

struct rs_error *rs_store_room(struct rs_store_stream *stream, uint8_t **at, uint32_t *bytes)
{
	struct rs_error *err = NULL;

	if (content_bytes(stream) - stream->packet->what.bytes < RS_DRAIN_ROOM_MIN)
		err = packet_finish(stream);
	*at = stream->packet->content + stream->packet->what.bytes;
	*bytes = content_bytes(stream) - stream->packet->what.bytes;
	return err;
}

void rs_store_commit(struct rs_store_stream *stream, const struct rs_drained *drained)
{
	struct rs_drained *what = &stream->packet->what;

	if (!drained->bytes)
		return;
	if (!what->bytes)
		what->first_tsc = drained->first_tsc;
	what->last_tsc = drained->last_tsc;
	what->bytes += drained->bytes;
	what->padding = drained->padding;
	what->records += drained->records;
	what->lost += drained->lost;
}

struct rs_error *rs_store_flush(struct rs_store_stream *stream, uint64_t now_ns, uint64_t age_ns)
{
	if (!stream->packet || !stream->packet->what.bytes)
		return NULL;
	if (!stream->waiting) {
		stream->waiting = true;
		stream->since_ns = now_ns;
	}
	if (age_ns && now_ns - stream->since_ns < age_ns)
		return NULL;
	/* Behind an earlier packet of this stream, it would be written no sooner, and would take
	 * the place of a full packet in the queue. */
	if (age_ns && __atomic_load_n(&stream->n_behind, __ATOMIC_RELAXED))
		return NULL;
	return packet_finish(stream);
}

uint64_t rs_store_finished(const struct rs_store_stream *stream)
{
	return stream->finished;
}

bool rs_store_is_behind(const struct rs_store_stream *stream)
{
	/* Pairs with the release in write_behind(). */
	return __atomic_load_n(&stream->n_behind, __ATOMIC_ACQUIRE) > 0;
}

void rs_store_sync(struct rs_store *store)
{
	pthread_mutex_lock(&store->lock);
	rs_error_free(rs_store_keep_error(store, rs_store_describe_sync(store)));
	pthread_mutex_unlock(&store->lock);
}

const uint8_t *rs_store_uuid(const struct rs_store *store)
{
	return store->keep ? NULL : store->uuid;
}

uint32_t rs_store_stream_index(const struct rs_store_stream *stream)
{
	return stream->identity->index;
}

void rs_store_progress(struct rs_store *store, struct rs_store_summary *summary)
{
	pthread_mutex_lock(&store->lock);
	*summary = store->progress;
	summary->streams = store->describe.n_streams;
	pthread_mutex_unlock(&store->lock);
}

struct rs_error *rs_store_end_stream(struct rs_store_stream *stream)
{
	struct rs_store_packet *packet = stream->packet;
	struct rs_error *err = NULL;

	if (!packet)
		return NULL;
	if (stream->behind) {
		stream->finished += packet->what.records + packet->what.lost;
		__atomic_fetch_add(&stream->n_behind, 1, __ATOMIC_RELAXED);
		rs_behind_end(stream->behind, packet);
	} else {
		err = rs_store_flush(stream, 0, 0);
		free(packet);
	}
	stream->packet = NULL;
	return err;
}

struct rs_error *rs_store_resume_stream(struct rs_store_stream *stream,
					const struct rs_owner *owner)
{
	struct rs_store_packet *packet = rs_store_packet_create(stream);
	struct rs_store *store = stream->store;
	struct rs_kept_owner *kept = NULL;
	struct rs_error *err = NULL;

	if (!packet)
		return rs_error_no_memory();
	if (store->keep) {
		kept = rs_kept_owner_create(owner);
		err = kept ? NULL : rs_error_no_memory();
	} else {
		pthread_mutex_lock(&store->lock);
		err = rs_store_describe_owner(store, stream->identity->index, owner);
		pthread_mutex_unlock(&store->lock);
	}
	if (err) {
		free(packet);
		return err;
	}
	rs_kept_owner_put(stream->owner);
	stream->owner = kept;
	stream->packet = packet;
	return NULL;
}

/* Checks that the stream's name still refers to its file. */
static void check_file(struct rs_store_stream *stream)
{
	struct rs_store *store = stream->store;
	struct stat st;
	char name[32];

	if (store->keep || !stream->made || stream->gone)
		return;
	snprintf(name, sizeof(name), "stream_%u", stream->identity->index);
	if (fstatat(store->folder.fd, name, &st, AT_SYMLINK_NOFOLLOW) || st.st_ino != stream->inode)
		rs_error_free(rs_store_keep_error(store, rs_store_stream_gone(stream)));
}

void rs_store_stream_close(struct rs_store_stream *stream)
{
	uint8_t front[RS_PACKET_FRONT];

	stream->behind = NULL;
	check_file(stream);
	if (!stream->made)
		rs_error_free(rs_store_keep_error(stream->store, rs_store_stream_make(stream)));
	if (stream->packet && stream->packet->what.bytes)
		rs_error_free(rs_store_flush(stream, 0, 0));
	else if (stream->unsaid)
		rs_error_free(
			packet_write(stream, &(struct rs_drained){ 0 }, front + sizeof(front)));
}
