/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * QEMU's log of a recording, with any bytes: events are contiguous, within it, and it ends.
 * Compared with a part of itself, the two diverge where the part ends, or nowhere.
 */
#include "fuzz.h"

#include "replay/rr_compare.h"

static void compare(const uint8_t *bytes, size_t size, size_t part)
{
	const uint8_t *const both[2] = { bytes, bytes };
	const size_t sizes[2] = { size, part };
	struct rs_rr_compared c;
	struct rs_error *err = rs_rr_compare(both, sizes, &c);
	struct rs_rr_event events[4];
	char text[RS_RR_TEXT_BYTES];
	uint32_t n;

	if (err) {
		rs_error_free(err);
		return;
	}
	MUST(c.n[1] <= c.n[0] && c.differs == (c.n[0] != c.n[1]));
	MUST(!c.differs || (c.first[0].is && !c.first[1].is));
	n = rs_rr_between(bytes, size, c.icount, UINT64_MAX, events, 4);
	for (uint32_t i = 0; i < n && i < 4; i++) {
		rs_rr_event_text(&events[i], text);
		MUST(strlen(text) < sizeof(text) && events[i].icount >= c.icount);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *bytes = malloc(size ? size : 1); /* a read beyond it is detected */
	struct rs_rr_event event;
	uint64_t icount = 0, sum = 0;
	struct rs_rr_log log;
	struct rs_error *err;
	size_t at = RS_RR_HEADER;
	enum rs_rr_next next;

	MUST(bytes);
	memcpy(bytes, data, size);
	err = rs_rr_log_begin(bytes, size, &log);
	if (err) {
		rs_error_free(err);
		free(bytes);
		return 0;
	}
	while ((next = rs_rr_log_next(&log, &event)) == RS_RR_EVENT || next == RS_RR_END) {
		MUST(event.offset == at && event.icount >= icount);
		MUST(event.data == bytes + at + 1 && event.bytes <= size - at - 1);
		MUST(rs_rr_kind_text(event.kind)[0]);
		for (size_t i = 0; i < event.bytes; i++)
			sum += event.data[i];
		at += 1 + event.bytes;
		icount = event.icount;
	}
	compare(bytes, size, size - size / 4);
	MUST(log.at == at && at <= size && sum <= 255 * (uint64_t)size);
	free(bytes);
	return 0;
}
