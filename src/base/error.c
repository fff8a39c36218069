/* SPDX-License-Identifier: BSD-2-Clause */
/* Error objects: one allocation each, and a static object if the allocation fails. */
#include <ringside/error.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct rs_error {
	enum rs_code code;
	char text[];
};

static struct {
	struct rs_error head;
	char text[16];
} no_memory = { { .code = RS_NO_MEMORY }, "out of memory" };

struct rs_error *rs_error_no_memory(void)
{
	return &no_memory.head;
}

/* Returns "text: tail", or only "text". */
__attribute__((format(printf, 3, 0))) static struct rs_error *
build(enum rs_code code, const char *tail, const char *format, va_list args)
{
	char start[256]; /* most texts fit, and are formatted only once */
	va_list again;
	int len;
	size_t bytes;
	struct rs_error *err;

	va_copy(again, args);
	len = vsnprintf(start, sizeof(start), format, again);
	va_end(again);
	if (len < 0)
		return rs_error_no_memory();
	bytes = (size_t)len + (tail ? strlen(tail) + 2 : 0) + 1;
	err = malloc(sizeof(*err) + bytes);
	if (!err)
		return rs_error_no_memory();
	err->code = code;
	if ((size_t)len < sizeof(start))
		memcpy(err->text, start, (size_t)len + 1);
	else
		vsnprintf(err->text, bytes, format, args);
	if (tail)
		snprintf(err->text + len, bytes - (size_t)len, ": %s", tail);
	return err;
}

struct rs_error *rs_error_create(enum rs_code code, const char *format, ...)
{
	va_list args;
	struct rs_error *err;

	va_start(args, format);
	err = build(code, NULL, format, args);
	va_end(args);
	return err;
}

struct rs_error *rs_error_errno(int errno_value, const char *format, ...)
{
	char reason[128];
	va_list args;
	struct rs_error *err;

	va_start(args, format);
	err = build(RS_FAILED, strerror_r(errno_value, reason, sizeof(reason)), format, args);
	va_end(args);
	return err;
}

struct rs_error *rs_error_wrap(struct rs_error *err, const char *format, ...)
{
	va_list args;
	struct rs_error *outer;

	if (!err)
		return NULL;
	va_start(args, format);
	outer = build(err->code, rs_error_text(err), format, args);
	va_end(args);
	rs_error_free(err);
	return outer;
}

struct rs_error *rs_error_first(struct rs_error *first, struct rs_error *second)
{
	if (!first)
		return second;
	rs_error_free(second);
	return first;
}

const char *rs_error_text(const struct rs_error *err)
{
	return err == &no_memory.head ? no_memory.text : err->text;
}

enum rs_code rs_error_code(const struct rs_error *err)
{
	return err->code;
}

void rs_error_free(struct rs_error *err)
{
	if (err && err != &no_memory.head)
		free(err);
}
