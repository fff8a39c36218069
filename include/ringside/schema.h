/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The schema: the events that a stream can carry, and the meaning of their bytes. It starts from
 * the catalogue (src/event/, one line per event) and adds what is known only at run time: events
 * and names that a program or a guest defines. Text, JSON, CTF metadata and `ringside list` all
 * derive from it, and a trace contains it.
 *
 * A schema belongs to one producer (a program, a guest): name ids and user event ids have no
 * meaning elsewhere. It only grows; pointers to its events, fields and names stay valid until it is
 * destroyed. The owner serialises additions, which are not locked; looking up older entries is safe
 * meanwhile.
 */
#ifndef RINGSIDE_SCHEMA_H
#define RINGSIDE_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ringside/language.h>
#include <ringside/error.h>

RS_C_BEGIN

/* The encoding of a field; all are little endian. */
enum rs_type {
	RS_TYPE_U8,
	RS_TYPE_U16,
	RS_TYPE_U32,
	RS_TYPE_U64,
	RS_TYPE_S8,
	RS_TYPE_S16,
	RS_TYPE_S32,
	RS_TYPE_S64,
	RS_TYPE_TEXT, /* u16 length; bytes of UTF-8 after all lengths; only as the last fields */
	/* u16 number of addresses; u64 each, after it; only as the last field. A call stack,
	 * innermost first. */
	RS_TYPE_STACK,
};

/* Returns whether a type has a length in the payload, and its content after the fixed part. */
static inline bool rs_type_is_tail(enum rs_type type)
{
	return type >= RS_TYPE_TEXT;
}

/* The format in which a value is shown. */
enum rs_show {
	RS_SHOW_DEC,
	RS_SHOW_HEX,
	RS_SHOW_NAME, /* id of a name in this schema */
	RS_SHOW_ENUM, /* looked up in the field's enumeration */
	RS_SHOW_TSC,  /* a stamp of the stream's clock; ns from the trace's start in results */
};

/* A named value; tables of them end with a NULL name. */
struct rs_enum {
	const char *name;
	uint64_t value;
};

struct rs_field {
	const char *name; /* [A-Za-z_][A-Za-z0-9_]* */
	const char *unit; /* "", "bytes", "cycles", ... */
	const struct rs_enum *values;
	const char *values_name;
	enum rs_type type;
	enum rs_show show;
	uint16_t offset; /* from the start of the payload; naturally aligned */
};

/* Kinds of events that sinks and analyses distinguish. */
enum rs_kind {
	RS_KIND_PLAIN,
	RS_KIND_LOSS,	    /* payload struct rs_lost (record.h) */
	RS_KIND_SPAN_BEGIN, /* payload struct rs_span (emit.h) */
	RS_KIND_SPAN_END,
};

#define RS_FIELDS_MAX 32
#define RS_WORD_MAX   255  /* bytes of a class, function, name, unit, or enumeration's name */
#define RS_NAME_MAX   4096 /* bytes of the name of an id; a longer one is cut */

struct rs_event {
	uint64_t id;
	const char *provider;
	const char *class_name;
	const char *function; /* empty except for code probes */
	const char *name;
	const char *probe; /* provider:class:function:name */
	const char *help;
	const struct rs_field *fields;
	uint16_t n_fields;
	uint16_t fixed_bytes; /* payload without the bytes of texts, whose lengths are at its end */
	uint16_t lead_bytes;  /* before the payload in each record: struct rs_xen_record, or none */
	uint16_t n_tails;     /* the last fields: texts, or one stack */
	uint8_t tail_shift; /* an element of a tail has 1 << tail_shift bytes: 1, or 8 of a stack */
	enum rs_kind kind;
	uint32_t index; /* dense, from 0, in this schema */
};

struct rs_schema;

/* Creates a schema for one producer, with the events that are common to all, under this provider's
 * name. */
struct rs_error *rs_schema_create(const char *provider, struct rs_schema **schema);
/* Creates a schema of one provider's catalogue entries: all probes that can have its name. xdt's
 * events are in the streams of Xen's other events, and the common events have the provider of
 * those. */
struct rs_error *rs_schema_create_catalogue(const char *provider, struct rs_schema **schema);
void rs_schema_destroy(struct rs_schema *schema);

const char *rs_schema_provider(const struct rs_schema *schema);

/* Adds the catalogue's events of one provider ("vmm", ...). Returns RS_USAGE if there is no such
 * provider. */
struct rs_error *rs_schema_add_catalogue(struct rs_schema *schema, const char *provider);

/* Adds the catalogue's events of one provider under that provider's name, so that one stream can
 * have events of several providers. */
struct rs_error *rs_schema_add_provider(struct rs_schema *schema, const char *provider);

/* Makes the events that are added from now on Xen events: each record begins with struct
 * rs_xen_record (record.h), before the payload. */
void rs_schema_set_xen(struct rs_schema *schema);
bool rs_schema_is_xen(const struct rs_schema *schema);

/*
 * Adds an event from its declaration, in the form that programs and guests write:
 *
 *	class:function:name(type field, type field:unit, ...)
 *
 * with function mostly empty ("io::disk-read(u64 sector, u32 len:bytes)"), types u8 u16 u32 u64 s8
 * s16 s32 s64, x8 x16 x32 x64 (shown in hex), name (a u32 name id), text (last only), stack (the
 * last one only, and without texts). The text need not end in NUL and is not trusted: RS_DAMAGED
 * names the offset that is invalid. Adding the same id with the same declaration again has no
 * effect; with another declaration, it returns RS_DAMAGED.
 */
struct rs_error *rs_schema_declare(struct rs_schema *schema, uint64_t id, const char *text,
				   size_t len);

/* Adds an event whose parts are known, for sources with their own format descriptions. Copies all.
 * Its provider may be NULL, which means the schema's. */
struct rs_error *rs_schema_add(struct rs_schema *schema, const struct rs_event *event);

/* Sets the name of an id. Copies up to RS_NAME_MAX bytes; those that are not printable UTF-8 become
 * '?'. */
struct rs_error *rs_schema_set_name(struct rs_schema *schema, uint32_t id, const char *text,
				    size_t len);

/* Does the same for the name of spans that have an argument: RS_SPAN_ARG(). The argument of a span
 * with another name is unknown if it is 0: the span may have none. */
struct rs_error *rs_schema_set_span(struct rs_schema *schema, uint32_t id, const char *text,
				    size_t len);

/* Returns an event by its id, or NULL if there is none. */
const struct rs_event *rs_schema_find(const struct rs_schema *schema, uint64_t id);
const char *rs_schema_name(const struct rs_schema *schema, uint32_t id);
/* Returns whether rs_schema_set_span() set the name of this id. */
bool rs_schema_name_has_argument(const struct rs_schema *schema, uint32_t id);

/* Access to all events by index and to all name ids, for writers of metadata. The counts never
 * shrink. */
uint32_t rs_schema_count(const struct rs_schema *schema);
const struct rs_event *rs_schema_event(const struct rs_schema *schema, uint32_t index);
uint32_t rs_schema_name_count(const struct rs_schema *schema);
/* Returns the text of the index-th name, and its id in *id. */
const char *rs_schema_name_at(const struct rs_schema *schema, uint32_t index, uint32_t *id);

/* Returns a field's type as a declaration writes it: "u64", "x32", "name", "text", ... */
const char *rs_field_type_text(const struct rs_field *field);

/* Returns the bytes of a fixed-size type, or 2 for texts and stacks, the size of the length. */
uint32_t rs_type_bytes(enum rs_type type);

/* Returns an integer field of a payload that the schema has checked, sign-extended. */
uint64_t rs_field_value(const struct rs_field *field, const uint8_t *payload);

/* Returns the name of a value in an enumeration, or NULL. */
const char *rs_enum_name(const struct rs_enum *values, uint64_t value);

/*
 * Returns whether glob matches a probe. It has DTrace's form (provider:class:function:name, fewer
 * fields count from the right, an empty field matches all, * ? [] match).
 */
bool rs_probe_match(const char *glob, const struct rs_event *event);

/* Returns the catalogue's providers by index, for `list`; NULL past the last. */
const char *rs_catalogue_provider(uint32_t index);

RS_C_END

#endif
