/* SPDX-License-Identifier: BSD-2-Clause */
/* Searches binaries and debug files: by build-id, by .gnu_debuglink. */
#include "introspect/debug_file.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/hex.h"

#define DEBUG_FOLDER "/usr/lib/debug"

bool rs_symfs_path(const char *symfs, const char *path, char place[PATH_MAX])
{
	int n = symfs ? snprintf(place, PATH_MAX, "%s/%s", symfs, path)
		      : snprintf(place, PATH_MAX, "%s", path);

	return n >= 0 && n < PATH_MAX;
}

/* Uses stat(), not access(), which ignores the capabilities of a confined process. */
static bool is_file(const char *place)
{
	struct stat status;

	return !stat(place, &status) && S_ISREG(status.st_mode);
}

/* Writes the path FOLDER/xx/yyyyENDING of a build-id. Returns whether the file exists. */
static bool by_id(const char *symfs, const char *folder, const char *build_id, const char *ending,
		  char place[PATH_MAX])
{
	char path[PATH_MAX];
	int n;

	if (strlen(build_id) < 3 || strspn(build_id, "0123456789abcdef") != strlen(build_id))
		return false;
	n = snprintf(path, sizeof(path), "%s/.build-id/%.2s/%s%s", folder, build_id, build_id + 2,
		     ending);
	return n > 0 && n < PATH_MAX && rs_symfs_path(symfs, path, place) && is_file(place);
}

bool rs_binary_by_id(const char *symfs, const char *build_id, char place[PATH_MAX])
{
	return by_id(symfs, DEBUG_FOLDER, build_id, "", place) ||
	       (symfs && by_id(symfs, "", build_id, "", place));
}

/* Opens a file if it has this build-id. */
static bool open_with_id(const char *place, const char *build_id, struct rs_elf_file *file)
{
	struct rs_error *err = rs_elf_file_open(place, file);
	char found[RS_BUILD_ID_TEXT_MAX];

	rs_error_free(err);
	if (err)
		return false;
	rs_elf_build_id(file, found);
	if (!strcmp(found, build_id))
		return true;
	rs_elf_file_close(file);
	return false;
}

static bool open_by_id(const char *symfs, const char *build_id, struct rs_elf_file *file)
{
	char place[PATH_MAX];

	return (by_id(symfs, DEBUG_FOLDER, build_id, ".debug", place) &&
		open_with_id(place, build_id, file)) ||
	       (symfs && by_id(symfs, "", build_id, ".debug", place) &&
		open_with_id(place, build_id, file));
}

/* ---- .gnu_debuglink ------------------------------------------------------------------------- */

/* The check sum of the link: CRC-32, of polynomial 0xedb88320 (GDB's manual, "Separate Debug
 * Files"). */
static uint32_t crc32_of(const char *bytes, uint64_t n)
{
	uint32_t table[256], crc = UINT32_MAX;

	for (uint32_t i = 0; i < 256; i++) {
		table[i] = i;
		for (int bit = 0; bit < 8; bit++)
			table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xedb88320u : 0);
	}
	for (uint64_t i = 0; i < n; i++)
		crc = crc >> 8 ^ table[(crc ^ (uint8_t)bytes[i]) & 0xff];
	return ~crc;
}

/* Reads the link: a file's name, zeros up to a multiple of four, the check sum. */
static bool read_link(const struct rs_elf_file *binary, const char **name, uint32_t *crc)
{
	GElf_Shdr head;
	Elf_Scn *section = rs_elf_section(binary, ".gnu_debuglink", &head);
	Elf_Data *data = section ? elf_rawdata(section, NULL) : NULL;
	size_t len, at;

	if (!data || !data->d_buf)
		return false;
	len = strnlen(data->d_buf, data->d_size);
	at = (len + 4) & ~(size_t)3;
	/* Accepts a name, but no path, which could lead to another folder. */
	if (!len || at + 4 > data->d_size || memchr(data->d_buf, '/', len))
		return false;
	*name = data->d_buf;
	memcpy(crc, (const char *)data->d_buf + at, sizeof(*crc));
	return true;
}

static bool open_linked(const char *place, const char *build_id, uint32_t crc,
			struct rs_elf_file *debug)
{
	struct rs_error *err;
	char found[RS_BUILD_ID_TEXT_MAX];

	if (!is_file(place))
		return false;
	err = rs_elf_file_open(place, debug);
	rs_error_free(err);
	if (err)
		return false;
	rs_elf_build_id(debug, found);
	if (*build_id && *found ? !strcmp(found, build_id)
				: crc32_of(debug->bytes, debug->size) == crc)
		return true;
	rs_elf_file_close(debug);
	return false;
}

static void open_by_link(const char *symfs, const char *path, const char *build_id,
			 const struct rs_elf_file *binary, struct rs_elf_file *debug)
{
	/* %.*s is the binary's folder, and %s the link's name. */
	static const char *const places[] = { "%.*s%s", "%.*s.debug/%s", DEBUG_FOLDER "/%.*s%s" };
	const char *name, *slash = strrchr(path, '/');
	int folder = slash ? (int)(slash - path + 1) : 0;
	char inner[PATH_MAX], place[PATH_MAX];
	uint32_t crc;

	if (strlen(path) >= PATH_MAX || !read_link(binary, &name, &crc))
		return;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		int n = snprintf(inner, sizeof(inner), places[i], folder, path, name);

		if (n > 0 && n < PATH_MAX && rs_symfs_path(symfs, inner, place) &&
		    open_linked(place, build_id, crc, debug))
			return;
	}
}

void rs_debug_file_open(const char *symfs, const char *path, const struct rs_elf_file *binary,
			struct rs_elf_file *debug)
{
	char build_id[RS_BUILD_ID_TEXT_MAX];

	rs_elf_build_id(binary, build_id);
	if (!open_by_id(symfs, build_id, debug) && path)
		open_by_link(symfs, path, build_id, binary, debug);
}

void rs_debug_other_open(const char *symfs, const struct rs_elf_file *debug,
			 struct rs_elf_file *other)
{
	GElf_Shdr head;
	Elf_Scn *section = rs_elf_section(debug, ".gnu_debugaltlink", &head);
	Elf_Data *data = section ? elf_rawdata(section, NULL) : NULL;
	char build_id[RS_BUILD_ID_TEXT_MAX];
	size_t path, n;

	if (!data || !data->d_buf)
		return;
	path = strnlen(data->d_buf, data->d_size) + 1; /* the build-id follows it */
	n = path < data->d_size ? data->d_size - path : 0;
	if (n >= RS_BUILD_ID_TEXT_MAX / 2)
		n = 0;
	rs_hex_write(build_id, (const uint8_t *)data->d_buf + path, n);
	open_by_id(symfs, build_id, other);
}
