/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Errors of the host libraries: NULL is success; anything else is owned by the caller, who
 * frees it with rs_error_free(). An error is a message with the place where it happened, and
 * what each layer above added; it is printed once, by the command.
 */
#ifndef RINGSIDE_ERROR_H
#define RINGSIDE_ERROR_H

enum rs_code {
	RS_FAILED,  /* an operation failed: a file, the kernel, a device */
	RS_USAGE,   /* the caller asked for something that is not there, or is invalid */
	RS_DAMAGED, /* the input is damaged or cut; what came before it is valid */
	RS_ABSENT,  /* this machine lacks something; the message says what and how to get it */
	RS_NO_MEMORY,
};

struct rs_error;

/* Never NULL: without memory it is a static out-of-memory error. */
struct rs_error *rs_error_create(enum rs_code code, const char *format, ...)
	__attribute__((format(printf, 2, 3), returns_nonnull));

/* "what: strerror(errno_value)". */
struct rs_error *rs_error_errno(int errno_value, const char *format, ...)
	__attribute__((format(printf, 2, 3), returns_nonnull));

/* Puts "context: " before the message; takes err and returns its successor. NULL stays NULL. */
struct rs_error *rs_error_wrap(struct rs_error *err, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

struct rs_error *rs_error_no_memory(void) __attribute__((returns_nonnull));

/* The first of two, either of which may be NULL; takes both, and frees the second where there is a
 * first. For what has to be ended though it went wrong before. */
struct rs_error *rs_error_first(struct rs_error *first, struct rs_error *second);

/* Valid until the error is freed. */
const char *rs_error_text(const struct rs_error *err);
enum rs_code rs_error_code(const struct rs_error *err);

void rs_error_free(struct rs_error *err); /* NULL is nothing */

#endif
