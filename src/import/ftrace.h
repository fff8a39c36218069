/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Events of ours made of the kernel's trace events, by their formats: of each the thread, the
 * integers, and its arrays and texts as texts. Readers of such records, of a file or of the running
 * kernel, use this. Records are not trusted: each read is within their bytes.
 */
#ifndef RS_IMPORT_FTRACE_H
#define RS_IMPORT_FTRACE_H

#include <event-parse.h>

#include <ringside/schema.h>

/* One integer's way from a record of the kernel's into a payload. */
struct rs_ftrace_copy {
	uint32_t from, from_bytes; /* 0 bytes: the field is not there, and its value is: */
	uint64_t constant;
	bool is_signed;
	uint8_t shift;
	uint64_t mask; /* 0: all of it */
	uint32_t to, to_bytes;
};

/* An event as one of ours, class and name as the kernel's system and name. */
struct rs_ftrace_event {
	struct tep_event *format;
	uint32_t n; /* integers, of which the first is the thread */
	struct rs_ftrace_copy copies[RS_FIELDS_MAX];
	const struct tep_format_field
		*integers[RS_FIELDS_MAX]; /* NULL: the first is the thread, another the buffer */
	uint32_t fixed_bytes;		  /* of the integers */
	uint32_t left_out;		  /* fields */
	uint32_t n_texts;
	const struct tep_format_field *texts[RS_FIELDS_MAX];
	/* A stack of the kernel's: the array of return addresses, as many as the record says, which
	 * may be more or fewer than the format has. NULL: the event is none. */
	const struct tep_format_field *stack;
	struct rs_ftrace_copy stack_frames;
};

/* Where a field stands; nowhere, if the format has no integer of this name. */
struct rs_ftrace_copy rs_ftrace_copy_of(struct tep_event *format, const char *name);

/* Reads a field of a record; false: the record is too short for it. One not there is 0. */
bool rs_ftrace_get(const struct rs_ftrace_copy *copy, struct tep_handle *tep, const uint8_t *data,
		   uint32_t bytes, uint64_t *value);

/* Integers into a payload; false: the record is too short for one. */
bool rs_ftrace_copy_all(const struct rs_ftrace_copy *copies, uint32_t n, struct tep_handle *tep,
			const uint8_t *data, uint32_t bytes, uint8_t *payload);

/* format stays the caller's, and must outlive the event. */
void rs_ftrace_plan(struct rs_ftrace_event *event, struct tep_event *format);

/* The most bytes of a payload, and of its texts together. */
#define RS_FTRACE_TEXT_MAX    1024
#define RS_FTRACE_PAYLOAD_MAX (RS_FIELDS_MAX * 8 + 2 + RS_FTRACE_TEXT_MAX)

/* Appends an integer that is not the kernel's: the buffer that a record came from, by name. Its
 * value is the constant of the copy that is returned; NULL: the event has no room for it. */
struct rs_ftrace_copy *rs_ftrace_plan_buffer(struct rs_ftrace_event *event);

/* A record's payload; its bytes, or 0 where the record is too short. */
uint32_t rs_ftrace_payload(const struct rs_ftrace_event *event, struct tep_handle *tep,
			   const uint8_t *data, uint32_t bytes, uint8_t *payload);

/* Its declaration (schema.h); its length, cut at room. */
uint32_t rs_ftrace_declare(const struct rs_ftrace_event *event, char *text, uint32_t room);

/* The same into a schema, with the names that the format's own text gives to a field's values. */
struct rs_error *rs_ftrace_add(const struct rs_ftrace_event *event, struct rs_schema *schema,
			       uint64_t id);

#endif
