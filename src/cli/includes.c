/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks the files that a D program includes. */
#include "cli/includes.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/given.h"

#define DEPTH_MAX 16	    /* of files in files */
#define FILES_MAX 256	    /* in all; cpp itself stops at 200 in depth */
#define TEXT_MAX  (1 << 20) /* searched bytes of one file */

struct search {
	const char *program;
	const struct rs_cli_words *words;
	unsigned int files;
};

/* Returns the name in an #include line, and whether it is in quotes, or NULL for another line. */
static const char *included(const char *line, size_t *len, bool *quoted)
{
	static const char word[] = "include";

	line += strspn(line, " \t");
	if (*line++ != '#')
		return NULL;
	line += strspn(line, " \t");
	if (strncmp(line, word, sizeof(word) - 1))
		return NULL;
	line += sizeof(word) - 1;
	line += strspn(line, " \t");
	if (*line != '"' && *line != '<')
		return NULL;
	*quoted = *line++ == '"';
	*len = strcspn(line, *quoted ? "\"\n" : ">\n");
	return line;
}

static bool is_there(char path[PATH_MAX], const char *folder, size_t folder_len, const char *file,
		     size_t len)
{
	struct stat st;
	int n = snprintf(path, PATH_MAX, "%.*s%s%.*s", (int)folder_len, folder,
			 folder_len && folder[folder_len - 1] != '/' ? "/" : "", (int)len, file);

	return n < PATH_MAX && !stat(path, &st);
}

/* Returns the length of a path's folder, with its slash. */
static size_t folder_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? (size_t)(slash - path) + 1 : 0;
}

/* Finds a file as cpp does: beside the including file, beside the program, in -I. Returns false if
 * none of these has it. */
static bool find(const struct search *search, const char *from, const char *file, size_t len,
		 bool quoted, char path[PATH_MAX])
{
	if (*file == '/')
		return is_there(path, "", 0, file, len);
	if (quoted && (is_there(path, from, folder_of(from), file, len) ||
		       is_there(path, search->program, folder_of(search->program), file, len)))
		return true;
	for (uint32_t i = 0; i + 1 < search->words->n; i += 2) {
		const char *folder = search->words->at[i + 1];

		if (!strcmp(search->words->at[i], "-I") &&
		    is_there(path, folder, strlen(folder), file, len))
			return true;
	}
	return false;
}

static struct rs_error *read_text(const char *path, char **text)
{
	struct rs_error *err;
	ssize_t n;
	int fd;

	err = rs_given_open(path, RS_GIVEN_FILE, &fd);
	if (err)
		return err;
	*text = malloc(TEXT_MAX + 1);
	n = *text ? pread(fd, *text, TEXT_MAX, 0) : 0;
	close(fd);
	if (!*text)
		return rs_error_no_memory();
	(*text)[n < 0 ? 0 : n] = '\0'; /* cpp reports what it cannot read */
	return NULL;
}

static struct rs_error *check_text(struct search *search, const char *name, const char *text,
				   int depth);

static struct rs_error *check_file(struct search *search, const char *path, int depth)
{
	char *text = NULL;
	struct rs_error *err;

	if (depth >= DEPTH_MAX || search->files++ >= FILES_MAX)
		return NULL;
	err = read_text(path, &text);
	if (!err)
		err = check_text(search, path, text, depth + 1);
	free(text);
	return err;
}

static struct rs_error *check_text(struct search *search, const char *name, const char *text,
				   int depth)
{
	uint32_t line = 1;

	for (const char *end; *text; text = end + (*end == '\n'), line++) {
		char path[PATH_MAX];
		struct rs_error *err;
		size_t len;
		bool quoted;
		const char *file = included(text, &len, &quoted);

		end = strchrnul(text, '\n');
		if (!file || !find(search, name, file, len, quoted, path))
			continue;
		err = check_file(search, path, depth);
		if (err)
			return rs_error_wrap(err, "%s:%u", name, line);
	}
	return NULL;
}

struct rs_error *rs_cli_includes_check(const char *name, const char *text,
				       const struct rs_cli_words *words)
{
	struct search search = { .program = name, .words = words };

	return check_text(&search, name, text, 0);
}
