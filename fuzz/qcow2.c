/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A hostile header of a disk in the format qcow2. A header that the check accepts names no other
 * file, has no feature that QEMU must support, and has its table inside of the file, by the offsets
 * of QEMU's docs/interop/qcow2.txt.
 *
 *	input: bytes of the file u64, its start
 */
#include "replay/qcow2.h"

#include "fuzz.h"

static uint64_t number_at(const uint8_t *start, size_t at, size_t bytes)
{
	uint64_t value = 0;

	for (size_t i = 0; i < bytes; i++)
		value = value << 8 | start[at + i];
	return value;
}

static void check_accepted(const uint8_t *start, size_t bytes, uint64_t file_bytes)
{
	uint64_t version = number_at(start, 4, 4), l1 = number_at(start, 40, 8);

	MUST(bytes >= 72 && !memcmp(start, "QFI\xfb", 4));
	MUST(version == 2 || version == 3);
	MUST(!number_at(start, 8, 8) && !number_at(start, 16, 4)); /* the backing file */
	MUST(!number_at(start, 32, 4));				   /* encryption */
	if (version == 3)
		MUST(bytes >= 104 && !number_at(start, 72, 8)); /* incompatible features */
	MUST(l1 <= file_bytes && number_at(start, 36, 4) <= (file_bytes - l1) / 8);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	uint64_t file_bytes = fuzz_u64(&in);
	size_t bytes = in.left < RS_QCOW2_HEADER ? in.left : RS_QCOW2_HEADER;
	uint8_t *start = malloc(bytes + !bytes); /* a read beyond it is detected */
	struct rs_error *err;

	MUST(start);
	memcpy(start, in.at, bytes);
	err = rs_qcow2_check_header(start, bytes, file_bytes);
	if (err)
		fuzz_drop(err);
	else
		check_accepted(start, bytes, file_bytes);
	free(start);
	return 0;
}
