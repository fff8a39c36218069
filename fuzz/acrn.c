/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A hostile raw file of ACRN, and a hostile formats file for it.
 *
 *	input: flags; u16 length of the formats, the formats; the file
 *	flags: 1: the frequency is given
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "analyze/tally.h"
#include "import/acrn/trace.h"
#include "view/acrn.h"

#include "fuzz.h"

#define FORMATS_MAX 8192u

static int as_file(const uint8_t *bytes, size_t n)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	MUST(fd >= 0 && write(fd, bytes, n) == (ssize_t)n && !lseek(fd, 0, SEEK_SET));
	return fd;
}

/* Records shown and left out add up to the file. */
static void read_all(const struct fuzz_input *in, const struct rs_foreign_options *options,
		     struct rs_sink *sink)
{
	struct rs_foreign *foreign;
	size_t head = in->left < RS_ACRN_HEAD_MAX ? in->left : RS_ACRN_HEAD_MAX;
	struct rs_error *err = rs_acrn_open_fd(as_file(in->at + head, in->left - head), "fuzz",
					       in->at, head, options, &foreign);

	if (!err) {
		err = rs_run(&foreign->source, NULL, sink, NULL);
		MUST(foreign->tally.records + foreign->tally.left_out ==
		     (in->left + RS_SLOT_BYTES - 1) / RS_SLOT_BYTES);
		MUST((foreign->tally.left_out > 0) == (err != NULL));
		rs_source_destroy(&foreign->source);
	}
	fuzz_drop(err);
}

static void show(const struct fuzz_input *in, const uint8_t *formats, size_t n)
{
	static int nowhere = -1;
	struct rs_view_options view = { .time = RS_TIME_START };
	int fd = as_file(formats, n);
	struct rs_sink *sink;
	struct rs_error *err;
	char path[64];

	if (nowhere < 0)
		nowhere = open("/dev/null", O_WRONLY);
	view.fd = nowhere;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	for (uint32_t i = 0; i < 2; i++) {
		err = rs_acrn_sink_create(&view, i ? path : NULL, &sink);
		if (!err) {
			read_all(in, NULL, sink);
			rs_view_sink_destroy(sink);
		}
		fuzz_drop(err);
	}
	close(fd);
}

/* Its exits, interrupts and CPUs: the times of those that had a CPU add up to the total. */
static void add_up(const struct fuzz_input *in)
{
	struct rs_tally tally;
	struct rs_sink *sink;

	MUST(!rs_tally_sink_create(&sink));
	read_all(in, NULL, sink);
	MUST(!rs_tally_collect(sink, RS_TALLY_BY_CPU, &tally));
	for (size_t i = 0; i < tally.n_rows; i++) {
		const struct rs_tally_row *row = &tally.rows[i];

		MUST(row->timed <= row->count);
		MUST(row->off <= row->total);
		if (row->timed)
			MUST(row->min <= row->max && row->max <= tally.ticks);
		if (row->kind == RS_TALLY_CPU)
			MUST(row->total <= tally.ticks && row->guest <= row->total);
	}
	rs_tally_sink_destroy(sink);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	struct rs_foreign_options options = { .freq_hz = fuzz_u8(&in) & 1 ? 3000000000 : 0 };
	struct fuzz_sink sink = FUZZ_SINK(false);
	static uint8_t formats[FORMATS_MAX];
	size_t n = fuzz_u16(&in) % FORMATS_MAX;

	n = fuzz_take(&in, formats, n);
	read_all(&in, &options, &sink.sink);
	show(&in, formats, n);
	add_up(&in);
	return 0;
}
