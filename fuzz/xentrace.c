/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A file of xentrace that is damaged, cut, or made to hurt: read as a file and through a pipe,
 * whose events must be the same, and shown as text and JSON.
 *
 *	input: flags; the file
 *	flags: 1: the frequency is told
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "source/xentrace.h"
#include "view/view.h"

#include "fuzz.h"

#define PIPE_BYTES (1u << 20)

static int as_file(const uint8_t *bytes, size_t n)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	MUST(fd >= 0 && write(fd, bytes, n) == (ssize_t)n && !lseek(fd, 0, SEEK_SET));
	return fd;
}

/* All of it fits; the other end is closed. */
static int as_pipe(const uint8_t *bytes, size_t n)
{
	int ends[2];

	MUST(!pipe(ends));
	MUST(fcntl(ends[1], F_SETPIPE_SZ, PIPE_BYTES) >= (int)PIPE_BYTES);
	MUST(write(ends[1], bytes, n) == (ssize_t)n);
	close(ends[1]);
	return ends[0];
}

static void read_all(int fd, const struct rs_foreign_options *options, struct rs_sink *sink)
{
	struct rs_foreign *foreign;
	struct rs_error *err = rs_xentrace_open_fd(fd, "fuzz", "", 0, options, &foreign);

	if (!err) {
		err = rs_run(&foreign->source, NULL, sink, NULL);
		rs_source_destroy(&foreign->source);
	}
	fuzz_drop(err);
}

static void show(const uint8_t *bytes, size_t n, const struct rs_foreign_options *options)
{
	static struct rs_error *(*const create[])(const struct rs_view_options *,
						  struct rs_sink **) = { rs_text_sink_create,
									 rs_json_sink_create };
	static int nowhere = -1;
	struct rs_view_options view = { .time = RS_TIME_START };
	struct rs_sink *sink;

	if (nowhere < 0)
		nowhere = open("/dev/null", O_WRONLY);
	view.fd = nowhere;
	for (uint32_t i = 0; i < 2; i++) {
		fuzz_drop(create[i](&view, &sink));
		read_all(as_file(bytes, n), options, sink);
		rs_view_sink_destroy(sink);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	struct rs_foreign_options options = { .freq_hz = fuzz_u8(&in) & 1 ? 1000000000 : 0 };
	struct fuzz_sink file = FUZZ_SINK(false), piped = FUZZ_SINK(false);

	if (in.left > PIPE_BYTES)
		return 0;
	read_all(as_file(in.at, in.left), &options, &file.sink);
	read_all(as_pipe(in.at, in.left), &options, &piped.sink);
	MUST(file.events == piped.events);
	show(in.at, in.left, &options);
	return 0;
}
