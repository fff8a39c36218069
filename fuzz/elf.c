/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program's ELF file and its readers: where it is loaded, its static probes, its functions, its
 * types. The input is the file. Also searches for the program in a guest whose memory is that
 * file's bytes.
 */
#include "fuzz.h"

#include <sys/mman.h>
#include <unistd.h>

#include "introspect/dwarf_types.h"
#include "introspect/module.h"
#include "introspect/symbols.h"
#include "introspect/variable.h"
#include "replay/notes.h"
#include "replay/program.h"

#include "types.h"

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
	MUST(err || program.n_bases || program.moves); /* a library has no base yet */
	for (uint32_t i = 0; !err && i < program.n_bases; i++) {
		MUST(program.moves || !program.bases[i]);
		rs_program_is_at(&program, program.bases[i], program.bases[i] + program.entry,
				 read_file, file);
		rs_program_is_at(&program, 0, program.entry, read_file, file);
	}
	fuzz_drop(err);
	rs_program_deinit(&program);
}

/* Reads variables in a frame whose caller is at the same place. */
static void check_variables(struct rs_symbols *set, uint64_t address, const char *function)
{
	static const char *const names[] = { "argc", "argv", "n", "value", "result", "text" };
	const struct rs_module *m = rs_symbols_module(set, address);
	static struct rs_memory memory;
	struct rs_variable_frame frames[2];
	uint64_t value;

	for (uint32_t i = 0; m && i < 2; i++)
		frames[i] = (struct rs_variable_frame){ .address = address,
							.registers = { .known = 0x1ffff },
							.has_cfa = true,
							.memory = &memory,
							.caller = i ? NULL : &frames[1],
							.dwarf = m->dwarf };
	for (size_t i = 0; m && function && i < sizeof(names) / sizeof(names[0]); i++)
		rs_variable_read(&frames[0], function, names[i], &value);
}

static void check_frames(struct rs_symbols *set, uint64_t address)
{
	struct rs_frame frames[8];
	uint64_t stack[2] = { address, address + 1 };
	uint32_t n = rs_symbols_lookup(set, address, frames, 8);

	MUST(n <= 8);
	for (uint32_t i = 0; i < n; i++) {
		MUST(frames[i].module);
		MUST(!frames[i].function || strlen(frames[i].function) > 0);
		MUST(!frames[i].file || strlen(frames[i].file) < 1u << 20);
		MUST(i + 1 < n || n == 8 || !frames[i].inlined);
		check_variables(set, address, frames[i].function);
	}
	rs_symbols_lookup_stack(set, stack, 1, frames, 8);
}

/*
 * Looks up some typical addresses of a small program's functions, those of symbols, and values in
 * the file at offsets that depend on its size.
 */
static void check_symbols(const char *path, const uint8_t *data, size_t size)
{
	struct rs_symbols *set;
	struct rs_error *err;
	char text[RS_SYMBOL_TEXT_MAX];
	uint64_t address;

	MUST(!rs_symbols_create(NULL, &set));
	err = rs_symbols_add(set, path, NULL, 0);
	for (uint64_t i = 0; !err && i < 24; i++) {
		check_frames(set, 0x400000 + i * 0x33);
		check_frames(set, 0x1000 + i * 0x33);
		memcpy(&address, data + i * (size / 32), sizeof(address));
		check_frames(set, address);
	}
	if (!err && rs_symbols_text(set, 0x1000, text))
		MUST(strlen(text) < sizeof(text));
	fuzz_drop(err);
	rs_symbols_destroy(set);
}

static void check_types(const char *path)
{
	struct rs_types *types = NULL;
	struct rs_error *err = rs_dwarf_types_open(NULL, path, "program", &types);
	struct rs_cvariable variable;
	bool found;

	if (!err) {
		fuzz_types_run(types);
		fuzz_drop(types->ops->variable(types, "variable", &variable, &found));
	}
	rs_types_close(types);
	fuzz_drop(err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input file = { data, size };
	struct rs_notes notes = { 0 };
	char path[64];
	int fd = memfd_create("program", MFD_CLOEXEC);

	MUST(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	check_program(path, &file);
	fuzz_drop(rs_notes_read(path, &notes));
	rs_notes_deinit(&notes);
	check_symbols(path, data, size);
	check_types(path);
	close(fd);
	return 0;
}
