/* SPDX-License-Identifier: BSD-2-Clause */
/* Resolves a program's shared libraries without executing anything. */
#include "replay/libraries.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CACHE	      "/etc/ld.so.cache"
#define CACHE_MAX     (16u << 20)
#define LIBRARIES_MAX 1024u
#define FILE_MAX      (INT64_C(4) << 30)
#define NAME_BYTES    4096u /* size of a string in an ELF file, with its NUL */

static const char *const default_folders[] = {
	"/lib/x86_64-linux-gnu",
	"/usr/lib/x86_64-linux-gnu",
	"/lib64",
	"/usr/lib64",
	"/lib",
	"/usr/lib",
};
#define LIB_FOLDER "lib/x86_64-linux-gnu" /* the value of $LIB in a search path */

/* ---- the cache ------------------------------------------------------------------------------ */

#define CACHE_MAGIC   "glibc-ld.so.cache1.1"
#define CACHE_X86_64  0x0303 /* FLAG_X8664_LIB64 | FLAG_ELF_LIBC6 */
#define CACHE_ENTRIES 48u    /* where they begin */

struct cache_entry {
	int32_t flags;
	uint32_t name, path; /* offsets of texts, from the cache's first byte */
	uint32_t os_version;
	uint64_t hwcap; /* 0: for every processor */
};
_Static_assert(sizeof(struct cache_entry) == 24, "struct file_entry_new of glibc's dl-cache.h");

/* Returns the text at an offset, or NULL if it has no end. */
static const char *cache_text(const uint8_t *cache, size_t bytes, uint32_t at)
{
	return at < bytes && memchr(cache + at, '\0', bytes - at) ? (const char *)cache + at : NULL;
}

const char *rs_libraries_cached(const uint8_t *cache, size_t bytes, const char *name)
{
	uint32_t n;

	if (bytes < CACHE_ENTRIES || memcmp(cache, CACHE_MAGIC, strlen(CACHE_MAGIC)))
		return NULL;
	memcpy(&n, cache + strlen(CACHE_MAGIC), sizeof(n));
	for (uint32_t i = 0; i < n; i++) {
		uint64_t at = CACHE_ENTRIES + (uint64_t)i * sizeof(struct cache_entry);
		struct cache_entry entry;
		const char *text;

		if (at + sizeof(entry) > bytes)
			return NULL;
		memcpy(&entry, cache + at, sizeof(entry));
		if (entry.flags != CACHE_X86_64 || entry.hwcap)
			continue;
		text = cache_text(cache, bytes, entry.name);
		if (text && !strcmp(text, name))
			return cache_text(cache, bytes, entry.path);
	}
	return NULL;
}

/* Reads the host's cache. Without one, *bytes is 0, which is no error. */
static uint8_t *cache_read(size_t *bytes)
{
	int fd = open(CACHE, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	uint8_t *cache = NULL;
	struct stat st;

	*bytes = 0;
	if (fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size <= CACHE_MAX)
		cache = malloc((size_t)st.st_size + 1);
	if (cache) {
		ssize_t n = pread(fd, cache, (size_t)st.st_size, 0);

		*bytes = n > 0 ? (size_t)n : 0;
	}
	if (fd >= 0)
		close(fd);
	return cache;
}

/* ---- an ELF file ---------------------------------------------------------------------------- */

struct object {
	char *path; /* on this host */
	int fd;	    /* -1: not open */
	Elf *elf;   /* NULL likewise */
	Elf_Data *dynamic;
	char *rpath, *runpath; /* NULL: it has none */
};

static void object_close(struct object *o)
{
	if (o->elf)
		elf_end(o->elf);
	if (o->fd >= 0)
		close(o->fd);
	free(o->path);
	free(o->rpath);
	free(o->runpath);
	*o = (struct object){ .fd = -1 };
}

/* Returns the file offset of the byte that is loaded at an address, or -1. */
static int64_t offset_of(const struct object *o, uint64_t address)
{
	GElf_Phdr part;
	size_t n = 0;

	elf_getphdrnum(o->elf, &n);
	for (size_t i = 0; i < n && i < INT32_MAX && gelf_getphdr(o->elf, (int)i, &part); i++)
		if (part.p_type == PT_LOAD && address >= part.p_vaddr &&
		    address - part.p_vaddr < part.p_filesz &&
		    part.p_offset <= (uint64_t)FILE_MAX - (address - part.p_vaddr))
			return (int64_t)(part.p_offset + (address - part.p_vaddr));
	return -1;
}

/* Returns a copy of the text at an offset of the file, or NULL if it is incomplete. */
static char *text_at(const struct object *o, int64_t offset)
{
	char text[NAME_BYTES];
	ssize_t n = offset < 0 ? -1 : pread(o->fd, text, sizeof(text), offset);

	return n > 0 && memchr(text, '\0', (size_t)n) ? strdup(text) : NULL;
}

/* Reads the dynamic section's index-th entry. Returns false past the last. */
static bool dynamic_at(const struct object *o, int index, GElf_Dyn *entry)
{
	return o->dynamic && gelf_getdyn(o->dynamic, index, entry) && entry->d_tag != DT_NULL;
}

/* Returns a copy of the text of an entry, which is in the dynamic string table. */
static char *dynamic_text(const struct object *o, uint64_t index)
{
	GElf_Dyn entry;
	int64_t table = -1;

	for (int i = 0; dynamic_at(o, i, &entry); i++)
		if (entry.d_tag == DT_STRTAB)
			table = offset_of(o, entry.d_un.d_ptr);
	return table < 0 || index > UINT32_MAX ? NULL : text_at(o, table + (int64_t)index);
}

/* Reads the segments that list the object's needs. *interpreter stays NULL if the object names
 * none. */
static void object_parts(struct object *o, char **interpreter)
{
	GElf_Phdr part;
	size_t n = 0;

	elf_getphdrnum(o->elf, &n);
	for (size_t i = 0; i < n && i < INT32_MAX && gelf_getphdr(o->elf, (int)i, &part); i++) {
		if (part.p_offset > (uint64_t)FILE_MAX || part.p_filesz > (uint64_t)FILE_MAX)
			continue;
		if (part.p_type == PT_DYNAMIC && !o->dynamic)
			o->dynamic = elf_getdata_rawchunk(o->elf, (int64_t)part.p_offset,
							  part.p_filesz, ELF_T_DYN);
		if (part.p_type == PT_INTERP && interpreter && !*interpreter)
			*interpreter = text_at(o, (int64_t)part.p_offset);
	}
}

/*
 * Opens an ELF file for x86-64. Returns false if the path is not such a file; the loader then tries
 * the next folder. Never waits for a FIFO or a device.
 */
static bool object_open(const char *path, struct object *o, char **interpreter)
{
	GElf_Dyn entry;
	GElf_Ehdr head;
	struct stat st;

	*o = (struct object){ .path = strdup(path),
			      .fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) };
	if (o->path && o->fd >= 0 && !fstat(o->fd, &st) && S_ISREG(st.st_mode) &&
	    st.st_size <= FILE_MAX && elf_version(EV_CURRENT) != EV_NONE)
		o->elf = elf_begin(o->fd, ELF_C_READ, NULL);
	if (!o->elf || elf_kind(o->elf) != ELF_K_ELF || !gelf_getehdr(o->elf, &head) ||
	    head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_machine != EM_X86_64) {
		object_close(o);
		return false;
	}
	object_parts(o, interpreter);
	for (int i = 0; dynamic_at(o, i, &entry); i++) {
		char **to = entry.d_tag == DT_RPATH	? &o->rpath
			    : entry.d_tag == DT_RUNPATH ? &o->runpath
							: NULL;

		if (to && !*to)
			*to = dynamic_text(o, entry.d_un.d_val);
	}
	return true;
}

/* ---- the search ----------------------------------------------------------------------------- */

struct search {
	const char *root;
	struct rs_libraries *found;
	uint8_t *cache;
	size_t cache_bytes;
	struct object program;
	/* Results: the requested names, and their paths. The first `n_done` have been followed. */
	char *names[LIBRARIES_MAX], *places[LIBRARIES_MAX];
	size_t n, n_done;
};

static bool is_below(const char *path, const char *folder)
{
	size_t n = strlen(folder);

	return !strncmp(path, folder, n) && path[n] == '/';
}

/* Uses a path if a library exists there, in the guest's root or on the host. */
static struct rs_error *try_path(struct search *s, const char *name, const char *path,
				 bool *found_it)
{
	char inside[PATH_MAX];
	struct object o = { .fd = -1 };
	bool ours = false;

	*found_it = false;
	if (path[0] != '/')
		return NULL;
	if (!is_below(path, s->root) &&
	    snprintf(inside, sizeof(inside), "%s%s", s->root, path) < (int)sizeof(inside))
		ours = object_open(inside, &o, NULL);
	if (!ours && !object_open(path, &o, NULL))
		return NULL;
	object_close(&o);
	if (s->n == LIBRARIES_MAX)
		return rs_error_create(RS_DAMAGED, "%s needs more than %u libraries",
				       s->program.path, LIBRARIES_MAX);
	s->names[s->n] = strdup(name);
	s->places[s->n] = strdup(ours ? inside : path);
	*found_it = s->names[s->n] && s->places[s->n];
	s->n++;
	return *found_it ? NULL : rs_error_no_memory();
}

/* Writes a search path's folder with its tokens replaced. Returns false if one is unknown. */
static bool expand(const char *folder, size_t n, const char *object, char to[PATH_MAX])
{
	const char *slash = strrchr(object, '/');
	const struct {
		const char *token, *text;
		int text_bytes;
	} tokens[] = {
		{ "$ORIGIN", object, slash ? (int)(slash - object) : 0 },
		{ "${ORIGIN}", object, slash ? (int)(slash - object) : 0 },
		{ "$LIB", LIB_FOLDER, (int)strlen(LIB_FOLDER) },
		{ "${LIB}", LIB_FOLDER, (int)strlen(LIB_FOLDER) },
	};
	size_t used = 0;

	for (size_t at = 0; at < n;) {
		size_t i = 0;
		int bytes;

		while (i < 4 && strncmp(folder + at, tokens[i].token, strlen(tokens[i].token)))
			i++;
		if (i == 4 && folder[at] == '$')
			return false;
		bytes = snprintf(to + used, PATH_MAX - used, "%.*s",
				 i < 4 ? tokens[i].text_bytes : 1,
				 i < 4 ? tokens[i].text : folder + at);
		used += (size_t)bytes;
		if (used >= PATH_MAX)
			return false;
		at += i < 4 ? strlen(tokens[i].token) : 1;
	}
	to[used] = '\0';
	return used > 0;
}

/* Searches the folders of an object's search path, "A:B". */
static struct rs_error *try_folders(struct search *s, const char *name, const char *folders,
				    const char *object, bool *found_it)
{
	struct rs_error *err = NULL;

	*found_it = false;
	while (folders && !err && !*found_it) {
		size_t n = strcspn(folders, ":");
		char folder[PATH_MAX], path[PATH_MAX];

		if (expand(folders, n, object, folder) &&
		    snprintf(path, sizeof(path), "%s/%s", folder, name) < (int)sizeof(path))
			err = try_path(s, name, path, found_it);
		folders = folders[n] ? folders + n + 1 : NULL;
	}
	return err;
}

/* Finds one library, in the order of ld.so(8). */
static struct rs_error *find_one(struct search *s, const char *name, const struct object *o)
{
	const struct object *program = &s->program;
	char path[PATH_MAX];
	const char *cached;
	bool found_it = false;
	struct rs_error *err = NULL;

	for (size_t i = 0; i < s->n; i++)
		if (!strcmp(s->names[i], name))
			return NULL;
	if (strchr(name, '/'))
		err = expand(name, strlen(name), o->path, path) ? try_path(s, name, path, &found_it)
								: NULL;
	else if (!o->runpath)
		err = try_folders(s, name, o->rpath, o->path, &found_it);
	if (!err && !found_it && !o->runpath && !program->runpath)
		err = try_folders(s, name, program->rpath, program->path, &found_it);
	if (!err && !found_it)
		err = try_folders(s, name, o->runpath, o->path, &found_it);
	cached = rs_libraries_cached(s->cache, s->cache_bytes, name);
	if (!err && !found_it && cached)
		err = try_path(s, name, cached, &found_it);
	for (size_t i = 0; !err && !found_it && i < sizeof(default_folders) / sizeof(char *); i++)
		err = try_folders(s, name, default_folders[i], o->path, &found_it);
	if (err || found_it)
		return err;
	return rs_error_create(RS_USAGE,
			       "%s needs %s, which was not found: put it into the folder's /lib, "
			       "install it, or link statically",
			       o->path, name);
}

static struct rs_error *find_needed(struct search *s, const struct object *o)
{
	struct rs_error *err = NULL;
	GElf_Dyn entry;

	for (int i = 0; !err && dynamic_at(o, i, &entry); i++) {
		char *name;

		if (entry.d_tag != DT_NEEDED)
			continue;
		name = dynamic_text(o, entry.d_un.d_val);
		err = name && name[0] ? find_one(s, name, o)
				      : rs_error_create(RS_DAMAGED,
							"%s: the name of a library that it needs "
							"is not in the file",
							o->path);
		free(name);
	}
	return err;
}

/* Finds the program's interpreter, which libraries also name, without a folder. */
static struct rs_error *find_interpreter(struct search *s, const char *path)
{
	const char *slash = strrchr(path, '/');
	bool found_it = false;
	struct rs_error *err = try_path(s, slash ? slash + 1 : path, path, &found_it);

	if (err || found_it)
		return err;
	return rs_error_create(RS_USAGE, "%s needs the interpreter %s, which was not found",
			       s->program.path, path);
}

static struct rs_error *list(struct search *s)
{
	s->found->paths = calloc(s->n + 1, sizeof(char *));
	if (!s->found->paths)
		return rs_error_no_memory();
	for (size_t i = 0; i < s->n; i++) {
		if (is_below(s->places[i], s->root))
			continue;
		s->found->paths[s->found->n++] = s->places[i];
		s->places[i] = NULL;
	}
	return NULL;
}

static struct rs_error *search(struct search *s, const char *interpreter)
{
	struct rs_error *err = interpreter ? find_interpreter(s, interpreter) : NULL;

	if (!err)
		err = find_needed(s, &s->program);
	while (!err && s->n_done < s->n) {
		struct object o;

		if (!object_open(s->places[s->n_done++], &o, NULL))
			continue; /* the file was removed */
		err = find_needed(s, &o);
		object_close(&o);
	}
	return err ? err : list(s);
}

struct rs_error *rs_libraries_find(const char *path, const char *root, struct rs_libraries *found)
{
	struct search *s = calloc(1, sizeof(*s));
	char *interpreter = NULL, *real = realpath(path, NULL);
	struct rs_error *err = NULL;

	*found = (struct rs_libraries){ 0 };
	if (!s || !real) {
		err = real ? rs_error_no_memory() : rs_error_errno(errno, "%s", path);
	} else {
		s->root = root;
		s->found = found;
		s->cache = cache_read(&s->cache_bytes);
		err = object_open(real, &s->program, &interpreter)
			      ? search(s, interpreter)
			      : rs_error_create(RS_DAMAGED, "%s is not an ELF file for x86-64",
						path);
		object_close(&s->program);
		for (size_t i = 0; i < s->n; i++) {
			free(s->names[i]);
			free(s->places[i]);
		}
		free(s->cache);
	}
	free(interpreter);
	free(real);
	free(s);
	return err;
}

void rs_libraries_deinit(struct rs_libraries *found)
{
	for (size_t i = 0; i < found->n; i++)
		free(found->paths[i]);
	free(found->paths);
	*found = (struct rs_libraries){ 0 };
}
