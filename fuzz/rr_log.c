/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * QEMU's log of a recording, whatever its bytes are: events lie one behind the other, within it,
 * and it ends.
 */
#include "fuzz.h"

#include "replay/rr_log.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *bytes = malloc(size ? size : 1); /* of its very size: a byte beyond is seen */
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
	MUST(log.at == at && at <= size && sum <= 255 * (uint64_t)size);
	free(bytes);
	return 0;
}
