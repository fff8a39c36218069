/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Errors of the host libraries. NULL is success; the caller owns any other value and frees it with
 * rs_error_free(). An error is a message with the place where it occurred, and the context that
 * each caller added. The command prints it once.
 */
#ifndef RINGSIDE_ERROR_H
#define RINGSIDE_ERROR_H

#include <ringside/language.h>

RS_C_BEGIN

enum rs_code {
	RS_FAILED,  /* an operation failed: a file, the kernel, a device */
	RS_USAGE,   /* the caller's request names something that does not exist, or is invalid */
	RS_DAMAGED, /* the input is damaged or cut; the part before the damage is valid */
	RS_ABSENT,  /* this machine lacks a requirement; the message names it and the remedy */
	RS_NO_MEMORY,
};

struct rs_error;

/* Creates an error. Never returns NULL: without memory it returns a static out-of-memory error. */
struct rs_error *rs_error_create(enum rs_code code, const char *format, ...)
	__attribute__((format(printf, 2, 3), returns_nonnull));

/* Creates the error "what: strerror(errno_value)". */
struct rs_error *rs_error_errno(int errno_value, const char *format, ...)
	__attribute__((format(printf, 2, 3), returns_nonnull));

/* Prepends "context: " to the message. Consumes err and returns its successor, or NULL for NULL. */
struct rs_error *rs_error_wrap(struct rs_error *err, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

struct rs_error *rs_error_no_memory(void) __attribute__((returns_nonnull));

/* Returns the first of two errors, either of which may be NULL. Consumes both, and frees the second
 * if there is a first. For cleanup that may fail after an earlier failure. */
struct rs_error *rs_error_first(struct rs_error *first, struct rs_error *second);

/* Valid until the error is freed. */
const char *rs_error_text(const struct rs_error *err);
enum rs_code rs_error_code(const struct rs_error *err);

void rs_error_free(struct rs_error *err); /* NULL is ignored */

RS_C_END

#endif
