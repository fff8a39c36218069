/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A trace directory that is damaged, cut or hostile: read, shown in every form, its exits summed
 * up, repaired, and read again. A trace that repair reports as complete must be read without an
 * error, unless a stream's file is missing.
 *
 *	input: flags; then files: which u8, length u32, bytes
 *	which: 0 describe, 1 index, 2 state, 3 and on: streams
 *	flags: 1: the packets' checksums are repaired, so that the code after the check is reached
 *	       2: repair it, and read again
 *	       the other bits choose one way of reading, or all of them if they are 0, and then it
 *	       is read before a repair, too
 *
 * The mutator changes a line, a packet's header, a record, or a whole packet, and makes the sizes
 * around it right.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/exits.h"
#include "store/check.h"
#include "store/repair.h"
#include "view/view.h"

#include "fuzz.h"
#include "mutate.h"
#include "pool.h"
#include <ringside/reader.h>

#define MEND   1u
#define REPAIR 2u

#define DESCRIBE     0u
#define STATE	     2u
#define FIRST_STREAM 3u
#define STREAMS	     4u
#define FILES	     (FIRST_STREAM + STREAMS)
#define FILE_BYTES   (256u << 10)

static const char *const file_names[FILES] = { "ringside/describe", "ringside/index",
					       "ringside/state",    "stream_0",
					       "stream_1",	    "stream_2",
					       "stream_3" };
static char folder[64];

static void folder_remove(void)
{
	char path[128];

	for (uint32_t i = 0; i < FILES; i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, file_names[i]);
		unlink(path);
	}
	snprintf(path, sizeof(path), "%s/metadata", folder);
	unlink(path);
	snprintf(path, sizeof(path), "%s/ringside/new", folder);
	unlink(path);
	snprintf(path, sizeof(path), "%s/ringside", folder);
	rmdir(path);
	rmdir(folder);
}

static void folder_make(void)
{
	char path[128];

	if (folder[0])
		return;
	snprintf(folder, sizeof(folder), "%s/ringside-fuzz-XXXXXX",
		 access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
	MUST(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/ringside", folder);
	MUST(!mkdir(path, 0700));
	atexit(folder_remove);
}

/*
 * The known contents of the folder's files. Most mutants change one file, and its length by little:
 * it stays open, and its memory stays allocated.
 */
static struct held {
	uint8_t bytes[FILE_BYTES];
	size_t n;
	bool is_known, is_there;
	int fd; /* whether it is known to exist */
} held[FILES];

static void path_of(char path[128], uint32_t which)
{
	snprintf(path, 128, "%s/%s", folder, file_names[which]);
}

/* Closes the file, whose name may refer to another from now on. */
static void file_forget(uint32_t which)
{
	struct held *h = &held[which];

	if (h->is_known && h->is_there)
		close(h->fd);
	h->is_known = false;
}

static void file_remove(uint32_t which)
{
	struct held *h = &held[which];
	char path[128];

	if (h->is_known && !h->is_there)
		return;
	file_forget(which);
	path_of(path, which);
	unlink(path);
	h->is_known = true;
	h->is_there = false;
}

static void file_open(uint32_t which)
{
	struct held *h = &held[which];
	char path[128];

	path_of(path, which);
	h->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	MUST(h->fd >= 0);
	h->n = 0;
	h->is_known = h->is_there = true;
}

FUZZ_OWN static void file_write(uint32_t which, const void *bytes, size_t n)
{
	struct held *h = &held[which];

	if (!h->is_known || !h->is_there)
		file_open(which);
	else if (h->n == n && !memcmp(h->bytes, bytes, n))
		return;
	MUST(pwrite(h->fd, bytes, n, 0) == (ssize_t)n);
	if (n < h->n)
		MUST(!ftruncate(h->fd, (off_t)n));
	memcpy(h->bytes, bytes, n);
	h->n = n;
}

/* Repair has changed the files. */
static void files_forget(void)
{
	char path[128];

	for (uint32_t i = 0; i < FILES; i++)
		file_forget(i);
	snprintf(path, sizeof(path), "%s/metadata", folder);
	unlink(path);
}

/* Walks the packets as a reader does, and writes the right checksum to each. */
FUZZ_OWN static void checks_mend(uint8_t *bytes, size_t n)
{
	struct rs_packet_head head;

	for (size_t at = 0; n - at >= sizeof(head); at += head.packet_bits / 8) {
		memcpy(&head, bytes + at, sizeof(head));
		if (head.packet_bits % 8 || head.packet_bits / 8 < sizeof(head) ||
		    head.packet_bits / 8 > n - at)
			return;
		head.check = rs_packet_check(&head, bytes + at + sizeof(head),
					     head.packet_bits / 8 - sizeof(head));
		memcpy(bytes + at, &head, sizeof(head));
	}
}

FUZZ_OWN static void file_make(uint32_t which, const uint8_t *from, size_t n, bool mend)
{
	static uint8_t bytes[FILE_BYTES];

	n = n < sizeof(bytes) ? n : sizeof(bytes);
	memcpy(bytes, from, n);
	if (mend && which >= FIRST_STREAM)
		checks_mend(bytes, n);
	if (which == STATE && n < RS_STATE_BYTES) {
		memset(bytes + n, ' ', RS_STATE_BYTES - n);
		n = RS_STATE_BYTES;
	}
	file_write(which, bytes, n);
}

/* Where the input has a file twice, the last one counts. */
FUZZ_OWN static void files_write(struct fuzz_input *in, bool mend)
{
	struct fuzz_input files[FILES] = { 0 };

	while (in->left) {
		uint32_t which = fuzz_u8(in) % FILES, n = fuzz_u32(in);

		if (n > in->left)
			n = (uint32_t)in->left;
		files[which] = (struct fuzz_input){ in->at, n };
		in->at += n;
		in->left -= n;
	}
	for (uint32_t i = 0; i < FILES; i++) {
		if (files[i].at)
			file_make(i, files[i].at, files[i].left, mend);
		else
			file_remove(i);
	}
}

/* ---- ways of reading ------------------------------------------------------------------------- */

static struct rs_error *read_with(struct rs_trace *trace, struct rs_sink *sink)
{
	struct rs_source *source;
	struct rs_error *err = rs_trace_source(trace, &source);

	if (err)
		return err;
	err = rs_run(source, NULL, sink, NULL);
	rs_source_destroy(source);
	return err;
}

static void plain(struct rs_trace *trace)
{
	struct fuzz_sink sink = FUZZ_SINK(false);

	fuzz_drop(read_with(trace, &sink.sink));
}

/* Reads into a view's sink, whose output is discarded. */
static void show(struct rs_trace *trace, enum rs_time_show time,
		 struct rs_error *(*create)(const struct rs_view_options *, struct rs_sink **))
{
	static int nowhere = -1;
	struct rs_view_options options = { .clock = rs_trace_clock(trace),
					   .streams = true,
					   .time = time };
	struct rs_sink *sink;

	if (nowhere < 0)
		nowhere = open("/dev/null", O_WRONLY);
	options.fd = nowhere;
	fuzz_drop(create(&options, &sink));
	fuzz_drop(read_with(trace, sink));
	rs_view_sink_destroy(sink);
}

static void text(struct rs_trace *trace)
{
	show(trace, (enum rs_time_show)0, rs_text_sink_create);
}

static void json(struct rs_trace *trace)
{
	show(trace, (enum rs_time_show)1, rs_json_sink_create);
}

static void tree(struct rs_trace *trace)
{
	show(trace, (enum rs_time_show)2, rs_tree_sink_create);
}

static struct rs_error *drop_long(void *ctx, const struct rs_exits_long *exit)
{
	(void)ctx;
	MUST(exit->cost.total_ns > 1);
	return NULL;
}

/* Exits of all events; each vCPU's reported times add up. */
static void sum_up(struct rs_trace *trace)
{
	const struct rs_exits_options options = {
		.latency = true, .causes = true, .than_ns = 1, .than = drop_long
	};
	struct rs_exits exits;
	struct rs_sink *sink;
	struct rs_error *err = rs_exits_sink_create(&options, &sink);

	MUST(!err);
	fuzz_drop(read_with(trace, sink));
	for (int all = 0; all < 2; all++) {
		fuzz_drop(rs_exits_collect(sink, all, 0, &exits));
		for (size_t i = 0; i < exits.n_vcpus; i++) {
			uint64_t sum = 0;

			for (uint32_t s = 0; s < RS_VCPU_STATES; s++)
				sum += exits.vcpus[i].ns[s];
			MUST(sum == exits.vcpus[i].wall_ns);
		}
	}
	rs_exits_sink_destroy(sink);
}

static void (*const ways[])(struct rs_trace *) = { plain, text, json, tree, sum_up };
#define WAYS (sizeof(ways) / sizeof(ways[0]))

static struct rs_error *trace_open(struct rs_trace **trace)
{
	struct rs_error *err = rs_trace_open(folder, trace);

	for (uint32_t i = 0; !err && i < rs_trace_stream_count(*trace); i++)
		MUST(rs_trace_stream(*trace, i)->schema && rs_trace_stream(*trace, i)->clock);
	return err;
}

/* way: WAYS for all of them. */
static void read_in(size_t way)
{
	struct rs_trace *trace;
	struct rs_error *err = trace_open(&trace);

	if (err) {
		fuzz_drop(err);
		return;
	}
	for (size_t i = 0; i < WAYS; i++) {
		if (way == WAYS || way == i)
			ways[i](trace);
	}
	rs_trace_close(trace);
}

/* Errors that repair reported as not mended are still errors, and no others are. */
static void repair(void)
{
	struct fuzz_sink sink = FUZZ_SINK(false);
	struct rs_repair_result result;
	struct rs_trace *trace;
	struct rs_error *err = rs_trace_repair(folder, &result);
	bool gone;

	files_forget();
	if (err) {
		fuzz_drop(err);
		return;
	}
	err = trace_open(&trace);
	if (!err) {
		err = read_with(trace, &sink.sink);
		rs_trace_close(trace);
	}
	gone = err && strstr(rs_error_text(err), strerror(ENOENT));
	if (err && !gone)
		fprintf(stderr, "after repair: %s\n", rs_error_text(err));
	MUST(!err || gone || result.description_damaged || result.streams_unread);
	rs_error_free(err);
}

/* ---- a mutated input ------------------------------------------------------------------------- */

#define ENTRY_BYTES 5u /* before a file: its number, its length */
#define HEAD_BYTES  ((uint32_t)sizeof(struct rs_packet_head))
#define BITS_AT	    ((uint32_t)offsetof(struct rs_packet_head, packet_bits))
#define CONTENT_AT  ((uint32_t)offsetof(struct rs_packet_head, content_bits))
#define NUMBERS_AT  ((uint32_t)offsetof(struct rs_packet_head, ts_begin))

/* Chooses a file of the input, with equal chances. Returns whether there is any. */
FUZZ_OWN static bool entry_pick(struct fuzz_mutant *m, struct fuzz_part *entry)
{
	uint32_t n = 0;

	for (size_t at = 1; m->size - at >= ENTRY_BYTES;) {
		size_t bytes = ENTRY_BYTES + (size_t)fuzz_get_u32(m, at + 1);

		if (bytes > m->size - at)
			bytes = m->size - at;
		if (!fuzz_pick(m, ++n))
			*entry = (struct fuzz_part){ at, bytes };
		at += bytes;
	}
	return n > 0;
}

/* Chooses a line of a file. */
FUZZ_OWN static struct fuzz_part line_pick(struct fuzz_mutant *m, struct fuzz_part file)
{
	struct fuzz_part line = file;
	size_t end = file.at + file.bytes;
	uint32_t n = 0;

	for (size_t at = file.at, next; at < end; at = next) {
		const uint8_t *newline = memchr(m->data + at, '\n', end - at);

		next = newline ? (size_t)(newline - m->data) + 1 : end;
		if (!fuzz_pick(m, ++n))
			line = (struct fuzz_part){ at, next - at };
	}
	return line;
}

static void part_repeat(struct fuzz_mutant *m, struct fuzz_part part)
{
	static uint8_t copy[FILE_BYTES];

	if (part.bytes > sizeof(copy))
		return;
	memcpy(copy, m->data + part.at, part.bytes);
	fuzz_splice(m, part.at, 0, copy, part.bytes);
}

/* Usually changes a part; otherwise repeats or removes it. */
static void part_mutate(struct fuzz_mutant *m, struct fuzz_part part)
{
	switch (fuzz_pick(m, 8)) {
	case 0:
		part_repeat(m, part);
		break;
	case 1:
		fuzz_splice(m, part.at, part.bytes, NULL, 0);
		break;
	default:
		fuzz_mutate_part(m, part.at, part.bytes);
	}
}

/* Chooses a packet of a stream's file. */
FUZZ_OWN static bool packet_pick(struct fuzz_mutant *m, struct fuzz_part file,
				 struct fuzz_part *packet)
{
	size_t end = file.at + file.bytes;
	uint32_t n = 0;

	for (size_t at = file.at; end - at >= HEAD_BYTES;) {
		size_t bytes = fuzz_get_u32(m, at + BITS_AT) / 8;

		if (bytes < HEAD_BYTES || bytes > end - at)
			bytes = end - at;
		if (!fuzz_pick(m, ++n))
			*packet = (struct fuzz_part){ at, bytes };
		at += bytes;
	}
	return n > 0;
}

/* Changes a record: a number of its slot, or all of it; or repeats or removes it. */
static void slot_mutate(struct fuzz_mutant *m, struct fuzz_part packet)
{
	uint32_t slots = (uint32_t)(packet.bytes - HEAD_BYTES) / RS_SLOT_BYTES;
	struct fuzz_part slot = { .bytes = RS_SLOT_BYTES };
	size_t before = m->size;
	uint32_t bits;

	if (!slots)
		return;
	slot.at = packet.at + HEAD_BYTES + fuzz_pick(m, slots) * (size_t)RS_SLOT_BYTES;
	switch (fuzz_pick(m, 8)) {
	case 0:
		part_repeat(m, slot);
		break;
	case 1:
		fuzz_splice(m, slot.at, slot.bytes, NULL, 0);
		break;
	case 2:
		fuzz_mutate_fixed(m, slot.at, slot.bytes);
		break;
	default:
		fuzz_mutate_fixed(m, slot.at + fuzz_pick(m, 4) * (size_t)8, 8);
	}
	bits = (uint32_t)(packet.bytes + m->size - before) * 8;
	fuzz_put_u32(m, packet.at + BITS_AT, bits);
	fuzz_put_u32(m, packet.at + CONTENT_AT, bits);
}

static void stream_mutate(struct fuzz_mutant *m, struct fuzz_part file)
{
	struct fuzz_part packet = { 0 };

	if (!packet_pick(m, file, &packet)) {
		fuzz_mutate_part(m, file.at, file.bytes);
		return;
	}
	switch (fuzz_pick(m, 8)) {
	case 0:
		part_mutate(m, packet);
		break;
	case 1:
	case 2:
		fuzz_mutate_fixed(m, packet.at + NUMBERS_AT + fuzz_pick(m, 8) * (size_t)8, 8);
		break;
	default:
		slot_mutate(m, packet);
	}
}

static void file_mutate(struct fuzz_mutant *m)
{
	struct fuzz_part entry = { 0 }, file;
	size_t before = m->size;
	uint32_t which;

	if (!entry_pick(m, &entry)) {
		m->size = LLVMFuzzerMutate(m->data, m->size, m->most);
		return;
	}
	file = (struct fuzz_part){ entry.at + ENTRY_BYTES, entry.bytes - ENTRY_BYTES };
	which = m->data[entry.at] % FILES;
	if (which >= FIRST_STREAM)
		stream_mutate(m, file);
	else if (which == DESCRIBE)
		part_mutate(m, line_pick(m, file));
	else
		fuzz_mutate_part(m, file.at, file.bytes);
	fuzz_put_u32(m, entry.at + 1, (uint32_t)(file.bytes + m->size - before));
}

#define PLAIN_1_IN   8u	 /* mutants that libFuzzer makes of the whole input */
#define WAY_1_IN     8u	 /* mutants that are read in another way */
#define WRONG_1_IN   16u /* mutants whose checksums are not repaired */
#define REPAIRS_1_IN 32u /* mutants that are repaired, which writes new files */

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned int seed)
{
	struct fuzz_mutant m = { data, size, most, seed };
	uint32_t way = size ? data[0] >> 2 : 0;

	if (!size || !fuzz_pick(&m, PLAIN_1_IN))
		m.size = LLVMFuzzerMutate(data, size, most);
	else
		file_mutate(&m);
	if (!way || !fuzz_pick(&m, WAY_1_IN))
		way = 1 + fuzz_pick(&m, WAYS);
	if (m.size)
		data[0] = (uint8_t)(way << 2 | (fuzz_pick(&m, WRONG_1_IN) ? MEND : 0) |
				    (fuzz_pick(&m, REPAIRS_1_IN) ? 0 : REPAIR));
	return m.size;
}

/* ---- an input -------------------------------------------------------------------------------- */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	uint8_t flags = fuzz_u8(&in);
	uint32_t way = flags >> 2;

	folder_make();
	files_write(&in, flags & MEND);
	fuzz_pool_begin();
	if (!way || !(flags & REPAIR))
		read_in(way ? way % WAYS : WAYS);
	if (flags & REPAIR)
		repair();
	fuzz_pool_end();
	return 0;
}
