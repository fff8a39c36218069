/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program's ELF file, as the three readers of it have it: where it is put, its static probes, its
 * functions. The input is the file. A guest whose memory is that file's bytes is asked whether the
 * program is there.
 */
#include "fuzz.h"

#include <sys/mman.h>
#include <unistd.h>

#include "replay/notes.h"
#include "replay/program.h"
#include "replay/symbols.h"

static bool read_file(void *ctx, uint64_t gva, void *buf, size_t bytes)
{
	const struct fuzz_input *file = ctx;

	if (gva > file->left || bytes > file->left - gva)
		return false;
	memcpy(buf, file->at + gva, bytes);
	return true;
}

static void check_program(const char *path, struct fuzz_input *file)
{
	struct rs_program program = { 0 };
	struct rs_error *err = rs_program_read(path, &program);

	MUST(program.n_bases <= RS_PROGRAM_BASES_MAX);
	MUST(program.n_segments <= RS_PROGRAM_SEGMENTS_MAX);
	MUST(err || program.n_bases);
	for (uint32_t i = 0; !err && i < program.n_bases; i++) {
		MUST(program.moves || !program.bases[i]);
		rs_program_is_at(&program, program.bases[i], program.bases[i] + program.entry,
				 read_file, file);
		rs_program_is_at(&program, 0, program.entry, read_file, file);
	}
	fuzz_drop(err);
	rs_program_deinit(&program);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input file = { data, size };
	struct rs_symbols symbols = { 0 };
	struct rs_notes notes = { 0 };
	char path[64], text[RS_SYMBOL_TEXT_MAX];
	int fd = memfd_create("program", MFD_CLOEXEC);

	MUST(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	check_program(path, &file);
	fuzz_drop(rs_notes_read(path, &notes));
	rs_notes_deinit(&notes);
	fuzz_drop(rs_symbols_read(path, &symbols));
	rs_symbols_find(&symbols, size, text);
	rs_symbols_deinit(&symbols);
	close(fd);
	return 0;
}
