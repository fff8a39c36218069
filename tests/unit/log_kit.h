/* SPDX-License-Identifier: BSD-2-Clause */
/* For tests of the log: a separate folder, and lines that can be checked individually. */
#ifndef RS_TESTS_LOG_KIT_H
#define RS_TESTS_LOG_KIT_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "event/log_line.h"
#include <ringside/log.h>

static char kit_folder[64];

static inline void kit_folder_make(void)
{
	snprintf(kit_folder, sizeof(kit_folder), "/tmp/ringside-log-XXXXXX");
	if (!mkdtemp(kit_folder))
		abort();
}

static inline void kit_folder_remove(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", kit_folder);
	if (system(command))
		abort();
}

static inline const char *kit_path(const char *name)
{
	static char paths[4][128];
	static unsigned int at;
	char *path = paths[at++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", kit_folder, name);
	return path;
}

static inline uint32_t kit_sum(uint32_t who, uint32_t n, uint32_t bytes)
{
	uint32_t h = who * 2654435761u ^ n * 2246822519u ^ bytes * 3266489917u;

	return h ^ h >> 15;
}

/* "who n bytes filler sum", of a length that depends on n, never so long that it is cut. */
static inline void kit_log(uint32_t who, uint32_t n)
{
	uint32_t bytes = n * 13 % 200;

	RS_LOG(INFO, "%u %u %u %0*u %08x", who, n, bytes, (int)bytes, n, kit_sum(who, n, bytes));
}

/* Returns whether a message is such a line, complete. */
static inline bool kit_is_line(const struct rs_log_line *line, uint32_t *who, uint32_t *n)
{
	char text[RS_LOG_LINE_MAX + 1], expected[RS_LOG_LINE_MAX + 1];
	uint32_t bytes;

	if (line->message_bytes > RS_LOG_LINE_MAX)
		return false;
	memcpy(text, line->message, line->message_bytes);
	text[line->message_bytes] = 0;
	if (sscanf(text, "%u %u %u ", who, n, &bytes) != 3 || bytes != *n * 13 % 200)
		return false;
	snprintf(expected, sizeof(expected), "%u %u %u %0*u %08x", *who, *n, bytes, (int)bytes, *n,
		 kit_sum(*who, *n, bytes));
	return !strcmp(text, expected);
}

static inline int64_t kit_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

#endif
