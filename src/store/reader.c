/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads a trace directory packet by packet, and checks each packet. */
#include "store/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/check.h"

#define FILES_MAX 256 /* limit of open files of streams */

/* ---- the directory ------------------------------------------------------------------------ */

static const struct {
	const char *word;
	enum rs_trace_end end;
} ends[] = {
	{ "closed", RS_TRACE_CLOSED },
	{ "cut", RS_TRACE_CUT },
	{ "recording", RS_TRACE_CUT }, /* unless the recorder holds its lock */
	{ "repaired", RS_TRACE_REPAIRED },
};

static void read_private(const json_t *object, struct rs_state_private *private)
{
	const json_t *streams = json_object_get(object, "streams");
	json_int_t n = json_integer_value(json_object_get(object, "n"));
	const char *why = json_string_value(json_object_get(object, "why"));

	if (n <= 0 || n > RS_STREAMS_MAX || !why || json_array_size(streams) > (size_t)n)
		return;
	private->n = (uint32_t)n;
	snprintf(private->why, sizeof(private->why), "%s", why);
	for (uint32_t i = 0; i < RS_STATE_PRIVATE_MAX; i++)
	private->stream[i] = (uint32_t)json_integer_value(json_array_get(streams, i));
}

static void read_state(struct rs_trace *trace, int fd)
{
	char block[RS_STATE_BYTES];
	ssize_t n = pread(fd, block, sizeof(block), 0);
	json_t *state = n > 0 ? json_loadb(block, (size_t)n, 0, NULL) : NULL;
	const char *word = json_string_value(json_object_get(state, "state"));
	const char *error = json_string_value(json_object_get(state, "error"));
	json_int_t unsaid = json_integer_value(json_object_get(state, "unsaid"));
	const char *check = json_string_value(json_object_get(state, "describe"));

	for (size_t i = 0; word && i < sizeof(ends) / sizeof(ends[0]); i++) {
		if (!strcmp(word, ends[i].word))
			trace->end = ends[i].end;
	}
	if (error)
		trace->end_error = strdup(error);
	trace->unsaid = unsaid > 0 ? (uint64_t)unsaid : 0;
	read_private(json_object_get(state, "private"), &trace->private);
	trace->check_known = check != NULL;
	trace->check = check ? strtoull(check, NULL, 16) : 0;
	json_decref(state);
}

static struct rs_error *state_open(struct rs_trace *trace)
{
	struct rs_error *err;
	int fd;

	trace->end = RS_TRACE_CUT;
	err = rs_folder_fd(&trace->folder, "ringside/state", O_RDONLY, &fd);
	if (err) {
		if (rs_error_code(err) == RS_DAMAGED)
			return err;
		rs_error_free(err);
		return NULL;
	}
	read_state(trace, fd);
	/* The recorder holds the lock until it ends. */
	if (flock(fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK)
		trace->end = RS_TRACE_RECORDING;
	close(fd);
	return NULL;
}

struct rs_error *rs_trace_open(const char *directory, struct rs_trace **out)
{
	struct rs_trace *trace = calloc(1, sizeof(*trace));
	struct rs_error *err;
	struct stat st;

	if (!trace)
		return rs_error_no_memory();
	err = rs_folder_open(directory, &trace->folder);
	rs_files_init(&trace->files, &trace->folder, FILES_MAX);
	if (!err && (trace->folder.inside < 0 ||
		     fstatat(trace->folder.inside, "describe", &st, AT_SYMLINK_NOFOLLOW)))
		err = rs_error_create(RS_USAGE,
				      "%s is not a Ringside trace: it has no ringside/describe",
				      directory);
	else if (!err)
		err = rs_describe_read(&trace->folder, &trace->describe);
	if (!err)
		err = state_open(trace);
	if (err)
		rs_trace_close(trace);
	else
		*out = trace;
	return err;
}

void rs_trace_close(struct rs_trace *trace)
{
	if (!trace)
		return;
	rs_describe_deinit(&trace->describe);
	free(trace->end_error);
	rs_files_deinit(&trace->files);
	rs_folder_close(&trace->folder);
	free(trace);
}

const char *rs_trace_directory(const struct rs_trace *trace)
{
	return trace->folder.path;
}

enum rs_trace_end rs_trace_end_state(const struct rs_trace *trace)
{
	return trace->end;
}

const struct rs_clock *rs_trace_clock(const struct rs_trace *trace)
{
	return trace->describe.clocks[0];
}

const char *rs_trace_host(const struct rs_trace *trace)
{
	const char *name = trace->describe.hostname;

	return name && *name ? name : NULL; /* import writes an empty one */
}

const char *rs_trace_command(const struct rs_trace *trace)
{
	return trace->describe.command;
}

const struct rs_trace_binary *rs_trace_binary(const struct rs_trace *trace, uint32_t index)
{
	return index < trace->describe.n_binaries ? trace->describe.binaries[index] : NULL;
}

const char *rs_trace_domain(const struct rs_trace *trace, uint32_t index)
{
	return index < trace->describe.n_domains ? trace->describe.domains[index]->vm : NULL;
}

const struct rs_trace_flight *rs_trace_flight(const struct rs_trace *trace)
{
	return trace->describe.has_flight ? &trace->describe.flight : NULL;
}

bool rs_trace_closed(const struct rs_trace *trace, int64_t *at_ns)
{
	if (trace->describe.has_closed)
		*at_ns = trace->describe.closed_ns;
	return trace->describe.has_closed;
}

uint32_t rs_trace_stream_count(const struct rs_trace *trace)
{
	return trace->describe.n_streams + trace->describe.n_threads + trace->describe.n_owners;
}

const struct rs_stream *rs_trace_stream(const struct rs_trace *trace, uint32_t index)
{
	const struct rs_describe *describe = &trace->describe;

	if (index < describe->n_streams)
		return describe->streams[index];
	index -= describe->n_streams;
	if (index < describe->n_threads)
		return &describe->threads[index]->stream;
	return &describe->owners[index - describe->n_threads]->stream;
}

/* ---- packets ------------------------------------------------------------------------------ */

/* Opens the stream's file until packets_put(). */
static struct rs_error *packets_get(struct rs_packets *p, int *fd)
{
	char name[32];

	snprintf(name, sizeof(name), "stream_%u", p->stream->index);
	return rs_files_get(&p->trace->files, &p->file, name, O_RDONLY, fd);
}

static void packets_put(struct rs_packets *p)
{
	rs_files_put(&p->trace->files, &p->file);
}

/* A stream's line is written before its file is created. A recorder that was killed in between
 * wrote no packet. */
static bool is_not_made(const struct rs_trace *trace, const char *path)
{
	struct stat st;

	return (trace->end == RS_TRACE_RECORDING || trace->end == RS_TRACE_CUT) &&
	       lstat(path, &st) && errno == ENOENT;
}

struct rs_error *rs_packets_open(struct rs_trace *trace, uint32_t stream,
				 struct rs_packets *packets)
{
	struct rs_error *err;
	struct stat st = { 0 };
	int fd;

	*packets = (struct rs_packets){
		.trace = trace,
		.stream = trace->describe.streams[stream],
		.class_index = trace->describe.stream_class[stream]->index,
		.end = trace->describe.stream_end[stream],
	};
	if (asprintf(&packets->path, "%s/stream_%u", trace->folder.path, stream) < 0) {
		packets->path = NULL;
		return rs_error_no_memory();
	}
	err = packets_get(packets, &fd);
	if (err && is_not_made(trace, packets->path)) {
		rs_error_free(err);
		return NULL;
	}
	if (!err && fstat(fd, &st))
		err = rs_error_errno(errno, "%s", packets->path);
	if (packets->file.is_used)
		packets_put(packets);
	if (err) {
		rs_packets_close(packets);
		return err;
	}
	packets->size = (uint64_t)st.st_size;
	packets->is_there = true;
	return NULL;
}

void rs_packets_rest(struct rs_packets *packets)
{
	if (packets->trace)
		rs_files_close(&packets->trace->files, &packets->file);
	free(packets->buffer);
	packets->buffer = NULL;
	packets->room = 0;
}

void rs_packets_close(struct rs_packets *packets)
{
	rs_packets_rest(packets);
	free(packets->path);
	*packets = (struct rs_packets){ 0 };
}

static struct rs_error *damage(const struct rs_packets *p, const char *what)
{
	return rs_error_create(RS_DAMAGED, "%s: packet %llu at 0x%llx: %s", p->path,
			       (unsigned long long)p->number, (unsigned long long)p->offset, what);
}

static struct rs_error *read_at(struct rs_packets *p, uint64_t offset, void *to, uint64_t bytes)
{
	uint64_t done = 0;
	int fd;
	struct rs_error *err = packets_get(p, &fd);

	if (err)
		return err;
	while (!err && done < bytes) {
		ssize_t n = pread(fd, (uint8_t *)to + done, bytes - done, (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			err = rs_error_errno(errno, "%s, offset 0x%llx", p->path,
					     (unsigned long long)(offset + done));
		else if (!n)
			err = rs_error_create(RS_DAMAGED,
					      "%s: the file became shorter while it was read",
					      p->path);
		else
			done += (uint64_t)n;
	}
	packets_put(p);
	return err;
}

static struct rs_error *check_head(const struct rs_packets *p, const struct rs_packet_head *head)
{
	uint64_t bytes = head->packet_bits / 8;

	if (head->magic != RS_CTF_MAGIC)
		return damage(p, "no packet begins here (its magic is missing)");
	if (head->class_index != p->class_index || head->stream_index != p->stream->index)
		return damage(p, "it belongs to another stream");
	if (head->packet_bits % (RS_SLOT_BYTES * 8) || bytes < sizeof(*head) ||
	    bytes > RS_PACKET_BYTES_MAX || head->content_bits > head->packet_bits ||
	    head->packet_bits - head->content_bits >= RS_SLOT_BYTES * 8)
		return damage(p, "its size is impossible");
	if (head->ts_begin > head->ts_end)
		return damage(p, "it ends before it begins");
	return NULL;
}

static struct rs_error *buffer_grow(struct rs_packets *p, size_t bytes)
{
	uint8_t *buffer;

	if (bytes <= p->room)
		return NULL;
	buffer = aligned_alloc(64, (bytes + 63) & ~(size_t)63);
	if (!buffer)
		return rs_error_no_memory();
	free(p->buffer);
	p->buffer = buffer;
	p->room = bytes;
	return NULL;
}

struct rs_error *rs_packets_next(struct rs_packets *p, struct rs_packet *packet, bool *more)
{
	struct rs_packet next = { .offset = p->offset };
	uint64_t left = p->size - p->offset, bytes;
	struct rs_error *err;

	*more = false;
	if (!left)
		return NULL;
	if (left < sizeof(next.head))
		return damage(p, "the file ends in its header");
	err = read_at(p, p->offset, &next.head, sizeof(next.head));
	if (!err)
		err = check_head(p, &next.head);
	if (err)
		return err;
	bytes = next.head.packet_bits / 8;
	next.cut = bytes > left;
	if (next.cut)
		bytes = left;
	next.bytes = (uint32_t)(bytes - sizeof(next.head));
	err = buffer_grow(p, next.bytes);
	if (!err)
		err = read_at(p, p->offset + sizeof(next.head), p->buffer, next.bytes);
	if (err)
		return err;
	next.at = p->buffer;
	next.mismatch =
		!next.cut && rs_packet_check(&next.head, next.at, next.bytes) != next.head.check;
	p->offset += bytes;
	p->number++;
	*packet = next;
	*more = true;
	return NULL;
}

struct rs_error *rs_packets_check_end(const struct rs_packets *p)
{
	enum rs_trace_end end = p->trace->end;

	if (end != RS_TRACE_CLOSED && end != RS_TRACE_REPAIRED)
		return NULL; /* the end of the trace is reported once, for the whole trace */
	if (!p->end->known)
		return rs_error_create(RS_DAMAGED,
				       "%s/ringside/describe: it was cut: the end of stream %u is "
				       "missing",
				       p->trace->folder.path, p->stream->index);
	if (p->end->bytes != p->size)
		return rs_error_create(
			RS_DAMAGED, "%s: the file has %llu bytes, but %llu were written", p->path,
			(unsigned long long)p->size, (unsigned long long)p->end->bytes);
	return NULL;
}

/* Returns whether the last packet to skip is where the index says, and ends before the stamp. If
 * so, all packets before it end before the stamp, too. */
static bool seek_confirmed(struct rs_packets *p, const struct rs_index_entry *entry,
			   uint64_t number, uint64_t stamp)
{
	struct rs_packet_head head;
	struct rs_error *err = read_at(p, entry->offset, &head, sizeof(head));

	if (!err)
		err = check_head(p, &head);
	if (err) {
		rs_error_free(err);
		return false;
	}
	return head.packet_bits / 8 == entry->bytes && head.sequence == number &&
	       head.ts_end < stamp;
}

void rs_packets_seek(struct rs_packets *p, uint64_t stamp)
{
	struct rs_index_entry entry, last = { 0 };
	uint64_t offset = 0, number = 0;
	FILE *file;
	struct rs_error *err =
		rs_folder_file(&p->trace->folder, "ringside/index", O_RDONLY, "r", &file);

	if (err) { /* the index is only a hint */
		rs_error_free(err);
		return;
	}
	/*
	 * The index is ignored unless a stream's entries cover its packets without a gap. An entry
	 * without a packet, such as zeros, ends the index, so that a hole of 50 GB is not read.
	 */
	while (fread(&entry, sizeof(entry), 1, file) == 1 &&
	       entry.bytes >= sizeof(struct rs_packet_head)) {
		if (entry.stream != p->stream->index)
			continue;
		if (entry.offset != offset || entry.ts_end >= stamp || entry.bytes > p->size ||
		    offset > p->size - entry.bytes)
			break;
		offset += entry.bytes;
		number++;
		last = entry;
	}
	fclose(file);
	if (!number || !seek_confirmed(p, &last, number - 1, stamp))
		return;
	p->offset = offset;
	p->number = number;
}
