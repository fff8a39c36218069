/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Text files of a log that another program wrote: each line, gap and piece of damage is reported
 * once, time does not go back, and the losses add up to the tally.
 *
 *	input: flags; the file
 *	flags: 1: the frequency is given
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "import/acrn/log.h"

#include "fuzz.h"

struct counts {
	struct rs_sink sink;
	uint64_t lines, lost, damaged;
};

static struct rs_error *count(struct rs_sink *sink, const struct rs_view *views, size_t n)
{
	struct counts *c = (struct counts *)sink;

	for (size_t i = 0; i < n; i++) {
		c->lines += views[i].event->id == RS_ID_LOG;
		if (views[i].event->kind == RS_KIND_LOSS) {
			struct rs_lost lost = rs_view_loss(&views[i]);

			MUST(lost.count && lost.from <= lost.to);
			c->lost = c->lost > UINT64_MAX - lost.count ? UINT64_MAX
								    : c->lost + lost.count;
			c->damaged += lost.why == RS_LOST_DAMAGED ? lost.count : 0;
		}
	}
	return NULL;
}

static const struct rs_sink_ops count_ops = { .name = "counts", .events = count };

static struct rs_foreign *as_log(const struct fuzz_input *in,
				 const struct rs_foreign_options *options)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	size_t head = in->left < 16 ? in->left : 16;
	struct rs_foreign *foreign = NULL;
	struct rs_error *err;

	MUST(fd >= 0 && write(fd, in->at + head, in->left - head) == (ssize_t)(in->left - head) &&
	     !lseek(fd, 0, SEEK_SET));
	err = rs_acrn_log_open_fd(fd, "fuzz_cur.0", in->at, head, options, &foreign);
	MUST((err != NULL) == (foreign == NULL));
	fuzz_drop(err);
	return foreign;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	struct rs_foreign_options options = { .freq_hz = fuzz_u8(&in) & 1 ? 3000000000 : 0 };
	struct fuzz_sink sink = FUZZ_SINK(false);
	struct counts counts = { .sink = { &count_ops } };
	struct rs_foreign *foreign = as_log(&in, &options);

	if (foreign) {
		fuzz_drop(rs_run(&foreign->source, NULL, &sink.sink, NULL));
		rs_source_destroy(&foreign->source);
	}
	foreign = as_log(&in, &options);
	if (foreign) {
		fuzz_drop(rs_run(&foreign->source, NULL, &counts.sink, NULL));
		MUST(counts.lines == foreign->tally.records);
		MUST(counts.lost == foreign->tally.lost);
		MUST(counts.damaged == foreign->tally.left_out);
		rs_source_destroy(&foreign->source);
	}
	return 0;
}
