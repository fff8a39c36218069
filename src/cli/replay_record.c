/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ringside replay record: a guest in QEMU, recorded.
 *
 *	folder, copies (or a folder of programs, packed) -> QEMU records -> the guest's end, Ctrl-C
 *	or a limit -> hashes, sizes
 */
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/duration.h"
#include "cli/numbers.h"
#include "cli/replay.h"
#include "replay/initramfs.h"
#include "replay/qemu.h"
#include "replay/recording.h"
#include "replay/rr_log.h"

#define NS_PER_SEC    UINT64_C(1000000000)
#define TICK_NS	      20000000
#define LOOK_NS	      200000000u /* between two looks where it is */
#define MEMORY_MIB    256
#define SHIFT	      1
#define SYSTEM_KERNEL "/boot/vmlinuz-*"
#define KERNEL_NEEDS  (96u << 20) /* of RAM, beside an initramfs and what is unpacked of it */
#define WORDS_BYTES   256	  /* the end of the console, where our first process speaks */

struct record_arguments {
	const char *directory, *kernel, *initrd, *append;
	const char *guest, *exec; /* a folder of programs, and what is run of it */
	uint64_t memory_mib, shift;
	uint64_t limit_ns;    /* of the guest's time; 0: none */
	uint64_t limit_bytes; /* of the log; 0: none */
	bool quiet, json;
};

/* ---- arguments ---------------------------------------------------------------------------- */

enum {
	KEY_KERNEL = 256,
	KEY_INITRD,
	KEY_APPEND,
	KEY_GUEST,
	KEY_EXEC,
	KEY_MEMORY,
	KEY_SHIFT,
	KEY_TIME,
	KEY_SIZE,
};

static const struct argp_option options[] = {
	{ "output", 'o', "REC", 0, "The recording, a folder that is new or empty", 1 },
	{ "kernel", KEY_KERNEL, "FILE", 0, "A Linux kernel; the newest in /boot", 2 },
	{ "initrd", KEY_INITRD, "FILE", 0, "Its initramfs", 2 },
	{ "guest-dir", KEY_GUEST, "DIR", 0,
	  "A folder that becomes the guest's root, with the libraries that its programs need", 2 },
	{ "exec", KEY_EXEC, "CMD", 0, "What is run in it; then the guest powers off", 2 },
	{ "append", KEY_APPEND, "ARGS", 0,
	  "Arguments for the kernel, behind those that keep the log small", 2 },
	{ "memory", KEY_MEMORY, "MIB", 0, "RAM; 256", 2 },
	{ "shift", KEY_SHIFT, "N", 0, "An instruction takes 2^N ns of the guest's time, 0 to 10; 1",
	  2 },
	{ "time", KEY_TIME, "TIME", 0, "End after this much of the guest's time", 3 },
	{ "size", KEY_SIZE, "SIZE", 0, "End when the log has this size; suffixes K, M and G", 3 },
	{ "json", 'j', NULL, 0, "One JSON object on what was recorded, on standard output", 4 },
	{ "quiet", 'q', NULL, 0, "No progress and no summary on standard error, but errors", 4 },
	{ 0 },
};

static const char doc[] =
	"Boot a guest, and write down what was not deterministic.\v"
	"The machine is QEMU's pc under TCG with one processor, RAM and a serial port, whose "
	"output goes to REC/console. It ends when the guest powers off or resets, at Ctrl-C, or at "
	"a limit; the recording is valid in each case.\n\n"
	"Examples:\n"
	"  ringside replay record -o rec --kernel vmlinuz --initrd initrd.gz --append quiet\n"
	"  ringside replay record -o rec --guest-dir programs --exec 'sort big.txt'\n";

static uint64_t number(const struct argp_state *state, const char *what, const char *text,
		       uint64_t min, uint64_t max)
{
	uint64_t n = 0;

	if (!rs_cli_read_number(text, min, max, &n))
		argp_error(state, "%s '%s': expected a number from %" PRIu64 " to %" PRIu64, what,
			   text, min, max);
	return n;
}

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct record_arguments *a = state->input;

	switch (key) {
	case 'o':
		a->directory = text;
		break;
	case KEY_KERNEL:
		a->kernel = text;
		break;
	case KEY_INITRD:
		a->initrd = text;
		break;
	case KEY_APPEND:
		a->append = text;
		break;
	case KEY_GUEST:
		a->guest = text;
		break;
	case KEY_EXEC:
		a->exec = text;
		break;
	case KEY_MEMORY:
		a->memory_mib = number(state, "--memory", text, RS_RECORDING_MEMORY_MIN,
				       RS_RECORDING_MEMORY_MAX);
		break;
	case KEY_SHIFT:
		a->shift = number(state, "--shift", text, 0, RS_RECORDING_SHIFT_MAX);
		break;
	case KEY_TIME:
		a->limit_ns = rs_cli_time(state, "--time", text, NS_PER_SEC);
		break;
	case KEY_SIZE:
		if (!rs_cli_read_size(text, 1, UINT64_MAX >> 1, &a->limit_bytes))
			argp_error(state, "--size '%s': expected bytes, as in 512K, 4M or 1G",
				   text);
		break;
	case 'j':
		a->json = true;
		break;
	case 'q':
		a->quiet = true;
		break;
	case ARGP_KEY_ARG:
		argp_error(state, "'%s': the recording goes behind -o", text);
		break;
	case ARGP_KEY_END:
		if (!a->directory)
			argp_error(state, "into which folder? -o REC");
		if (a->guest && a->initrd)
			argp_error(state, "--guest-dir makes an initramfs: leave out --initrd");
		if (a->exec && !a->guest)
			argp_error(state, "where is the program? --guest-dir DIR");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

/* ---- the folder --------------------------------------------------------------------------- */

static char *path_in(const char *directory, const char *name)
{
	char *path;

	return asprintf(&path, "%s/%s", directory, name) < 0 ? NULL : path;
}

static struct rs_error *copy_all(int from, const char *source, int to, const char *path)
{
	char part[65536];
	ssize_t n;

	while ((n = read(from, part, sizeof(part))) > 0) {
		ssize_t put = write(to, part, (size_t)n);

		if (put != n)
			return rs_error_errno(put < 0 ? errno : ENOSPC, "%s", path);
	}
	return n ? rs_error_errno(errno, "%s", source) : NULL;
}

static struct rs_error *copy(const char *source, const char *directory, const char *name)
{
	char *path = path_in(directory, name);
	struct rs_error *err = NULL;
	int from, to = -1;

	if (!path)
		return rs_error_no_memory();
	from = open(source, O_RDONLY | O_CLOEXEC);
	if (from < 0)
		err = rs_error_errno(errno, "%s", source);
	else
		to = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (!err && to < 0)
		err = rs_error_errno(errno, "%s", path);
	if (!err)
		err = copy_all(from, source, to, path);
	if (from >= 0)
		close(from);
	if (to >= 0 && close(to) && !err)
		err = rs_error_errno(errno, "%s", path);
	free(path);
	return err;
}

/* The newest kernel of this machine, by its name's version. */
static struct rs_error *system_kernel(char **path)
{
	struct rs_error *err = NULL;
	const char *best = NULL;
	glob_t found;

	if (glob(SYSTEM_KERNEL, 0, NULL, &found))
		return rs_error_create(RS_ABSENT, "there is no " SYSTEM_KERNEL
						  ": apt-get install linux-image-cloud-amd64, or "
						  "name a kernel with --kernel");
	for (size_t i = 0; i < found.gl_pathc; i++)
		if (!best || strverscmp(found.gl_pathv[i], best) > 0)
			best = found.gl_pathv[i];
	*path = strdup(best);
	if (!*path)
		err = rs_error_no_memory();
	globfree(&found);
	return err;
}

static struct rs_error *make_directory(const char *directory)
{
	if (mkdir(directory, 0777) &&
	    (errno != EEXIST || rmdir(directory) || mkdir(directory, 0777)))
		return errno == ENOTEMPTY || errno == ENOTDIR
			       ? rs_error_create(RS_USAGE,
						 "%s exists already and is not empty: name another "
						 "with -o",
						 directory)
			       : rs_error_errno(errno, "%s", directory);
	return NULL;
}

/* The folder of programs as initramfs. */
static struct rs_error *pack(const struct record_arguments *a, int fd)
{
	struct rs_initramfs made = { 0 };
	struct rs_error *err = rs_initramfs_write(a->guest, a->exec, fd, &made);
	uint64_t needs = 2 * made.bytes + KERNEL_NEEDS;

	if (err)
		return err;
	if (needs > a->memory_mib << 20)
		return rs_error_create(RS_USAGE,
				       "%s makes an initramfs of %" PRIu64
				       " MiB: give the guest --memory %" PRIu64,
				       a->guest, made.bytes >> 20, (needs >> 20) + 1);
	if (!a->quiet)
		fprintf(stderr,
			"ringside replay record: %s: %" PRIu32 " files, %" PRIu32
			" libraries with them, %.1f MB\n",
			a->guest, made.files, made.libraries, (double)made.bytes / 1e6);
	return NULL;
}

/* Made before the recording's folder is, for what is wrong with it. */
static struct rs_error *pack_first(const struct record_arguments *a, int *fd)
{
	struct stat st;

	if (!a->guest)
		return NULL;
	if (stat(a->guest, &st) || !S_ISDIR(st.st_mode))
		return rs_error_create(RS_USAGE, "%s is no folder", a->guest);
	*fd = memfd_create("initramfs", MFD_CLOEXEC);
	if (*fd < 0)
		return rs_error_errno(errno, "memory for an initramfs");
	return pack(a, *fd);
}

static struct rs_error *copy_packed(const struct record_arguments *a, int fd)
{
	char from[64];

	snprintf(from, sizeof(from), "/proc/self/fd/%d", fd);
	return copy(from, a->directory, "initrd");
}

static struct rs_error *copy_guest(const struct record_arguments *a)
{
	char *kernel = NULL;
	int packed = -1;
	struct rs_error *err = a->kernel ? NULL : system_kernel(&kernel);

	if (!err && a->initrd && access(a->initrd, R_OK))
		err = rs_error_errno(errno, "%s", a->initrd);
	if (!err && a->kernel && access(a->kernel, R_OK))
		err = rs_error_errno(errno, "%s", a->kernel);
	if (!err)
		err = pack_first(a, &packed);
	if (!err)
		err = make_directory(a->directory);
	if (!err)
		err = copy(kernel ? kernel : a->kernel, a->directory, "kernel");
	if (!err && a->initrd)
		err = copy(a->initrd, a->directory, "initrd");
	if (!err && packed >= 0)
		err = copy_packed(a, packed);
	if (packed >= 0)
		close(packed);
	free(kernel);
	return err;
}

/* ---- recording ---------------------------------------------------------------------------- */

struct recording {
	const struct record_arguments *a;
	struct rs_recording made;
	struct rs_qemu qemu;
	char *log, *console;
	uint64_t log_bytes;
	bool shows;
};

static struct rs_error *describe(struct recording *r)
{
	const struct record_arguments *a = r->a;
	struct rs_recording *made = &r->made;
	char version[128];
	struct rs_error *err = rs_qemu_version(version, sizeof(version));

	if (err)
		return err;
	made->directory = strdup(a->directory);
	made->qemu_version = strdup(version);
	made->memory_mib = (uint32_t)a->memory_mib;
	made->shift = (uint32_t)a->shift;
	made->initrd = a->initrd || a->guest;
	if (asprintf(&made->append, "%s%s%s", rs_recording_append, a->append ? " " : "",
		     a->append ? a->append : "") < 0)
		made->append = NULL;
	r->log = path_in(a->directory, "log");
	r->console = path_in(a->directory, "console");
	if (!made->directory || !made->command || !made->qemu_version || !made->append || !r->log ||
	    !r->console)
		err = rs_error_no_memory();
	return err;
}

static struct rs_error *begin(struct recording *r)
{
	struct rs_error *err = describe(r);
	char **command = NULL;

	if (!err)
		err = copy_guest(r->a);
	if (!err)
		err = rs_recording_lock(&r->made);
	if (!err)
		err = rs_recording_write(&r->made);
	if (!err)
		err = rs_recording_argv(&r->made, false, NULL, r->console, &command);
	if (!err)
		err = rs_qemu_start(&r->qemu, command);
	rs_recording_argv_free(command);
	return err;
}

static uint64_t guest_ns(const struct recording *r)
{
	return r->made.icount << r->made.shift;
}

/* Where it is, and what it came to. QEMU may go at any moment: that is no error here. */
static void look(struct recording *r)
{
	json_t *result = NULL;
	struct stat st;

	rs_error_free(rs_qmp_execute(r->qemu.qmp, "query-replay", NULL, &result));
	if (json_is_integer(json_object_get(result, "icount")))
		r->made.icount = (uint64_t)json_integer_value(json_object_get(result, "icount"));
	json_decref(result);
	if (!stat(r->log, &st))
		r->log_bytes = (uint64_t)st.st_size;
	if (r->shows)
		fprintf(stderr, "\r\033[K%.1f s of the guest's time, log %.1f KB",
			(double)guest_ns(r) / 1e9, (double)r->log_bytes / 1e3);
}

/* Why it is to end now; NULL: not yet. */
static const char *end_reason(const struct recording *r)
{
	if (rs_cli_stop)
		return "stopped";
	if (r->a->limit_ns && guest_ns(r) >= r->a->limit_ns)
		return "the limit of the guest's time";
	if (r->a->limit_bytes && r->log_bytes >= r->a->limit_bytes)
		return "the limit of the log's size";
	return NULL;
}

/* What our first process said of the program that it ran; NULL: nothing. */
static char *last_words(const struct recording *r)
{
	char words[WORDS_BYTES + 1], *at = NULL;
	FILE *console = fopen(r->console, "re");
	size_t n;

	if (!console)
		return NULL;
	if (fseek(console, -WORDS_BYTES, SEEK_END))
		rewind(console);
	n = fread(words, 1, WORDS_BYTES, console);
	fclose(console);
	words[n] = '\0';
	for (char *next = words; (next = strstr(next, RS_INITRAMFS_SAYS)); at = next++)
		;
	if (!at)
		return NULL;
	at += strlen(RS_INITRAMFS_SAYS);
	at[strcspn(at, "\r\n")] = '\0';
	return at[0] ? strdup(at) : NULL;
}

static char *why_it_ended(const struct recording *r, const struct rs_error *err, const char *why)
{
	char *said = err || why || !r->a->exec ? NULL : last_words(r), *text;

	if (!said)
		return strdup(err ? rs_error_text(err) : why ? why : "the guest's end");
	if (asprintf(&text, "the guest's end, %s", said) < 0)
		text = NULL;
	free(said);
	return text;
}

static struct rs_error *go_on(struct recording *r)
{
	const struct timespec tick = { .tv_nsec = TICK_NS };
	const char *why = NULL;
	uint64_t looked = 0;
	struct rs_error *err;

	while (rs_qemu_runs(&r->qemu) && !why) {
		if (rs_cli_now_ns() - looked >= LOOK_NS) {
			look(r);
			looked = rs_cli_now_ns();
		}
		why = end_reason(r);
		if (!why)
			nanosleep(&tick, NULL); /* a signal ends it */
	}
	if (why)
		look(r);
	err = rs_qemu_quit(&r->qemu);
	r->made.state = err ? RS_RECORDING_CUT : RS_RECORDING_CLOSED;
	r->made.why = why_it_ended(r, err, why);
	return err;
}

static void summary(const struct recording *r)
{
	double seconds = (double)guest_ns(r) / 1e9;
	struct stat st = { 0 };

	stat(r->console, &st);
	if (r->shows)
		fputs("\r\033[K", stderr);
	if (!r->a->quiet)
		fprintf(stderr,
			"ringside replay record: %s: %.2f s of the guest's time, %" PRIu64
			" instructions; log %.1f KB, console %lld bytes; %s\n",
			r->a->directory, seconds, r->made.icount, (double)r->log_bytes / 1e3,
			(long long)st.st_size, r->made.why);
	if (r->a->json)
		rs_cli_print_json(json_pack(
			"{s:s, s:s, s:I, s:f, s:I, s:I, s:b}", "recording", r->a->directory, "why",
			r->made.why, "instructions", (json_int_t)r->made.icount, "guest_seconds",
			seconds, "log_bytes", (json_int_t)r->log_bytes, "console_bytes",
			(json_int_t)st.st_size, "whole", r->made.state == RS_RECORDING_CLOSED));
}

/* Whatever happened: what is there is told truly. err is what went wrong before. */
static struct rs_error *end(struct recording *r, struct rs_error *err)
{
	bool cut = r->made.state == RS_RECORDING_CUT;
	struct rs_error *next = cut ? NULL : rs_rr_log_mend(r->log, &r->made.icount);
	struct stat st;

	rs_error_free(next); /* a log that we can't read: the last look's count stays */
	next = cut ? rs_recording_mend(&r->made) : rs_recording_hash(&r->made);
	if (!next || cut)
		next = rs_error_first(next, rs_recording_write(&r->made));
	if (!stat(r->log, &st))
		r->log_bytes = (uint64_t)st.st_size;
	summary(r);
	return rs_error_first(err, next);
}

int replay_record(int argc, char **argv)
{
	static const struct argp argp = { options, parse, NULL, doc, NULL, NULL, NULL };
	struct record_arguments a = { .memory_mib = MEMORY_MIB, .shift = SHIFT };
	struct recording r = { .a = &a, .qemu = { .said_fd = -1, .gdb_fd = -1 } };
	struct rs_error *err;

	r.made.command = rs_cli_command(argc, argv);
	if (rs_cli_parse(&argp, argc, argv, &a)) {
		rs_recording_deinit(&r.made);
		return RS_EXIT_USAGE;
	}
	r.shows = !a.quiet && !a.json && isatty(STDERR_FILENO);
	rs_cli_catch_stop();
	err = begin(&r);
	if (!err)
		err = end(&r, go_on(&r));
	rs_qemu_end(&r.qemu);
	rs_recording_deinit(&r.made);
	free(r.log);
	free(r.console);
	return rs_cli_fail("replay record", err);
}
