/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A trace directory that is damaged, cut, or made to hurt: read, shown in every form, its exits
 * summed up, repaired, and read again. What repair calls whole must be read without an error,
 * unless a stream's file is gone altogether.
 *
 *	input: flags; then files: which u8, length u32, bytes
 *	which: 0 describe, 1 index, 2 state, 3 and on: streams
 *	flags: 1: the packets' check sums are made right, so that what is behind them is reached
 *	       2: repair it, and read again
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
#include <ringside/reader.h>

#define STREAMS	   4u
#define FILES	   (3 + STREAMS)
#define FILE_BYTES (256u << 10)

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

static void file_write(uint32_t which, const void *bytes, size_t n)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, file_names[which]);
	unlink(path);
	if (!bytes)
		return;
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	MUST(fd >= 0 && write(fd, bytes, n) == (ssize_t)n);
	close(fd);
}

/* Walks the packets as a reader does, and gives each the check sum that it should have. */
static void checks_mend(uint8_t *bytes, size_t n)
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

static void files_write(struct fuzz_input *in, bool mend)
{
	static uint8_t bytes[FILE_BYTES];

	for (uint32_t i = 0; i < FILES; i++)
		file_write(i, NULL, 0);
	while (in->left) {
		uint32_t which = fuzz_u8(in) % FILES, n = fuzz_u32(in);

		if (n > in->left)
			n = (uint32_t)in->left;
		if (n > sizeof(bytes))
			n = sizeof(bytes);
		fuzz_take(in, bytes, n);
		if (mend && which >= 3)
			checks_mend(bytes, n);
		if (which == 2 && n < RS_STATE_BYTES) {
			memset(bytes + n, ' ', RS_STATE_BYTES - n);
			n = RS_STATE_BYTES;
		}
		file_write(which, bytes, n);
	}
}

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

/* Text, JSON and the tree, to nowhere. */
static void show(struct rs_trace *trace)
{
	static struct rs_error *(*const create[])(const struct rs_view_options *,
						  struct rs_sink **) = { rs_text_sink_create,
									 rs_json_sink_create,
									 rs_tree_sink_create };
	static int nowhere = -1;
	struct rs_view_options options = { .clock = rs_trace_clock(trace), .streams = true };
	struct rs_sink *sink;

	if (nowhere < 0)
		nowhere = open("/dev/null", O_WRONLY);
	options.fd = nowhere;
	for (uint32_t i = 0; i < 3; i++) {
		options.time = (enum rs_time_show)i;
		fuzz_drop(create[i](&options, &sink));
		fuzz_drop(read_with(trace, sink));
		rs_view_sink_destroy(sink);
	}
}

static struct rs_error *drop_long(void *ctx, const struct rs_exits_long *exit)
{
	(void)ctx;
	MUST(exit->cost.total_ns > 1);
	return NULL;
}

/* Exits of whatever there is; what they say of each vCPU's time adds up. */
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
		fuzz_drop(rs_exits_take(sink, all, 0, &exits));
		for (size_t i = 0; i < exits.n_vcpus; i++) {
			uint64_t sum = 0;

			for (uint32_t s = 0; s < RS_VCPU_STATES; s++)
				sum += exits.vcpus[i].ns[s];
			MUST(sum == exits.vcpus[i].wall_ns);
		}
	}
	rs_exits_sink_destroy(sink);
}

/* Opens and reads; the error, if there was one. */
static struct rs_error *open_and_read(bool shown)
{
	struct fuzz_sink sink = FUZZ_SINK(false);
	struct rs_trace *trace;
	struct rs_error *err = rs_trace_open(folder, &trace);

	if (err)
		return err;
	for (uint32_t i = 0; i < rs_trace_stream_count(trace); i++)
		MUST(rs_trace_stream(trace, i)->schema && rs_trace_stream(trace, i)->clock);
	err = read_with(trace, &sink.sink);
	if (shown) {
		show(trace);
		sum_up(trace);
	}
	rs_trace_close(trace);
	return err;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	uint8_t flags = fuzz_u8(&in);
	struct rs_repair_result result;
	struct rs_error *err;
	bool gone;

	folder_make();
	files_write(&in, flags & 1);
	fuzz_drop(open_and_read(true));
	if (!(flags & 2))
		return 0;
	err = rs_trace_repair(folder, &result);
	if (err) {
		fuzz_drop(err);
		return 0;
	}
	err = open_and_read(false);
	gone = err && strstr(rs_error_text(err), strerror(ENOENT));
	if (err && !gone)
		fprintf(stderr, "after repair: %s\n", rs_error_text(err));
	MUST(!err || gone || result.description_damaged);
	rs_error_free(err);
	return 0;
}
