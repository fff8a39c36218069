/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The libraries that programs need, compared with ldd's lists, for programs of this system; and
 * damaged caches.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../test.h"
#include "replay/libraries.h"

static const char *const programs[] = {
	"/bin/sh",
	"/bin/ls",
	"/usr/bin/python3",
	"/usr/bin/gcc",
	"/usr/bin/git",
	"/usr/bin/qemu-system-x86_64",
	"/usr/bin/jq",
	"/usr/bin/meson",
	"/usr/bin/babeltrace2",
	"/usr/bin/tmux",
	"/usr/bin/trace-cmd",
	"/proc/self/exe",
};
#define N_PROGRAMS (sizeof(programs) / sizeof(programs[0]))

static bool has(const struct rs_libraries *found, const char *path)
{
	for (size_t i = 0; i < found->n; i++)
		if (!strcmp(found->paths[i], path))
			return true;
	return false;
}

/*
 * Compares with ldd's lines "NAME => PATH (0x...)" and "PATH (0x...)". Returns the number of paths.
 */
static size_t compare(const char *program, const struct rs_libraries *found)
{
	char command[PATH_MAX + 64], line[PATH_MAX];
	size_t n = 0;
	FILE *said;

	snprintf(command, sizeof(command), "ldd '%s' 2>/dev/null", program);
	said = popen(command, "re");
	while (CHECK(said) && fgets(line, sizeof(line), said)) {
		char *path = strchr(line, '/');

		if (!path)
			continue; /* the vDSO */
		if (strstr(line, "=> "))
			path = strstr(line, "=> ") + 3;
		path[strcspn(path, " \n")] = '\0';
		n++;
		if (!CHECK(has(found, path)))
			printf("# %s: ldd lists %s\n", program, path);
	}
	if (said)
		pclose(said);
	return n;
}

TEST(libraries_equal_ldd_s)
{
	uint32_t compared = 0;

	for (size_t i = 0; i < N_PROGRAMS; i++) {
		char *real = realpath(programs[i], NULL);
		struct rs_libraries found;
		struct rs_error *err;

		if (!real)
			continue;
		err = rs_libraries_find(real, "/nowhere", &found);
		if (err && strstr(rs_error_text(err), "not an ELF file")) { /* a script */
			rs_error_free(err);
		} else if (CHECK_OK(err)) {
			CHECK_EQ_U64(found.n, compare(real, &found));
			compared++;
		}
		rs_libraries_deinit(&found);
		free(real);
	}
	CHECK(compared >= 3);
}

TEST(a_file_that_is_not_a_program_is_refused)
{
	static const char *const paths[] = { "/etc/passwd", "/dev/zero", "/", "/no/such/file" };

	for (size_t i = 0; i < 4; i++) {
		struct rs_libraries found;
		struct rs_error *err = rs_libraries_find(paths[i], "/nowhere", &found);

		CHECK(err != NULL);
		CHECK_EQ_U64(found.n, 0);
		rs_error_free(err);
		rs_libraries_deinit(&found);
	}
}

/* A cache of two entries, the first for other processors. */
static size_t make_cache(uint8_t *cache)
{
	static const char texts[] = "libx.so\0/old/libx.so\0/lib/libx.so";
	const uint32_t n = 2, bytes = sizeof(texts), at = 48 + 2 * 24;
	const struct {
		int32_t flags;
		uint32_t name, path, os;
		uint64_t hwcap;
	} entries[2] = { { 0x0003, at, at + 8, 0, 0 }, { 0x0303, at, at + 21, 0, 0 } };

	memset(cache, 0, 48);
	memcpy(cache, "glibc-ld.so.cache1.1", 20);
	memcpy(cache + 20, &n, 4);
	memcpy(cache + 24, &bytes, 4);
	memcpy(cache + 48, entries, sizeof(entries));
	memcpy(cache + at, texts, sizeof(texts));
	return at + sizeof(texts);
}

TEST(a_cache_names_libraries_of_this_architecture)
{
	uint8_t cache[256];
	const size_t bytes = make_cache(cache);
	const char *path = rs_libraries_cached(cache, bytes, "libx.so");

	CHECK(path && !strcmp(path, "/lib/libx.so"));
	CHECK(!rs_libraries_cached(cache, bytes, "liby.so"));
	CHECK(!rs_libraries_cached(cache, 0, "libx.so"));
}

/* In memory that ends with the cache, so that a sanitizer detects a read after it. */
TEST(a_damaged_cache_names_nothing_outside_it)
{
	uint8_t whole[256];
	const size_t bytes = make_cache(whole);

	for (size_t n = 0; n <= bytes; n++) {
		for (size_t at = 0; at<n; at += n> 48 ? 1 : n) {
			uint8_t *cache = malloc(n);
			const char *path;

			memcpy(cache, whole, n);
			cache[at] ^= 0xff;
			path = rs_libraries_cached(cache, n, "libx.so");
			CHECK(!path || ((const uint8_t *)path >= cache &&
					(const uint8_t *)path + strlen(path) < cache + n));
			free(cache);
		}
	}
}
