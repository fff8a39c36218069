/* SPDX-License-Identifier: BSD-2-Clause */
/* Repairs a cut or damaged trace directory in place. */
#include "store/repair.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/check.h"
#include "store/reader.h"
#include "store/rest.h"
#include "store/state.h"

/* State of the repair of one stream: from its old file to the new one. */
struct mend {
	struct rs_packets packets;
	struct rs_layouts layouts;
	uint64_t last_tsc;
	FILE *file, *index; /* NULL: only checks, writes nothing */
	uint64_t offset, sequence, records, discarded_more;
	/* reported by the file's loss records; lost in all; both up to here */
	uint64_t reported, lost;
	uint64_t pending;	    /* records of invalid packets, to be reported */
	struct rs_packet_head head; /* header of a new packet */
	struct rs_stream_end end;   /* the stream's end as the recorder wrote it */
	struct rs_repair_result *result;
	const struct rs_rests *rests; /* NULL: no rings survived */
	enum rs_lost_why why;
	bool storage; /* the recorder could not write all records */
	bool changed;
};

/* Returns how many bytes of a packet's content are records in order, and sets the number of these
 * records and of the losses that they report. */
static uint32_t valid_bytes(struct mend *m, const struct rs_packet *packet, uint32_t *records,
			    uint64_t *reported, uint64_t *last, uint32_t *padding)
{
	const struct rs_slot *slot = (const struct rs_slot *)(const void *)packet->at;
	uint32_t left = packet->bytes / RS_SLOT_BYTES;

	*records = 0;
	*reported = 0;
	*last = m->last_tsc;
	while (left) {
		const struct rs_layout *layout;
		uint32_t slots = rs_layouts_check(&m->layouts, slot, left, &layout);

		if (!slots || !rs_stamp_follows(m->packets.stream->clock, *last, slot->tsc))
			break;
		if (layout->event->kind == RS_KIND_LOSS)
			*reported += rs_lost_count(slot);
		*records += layout->event->kind != RS_KIND_LOSS && layout->id != RS_ID_CLOCK_BACK;
		*last = slot->tsc;
		*padding = rs_layout_padding(layout->event, slot);
		slot += slots;
		left -= slots;
	}
	return packet->bytes / RS_SLOT_BYTES * RS_SLOT_BYTES - left * RS_SLOT_BYTES;
}

static void put_one(struct mend *m, struct rs_packet_head head, const void *content, uint32_t bytes,
		    uint32_t padding)
{
	struct rs_index_entry entry;

	head.packet_bits = (sizeof(head) + (uint64_t)bytes) * 8;
	head.content_bits = head.packet_bits - padding * UINT64_C(8);
	head.sequence = m->sequence++;
	m->lost = head.events_discarded;
	head.check = rs_packet_check(&head, content, bytes);
	entry = (struct rs_index_entry){
		.stream = (uint32_t)head.stream_index,
		.records = head.records,
		.offset = m->offset,
		.bytes = sizeof(head) + bytes,
		.ts_begin = head.ts_begin,
		.ts_end = head.ts_end,
		.events_discarded = head.events_discarded,
	};
	if (m->file) {
		fwrite(&head, sizeof(head), 1, m->file);
		fwrite(content, bytes, 1, m->file);
	}
	if (m->index)
		fwrite(&entry, sizeof(entry), 1, m->index);
	m->offset += entry.bytes;
	m->last_tsc = head.ts_end;
	m->result->packets++;
	m->result->records += head.records;
	m->records += head.records;
}

/* Writes a packet. If losses precede the first packet, writes an empty packet before it, as
 * packets.c does. */
static void put(struct mend *m, struct rs_packet_head head, const void *content, uint32_t bytes,
		uint32_t padding)
{
	if (!m->sequence && m->discarded_more) {
		struct rs_packet_head base = head;

		base.events_discarded = 0;
		base.ts_end = base.ts_begin;
		base.records = 0;
		put_one(m, base, content, 0, 0);
	}
	head.events_discarded += m->discarded_more;
	put_one(m, head, content, bytes, padding);
}

/* Writes the loss of invalid packets as a separate packet that ends at stamp. */
static void put_loss(struct mend *m, uint64_t stamp)
{
	struct rs_slot slots[RS_LOST_SLOTS];
	struct rs_lost lost = { .count = m->pending,
				.from = m->last_tsc ? m->last_tsc : stamp,
				.to = stamp,
				.why = m->why };
	struct rs_packet_head head = m->head;

	if (!m->pending)
		return;
	rs_record_write_lost(slots, (uint64_t)RS_CPU_UNKNOWN << RS_CPU_SHIFT, &lost, stamp);
	head.ts_begin = head.ts_end = stamp;
	head.records = 0;
	m->discarded_more += m->pending;
	m->result->lost += m->pending;
	m->pending = 0;
	put(m, head, slots, sizeof(slots), RS_LOST_PADDING);
}

static void mend_packet(struct mend *m, const struct rs_packet *packet)
{
	struct rs_packet_head head = packet->head;
	uint64_t most = (head.packet_bits / 8 - sizeof(head)) / RS_SLOT_BYTES;
	uint32_t records, bytes, padding = 0;
	uint64_t reported, last;

	if (head.records > most) /* then its check is also wrong */
		head.records = (uint32_t)most;
	if (packet->cut &&
	    rs_rests_have(m->rests, m->packets.stream->index, m->records + m->lost)) {
		m->changed = true;
		m->result->bytes_dropped += packet->bytes;
		return;
	}
	if (packet->mismatch) {
		m->changed = true;
		m->result->bytes_dropped += packet->bytes;
		m->pending += head.records;
		return;
	}
	/* skips the empty first packet of packets.c */
	if (!packet->bytes && !packet->cut && !m->sequence) {
		put(m, head, packet->at, 0, 0);
		return;
	}
	bytes = valid_bytes(m, packet, &records, &reported, &last, &padding);
	m->reported += reported;
	if (bytes)
		put_loss(m, ((const struct rs_slot *)(const void *)packet->at)->tsc);
	if (bytes && bytes == packet->bytes && !packet->cut) {
		uint64_t first = ((const struct rs_slot *)(const void *)packet->at)->tsc;

		/* A valid check does not prove that the header matches its records. */
		m->changed |=
			head.ts_begin != first || head.ts_end != last || head.records != records;
		head.ts_begin = first;
		head.ts_end = last;
		head.records = records;
		m->head.events_discarded = head.events_discarded;
		put(m, head, packet->at, bytes, padding);
		return;
	}
	m->changed = true;
	m->result->bytes_dropped += packet->bytes - bytes;
	m->pending += head.records > records ? head.records - records : 0;
	if (!bytes)
		return;
	/* The header of a cut packet cannot be checked: writes a new one. */
	head = m->head;
	head.ts_begin = ((const struct rs_slot *)(const void *)packet->at)->tsc;
	head.ts_end = last;
	head.records = records;
	head.events_discarded = m->head.events_discarded += reported;
	put(m, head, packet->at, bytes, padding);
}

/* If the description has the stream's number of records, counts those neither kept nor reported as
 * lost. */
static void pend_missing(struct mend *m)
{
	uint64_t emitted = m->end.records + m->end.lost;
	uint64_t reported = m->reported + m->discarded_more + m->pending;

	if (!m->end.known || emitted <= m->records + reported)
		return;
	m->pending += emitted - m->records - reported;
	m->result->missing += emitted - m->records - reported;
	if (m->storage)
		m->why = RS_LOST_STORAGE;
	m->head.events_discarded = m->reported;
	m->changed = true;
}

/* Makes a packet's header for a stream that may have no packet to copy it from. */
static struct rs_packet_head head_of(const struct rs_trace *trace, uint32_t index)
{
	const struct rs_stream *stream = trace->describe.streams[index];
	struct rs_packet_head head = {
		.magic = RS_CTF_MAGIC,
		.class_index = trace->describe.stream_class[index]->index,
		.stream_index = index,
		.cpu_id = stream->cpu < 0 ? RS_PACKET_CPU_UNKNOWN : (uint32_t)stream->cpu,
	};

	rs_describe_uuid(&trace->describe, head.uuid);
	return head;
}

/* Writes the rest of one ring as packets. */
static void rest_put(struct mend *m, struct rs_rest *rest)
{
	struct rs_drained got;

	while (rs_rest_next(rest, &got)) {
		struct rs_packet_head head = m->head;

		if (rest->missing) {
			m->pending = rest->missing;
			m->why = RS_LOST_STORAGE;
			rest->missing = 0;
			put_loss(m, got.first_tsc);
		}
		head.ts_begin = got.first_tsc;
		head.ts_end = got.last_tsc;
		head.records = 0;
		if (!m->sequence && got.lost) /* as packets.c does */
			put_one(m, head, rest->content, 0, 0);
		head.events_discarded = m->head.events_discarded += got.lost;
		head.records = got.records;
		m->reported += got.lost;
		m->changed = true;
		m->result->recovered += got.records;
		put(m, head, rest->content, got.bytes, got.padding);
	}
}

/* Writes the records that are in the rings of the stream's threads but not in its packets. */
static struct rs_error *rests_put(struct mend *m)
{
	struct rs_error *err = NULL;
	struct rs_rest *rest = NULL;
	uint32_t at = 0;

	do {
		err = rs_rest_begin(m->rests, m->packets.stream->index, &at, m->records + m->lost,
				    m->last_tsc, &rest);
		if (err || !rest)
			return err;
		rest_put(m, rest);
		rs_rest_free(rest);
	} while (true);
}

static struct rs_error *mend_all(struct mend *m)
{
	struct rs_packet packet;
	struct rs_error *err;
	bool more;

	do {
		uint64_t size = m->packets.size;

		err = rs_packets_next(&m->packets, &packet, &more);
		if (!err && more) {
			mend_packet(m, &packet);
		} else if (err && rs_error_code(err) == RS_DAMAGED) {
			/* No packet behind this one can be found. */
			m->result->bytes_dropped += size - m->packets.offset;
			m->changed = true;
			rs_error_free(err);
			err = NULL;
			more = false;
		}
	} while (!err && more);
	if (!err) {
		pend_missing(m);
		put_loss(m, m->last_tsc ? m->last_tsc : rs_stamp_begin(m->packets.stream->clock));
		err = rests_put(m);
	}
	return err;
}

/* Reads a stream once, from its beginning. Sets *changed if the stream needs repair. */
static struct rs_error *pass(struct rs_trace *trace, const struct rs_rests *rests, uint32_t index,
			     FILE *file, FILE *index_file, struct rs_repair_result *result,
			     bool *changed)
{
	struct mend m = { .file = file,
			  .index = index_file,
			  .head = head_of(trace, index),
			  .end = *trace->describe.stream_end[index],
			  .why = RS_LOST_DAMAGED,
			  .storage = trace->unsaid > 0,
			  .rests = rests,
			  .result = result };
	struct rs_error *err = rs_packets_open(trace, index, &m.packets);

	if (err)
		return err;
	rs_layouts_init(&m.layouts, trace->describe.streams[index]->schema);
	err = mend_all(&m);
	rs_packets_close(&m.packets);
	*changed = m.changed;
	if (index_file)
		*trace->describe.stream_end[index] = (struct rs_stream_end){
			.known = true,
			.bytes = m.offset,
			.records = m.records,
			.lost = m.lost,
		};
	return err;
}

/* The new content of a file, composed in memory first. */
struct rs_text {
	char *at;
	size_t bytes;
};

static void write_text(FILE *file, const void *ctx)
{
	const struct rs_text *text = ctx;

	fwrite(text->at, 1, text->bytes, file);
}

/* Returns whether a file has exactly these bytes. */
static bool is_in_place(const struct rs_folder *folder, const char *name,
			const struct rs_text *text)
{
	char block[4096];
	size_t done = 0, n;
	FILE *file;
	struct rs_error *err = rs_folder_file(folder, name, O_RDONLY, "r", &file);

	if (err) {
		rs_error_free(err);
		return false;
	}
	while ((n = fread(block, 1, sizeof(block), file)) > 0 && n <= text->bytes - done &&
	       !memcmp(block, text->at + done, n))
		done += n;
	fclose(file);
	return !n && done == text->bytes;
}

/* Replaces a file, unless its content is the same: the disk may be full. */
static struct rs_error *put_in_place(const struct rs_folder *folder, const char *name,
				     const struct rs_text *text)
{
	if (is_in_place(folder, name, text))
		return NULL;
	return rs_folder_replace(folder, name, RS_STORE_NEW, write_text, text);
}

/* Writes the repaired stream to a new file, which then replaces the old one. */
static struct rs_error *write_anew(struct rs_trace *trace, const struct rs_rests *rests,
				   uint32_t index, FILE *index_file,
				   struct rs_repair_result *result)
{
	struct rs_error *err;
	bool changed, bad;
	char name[32];
	FILE *file;

	snprintf(name, sizeof(name), "stream_%u", index);
	err = rs_folder_new(&trace->folder, RS_STORE_NEW, &file);
	if (err)
		return err;
	err = pass(trace, rests, index, file, index_file, result, &changed);
	bad = ferror(file);
	bad |= fclose(file) != 0;
	if (!err && bad)
		err = rs_error_errno(errno, "%s/%s", trace->folder.path, name);
	if (!err)
		err = rs_folder_rename(&trace->folder, RS_STORE_NEW, name);
	if (err)
		rs_folder_drop(&trace->folder, RS_STORE_NEW);
	return err;
}

/* Creates an empty file for a stream whose file is missing. */
static struct rs_error *make_if_gone(const struct rs_trace *trace, uint32_t index, bool *made)
{
	char name[32];
	int fd;

	snprintf(name, sizeof(name), "stream_%u", index);
	fd = rs_folder_open_file(&trace->folder, name, O_WRONLY | O_CREAT | O_EXCL);
	*made = fd >= 0;
	if (fd >= 0)
		close(fd);
	return fd >= 0 || errno == EEXIST
		       ? NULL
		       : rs_error_errno(errno, "%s/%s", trace->folder.path, name);
}

/* Repairs a stream. Does not change an intact stream, but adds its entries to the index. */
static struct rs_error *mend_stream(struct rs_trace *trace, const struct rs_rests *rests,
				    uint32_t index, FILE *index_file,
				    struct rs_repair_result *result)
{
	struct rs_repair_result look = { 0 };
	struct rs_error *err;
	bool changed, made;

	err = make_if_gone(trace, index, &made);
	if (!err)
		err = pass(trace, rests, index, NULL, NULL, &look, &changed);
	if (err)
		return err;
	result->streams_changed += changed || made;
	if (changed)
		return write_anew(trace, rests, index, index_file, result);
	return pass(trace, rests, index, NULL, index_file, result, &changed);
}

/* Returns the streams' ends as the recorder or the last repair wrote them, or NULL. */
static struct rs_stream_end *ends_copy(const struct rs_trace *trace)
{
	uint32_t n = trace->describe.n_streams;
	struct rs_stream_end *ends = calloc(n ? n : 1, sizeof(*ends));

	for (uint32_t i = 0; ends && i < n; i++)
		ends[i] = *trace->describe.stream_end[i];
	return ends;
}

static bool ends_changed(const struct rs_trace *trace, const struct rs_stream_end *before)
{
	for (uint32_t i = 0; i < trace->describe.n_streams; i++) {
		const struct rs_stream_end *end = trace->describe.stream_end[i];

		if (end->known != before[i].known || end->bytes != before[i].bytes ||
		    end->records != before[i].records || end->lost != before[i].lost)
			return true;
	}
	return false;
}

/* Copies the old description's valid lines, without the partial last line that a killed recorder
 * may leave. */
static bool copy_lines(const struct rs_trace *trace, FILE *file)
{
	const struct rs_bad_lines *bad = &trace->describe.bad;
	struct rs_lines_reader reader = { 0 };
	size_t number = 0, len;
	const char *text;
	bool good = true;
	uint32_t at = 0;
	struct rs_error *err =
		rs_folder_file(&trace->folder, "ringside/describe", O_RDONLY, "r", &reader.file);

	if (err) {
		rs_error_free(err);
		return false;
	}
	while (good && (good = rs_describe_line(&reader, &text, &len)) && len &&
	       text[len - 1] == '\n') {
		number++;
		if (at < bad->n && bad->numbers[at] == number)
			at++;
		else
			good = fwrite(text, 1, len, file) == len;
	}
	good &= !ferror(reader.file);
	free(reader.buffer);
	fclose(reader.file);
	return good;
}

/* Composes a description with the streams' present ends, and without invalid lines. */
static struct rs_error *write_describe(struct rs_trace *trace, const struct rs_rests *rests)
{
	struct rs_describe *describe = &trace->describe;
	struct rs_text text = { 0 };
	FILE *file = open_memstream(&text.at, &text.bytes);
	struct rs_lines lines = { 0 };
	struct rs_error *err;
	bool good = file && copy_lines(trace, file) && rs_lines_init(&lines);

	if (good && rests)
		good = rs_describe_write_schemas(describe, &lines);
	for (uint32_t i = 0; good && i < describe->n_streams; i++) {
		if (describe->bad.mended[i])
			good = rs_describe_write_stream(describe, &lines, i);
	}
	for (uint32_t i = 0; good && i < describe->n_streams; i++)
		good = rs_describe_write_end(describe, &lines, i);
	good = good && fwrite(lines.text, 1, lines.bytes, file) == lines.bytes;
	if (file && fclose(file))
		good = false;
	err = good ? put_in_place(&trace->folder, "ringside/describe", &text)
		   : rs_error_no_memory();
	rs_lines_deinit(&lines);
	free(text.at);
	return err;
}

/* Computes the check of the present description. */
static struct rs_error *check_anew(struct rs_trace *trace)
{
	struct rs_describe again;
	struct rs_error *err = rs_describe_read(&trace->folder, &again);

	if (err)
		return err;
	trace->check_known = true;
	trace->check = again.check;
	rs_describe_deinit(&again);
	return NULL;
}

static struct rs_error *put_metadata(const struct rs_trace *trace)
{
	struct rs_text text = { 0 };
	FILE *file = open_memstream(&text.at, &text.bytes);
	struct rs_error *err = NULL;

	/* The recorder's metadata is more complete than metadata of a description with missing
	 * lines. */
	if (trace->describe.bad.n && !faccessat(trace->folder.fd, "metadata", R_OK, 0)) {
		if (file)
			fclose(file);
		free(text.at);
		return NULL;
	}
	if (file)
		rs_metadata_write(file, &trace->describe);
	if (!file || fclose(file))
		err = rs_error_no_memory();
	if (!err)
		err = put_in_place(&trace->folder, "metadata", &text);
	free(text.at);
	return err;
}

static void write_block(FILE *file, const void *block)
{
	fwrite(block, 1, RS_STATE_BYTES, file);
}

static struct rs_error *put_state(const struct rs_trace *trace)
{
	struct rs_state state = { .word = "repaired",
				  .check = &trace->check,
				  .private = &trace->private };
	char block[RS_STATE_BYTES];
	struct rs_out out;
	struct rs_error *err = rs_out_init_put(&out, NULL);

	if (err)
		return err;
	if (trace->unsaid) { /* losses that belong to no stream are recorded only in the state */
		state.unsaid = trace->unsaid;
		state.error = trace->end_error;
	}
	rs_state_format(&state, &out, block);
	rs_out_deinit(&out);
	return rs_folder_replace(&trace->folder, "ringside/state", RS_STORE_NEW, write_block,
				 block);
}

/* Replaces the index. If that fails, removes it, since it is only a hint. */
static void put_index(const struct rs_trace *trace, const struct rs_text *text, bool changed)
{
	struct stat st;
	struct rs_error *err;

	/* The old index may list the same packets in another order, that of their writing. */
	if (!changed && !fstatat(trace->folder.inside, "index", &st, AT_SYMLINK_NOFOLLOW) &&
	    S_ISREG(st.st_mode) && (uint64_t)st.st_size == text->bytes)
		return;
	err = put_in_place(&trace->folder, "ringside/index", text);
	if (err)
		rs_folder_drop(&trace->folder, "ringside/index");
	rs_error_free(err);
}

/* Repairs each stream, and writes the index. */
static struct rs_error *mend_streams(struct rs_trace *trace, const struct rs_rests *rests,
				     struct rs_repair_result *result)
{
	struct rs_text text = { 0 };
	FILE *index = open_memstream(&text.at, &text.bytes);
	struct rs_error *err = index ? NULL : rs_error_no_memory();

	for (uint32_t i = 0; !err && i < trace->describe.n_streams; i++) {
		if (rs_describe_lost(&trace->describe, i))
			result->streams_unread++;
		else
			err = mend_stream(trace, rests, i, index, result);
	}
	if (index && fclose(index) && !err)
		err = rs_error_no_memory();
	if (!err)
		put_index(trace, &text, result->streams_changed > 0);
	free(text.at);
	return err;
}

/* Replaces the trace's own files, after the streams are repaired. */
static struct rs_error *mend_files(struct rs_trace *trace, const struct rs_rests *rests,
				   bool ends_change, struct rs_repair_result *result)
{
	bool whole = trace->end == RS_TRACE_CLOSED || trace->end == RS_TRACE_REPAIRED;
	struct rs_error *err = NULL;

	result->lines_dropped = trace->describe.bad.n;
	result->description_damaged = trace->check_known && trace->check != trace->describe.check;
	if (ends_change || trace->describe.bad.cost || result->recovered)
		err = write_describe(trace, rests);
	else if (whole && !result->streams_changed && !result->missing)
		return put_metadata(trace);
	if (!err && !result->description_damaged)
		err = check_anew(trace);
	/* the streams report this loss now */
	trace->unsaid -= trace->unsaid < result->missing ? trace->unsaid : result->missing;
	if (!err)
		err = put_metadata(trace);
	return err ? err : put_state(trace);
}

struct rs_error *rs_trace_repair(const char *directory, struct rs_repair_result *out)
{
	struct rs_repair_result result = { 0 };
	struct rs_trace *trace;
	struct rs_error *err = rs_trace_open(directory, &trace);
	struct rs_rests *rests = NULL;
	struct rs_stream_end *ends = NULL;

	if (err)
		return err;
	if (trace->end == RS_TRACE_RECORDING) {
		rs_trace_close(trace);
		return rs_error_create(RS_USAGE, "%s is still being recorded", directory);
	}
	err = rs_rests_open(trace, &rests);
	if (!err)
		ends = ends_copy(trace);
	if (!err)
		err = ends ? mend_streams(trace, rests, &result) : rs_error_no_memory();
	if (!err)
		err = mend_files(trace, rests, ends_changed(trace, ends), &result);
	if (!err && rests)
		err = rs_rests_remove(rests);
	rs_rests_close(rests);
	free(ends);
	rs_trace_close(trace);
	if (!err)
		*out = result;
	return err;
}
