/* SPDX-License-Identifier: BSD-2-Clause */
/* Packs a host directory as a guest's initramfs. */
#include "replay/initramfs.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "replay/libraries.h"

#define EXEC_PATH "ringside-exec"
#define EXEC_MAX  4096u /* the limit of the first process (init.c) */
#define ARGS_MAX  128u
#define FILE_MAX  UINT32_MAX
#define MODE_DIR  040755u
#define MODE_FILE 0100755u

#ifdef HAVE_REPLAY_INIT
static const uint8_t init[] = {
#include "replay/init.inc"
};
#define INIT_BYTES sizeof(init)
#else
static const uint8_t *const init = NULL; /* the build's architecture differs from the guest's */
#define INIT_BYTES 0u
#endif

struct archive {
	const char *folder;
	char *root; /* the folder's real path */
	FILE *out;
	uint32_t number;
	char **names; /* size of all entries */
	size_t n_names;
	struct rs_initramfs made;
};

/* ---- the archive ----------------------------------------------------------------------------- */

static bool has(const struct archive *a, const char *name)
{
	for (size_t i = 0; i < a->n_names; i++)
		if (!strcmp(a->names[i], name))
			return true;
	return false;
}

static struct rs_error *remember(struct archive *a, const char *name)
{
	char **names = realloc(a->names, (a->n_names + 1) * sizeof(*names));

	if (names)
		a->names = names;
	if (!names || !(names[a->n_names] = strdup(name)))
		return rs_error_no_memory();
	a->n_names++;
	return NULL;
}

static void pad(struct archive *a, uint64_t bytes)
{
	static const char zeros[4];

	fwrite(zeros, 1, -bytes & 3, a->out);
}

static void put_head(struct archive *a, const char *name, uint32_t mode, uint64_t bytes)
{
	size_t length = strlen(name) + 1;

	fprintf(a->out, "070701%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X", ++a->number,
		mode, 0, 0, 1, 0, (uint32_t)bytes, 0, 0, 0, 0, (uint32_t)length, 0);
	fwrite(name, 1, length, a->out);
	pad(a, 110 + length);
}

static struct rs_error *put_bytes(struct archive *a, const char *name, uint32_t mode,
				  const void *bytes, size_t n)
{
	if (has(a, name))
		return NULL;
	put_head(a, name, mode, n);
	fwrite(bytes, 1, n, a->out);
	pad(a, n);
	return remember(a, name);
}

/* Adds the parent folders of a name that are not in the archive yet. */
static struct rs_error *put_folders(struct archive *a, const char *name)
{
	struct rs_error *err = NULL;
	char *part = strdup(name);

	if (!part)
		return rs_error_no_memory();
	for (char *at = part; !err && (at = strchr(at, '/')); *at++ = '/') {
		*at = '\0';
		err = put_bytes(a, part, MODE_DIR, "", 0);
	}
	free(part);
	return err;
}

static struct rs_error *put_file(struct archive *a, const char *name, const char *path,
				 uint32_t mode)
{
	struct rs_error *err = NULL;
	uint64_t done = 0;
	char part[65536];
	struct stat st;
	size_t n = 1;
	FILE *in;

	if (has(a, name))
		return NULL;
	in = fopen(path, "re");
	if (!in || fstat(fileno(in), &st))
		err = rs_error_errno(errno, "%s", path);
	else if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size > FILE_MAX)
		err = rs_error_create(RS_USAGE, "%s is not a file of less than 4 GiB", path);
	if (!err)
		put_head(a, name, mode, (uint64_t)st.st_size);
	while (!err && n && done < (uint64_t)st.st_size) {
		uint64_t left = (uint64_t)st.st_size - done;

		n = fread(part, 1, left < sizeof(part) ? left : sizeof(part), in);
		fwrite(part, 1, n, a->out);
		done += n;
	}
	if (!err && done < (uint64_t)st.st_size)
		err = rs_error_create(RS_FAILED, "%s became shorter while it was read", path);
	pad(a, done);
	if (in)
		fclose(in);
	a->made.files += !err;
	return err ? err : remember(a, name);
}

/* ---- libraries ------------------------------------------------------------------------------- */

enum elf_kind { ELF_NONE, ELF_STATIC, ELF_DYNAMIC, ELF_OTHER };

/* Returns the kind of a file by its ELF header: a program that has an interpreter is dynamic. */
static enum elf_kind kind_of(const char *path)
{
	enum elf_kind kind = ELF_NONE;
	Elf64_Ehdr head = { 0 };
	Elf64_Phdr part;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return ELF_NONE;
	if (pread(fd, &head, sizeof(head), 0) == sizeof(head) &&
	    !memcmp(head.e_ident, ELFMAG, SELFMAG))
		kind = head.e_ident[EI_CLASS] == ELFCLASS64 && head.e_machine == EM_X86_64
			       ? ELF_STATIC
			       : ELF_OTHER;
	for (uint32_t i = 0; kind == ELF_STATIC && i < head.e_phnum; i++) {
		off_t at = (off_t)(head.e_phoff + (uint64_t)i * sizeof(part));

		if (at < 0 || pread(fd, &part, sizeof(part), at) != sizeof(part))
			break;
		if (part.p_type == PT_INTERP)
			kind = ELF_DYNAMIC;
	}
	close(fd);
	return kind;
}

static struct rs_error *put_libraries(struct archive *a, const char *program)
{
	struct rs_libraries needs;
	struct rs_error *err = rs_libraries_find(program, a->root, &needs);

	for (size_t i = 0; !err && i < needs.n; i++) {
		const char *path = needs.paths[i];

		if (has(a, path + 1))
			continue;
		err = put_folders(a, path + 1);
		if (!err)
			err = put_file(a, path + 1, path, MODE_FILE);
		a->made.libraries += !err;
	}
	rs_libraries_deinit(&needs);
	return err;
}

/* ---- the folder ------------------------------------------------------------------------------ */

static int by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

static struct rs_error *put_link(struct archive *a, const char *name, const char *path)
{
	char target[PATH_MAX];
	ssize_t n = readlink(path, target, sizeof(target));

	return n < 0 ? rs_error_errno(errno, "%s", path)
		     : put_bytes(a, name, 0120777, target, (size_t)n);
}

static struct rs_error *put_entry(struct archive *a, const FTSENT *entry)
{
	const char *name = entry->fts_path + strlen(a->folder);

	name += strspn(name, "/");
	if (!*name)
		return NULL;
	switch (entry->fts_info) {
	case FTS_D:
		return put_bytes(a, name, 040000 | (entry->fts_statp->st_mode & 07777), "", 0);
	case FTS_F:
		return put_file(a, name, entry->fts_path, entry->fts_statp->st_mode & 0107777);
	case FTS_SL:
	case FTS_SLNONE:
		return put_link(a, name, entry->fts_path);
	case FTS_DP:
		return NULL;
	case FTS_DNR:
	case FTS_ERR:
	case FTS_NS:
		return rs_error_errno(entry->fts_errno, "%s", entry->fts_path);
	default:
		return rs_error_create(RS_USAGE, "%s is not a file, folder or link",
				       entry->fts_path);
	}
}

/* Calls a function for each entry of the folder. */
static struct rs_error *walk(struct archive *a,
			     struct rs_error *(*each)(struct archive *a, const FTSENT *entry))
{
	char *paths[] = { (char *)a->folder, NULL };
	FTS *fts = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, by_name);
	struct rs_error *err = fts ? NULL : rs_error_errno(errno, "%s", a->folder);
	FTSENT *entry;

	while (!err && (errno = 0, entry = fts_read(fts)))
		err = each(a, entry);
	if (!err && errno)
		err = rs_error_errno(errno, "%s", a->folder);
	if (fts)
		fts_close(fts);
	return err;
}

static struct rs_error *put_needed(struct archive *a, const FTSENT *entry)
{
	if (entry->fts_info != FTS_F || !(entry->fts_statp->st_mode & 0111))
		return NULL;
	switch (kind_of(entry->fts_path)) {
	case ELF_DYNAMIC:
		return put_libraries(a, entry->fts_path);
	case ELF_OTHER:
		return rs_error_create(RS_USAGE, "%s is a program, but not for x86-64",
				       entry->fts_path);
	default:
		return NULL;
	}
}

/* ---- the command ----------------------------------------------------------------------------- */

/* Splits a command into words, each ended by a NUL. Sets *used to their total size. */
static struct rs_error *split(const char *command, char words[EXEC_MAX], size_t *used)
{
	size_t n = 0, count = 0;
	char quote = 0;
	bool in = false;

	for (const char *at = command; *at; at++) {
		bool blank = !quote && strchr(" \t\n", *at);

		if (blank && in)
			words[n++] = '\0';
		count += !blank && !in;
		if (n + 2 >= EXEC_MAX || count > ARGS_MAX)
			return rs_error_create(RS_USAGE, "the command is too long");
		in = !blank;
		if (blank)
			continue;
		if (quote ? *at == quote : *at == '\'' || *at == '"')
			quote = quote ? 0 : *at;
		else if (*at == '\\' && quote != '\'' && at[1])
			words[n++] = *++at;
		else
			words[n++] = *at;
	}
	if (quote)
		return rs_error_create(RS_USAGE, "the command has an open quote: %s", command);
	if (in)
		words[n++] = '\0';
	*used = n;
	return n ? NULL : rs_error_create(RS_USAGE, "the command is empty");
}

/* Returns whether the guest will have this file, and may execute it. */
static bool runs(const struct archive *a, const char *path)
{
	struct stat st;
	char *here;
	bool good;

	if (asprintf(&here, "%s/%s", a->folder, path) < 0)
		return false;
	good = !lstat(here, &st) &&
	       (S_ISLNK(st.st_mode) || (S_ISREG(st.st_mode) && (st.st_mode & 0111)));
	free(here);
	return good;
}

/* Returns a path without the words at its beginning that name the guest's root, whose parent is
 * itself. */
static const char *below_root(const char *path)
{
	static const char *const same[] = { "/", "./", "../" };

	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
		size_t len = strlen(same[i]);

		if (!strncmp(path, same[i], len))
			return below_root(path + len);
	}
	return path;
}

/* Writes the program's path and the other words to the file that the first process reads. */
static struct rs_error *put_command(struct archive *a, const char *command)
{
	static const char *const folders[] = { "bin/", "usr/bin/", "sbin/", "usr/sbin/", "" };
	char words[EXEC_MAX], all[2 * EXEC_MAX], path[EXEC_MAX + 16];
	size_t used = 0, length;
	struct rs_error *err = split(command, words, &used);
	bool found = false;

	if (err)
		return err;
	if (strchr(words, '/')) {
		snprintf(path, sizeof(path), "%s", below_root(words));
		found = runs(a, path);
	}
	for (size_t i = 0; !found && !strchr(words, '/') && i < 5; i++) {
		snprintf(path, sizeof(path), "%s%s", folders[i], words);
		found = runs(a, path);
	}
	if (!found)
		return rs_error_create(RS_USAGE,
				       "%s: %s has no program of this name that can be executed",
				       words, a->folder);
	length = (size_t)snprintf(all, sizeof(all), "/%s", path) + 1;
	used -= strlen(words) + 1;
	if (length + used > EXEC_MAX)
		return rs_error_create(RS_USAGE, "the command is too long");
	memcpy(all + length, words + strlen(words) + 1, used);
	return put_bytes(a, EXEC_PATH, 0100644, all, length + used);
}

static struct rs_error *put_init(struct archive *a, const char *command)
{
	struct rs_error *err;

	if (!command)
		return runs(a, "init")
			       ? NULL
			       : rs_error_create(RS_USAGE,
						 "no program to run: give --exec CMD, or put an "
						 "init in %s",
						 a->folder);
	if (!INIT_BYTES)
		return rs_error_create(RS_ABSENT,
				       "this build contains no first process for an x86-64 "
				       "guest: put an init into the folder");
	err = put_command(a, command);
	return err ? err : put_bytes(a, "init", MODE_FILE, init, INIT_BYTES);
}

/* ---- the archive ----------------------------------------------------------------------------- */

static struct rs_error *put_all(struct archive *a, const char *command)
{
	struct rs_error *err = put_init(a, command);

	if (!err)
		err = walk(a, put_entry);
	if (!err)
		err = walk(a, put_needed);
	if (err)
		return err;
	a->number = UINT32_MAX; /* the trailer's inode number is 0 */
	put_head(a, "TRAILER!!!", 0, 0);
	if (fflush(a->out) || ferror(a->out))
		return rs_error_errno(errno, "writing the initramfs");
	a->made.bytes = (uint64_t)ftell(a->out);
	return NULL;
}

struct rs_error *rs_initramfs_write(const char *folder, const char *command, int fd,
				    struct rs_initramfs *made)
{
	struct archive a = { .folder = folder, .root = realpath(folder, NULL) };
	struct rs_error *err = NULL;
	int own = dup(fd);

	a.out = own < 0 ? NULL : fdopen(own, "w");
	if (!a.root)
		err = rs_error_errno(errno, "%s", folder);
	else if (!a.out)
		err = rs_error_errno(errno, "writing the initramfs");
	else
		err = put_all(&a, command);
	if (a.out && fclose(a.out) && !err)
		err = rs_error_errno(errno, "writing the initramfs");
	for (size_t i = 0; i < a.n_names; i++)
		free(a.names[i]);
	free(a.names);
	free(a.root);
	if (!err)
		*made = a.made;
	return err;
}
