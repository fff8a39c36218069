/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes Ringside's events of the kernel's trace events, by their formats: the thread, the integers,
 * and arrays and texts as texts. The readers of trace.dat and of the running kernel's records use
 * it. Records may be damaged: each read is checked to stay within their bytes. */
#ifndef RS_IMPORT_FTRACE_H
#define RS_IMPORT_FTRACE_H

#include <event-parse.h>

#include <ringside/schema.h>

/* How an integer is copied from a record of the kernel into a payload. */
struct rs_ftrace_copy {
	uint32_t from, from_bytes; /* 0 bytes: the record has no such field, and the value is: */
	uint64_t constant;
	bool is_signed;
	uint8_t shift;
	uint64_t mask; /* 0: all of it */
	uint32_t to, to_bytes;
};

/* A kernel event as an event of Ringside. Its class is the kernel's system. */
struct rs_ftrace_event {
	struct tep_event *format;
	uint32_t n; /* integers; the first is the thread */
	struct rs_ftrace_copy copies[RS_FIELDS_MAX];
	const struct tep_format_field
		*integers[RS_FIELDS_MAX]; /* NULL for the thread and the buffer */
	uint32_t fixed_bytes;		  /* size of the integers in bytes */
	uint32_t left_out;		  /* fields */
	uint32_t n_texts;
	const struct tep_format_field *texts[RS_FIELDS_MAX];
	/* The array of return addresses, if the event is a kernel stack; else NULL. The record has
	 * their number, which may differ from the format's. */
	const struct tep_format_field *stack;
	struct rs_ftrace_copy stack_frames;
};

/* Returns a field's place and size. The size is 0 if the format has no integer of this name. */
struct rs_ftrace_copy rs_ftrace_copy_of(struct tep_event *format, const char *name);

/* Reads a field of a record, or sets 0 if the format lacks it. Returns false if the record is too
 * short. */
bool rs_ftrace_get(const struct rs_ftrace_copy *copy, struct tep_handle *tep, const uint8_t *data,
		   uint32_t bytes, uint64_t *value);

/* Copies integers into a payload. Returns false if the record is too short for one of them. */
bool rs_ftrace_copy_all(const struct rs_ftrace_copy *copies, uint32_t n, struct tep_handle *tep,
			const uint8_t *data, uint32_t bytes, uint8_t *payload);

/* Initializes an event by its format, which the caller owns, and which must outlive the event. */
void rs_ftrace_plan(struct rs_ftrace_event *event, struct tep_event *format);

/* The largest size of a payload, and of its texts together. */
#define RS_FTRACE_TEXT_MAX    1024
#define RS_FTRACE_PAYLOAD_MAX (RS_FIELDS_MAX * 8 + 2 + RS_FTRACE_TEXT_MAX)

/* Appends an integer that is not in the kernel's record: the buffer from which the record came, by
 * name. The caller sets its value in the returned copy. Returns NULL if the event has no room. */
struct rs_ftrace_copy *rs_ftrace_plan_buffer(struct rs_ftrace_event *event);

/* Makes a record's payload. Returns its size, or 0 if the record is too short. */
uint32_t rs_ftrace_payload(const struct rs_ftrace_event *event, struct tep_handle *tep,
			   const uint8_t *data, uint32_t bytes, uint8_t *payload);

/* Writes the event's declaration (schema.h), cut at `room` bytes. Returns its length. */
uint32_t rs_ftrace_declare(const struct rs_ftrace_event *event, char *text, uint32_t room);

/* Declares the event in a schema, with the names that the format's text gives to a field's
 * values. */
struct rs_error *rs_ftrace_add(const struct rs_ftrace_event *event, struct rs_schema *schema,
			       uint64_t id);

#endif
