/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads, checks and writes a recording's directory. */
#include "replay/recording.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "base/json.h"
#include "replay/arguments.h"
#include "replay/material.h"
#include "replay/qemu.h"
#include "replay/rr_log.h"

#define DESCRIPTION "recording.json"
#define FILE_MAX    (UINT64_C(1) << 20) /* of it */

const char rs_recording_append[] =
	"console=ttyS0 panic=-1 tsc_early_khz=1000000 tsc=reliable no_timer_check lpj=2000000 "
	"nolapic_timer hpet=disable pmtmr=0";
const char rs_recording_append_places[] = "norandmaps";

bool rs_recording_randomizes(const struct rs_recording *r)
{
	return !r->append || !strstr(r->append, rs_recording_append_places) ||
	       strstr(r->append, "randomize_va_space");
}

static const char *const states[] = { "recording", "closed", "cut", "snapshot" };
const char *const rs_recording_files[] = { "kernel", "initrd", "log", "disk", "snapshot" };
#define N_FILES ((size_t)RS_RECORDING_FILES)

/* ---- texts ---------------------------------------------------------------------------------- */

static void words_free(char **words)
{
	for (char **each = words; each && *each; each++)
		free(*each);
	free(words);
}

void rs_recording_deinit(struct rs_recording *r)
{
	rs_folder_close(&r->folder);
	rs_material_close(r);
	free(r->command);
	words_free(r->argv);
	free(r->qemu_version);
	free(r->append);
	free(r->cpu);
	free(r->date);
	free(r->why);
	if (r->lock > 0)
		close(r->lock);
	for (size_t i = 0; i < N_FILES; i++)
		free(r->hashes[i]);
	*r = (struct rs_recording){ .folder = RS_FOLDER_NONE };
}

/* ---- recording.json ------------------------------------------------------------------------- */

static void put_known(struct rs_json *json, const char *key, const char *text)
{
	if (text)
		rs_json_text(rs_json_key(json, key), text);
}

static void put_files(struct rs_json *json, const struct rs_recording *r)
{
	rs_json_open(rs_json_key(json, "sha256"), '{');
	for (size_t i = 0; i < N_FILES; i++)
		put_known(json, rs_recording_files[i], r->hashes[i]);
	rs_json_close(json, '}');
	rs_json_open(rs_json_key(json, "bytes"), '{');
	for (size_t i = 0; i < N_FILES; i++)
		if (r->hashes[i] && r->sizes[i])
			rs_json_unsigned(rs_json_key(json, rs_recording_files[i]), r->sizes[i]);
	rs_json_close(json, '}');
}

static void put_words(struct rs_json *json, const char *key, char *const *words)
{
	if (!words)
		return;
	rs_json_open(rs_json_key(json, key), '[');
	for (; *words; words++)
		rs_json_text(json, *words);
	rs_json_close(json, ']');
}

/* Adds a member, unless its value is NULL. */
static void put_recording(struct rs_json *json, const struct rs_recording *r)
{
	const struct {
		const char *key;
		bool value;
	} flags[] = {
		{ "firmware", r->firmware }, { "initrd", r->initrd }, { "disk", r->disk },
		{ "snapshot", r->snapshot }, { "sleeps", r->sleeps }, { "mended", r->mended },
		{ "vapic", r->vapic },
	};

	rs_json_open(json, '{');
	rs_json_unsigned(rs_json_key(json, "ringside_recording"), RS_RECORDING_VERSION);
	rs_json_text(rs_json_key(json, "state"), states[r->state]);
	put_known(json, "command", r->command);
	put_known(json, "qemu", r->qemu_version);
	rs_json_unsigned(rs_json_key(json, "memory_mib"), r->memory_mib);
	rs_json_unsigned(rs_json_key(json, "shift"), r->shift);
	put_known(json, "append", r->append);
	put_known(json, "cpu", r->cpu);
	put_known(json, "date", r->date);
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		rs_json_bool(rs_json_key(json, flags[i].key), flags[i].value);
	rs_json_unsigned(rs_json_key(json, "icount"), r->icount);
	put_known(json, "why", r->why);
	put_words(json, "qemu_argv", r->argv);
	put_files(json, r);
	rs_json_close(json, '}');
	rs_json_line_end(json);
}

static void add_to_file(void *file, const char *bytes, size_t len)
{
	fwrite(bytes, 1, len, file);
}

struct writing {
	const struct rs_recording *recording;
	struct rs_out *out;
};

static void write_description(FILE *file, const void *ctx)
{
	const struct writing *w = ctx;
	struct rs_json json = { .out = w->out };

	w->out->ctx = file;
	put_recording(&json, w->recording);
	rs_out_write(w->out);
}

struct rs_error *rs_recording_write(const struct rs_recording *r)
{
	struct rs_out out;
	struct writing w = { .recording = r, .out = &out };
	struct rs_error *err = rs_out_init_put(&out, add_to_file);

	if (err)
		return err;
	err = rs_folder_replace(&r->folder, DESCRIPTION, DESCRIPTION ".new", write_description, &w);
	rs_out_deinit(&out);
	return err;
}

static char *text_at(const json_t *json, const char *key)
{
	const char *text = json_string_value(json_object_get(json, key));

	return text ? strdup(text) : NULL;
}

/* Returns the words of QEMU's command line, or NULL if the member is invalid. */
static char **words_at(const json_t *json, const char *key)
{
	const json_t *list = json_object_get(json, key), *word;
	size_t n = json_array_size(list), i;
	char **words;
	bool good = true;

	if (!json_is_array(list) || n > RS_QEMU_WORDS)
		return NULL;
	words = calloc(n + 1, sizeof(*words));
	if (!words)
		return NULL;
	json_array_foreach(list, i, word)
	{
		good = good && json_is_string(word);
		words[i] = good ? strdup(json_string_value(word)) : NULL;
		good = words[i];
	}
	if (good)
		return words;
	words_free(words);
	return NULL;
}

/* Reads a number if it is from least to most. */
static bool number_at(const json_t *json, const char *key, uint64_t least, uint64_t most,
		      uint64_t *number)
{
	const json_t *value = json_object_get(json, key);

	if (!json_is_integer(value) || json_integer_value(value) < 0)
		return false;
	*number = (uint64_t)json_integer_value(value);
	return *number >= least && *number <= most;
}

static bool from_json(const json_t *json, struct rs_recording *r)
{
	const char *state = json_string_value(json_object_get(json, "state"));
	const json_t *hashes = json_object_get(json, "sha256");
	const json_t *sizes = json_object_get(json, "bytes"); /* older recordings lack it */
	uint64_t version, memory, shift;
	bool known = false;

	for (size_t i = 0; state && i < sizeof(states) / sizeof(states[0]); i++) {
		if (strcmp(state, states[i]) != 0)
			continue;
		r->state = (enum rs_recording_state)i;
		known = true;
	}
	if (!known ||
	    !number_at(json, "ringside_recording", RS_RECORDING_VERSION, RS_RECORDING_VERSION,
		       &version) ||
	    !number_at(json, "memory_mib", RS_RECORDING_MEMORY_MIN, RS_RECORDING_MEMORY_MAX,
		       &memory) ||
	    !number_at(json, "shift", 0, RS_RECORDING_SHIFT_MAX, &shift) ||
	    !number_at(json, "icount", 0, INT64_MAX, &r->icount))
		return false;
	r->memory_mib = (uint32_t)memory;
	r->shift = (uint32_t)shift;
	r->firmware = json_is_true(json_object_get(json, "firmware"));
	r->initrd = json_is_true(json_object_get(json, "initrd"));
	r->mended = json_is_true(json_object_get(json, "mended"));
	r->disk = json_is_true(json_object_get(json, "disk"));
	r->snapshot = json_is_true(json_object_get(json, "snapshot"));
	r->vapic = !json_is_false(json_object_get(json, "vapic")); /* older recordings lack it */
	r->sleeps = !json_is_false(json_object_get(json, "sleeps"));
	r->command = text_at(json, "command");
	r->argv = words_at(json, "qemu_argv");
	r->qemu_version = text_at(json, "qemu");
	r->append = text_at(json, "append");
	r->cpu = text_at(json, "cpu");
	r->date = text_at(json, "date");
	r->why = text_at(json, "why");
	for (size_t i = 0; i < N_FILES; i++)
		r->hashes[i] = text_at(hashes, rs_recording_files[i]);
	for (size_t i = 0; i < N_FILES; i++)
		number_at(sizes, rs_recording_files[i], 0, INT64_MAX, &r->sizes[i]);
	return r->qemu_version && r->append && (!r->cpu || rs_arguments_is_cpu(r->cpu)) &&
	       (!r->date || rs_arguments_is_date(r->date));
}

bool rs_recording_exists(const char *directory)
{
	struct rs_folder folder;
	struct rs_error *err = rs_folder_open(directory, &folder);
	struct stat st;
	bool is = !err && !fstatat(folder.fd, DESCRIPTION, &st, AT_SYMLINK_NOFOLLOW);

	rs_error_free(err);
	rs_folder_close(&folder);
	return is;
}

struct rs_error *rs_recording_load(const struct rs_folder *folder, json_t **json)
{
	struct stat st;
	json_error_t why;
	FILE *file;
	struct rs_error *err;

	if (fstatat(folder->fd, DESCRIPTION, &st, AT_SYMLINK_NOFOLLOW) && errno == ENOENT)
		return rs_error_create(RS_USAGE,
				       "%s is not a recording: it has no " DESCRIPTION " (ringside "
				       "replay record creates one)",
				       folder->path);
	err = rs_folder_file(folder, DESCRIPTION, O_RDONLY, "r", &file);
	if (err)
		return err;
	if (fstat(fileno(file), &st) || (uint64_t)st.st_size > FILE_MAX)
		err = rs_error_create(RS_DAMAGED, "%s/" DESCRIPTION " is too long", folder->path);
	else
		*json = json_loadf(file, 0, &why);
	fclose(file);
	if (!err && !*json)
		err = rs_error_create(RS_DAMAGED, "%s/" DESCRIPTION ":%d:%d: %s", folder->path,
				      why.line, why.column, why.text);
	return err;
}

struct rs_error *rs_recording_read(const char *directory, struct rs_recording *r)
{
	json_t *json = NULL;
	struct rs_error *err;

	*r = (struct rs_recording){ .folder = RS_FOLDER_NONE };
	err = rs_folder_open(directory, &r->folder);
	if (!err)
		err = rs_recording_load(&r->folder, &json);
	if (!err && !from_json(json, r))
		err = rs_error_create(RS_DAMAGED,
				      "%s/" DESCRIPTION
				      " lacks a member of recordings, or has another version",
				      directory);
	json_decref(json);
	if (err)
		rs_recording_deinit(r);
	return err;
}

/* ---- cut recordings ------------------------------------------------------------------------- */

static struct rs_error *lock_folder(const struct rs_recording *r, int fd)
{
	if (!flock(fd, LOCK_EX | LOCK_NB))
		return NULL;
	return errno == EWOULDBLOCK
		       ? rs_error_create(RS_USAGE, "%s is being recorded", r->folder.path)
		       : rs_error_errno(errno, "locking %s", r->folder.path);
}

struct rs_error *rs_recording_lock(struct rs_recording *r)
{
	/* QEMU inherits the lock, and may run a little longer than this process. */
	int fd = openat(r->folder.fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct rs_error *err =
		fd < 0 ? rs_error_errno(errno, "%s", r->folder.path) : lock_folder(r, fd);

	if (err && fd >= 0)
		close(fd);
	if (!err)
		r->lock = fd;
	return err;
}

/* Checks that the recorder has ended: no process holds the lock. */
static struct rs_error *check_gone(struct rs_recording *r)
{
	struct rs_error *err;

	if (r->state != RS_RECORDING_OPEN || r->lock > 0)
		return NULL;
	err = lock_folder(r, r->folder.fd);
	if (err)
		return err;
	flock(r->folder.fd, LOCK_UN);
	free(r->why);
	r->why = strdup("its recorder was killed");
	return r->why ? NULL : rs_error_no_memory();
}

static struct rs_error *cannot(const struct rs_recording *r, struct rs_error *err)
{
	return rs_error_wrap(err, "%s was cut (%s), and cannot be replayed", r->folder.path,
			     r->why ? r->why : "its recorder was killed");
}

bool rs_recording_is_whole(const struct rs_recording *r)
{
	return r->state != RS_RECORDING_OPEN && (r->state != RS_RECORDING_CUT || r->mended);
}

struct rs_error *rs_recording_repair(struct rs_recording *r)
{
	uint64_t icount = 0;
	int log = -1;
	struct rs_error *err = check_gone(r);

	if (err)
		return err;
	err = rs_folder_fd(&r->folder, "log", O_RDWR, &log);
	if (!err)
		err = rs_rr_log_repair(log, "its log", &icount);
	if (!err) {
		r->state = RS_RECORDING_CUT;
		r->mended = true;
		r->icount = icount;
		err = rs_material_end_log(r, log);
	}
	if (log >= 0)
		close(log);
	if (!err)
		err = rs_recording_write(r);
	return cannot(r, err);
}

/* ---- checks --------------------------------------------------------------------------------- */

static struct rs_error *check_version(const struct rs_recording *r)
{
	char version[128];
	struct rs_error *err = rs_qemu_version(version, sizeof(version));

	if (!err && strcmp(version, r->qemu_version) != 0)
		err = rs_error_create(
			RS_ABSENT, "%s was recorded by QEMU %s; this one, %s, does not replay it",
			r->folder.path, r->qemu_version, version);
	return err;
}

static struct rs_error *check_state(struct rs_recording *r)
{
	if (r->state == RS_RECORDING_SNAPSHOT)
		return rs_error_create(
			RS_USAGE,
			"%s is a snapshot: use ringside replay record --snapshot %s -o "
			"REC to create a recording that begins with it",
			r->folder.path, r->folder.path);
	return check_gone(r);
}

static struct rs_error *check_log(struct rs_recording *r)
{
	bool whole = rs_recording_is_whole(r);
	struct rs_error *err = rs_material_open_log(r);

	if (err || whole)
		return err;
	err = rs_rr_log_repair(r->files[RS_RECORDING_LOG], "its log", &r->icount);
	r->mended = !err;
	return cannot(r, err);
}

struct rs_error *rs_recording_check(struct rs_recording *r)
{
	struct rs_error *err = check_state(r);

	if (!err)
		err = check_version(r);
	if (!err)
		err = rs_material_open(r);
	return err ? err : check_log(r);
}

struct rs_error *rs_recording_check_log(struct rs_recording *r)
{
	struct rs_error *err = check_state(r);

	return err ? err : check_log(r);
}

struct rs_error *rs_recording_check_snapshot(struct rs_recording *r)
{
	struct rs_error *err;

	if (r->state != RS_RECORDING_SNAPSHOT)
		return rs_error_create(RS_USAGE,
				       "%s is not a snapshot of a guest (ringside replay snapshot "
				       "creates one)",
				       r->folder.path);
	err = check_version(r);
	return err ? err : rs_material_open(r);
}

/* ---- the command line ----------------------------------------------------------------------- */

/* no_timer_check: the guest's kernel checks that its timer ticks, which may fail on a busy host,
 * and then panics. */
#define LIVE_APPEND "console=ttyS0 panic=-1 no_timer_check"

/* Adds the kernel's arguments. Without counting, the arguments about the counting rate would be
 * wrong. */
static void add_append(const struct rs_recording *r, enum rs_recording_mode mode,
		       struct rs_qemu_command *c)
{
	const size_t ours = strlen(rs_recording_append);

	if (mode == RS_RECORDING_LIVE && !strncmp(r->append, rs_recording_append, ours))
		rs_qemu_command_option(c, "-append", LIVE_APPEND "%s", r->append + ours);
	else
		rs_qemu_command_option(c, "-append", "%s", r->append);
}

/* Adds an option with a file that QEMU opens through /proc. */
static void add_file(const struct rs_recording *r, const char *option, int file,
		     struct rs_qemu_command *c)
{
	if (r->files[file] > 0)
		rs_qemu_command_option(c, option, "/proc/self/fd/%d",
				       rs_qemu_command_inherit(c, r->files[file]));
}

/* Adds the options for counting instructions, and for the log. */
static void add_icount(const struct rs_recording *r, enum rs_recording_mode mode,
		       struct rs_qemu_command *c)
{
	const char *sleep = r->sleeps ? "" : ",sleep=off";

	if (mode == RS_RECORDING_PLAIN)
		rs_qemu_command_option(c, "-icount", "shift=%u%s", r->shift, sleep);
	else if (mode != RS_RECORDING_LIVE)
		rs_qemu_command_option(c, "-icount", "shift=%u%s,rr=%s,rrfile=/proc/self/fd/%d",
				       r->shift, sleep,
				       mode == RS_RECORDING_RECORD ? "record" : "replay",
				       rs_qemu_command_inherit(c, r->files[RS_RECORDING_LOG]));
}

/* Adds a name, so that ps identifies the QEMU. A comma in an option is doubled. */
static void add_name(const struct rs_recording *r, struct rs_qemu_command *c)
{
	char name[256];
	size_t n = 0;

	for (const char *at = r->folder.path; at && *at && n + 2 < sizeof(name); at++) {
		name[n++] = *at;
		if (*at == ',')
			name[n++] = ',';
	}
	name[n] = '\0';
	rs_qemu_command_option(c, "-name", "%s", name);
}

void rs_recording_command(const struct rs_recording *r, enum rs_recording_mode mode, int memory,
			  int console, struct rs_qemu_command *c)
{
	static const char *const machine[] = {
		RS_QEMU,    "-accel", "tcg",  "-nodefaults", "-no-user-config",
		"-display", "none",   "-net", "none",	     "-no-reboot"
	};

	for (size_t i = 0; i < sizeof(machine) / sizeof(machine[0]); i++)
		rs_qemu_command_word(c, machine[i]);
	add_name(r, c);
	c->memory_bytes = (uint64_t)r->memory_mib << 20;
	rs_qemu_command_option(c, "-M", memory >= 0 ? "pc,memory-backend=pc.ram" : "pc");
	rs_qemu_command_option(c, "-m", "%u", r->memory_mib);
	add_file(r, "-kernel", RS_RECORDING_KERNEL, c);
	add_file(r, "-initrd", RS_RECORDING_INITRD, c);
	if (!r->firmware) /* QEMU rejects -append without a kernel */
		add_append(r, mode, c);
	add_icount(r, mode, c);
	if (console >= 0)
		rs_qemu_command_option(c, "-serial", "file:/dev/fdset/%d",
				       rs_qemu_command_fdset(c, console));
	else
		rs_qemu_command_option(c, "-serial", "null");
	if (r->cpu)
		rs_qemu_command_option(c, "-cpu", "%s", r->cpu);
	if (r->date)
		rs_qemu_command_option(c, "-rtc", "base=%s,clock=vm", r->date);
	if (memory >= 0)
		rs_qemu_command_option(c, "-object",
				       "memory-backend-file,id=pc.ram,size=%uM,mem-path=/proc/self/"
				       "fd/%d,share=on",
				       r->memory_mib, rs_qemu_command_inherit(c, memory));
	if (!r->vapic)
		rs_qemu_command_option(c, "-global", "apic-common.vapic=off");
	if (mode == RS_RECORDING_REPLAY || mode == RS_RECORDING_LIVE || r->snapshot)
		rs_qemu_command_word(c, "-S");
	if (r->lock > 0)
		rs_qemu_command_inherit(c, r->lock);
}

struct rs_error *rs_recording_keep_words(struct rs_recording *r, const struct rs_qemu_command *c)
{
	char **words = calloc(c->n_words + 1, sizeof(*words));
	bool good = words;

	for (uint32_t i = 0; good && i < c->n_words; i++) {
		words[i] = strdup(c->words[i]);
		good = words[i];
	}
	if (!good) {
		words_free(words);
		return rs_error_no_memory();
	}
	words_free(r->argv);
	r->argv = words;
	return NULL;
}

int64_t rs_recording_began_ns(const struct rs_recording *recording)
{
	struct stat of;
	int64_t ns = 0;

	if (!fstatat(recording->folder.fd, "recording.json", &of, AT_SYMLINK_NOFOLLOW))
		ns = of.st_mtim.tv_sec * INT64_C(1000000000) + of.st_mtim.tv_nsec -
		     (int64_t)(recording->icount << recording->shift);
	return ns > 0 ? ns : 0;
}
