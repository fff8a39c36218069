/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A hostile recording.json: an accepted one is within its bounds, makes a QEMU command line, and is
 * equal when it is written and read again.
 */
#include "replay/recording.h"

#include <unistd.h>

#include "fuzz.h"
#include "replay/qemu.h"

static char folder[64], file[96];

static void remove_folder(void)
{
	unlink(file);
	rmdir(folder);
}

static void make_folder(void)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(folder, sizeof(folder), "%.40s/fuzz-XXXXXX", tmp ? tmp : P_tmpdir);
	MUST(mkdtemp(folder));
	snprintf(file, sizeof(file), "%s/recording.json", folder);
	atexit(remove_folder);
}

static uint32_t check_words(char *const *words)
{
	uint32_t n = 0;

	while (words && words[n])
		n++;
	MUST(n <= RS_QEMU_WORDS);
	return n;
}

static void check_command(const struct rs_recording *r)
{
	for (int mode = RS_RECORDING_PLAIN; mode <= RS_RECORDING_LIVE; mode++) {
		struct rs_qemu_command command = { 0 };

		rs_recording_command(r, (enum rs_recording_mode)mode, 3, 4, &command);
		MUST(!rs_qemu_command_error(&command) && !strcmp(command.words[0], RS_QEMU));
		MUST(check_words(command.words) == command.n_words);
		rs_qemu_command_deinit(&command);
	}
}

static void check_again(const struct rs_recording *r)
{
	struct rs_recording again;

	MUST(!rs_recording_write(r) && !rs_recording_read(folder, &again));
	MUST(again.state == r->state && again.icount == r->icount);
	MUST(again.memory_mib == r->memory_mib && again.shift == r->shift);
	MUST(!strcmp(again.append, r->append) && !strcmp(again.qemu_version, r->qemu_version));
	MUST(!again.argv == !r->argv);
	for (uint32_t i = 0; i < check_words(r->argv); i++)
		MUST(!strcmp(again.argv[i], r->argv[i]));
	MUST(check_words(again.argv) == check_words(r->argv));
	rs_recording_deinit(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rs_recording r;
	struct rs_error *err;
	FILE *to;

	if (!folder[0])
		make_folder();
	to = fopen(file, "wb");
	MUST(to && fwrite(data, 1, size, to) == size);
	MUST(fclose(to) == 0);
	err = rs_recording_read(folder, &r);
	fuzz_drop(err);
	if (err)
		return 0;
	MUST(r.memory_mib >= RS_RECORDING_MEMORY_MIN && r.memory_mib <= RS_RECORDING_MEMORY_MAX);
	MUST(r.shift <= RS_RECORDING_SHIFT_MAX);
	check_command(&r);
	check_again(&r);
	rs_recording_deinit(&r);
	return 0;
}
