/* SPDX-License-Identifier: BSD-2-Clause */
#include "replay/recording.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>
#include <openssl/evp.h>

#include "replay/arguments.h"
#include "replay/qemu.h"
#include "replay/rr_log.h"

#define PATH_BYTES 4096
#define FILE_MAX   (UINT64_C(1) << 20) /* of recording.json */

const char rs_recording_append[] =
	"console=ttyS0 panic=-1 tsc_early_khz=1000000 tsc=reliable no_timer_check lpj=2000000 "
	"nolapic_timer hpet=disable pmtmr=0";
const char rs_recording_append_places[] = "norandmaps";

static const char *const states[] = { "recording", "closed", "cut", "snapshot" };
const char *const rs_recording_files[] = { "kernel", "initrd", "log", "disk", "snapshot" };
#define N_FILES ((size_t)RS_RECORDING_FILES)

/* ---- texts ---------------------------------------------------------------------------------- */

__attribute__((format(printf, 1, 2))) static char *text_of(const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	return text;
}

void rs_recording_argv_free(char **argv)
{
	for (char **each = argv; each && *each; each++)
		free(*each);
	free(argv);
}

/* Puts one more; NULL: there was no memory for it. */
static bool put(char **argv, char *text)
{
	size_t n = 0;

	while (argv[n])
		n++;
	if (!text || n + 1 >= RS_RECORDING_ARGS) {
		free(text);
		return false;
	}
	argv[n] = text;
	return true;
}

void rs_recording_deinit(struct rs_recording *r)
{
	free(r->directory);
	free(r->command);
	rs_recording_argv_free(r->argv);
	free(r->qemu_version);
	free(r->append);
	free(r->cpu);
	free(r->date);
	free(r->why);
	if (r->lock > 0)
		close(r->lock);
	for (size_t i = 0; i < N_FILES; i++)
		free(r->hashes[i]);
	*r = (struct rs_recording){ 0 };
}

/* ---- recording.json ------------------------------------------------------------------------- */

static json_t *hashes_to_json(const struct rs_recording *r)
{
	json_t *hashes = json_object();

	for (size_t i = 0; hashes && i < N_FILES; i++)
		if (r->hashes[i])
			json_object_set_new(hashes, rs_recording_files[i],
					    json_string(r->hashes[i]));
	return hashes;
}

static json_t *words_to_json(char *const *words)
{
	json_t *json = words ? json_array() : NULL;

	for (; json && *words; words++)
		json_array_append_new(json, json_string(*words));
	return json;
}

/* NULL stays out: `s*`. */
static json_t *to_json(const struct rs_recording *r)
{
	return json_pack("{s:i, s:s, s:s*, s:s*, s:I, s:I, s:s*, s:s*, s:s*, s:b, s:b, s:b, s:b, "
			 "s:b, s:b, s:I, s:s*, s:o*, s:o}",
			 "ringside_recording", RS_RECORDING_VERSION, "state", states[r->state],
			 "command", r->command, "qemu", r->qemu_version, "memory_mib",
			 (json_int_t)r->memory_mib, "shift", (json_int_t)r->shift, "append",
			 r->append, "cpu", r->cpu, "date", r->date, "initrd", (int)r->initrd,
			 "disk", (int)r->disk, "snapshot", (int)r->snapshot, "sleeps",
			 (int)r->sleeps, "mended", (int)r->mended, "vapic", (int)r->vapic, "icount",
			 (json_int_t)r->icount, "why", r->why, "qemu_argv", words_to_json(r->argv),
			 "sha256", hashes_to_json(r));
}

struct rs_error *rs_recording_write(const struct rs_recording *r)
{
	char *path = text_of("%s/recording.json", r->directory);
	char *next = text_of("%s/recording.json.new", r->directory);
	json_t *json = path && next ? to_json(r) : NULL;
	struct rs_error *err = NULL;

	if (!json)
		err = rs_error_no_memory();
	else if (json_dump_file(json, next, JSON_INDENT(2)) || rename(next, path))
		err = rs_error_errno(errno, "%s", path);
	json_decref(json);
	free(path);
	free(next);
	return err;
}

static char *text_at(const json_t *json, const char *key)
{
	const char *text = json_string_value(json_object_get(json, key));

	return text ? strdup(text) : NULL;
}

/* NULL where it is no list of words that QEMU can have been started with. */
static char **words_at(const json_t *json, const char *key)
{
	const json_t *list = json_object_get(json, key), *word;
	char **words = json_is_array(list) ? calloc(RS_RECORDING_ARGS, sizeof(*words)) : NULL;
	bool good = words;
	size_t i;

	json_array_foreach(list, i, word) good =
		good && json_is_string(word) && put(words, strdup(json_string_value(word)));
	if (good)
		return words;
	rs_recording_argv_free(words);
	return NULL;
}

/* What was written of a number, if it is one from least to most. */
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
	r->initrd = json_is_true(json_object_get(json, "initrd"));
	r->mended = json_is_true(json_object_get(json, "mended"));
	r->disk = json_is_true(json_object_get(json, "disk"));
	r->snapshot = json_is_true(json_object_get(json, "snapshot"));
	r->vapic = !json_is_false(json_object_get(json, "vapic")); /* older ones don't say */
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
	return r->qemu_version && r->append && (!r->cpu || rs_arguments_is_cpu(r->cpu)) &&
	       (!r->date || rs_arguments_is_date(r->date));
}

struct rs_error *rs_recording_read(const char *directory, struct rs_recording *r)
{
	char *path = text_of("%s/recording.json", directory);
	struct rs_error *err = NULL;
	json_error_t why;
	json_t *json = NULL;
	struct stat st;

	*r = (struct rs_recording){ 0 };
	if (!path)
		return rs_error_no_memory();
	if (stat(path, &st))
		err = rs_error_create(RS_USAGE,
				      "%s is no recording: it has no recording.json (ringside "
				      "replay record makes one)",
				      directory);
	else if ((uint64_t)st.st_size > FILE_MAX)
		err = rs_error_create(RS_DAMAGED, "%s is too long", path);
	else
		json = json_load_file(path, 0, &why);
	if (!err && !json)
		err = rs_error_create(RS_DAMAGED, "%s:%d:%d: %s", path, why.line, why.column,
				      why.text);
	if (!err && !from_json(json, r))
		err = rs_error_create(RS_DAMAGED,
				      "%s lacks what a recording's has, or is of another version",
				      path);
	r->directory = err ? NULL : strdup(directory);
	json_decref(json);
	free(path);
	if (err)
		rs_recording_deinit(r);
	return err;
}

/* ---- hashes --------------------------------------------------------------------------------- */

static struct rs_error *hash_file(const char *path, char **hash)
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	struct rs_error *err = NULL;
	unsigned int n = 0;
	char part[65536];
	ssize_t got = 0;
	EVP_MD_CTX *md = EVP_MD_CTX_new();
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool good = md && EVP_DigestInit_ex(md, EVP_sha256(), NULL);

	while (good && fd >= 0 && (got = read(fd, part, sizeof(part))) > 0)
		good = EVP_DigestUpdate(md, part, (size_t)got);
	if (fd < 0 || got < 0)
		err = rs_error_errno(errno, "%s", path);
	else if (!good || !EVP_DigestFinal_ex(md, digest, &n))
		err = rs_error_create(RS_FAILED, "SHA-256 failed");
	if (fd >= 0)
		close(fd);
	EVP_MD_CTX_free(md);
	if (err)
		return err;
	*hash = calloc(2, n + 1);
	if (!*hash)
		return rs_error_no_memory();
	for (unsigned int i = 0; i < n; i++)
		sprintf(*hash + 2 * (size_t)i, "%02x", digest[i]);
	return NULL;
}

static struct rs_error *hash_of(const struct rs_recording *r, size_t file, char **hash)
{
	char *path = text_of("%s/%s", r->directory, rs_recording_files[file]);
	struct rs_error *err = path ? hash_file(path, hash) : rs_error_no_memory();

	free(path);
	return err;
}

struct rs_error *rs_recording_hash(struct rs_recording *r)
{
	const bool there[RS_RECORDING_FILES] = {
		[RS_RECORDING_KERNEL] = true,
		[RS_RECORDING_INITRD] = r->initrd,
		[RS_RECORDING_LOG] = r->state != RS_RECORDING_SNAPSHOT,
		[RS_RECORDING_DISK] = r->disk,
		[RS_RECORDING_BEGIN] = r->snapshot,
	};
	struct rs_error *err = NULL;

	for (size_t i = 0; !err && i < N_FILES; i++) {
		free(r->hashes[i]);
		r->hashes[i] = NULL;
		if (there[i])
			err = hash_of(r, i, &r->hashes[i]);
	}
	return err;
}

static struct rs_error *check_file(const struct rs_recording *r, size_t file)
{
	char *hash = NULL;
	struct rs_error *err;

	if (!r->hashes[file])
		return NULL;
	err = hash_of(r, file, &hash);
	if (!err && strcmp(hash, r->hashes[file]) != 0)
		err = rs_error_create(RS_DAMAGED,
				      "%s/%s is not what was recorded: its SHA-256 differs",
				      r->directory, rs_recording_files[file]);
	free(hash);
	return err;
}

struct rs_error *rs_recording_lock(struct rs_recording *r)
{
	/* No O_CLOEXEC: QEMU has it too, and may outlive us by a moment. */
	int fd = open(r->directory, O_RDONLY | O_DIRECTORY);
	struct rs_error *err = NULL;

	if (fd < 0)
		err = rs_error_errno(errno, "%s", r->directory);
	else if (flock(fd, LOCK_EX | LOCK_NB))
		err = errno == EWOULDBLOCK
			      ? rs_error_create(RS_USAGE, "%s is being recorded", r->directory)
			      : rs_error_errno(errno, "locking %s", r->directory);
	if (err && fd >= 0)
		close(fd);
	if (!err)
		r->lock = fd;
	return err;
}

struct rs_error *rs_recording_mend(struct rs_recording *r)
{
	char *log = text_of("%s/log", r->directory);
	uint64_t icount = 0;
	struct rs_error *err = NULL;

	if (!log)
		err = rs_error_no_memory();
	else if (access(log, F_OK))
		err = rs_error_create(RS_DAMAGED, "%s was not begun", log);
	else
		err = rs_rr_log_mend(log, &icount);
	free(log);
	if (!err) {
		r->state = RS_RECORDING_CUT;
		r->mended = true;
		r->icount = icount;
		err = rs_recording_hash(r);
	}
	if (!err)
		err = rs_recording_write(r);
	return rs_error_wrap(err, "%s was cut (%s), and can't be replayed", r->directory,
			     r->why ? r->why : "its recorder was killed");
}

/* One whose recorder was killed. Two that come at once mend it one after the other. */
static struct rs_error *mend_left(struct rs_recording *r)
{
	struct rs_error *err = rs_recording_lock(r);

	if (err)
		return err;
	free(r->why);
	r->why = strdup("its recorder was killed");
	err = rs_recording_mend(r);
	close(r->lock);
	r->lock = 0;
	return err;
}

static struct rs_error *check_files(const struct rs_recording *r)
{
	char version[128];
	struct rs_error *err = rs_qemu_version(version, sizeof(version));

	if (!err && strcmp(version, r->qemu_version) != 0)
		err = rs_error_create(
			RS_ABSENT, "%s was recorded by QEMU %s; this one, %s, does not replay it",
			r->directory, r->qemu_version, version);
	for (size_t i = 0; !err && i < N_FILES; i++)
		err = check_file(r, i);
	return err;
}

struct rs_error *rs_recording_check(struct rs_recording *r)
{
	struct rs_error *err = NULL;

	if (r->state == RS_RECORDING_SNAPSHOT)
		err = rs_error_create(RS_USAGE,
				      "%s is a snapshot: ringside replay record --snapshot %s -o "
				      "REC makes a recording that begins with it",
				      r->directory, r->directory);
	else if (r->state == RS_RECORDING_OPEN)
		err = mend_left(r);
	else if (r->state == RS_RECORDING_CUT && !r->mended)
		err = rs_recording_mend(r);
	return err ? err : check_files(r);
}

struct rs_error *rs_recording_check_snapshot(const struct rs_recording *r)
{
	if (r->state != RS_RECORDING_SNAPSHOT)
		return rs_error_create(RS_USAGE,
				       "%s is no snapshot of a guest: ringside replay snapshot "
				       "makes one",
				       r->directory);
	return check_files(r);
}

/* ---- the command line ------------------------------------------------------------------------ */

static bool put_words(char **argv, const char *const words[])
{
	for (; *words; words++)
		if (!put(argv, strdup(*words)))
			return false;
	return true;
}

static bool put_two(char **argv, const char *option, char *value)
{
	return put(argv, strdup(option)) && put(argv, value);
}

/* How it counts, and what it writes or reads. */
static char *icount_of(const struct rs_recording *r, enum rs_recording_mode mode)
{
	static const char *const words[] = { "", ",rr=record,rrfile=", ",rr=replay,rrfile=" };
	bool logs = mode != RS_RECORDING_PLAIN;

	return text_of("shift=%u%s%s%s%s", r->shift, r->sleeps ? "" : ",sleep=off", words[mode],
		       logs ? r->directory : "", logs ? "/log" : "");
}

static bool fill(const struct rs_recording *r, enum rs_recording_mode mode, const char *memory,
		 const char *console, char **argv)
{
	static const char *const machine[] = {
		"-accel", "tcg",  "-nodefaults", "-no-user-config", "-display",
		"none",	  "-net", "none",	 "-no-reboot",	    NULL
	};
	bool good = put(argv, strdup(RS_QEMU)) && put_words(argv, machine) &&
		    put_two(argv, "-M", strdup(memory ? "pc,memory-backend=pc.ram" : "pc")) &&
		    put_two(argv, "-m", text_of("%u", r->memory_mib)) &&
		    put_two(argv, "-kernel", text_of("%s/kernel", r->directory)) &&
		    put_two(argv, "-append", strdup(r->append)) &&
		    put_two(argv, "-serial", text_of("file:%s", console)) &&
		    put_two(argv, "-icount", icount_of(r, mode));

	if (good && r->cpu)
		good = put_two(argv, "-cpu", strdup(r->cpu));
	if (good && r->date)
		good = put_two(argv, "-rtc", text_of("base=%s,clock=vm", r->date));
	if (good && r->initrd)
		good = put_two(argv, "-initrd", text_of("%s/initrd", r->directory));
	if (good && memory)
		good = put_two(argv, "-object",
			       text_of("memory-backend-file,id=pc.ram,size=%uM,mem-path=%s,"
				       "share=on",
				       r->memory_mib, memory));
	if (good && !r->vapic)
		good = put_two(argv, "-global", strdup("apic-common.vapic=off"));
	if (good && (mode == RS_RECORDING_REPLAY || r->snapshot))
		good = put(argv, strdup("-S"));
	return good;
}

struct rs_error *rs_recording_argv(const struct rs_recording *r, enum rs_recording_mode mode,
				   const char *memory, const char *console, char ***argv)
{
	char **made;

	/* QEMU takes these apart at commas. */
	if (strchr(r->directory, ',') || strchr(console, ','))
		return rs_error_create(RS_USAGE, "%s: QEMU takes no path with a comma",
				       strchr(r->directory, ',') ? r->directory : console);
	made = calloc(RS_RECORDING_ARGS, sizeof(*made));
	if (!made)
		return rs_error_no_memory();
	if (!fill(r, mode, memory, console, made)) {
		rs_recording_argv_free(made);
		return rs_error_no_memory();
	}
	*argv = made;
	return NULL;
}

struct rs_error *rs_recording_argv_add(char **argv, const char *option, const char *value)
{
	return put(argv, strdup(option)) && put(argv, strdup(value)) ? NULL : rs_error_no_memory();
}
