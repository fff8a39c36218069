/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads a description: a file that may be damaged, cut or hostile. jansson parses each line; each
 * number is checked before it is used as an index.
 */
#include "base/vector.h"
#include "store/describe.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/count.h"
#include "base/utf8.h"
#include "store/check.h"
#include "store/json_fields.h"
#include "base/folder.h"

#define LISTED_MAX 8	 /* number of streams that an error names */
#define LINES_ROOM 8192u /* initial buffer; an event's line has some hundred bytes */

static struct rs_error *unexpected(const char *what)
{
	return rs_error_create(RS_DAMAGED, "no valid description of %s", what);
}

static const char *keep(struct rs_describe *describe, const char *text)
{
	return text ? rs_arena_text(&describe->arena, text, strlen(text)) : NULL;
}

static struct rs_error *read_head(struct rs_describe *describe, json_t *json)
{
	const char *uuid;
	int version;

	if (!RS_JSON_FIELDS(json, { "version", .number = &version }, { "uuid", .text = &uuid }))
		return unexpected("a trace");
	if (version != RS_DESCRIBE_VERSION)
		return rs_error_create(RS_DAMAGED,
				       "a trace of format version %d; this build reads %d", version,
				       RS_DESCRIBE_VERSION);
	if (strlen(uuid) != 36)
		return unexpected("a trace: its uuid");
	strcpy(describe->uuid, uuid);
	describe->hostname = keep(describe, json_string_value(json_object_get(json, "hostname")));
	describe->command = keep(describe, json_string_value(json_object_get(json, "command")));
	return NULL;
}

static bool is_identifier(const char *text)
{
	size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");

	return n > 0 && !text[n] && (text[0] < '0' || text[0] > '9');
}

static struct rs_error *read_clock(struct rs_describe *describe, json_t *json)
{
	json_int_t index, freq, origin, wall, offset, error;
	const char *name, *from;
	struct rs_clock clock = { 0 };
	struct rs_error *err;
	bool invariant;

	if (!RS_JSON_FIELDS(json, { "index", .wide = &index }, { "name", .text = &name },
			    { "freq_hz", .wide = &freq }, { "origin", .wide = &origin },
			    { "wall_ns", .wide = &wall }, { "offset", .wide = &offset },
			    { "error_cycles", .wide = &error }, { "invariant", .flag = &invariant },
			    { "freq_from", .text = &from }) ||
	    !is_identifier(name))
		return unexpected("a clock");
	snprintf(clock.name, sizeof(clock.name), "%s", name);
	snprintf(clock.freq_from, sizeof(clock.freq_from), "%s", from);
	rs_utf8_mend(clock.freq_from, strlen(clock.freq_from));
	clock.monotonic = !strcmp(clock.freq_from, "monotonic");
	clock.freq_hz = (uint64_t)freq;
	clock.origin = (uint64_t)origin;
	clock.wall_ns = wall;
	clock.offset = offset;
	clock.error_cycles = (uint64_t)error;
	clock.invariant = invariant;
	err = rs_clock_init(&clock);
	if (err)
		return err;
	if (index >= 0 && index < describe->n_clocks) { /* a later line replaces the values */
		*describe->clocks[index] = clock;
		return NULL;
	}
	if (index != describe->n_clocks || describe->n_clocks >= RS_CLASSES_MAX)
		return unexpected("a clock: its index");
	return rs_describe_add_clock(describe, &clock);
}

/* Adds classes whose lines are missing, up to a class that has one. */
static struct rs_error *classes_skip(struct rs_describe *describe, uint32_t index)
{
	struct rs_error *err = NULL;
	struct rs_schema *schema;

	while (!err && describe->n_classes < index) {
		err = rs_schema_create("unknown", &schema);
		if (err)
			break;
		err = rs_describe_add_class(describe, schema, 0);
		if (err)
			rs_schema_destroy(schema);
		else
			describe->classes[describe->n_classes - 1]->lost = true;
	}
	return err;
}

static struct rs_error *read_class(struct rs_describe *describe, json_t *json)
{
	json_int_t index, clock;
	const char *provider;
	struct rs_schema *schema;
	struct rs_error *err;

	if (!RS_JSON_FIELDS(json, { "index", .wide = &index }, { "provider", .text = &provider },
			    { "clock", .wide = &clock }))
		return unexpected("a class");
	if (index < describe->n_classes || index >= RS_CLASSES_MAX || clock < 0 ||
	    clock >= describe->n_clocks || strlen(provider) > 63)
		return unexpected("a class: its index or clock");
	err = classes_skip(describe, (uint32_t)index);
	if (!err)
		err = rs_schema_create(provider, &schema);
	if (err)
		return err;
	if (json_is_true(json_object_get(json, "xen")))
		rs_schema_set_xen(schema);
	err = rs_describe_add_class(describe, schema, (uint32_t)clock);
	if (err)
		rs_schema_destroy(schema);
	return err;
}

static struct rs_error *class_of(const struct rs_describe *describe, json_int_t index,
				 struct rs_class **class)
{
	if (index < 0 || index >= describe->n_classes || describe->classes[index]->lost)
		return rs_error_create(RS_DAMAGED, "there is no class %lld before this line",
				       (long long)index);
	*class = describe->classes[index];
	return NULL;
}

static struct rs_error *read_values(struct rs_describe *describe, json_t *json,
				    struct rs_field *field)
{
	json_t *list = json_object_get(json, "values");
	size_t n = json_array_size(list);
	struct rs_enum *values;

	if (!n)
		return NULL;
	values = rs_arena_alloc(&describe->arena, (n + 1) * sizeof(*values));
	if (!values)
		return rs_error_no_memory();
	for (size_t i = 0; i < n; i++) {
		const json_t *pair = json_array_get(list, i);
		const char *name = json_string_value(json_array_get(pair, 0));
		const json_t *value = json_array_get(pair, 1);

		if (!name || !json_is_integer(value))
			return unexpected("an enumeration");
		values[i].name = keep(describe, name);
		values[i].value = (uint64_t)json_integer_value(value);
		if (!values[i].name)
			return rs_error_no_memory();
	}
	field->values = values;
	field->values_name = json_string_value(json_object_get(json, "enum"));
	return NULL;
}

static struct rs_error *read_fields(struct rs_describe *describe, json_t *list,
				    struct rs_field *fields, uint16_t *n)
{
	if (!json_is_array(list) || json_array_size(list) > RS_FIELDS_MAX)
		return unexpected("an event: its fields");
	for (*n = 0; *n < json_array_size(list); (*n)++) {
		json_t *json = json_array_get(list, *n);
		struct rs_field *field = &fields[*n];
		struct rs_error *err;
		int type, show;

		*field = (struct rs_field){ 0 };
		if (!RS_JSON_FIELDS(json, { "name", .text = &field->name },
				    { "type", .number = &type }, { "show", .number = &show },
				    { "unit", .text = &field->unit }) ||
		    type < RS_TYPE_U8 || type > RS_TYPE_STACK || show < RS_SHOW_DEC ||
		    show > RS_SHOW_TSC || !is_identifier(field->name))
			return unexpected("a field");
		field->type = (enum rs_type)type;
		field->show = (enum rs_show)show;
		err = read_values(describe, json, field);
		if (err)
			return err;
	}
	return NULL;
}

static struct rs_error *read_event(struct rs_describe *describe, json_t *json)
{
	struct rs_field fields[RS_FIELDS_MAX];
	struct rs_event event = { .fields = fields };
	struct rs_class *class;
	struct rs_error *err;
	json_int_t index, id;
	int kind;

	if (!RS_JSON_FIELDS(json, { "class", .wide = &index }, { "id", .wide = &id },
			    { "class_name", .text = &event.class_name },
			    { "function", .text = &event.function },
			    { "name", .text = &event.name }, { "help", .text = &event.help },
			    { "kind", .number = &kind }) ||
	    id < 0 || (uint64_t)id > RS_ID_MASK || kind < RS_KIND_PLAIN || kind > RS_KIND_SPAN_END)
		return unexpected("an event");
	event.provider = json_string_value(json_object_get(json, "provider"));
	event.id = (uint64_t)id;
	event.kind = (enum rs_kind)kind;
	err = class_of(describe, index, &class);
	if (!err)
		err = read_fields(describe, json_object_get(json, "fields"), fields,
				  &event.n_fields);
	return err ? err : rs_schema_add(class->schema, &event);
}

static struct rs_error *read_name(struct rs_describe *describe, json_t *json)
{
	struct rs_class *class;
	struct rs_error *err;
	json_int_t index, id;
	const char *text;

	if (!RS_JSON_FIELDS(json, { "class", .wide = &index }, { "id", .wide = &id },
			    { "text", .text = &text }) ||
	    id < 0 || id > UINT32_MAX)
		return unexpected("a name");
	err = class_of(describe, index, &class);
	if (!err && json_is_true(json_object_get(json, "argument")))
		err = rs_schema_set_span(class->schema, (uint32_t)id, text, strlen(text));
	else if (!err)
		err = rs_schema_set_name(class->schema, (uint32_t)id, text, strlen(text));
	return err;
}

bool rs_describe_lost(const struct rs_describe *describe, uint32_t stream)
{
	return describe->stream_class[stream]->lost;
}

/* Adds streams whose lines are missing, up to n in all. Their class is unknown until a line or a
 * packet gives it. */
static struct rs_error *streams_skip(struct rs_describe *describe, uint32_t n)
{
	static const struct rs_stream unknown = { .vcpu = RS_UNKNOWN,
						  .cpu = RS_UNKNOWN,
						  .tid = RS_UNKNOWN };
	struct rs_class *class = describe->no_class;
	struct rs_error *err = NULL;

	if (!describe->n_clocks)
		return rs_error_create(RS_DAMAGED, "there is no clock before this line");
	if (describe->n_streams < n && !class) {
		class = rs_arena_alloc(&describe->arena, sizeof(*class));
		if (!class)
			return rs_error_no_memory();
		*class = (struct rs_class){ .clock = describe->clocks[0], .lost = true };
		err = rs_schema_create("unknown", &class->schema);
		describe->no_class = err ? NULL : class;
	}
	while (!err && describe->n_streams < n)
		err = rs_describe_add_stream_of(describe, class, &unknown);
	return err;
}

static struct rs_error *read_stream(struct rs_describe *describe, json_t *json)
{
	struct rs_stream stream = { 0 };
	struct rs_class *class;
	struct rs_error *err;
	json_int_t index, class_index;

	if (!RS_JSON_FIELDS(json, { "index", .wide = &index }, { "class", .wide = &class_index },
			    { "vcpu", .number = &stream.vcpu }, { "cpu", .number = &stream.cpu },
			    { "tid", .number = &stream.tid }))
		return unexpected("a stream");
	if (index < 0 || index >= RS_STREAMS_MAX ||
	    (index < describe->n_streams && !rs_describe_lost(describe, (uint32_t)index)))
		return unexpected("a stream: its index");
	err = class_of(describe, class_index, &class);
	if (!err)
		err = streams_skip(describe, (uint32_t)index);
	if (err)
		return err;
	stream.vm = json_string_value(json_object_get(json, "vm"));
	stream.thread = json_string_value(json_object_get(json, "thread"));
	return index < describe->n_streams
		       ? rs_describe_set_stream(describe, (uint32_t)index, class, &stream)
		       : rs_describe_add_stream_of(describe, class, &stream);
}

static struct rs_error *read_thread(struct rs_describe *describe, json_t *json)
{
	struct rs_thread thread = { 0 };
	struct rs_class *class;
	struct rs_error *err;
	json_int_t class_index, from;

	if (!RS_JSON_FIELDS(json, { "class", .wide = &class_index },
			    { "tid", .number = &thread.tid }, { "pid", .number = &thread.pid },
			    { "vcpu", .number = &thread.vcpu }, { "from", .wide = &from }) ||
	    thread.tid <= 0 || thread.pid < 0 || thread.vcpu < RS_UNKNOWN)
		return unexpected("a thread");
	if (describe->n_threads >= RS_THREADS_MAX)
		return rs_error_create(RS_DAMAGED, "more than %u threads", RS_THREADS_MAX);
	err = class_of(describe, class_index, &class);
	if (err)
		return err;
	thread.vm = json_string_value(json_object_get(json, "vm"));
	thread.name = json_string_value(json_object_get(json, "name"));
	thread.from = (uint64_t)from;
	return rs_describe_add_thread(describe, class->index, &thread);
}

static struct rs_error *read_owner(struct rs_describe *describe, json_t *json)
{
	struct rs_owner owner;
	json_int_t stream, from;

	if (!RS_JSON_FIELDS(json, { "stream", .wide = &stream }, { "vcpu", .number = &owner.vcpu },
			    { "tid", .number = &owner.tid }, { "from", .wide = &from }) ||
	    stream < 0 || stream >= RS_STREAMS_MAX || owner.vcpu < RS_UNKNOWN)
		return unexpected("an owner of a stream");
	owner.vm = json_string_value(json_object_get(json, "vm"));
	owner.thread = json_string_value(json_object_get(json, "thread"));
	owner.from = (uint64_t)from;
	return rs_describe_add_owner(describe, (uint32_t)stream, &owner);
}

static int by_file(const void *a, const void *b)
{
	const struct rs_owner_entry *x = *(struct rs_owner_entry *const *)a;
	const struct rs_owner_entry *y = *(struct rs_owner_entry *const *)b;

	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return x->number < y->number ? -1 : 1;
}

/* Sorts the owners, and fills in the rest of their streams. Drops owners of a stream that does not
 * exist. */
static void owners_finish(struct rs_describe *describe)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < describe->n_owners; i++) {
		if (describe->owners[i]->file < describe->n_streams)
			describe->owners[n++] = describe->owners[i];
	}
	describe->n_owners = n;
	if (n)
		qsort(describe->owners, n, sizeof(describe->owners[0]), by_file);
	for (uint32_t i = 0; i < n; i++) {
		struct rs_owner_entry *entry = describe->owners[i];
		const struct rs_stream *file = describe->streams[entry->file];

		entry->stream.index = describe->n_streams + describe->n_threads + i;
		entry->stream.schema = file->schema;
		entry->stream.clock = file->clock;
		entry->stream.cpu = file->cpu;
		entry->stream.mixed = file->mixed;
		entry->stream.xen = file->xen;
		entry->stream.dom = file->dom;
	}
}

static int by_place(const void *a, const void *b)
{
	const struct rs_thread_entry *x = *(struct rs_thread_entry *const *)a;
	const struct rs_thread_entry *y = *(struct rs_thread_entry *const *)b;

	if (x->class != y->class)
		return x->class->index < y->class->index ? -1 : 1;
	if (x->thread.tid != y->thread.tid)
		return x->thread.tid < y->thread.tid ? -1 : 1;
	if (x->thread.from != y->thread.from)
		return x->thread.from < y->thread.from ? -1 : 1;
	return x->number < y->number ? -1 : 1;
}

/* Sorts the threads, and creates the streams of their events, numbered after the streams with
 * files. */
static void threads_finish(struct rs_describe *describe)
{
	if (describe->n_threads)
		qsort(describe->threads, describe->n_threads, sizeof(describe->threads[0]),
		      by_place);
	for (uint32_t i = 0; i < describe->n_streams; i++)
		describe->streams[i]->mixed =
			describe->stream_class[i]->has_threads || describe->streams[i]->xen;
	for (uint32_t i = 0; i < describe->n_threads; i++) {
		struct rs_thread_entry *entry = describe->threads[i];

		entry->stream = (struct rs_stream){ .index = describe->n_streams + i,
						    .vm = entry->thread.vm,
						    .thread = entry->thread.name,
						    .vcpu = entry->thread.vcpu,
						    .cpu = RS_UNKNOWN,
						    .tid = entry->thread.tid,
						    .pid = entry->thread.pid,
						    .schema = entry->class->schema,
						    .clock = entry->class->clock };
	}
}

static struct rs_error *read_domain(struct rs_describe *describe, json_t *json)
{
	struct rs_class *class;
	struct rs_error *err;
	json_int_t index, dom;
	const char *vm;

	if (!RS_JSON_FIELDS(json, { "class", .wide = &index }, { "dom", .wide = &dom },
			    { "vm", .text = &vm }) ||
	    dom < 0 || dom > UINT16_MAX)
		return unexpected("a domain");
	if (describe->n_domains >= RS_DOMAINS_MAX)
		return rs_error_create(RS_DAMAGED, "more than %u domains", RS_DOMAINS_MAX);
	err = class_of(describe, index, &class);
	return err ? err : rs_describe_add_domain(describe, class->index, (uint32_t)dom, vm);
}

static struct rs_error *read_closed(struct rs_describe *describe, json_t *json)
{
	json_int_t at;

	if (!RS_JSON_FIELDS(json, { "at_ns", .wide = &at }))
		return unexpected("when it was closed");
	describe->closed_ns = at;
	describe->has_closed = true;
	return NULL;
}

static struct rs_error *read_flight(struct rs_describe *describe, json_t *json)
{
	struct rs_trace_flight flight = { .whole_from_ns = INT64_MIN };
	json_t *from = json_object_get(json, "whole_from_ns");
	json_int_t at;

	if (!RS_JSON_FIELDS(json, { "at_ns", .wide = &at }, { "why", .text = &flight.why }) ||
	    !from || (!json_is_null(from) && !json_is_integer(from)))
		return unexpected("a flight recorder's trace");
	if (json_is_integer(from))
		flight.whole_from_ns = json_integer_value(from);
	flight.at_ns = at;
	return rs_describe_set_flight(describe, &flight);
}

static struct rs_error *read_end(struct rs_describe *describe, json_t *json)
{
	json_int_t stream, bytes, records, lost;
	struct rs_error *err;

	if (!RS_JSON_FIELDS(json, { "stream", .wide = &stream }, { "bytes", .wide = &bytes },
			    { "records", .wide = &records }, { "lost", .wide = &lost }) ||
	    stream < 0 || stream >= RS_STREAMS_MAX)
		return unexpected("a stream's end");
	err = streams_skip(describe, (uint32_t)stream + 1);
	if (err)
		return err;
	*describe->stream_end[stream] = (struct rs_stream_end){
		.known = true,
		.bytes = (uint64_t)bytes,
		.records = (uint64_t)records,
		.lost = (uint64_t)lost,
	};
	return NULL;
}

static struct rs_error *read_binary(struct rs_describe *describe, json_t *json)
{
	struct rs_trace_binary binary = { 0 };

	if (!RS_JSON_FIELDS(json, { "role", .text = &binary.role },
			    { "path", .text = &binary.path }))
		return unexpected("a binary");
	binary.hash = json_string_value(json_object_get(json, "hash"));
	binary.hash_name = json_string_value(json_object_get(json, "hash_name"));
	if (!binary.hash_name)
		binary.hash = NULL;
	binary.load = (uint64_t)json_integer_value(json_object_get(json, "load"));
	binary.build_id = json_string_value(json_object_get(json, "build_id"));
	return rs_describe_add_binary(describe, &binary);
}

/* Ordered by how many lines of each kind a trace may have. */
static const struct {
	const char *key;
	struct rs_error *(*read)(struct rs_describe *, json_t *);
} lines[] = {
	{ "event", read_event },   { "name", read_name },     { "stream", read_stream },
	{ "end", read_end },	   { "owner", read_owner },   { "thread", read_thread },
	{ "domain", read_domain }, { "binary", read_binary }, { "class", read_class },
	{ "clock", read_clock },   { "ringside", read_head }, { "flight", read_flight },
	{ "closed", read_closed },
};

static struct rs_error *read_line(struct rs_describe *describe, const char *text, size_t len)
{
	json_error_t at;
	json_t *json = json_loadb(text, len, JSON_REJECT_DUPLICATES, &at);
	struct rs_error *err = NULL;
	const char *key;
	json_t *value;

	if (!json)
		return json_error_code(&at) == json_error_out_of_memory
			       ? rs_error_no_memory()
			       : rs_error_create(RS_DAMAGED, "column %d: %s", at.column, at.text);
	if (!describe->uuid[0] && !json_object_get(json, "ringside"))
		err = rs_error_create(RS_DAMAGED, "the first line does not describe a trace");
	json_object_foreach(json, key, value)
	{
		for (size_t i = 0; !err && i < sizeof(lines) / sizeof(lines[0]); i++) {
			/* Skips lines of kinds that a later version adds. */
			if (!strcmp(key, lines[i].key))
				err = lines[i].read(describe, value);
		}
	}
	json_decref(json);
	return err;
}

/* Reads more of the file into the buffer: *n bytes, 0 at the end of the file. Returns false if
 * there is no memory. */
static bool lines_fill(struct rs_lines_reader *reader, size_t *n)
{
	if (reader->at) {
		reader->end -= reader->at;
		memmove(reader->buffer, reader->buffer + reader->at, reader->end);
		reader->at = 0;
	}
	if (reader->end == reader->room) {
		size_t need = reader->room ? reader->room + 1 : LINES_ROOM;

		if (!RS_VECTOR_RESERVE(reader->buffer, reader->room, need))
			return false;
	}
	*n = fread_unlocked(reader->buffer + reader->end, 1, reader->room - reader->end,
			    reader->file);
	reader->end += *n;
	return true;
}

bool rs_describe_line(struct rs_lines_reader *reader, const char **text, size_t *len)
{
	const char *newline = NULL;
	size_t seen = 0, more = 1;

	reader->at += reader->given;
	while (!newline && more && seen <= RS_DESCRIBE_LINE_MAX) {
		if (seen == reader->end - reader->at && !lines_fill(reader, &more))
			return false;
		newline = memchr(reader->buffer + reader->at + seen, '\n',
				 reader->end - reader->at - seen);
		seen = reader->end - reader->at;
	}
	*text = reader->buffer + reader->at;
	*len = reader->given = newline ? (size_t)(newline - *text) + 1 : seen;
	return true;
}

/*
 * Notes an invalid line, and frees its error. Returns the error instead if the trace cannot be read
 * without that line, or if too many lines are invalid.
 */
static struct rs_error *skip_line(struct rs_describe *describe, size_t number, struct rs_error *err)
{
	struct rs_bad_lines *bad = &describe->bad;
	bool room;

	if (!err || rs_error_code(err) == RS_NO_MEMORY || !describe->uuid[0] ||
	    !describe->n_clocks || bad->n == RS_BAD_LINES_MAX)
		return err;
	room = RS_VECTOR_RESERVE(bad->numbers, bad->room, bad->n + 1);
	if (!bad->first)
		bad->first = strdup(rs_error_text(err));
	rs_error_free(err);
	if (!room || !bad->first)
		return rs_error_no_memory();
	bad->numbers[bad->n++] = number;
	return NULL;
}

static struct rs_error *lines_read(struct rs_describe *describe, FILE *file, size_t *number)
{
	struct rs_lines_reader reader = { .file = file };
	struct rs_error *err = NULL;
	const char *text;
	size_t len = 1;

	while (!err && len) {
		if (!rs_describe_line(&reader, &text, &len)) {
			err = rs_error_no_memory();
		} else if (len > RS_DESCRIBE_LINE_MAX) {
			++*number;
			err = rs_error_create(RS_DAMAGED, "longer than %u bytes",
					      RS_DESCRIBE_LINE_MAX);
		} else if (len) {
			++*number;
			describe->check = rs_describe_check(describe->check, text, len);
			if (text[len - 1] != '\n')
				break; /* a partial last line: no packet needs it */
			err = skip_line(describe, *number, read_line(describe, text, len - 1));
		}
	}
	free(reader.buffer);
	return err;
}

/* ---- the result of missing lines ------------------------------------------------------------- */

static int open_stream(const struct rs_folder *folder, uint32_t index)
{
	char name[32];

	snprintf(name, sizeof(name), "stream_%u", index);
	return rs_folder_open_file(folder, name, O_RDONLY);
}

/* Reads a stream's class, and its CPU if it has one, from its first packet. */
static struct rs_error *stream_recover(const struct rs_folder *folder, struct rs_describe *describe,
				       uint32_t index)
{
	struct rs_stream stream = { .vcpu = RS_UNKNOWN, .cpu = RS_UNKNOWN, .tid = RS_UNKNOWN };
	struct rs_packet_head head = { 0 };
	int fd = open_stream(folder, index);
	ssize_t n;

	if (fd < 0)
		return NULL;
	n = pread(fd, &head, sizeof(head), 0);
	close(fd);
	if (n != (ssize_t)sizeof(head) || head.magic != RS_CTF_MAGIC ||
	    head.stream_index != index || head.class_index >= describe->n_classes ||
	    describe->classes[head.class_index]->lost)
		return NULL;
	if (head.cpu_id < RS_PACKET_CPU_UNKNOWN / 2)
		stream.cpu = (int)head.cpu_id;
	return rs_describe_set_stream(describe, index, describe->classes[head.class_index],
				      &stream);
}

/* Writes " stream 3, 4 and 7 more": of n streams, those that are set. */
static void list_streams(FILE *out, const uint8_t *set, uint32_t n)
{
	uint32_t listed = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (!set[i])
			continue;
		if (listed < LISTED_MAX)
			fprintf(out, "%s %u", listed ? "," : " stream", i);
		listed++;
	}
	if (listed > LISTED_MAX)
		fprintf(out, " and %u more", listed - LISTED_MAX);
}

static void cost_write(FILE *out, const struct rs_folder *folder,
		       const struct rs_describe *describe, const uint8_t *mended,
		       const uint8_t *lost)
{
	const struct rs_bad_lines *bad = &describe->bad;
	uint32_t n = describe->n_streams;

	fprintf(out, "%s/ringside/describe", folder->path);
	if (bad->n)
		fprintf(out, ", line %zu: %s", bad->numbers[0], bad->first);
	if (bad->n > 1)
		fprintf(out, " (and %s)", RS_COUNT_OF(bad->n - 1, "more line"));
	fputs(bad->n ? "; it is skipped" : ": lines are missing", out);
	if (memchr(mended, 1, n)) {
		fputs(", and the thread, VM and vCPU are unknown of", out);
		list_streams(out, mended, n);
	}
	if (memchr(lost, 1, n)) {
		fputs(", and nothing can be read of", out);
		list_streams(out, lost, n);
	}
}

/* Identifies streams without lines by their files. Then writes the message about the bad lines. */
static struct rs_error *streams_recover(const struct rs_folder *folder,
					struct rs_describe *describe)
{
	struct rs_error *err = NULL;
	uint8_t *mended, *lost;
	bool any = describe->bad.n > 0;
	size_t bytes;
	FILE *out;
	int fd;

	/* Streams after the last one that a line mentions. */
	while (!err && any && describe->n_streams < RS_STREAMS_MAX &&
	       (fd = open_stream(folder, describe->n_streams)) >= 0) {
		close(fd);
		err = streams_skip(describe, describe->n_streams + 1);
	}
	mended = calloc(describe->n_streams + 1, 2);
	if (!mended)
		return rs_error_first(err, rs_error_no_memory());
	lost = mended + describe->n_streams + 1;
	for (uint32_t i = 0; !err && i < describe->n_streams; i++) {
		if (!rs_describe_lost(describe, i))
			continue;
		err = stream_recover(folder, describe, i);
		(rs_describe_lost(describe, i) ? lost : mended)[i] = 1;
		any = true;
	}
	out = !err && any ? open_memstream(&describe->bad.cost, &bytes) : NULL;
	if (out) {
		cost_write(out, folder, describe, mended, lost);
		fclose(out);
	}
	describe->bad.mended = mended;
	return err || !any || describe->bad.cost ? err : rs_error_no_memory();
}

struct rs_error *rs_describe_read(const struct rs_folder *folder, struct rs_describe *describe)
{
	size_t number = 0;
	FILE *file;
	struct rs_error *err = rs_folder_file(folder, "ringside/describe", O_RDONLY, "r", &file);

	if (err)
		return err;
	*describe = (struct rs_describe){ .owns_schemas = true };
	err = lines_read(describe, file, &number);
	err = rs_error_wrap(err, "%s/ringside/describe, line %zu", folder->path, number);
	if (!err && ferror(file))
		err = rs_error_errno(errno, "%s/ringside/describe", folder->path);
	if (!err && (!describe->uuid[0] || !describe->n_clocks))
		err = rs_error_create(RS_DAMAGED, "%s/ringside/describe: it describes no trace",
				      folder->path);
	fclose(file);
	if (!err)
		err = streams_recover(folder, describe);
	if (err)
		rs_describe_deinit(describe);
	else
		threads_finish(describe);
	if (!err)
		owners_finish(describe);
	return err;
}
