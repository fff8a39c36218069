/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes samples of a guest's tasks to a trace, and makes a profile from such a trace. */
#include "export/samples.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include <ringside/clock.h>

#define NS_PER_SEC   UINT64_C(1000000000)
#define CLASS	     "profile"
#define NAME	     "sample"
#define UNKNOWN_TASK UINT32_MAX
#define NAME_BYTES   256u  /* bytes of the name of a function or a module */
#define STACK_BYTES  1280u /* a record has about 2,000 bytes */
#define N_TEXTS	     4u
#define PAYLOAD_MAX  (32u + N_TEXTS * 2 + 64 + 2 * NAME_BYTES + STACK_BYTES)
_Static_assert(PAYLOAD_MAX <= RS_RECORD_PAYLOAD_MAX, "a sample fits into a record");

enum { COMM, FUNCTION, MODULE, STACK };

static const struct rs_field fields[] = {
	{ .name = "tid", .unit = "", .type = RS_TYPE_U32 },
	{ .name = "pid", .unit = "", .type = RS_TYPE_U32 },
	{ .name = "pc", .unit = "", .type = RS_TYPE_U64, .show = RS_SHOW_HEX },
	{ .name = "period", .unit = "ns", .type = RS_TYPE_U64 },
	{ .name = "vcpu", .unit = "", .type = RS_TYPE_U16 },
	{ .name = "cpl", .unit = "", .type = RS_TYPE_U8 },
	{ .name = "whole", .unit = "", .type = RS_TYPE_U8 },
	{ .name = "comm", .unit = "", .type = RS_TYPE_TEXT },
	{ .name = "function", .unit = "", .type = RS_TYPE_TEXT },
	{ .name = "module", .unit = "", .type = RS_TYPE_TEXT },
	{ .name = "stack", .unit = "", .type = RS_TYPE_TEXT },
};
#define N_FIELDS (sizeof(fields) / sizeof(fields[0]))

/* A task on one processor: a thread of the trace. */
struct task {
	struct rs_stream stream;
	char *comm;
};

struct rs_sample_trace {
	struct rs_schema *schema;
	const struct rs_event *event;
	struct rs_clock clock;
	struct rs_sink *store;
	struct rs_stream of_none; /* if the task is unknown */
	struct rs_map tasks;
	uint8_t payload[PAYLOAD_MAX];
};

/* ---- beginning and end ---------------------------------------------------------------------- */

static struct rs_error *trace_begin(struct rs_sample_trace *t, const char *directory,
				    const char *command)
{
	const struct rs_event event = { .id = RS_ID(RS_IDS_USER, 0),
					.class_name = CLASS,
					.function = "",
					.name = NAME,
					.help = "what a task of the guest executed",
					.fields = fields,
					.n_fields = N_FIELDS };
	struct rs_error *err = rs_clock_init(&t->clock);

	if (!err)
		err = rs_schema_create("guest", &t->schema);
	if (!err)
		err = rs_schema_add(t->schema, &event);
	if (err)
		return err;
	t->event = rs_schema_find(t->schema, event.id);
	t->of_none.schema = t->schema;
	return rs_store_sink_create(directory, &t->clock, NULL, command, &t->store);
}

struct rs_error *rs_sample_trace_create(const char *directory, const char *command, int64_t wall_ns,
					struct rs_sample_trace **trace)
{
	struct rs_sample_trace *t = calloc(1, sizeof(*t));
	struct rs_error *err;

	if (!t)
		return rs_error_no_memory();
	t->clock = (struct rs_clock){ .name = "guest",
				      .freq_hz = NS_PER_SEC,
				      .wall_ns = wall_ns,
				      .invariant = true,
				      .freq_from = "the guest's time" };
	t->of_none = (struct rs_stream){ .vcpu = RS_UNKNOWN,
					 .cpu = RS_UNKNOWN,
					 .tid = RS_UNKNOWN,
					 .dom = RS_UNKNOWN,
					 .clock = &t->clock };
	err = trace_begin(t, directory, command);
	if (err)
		rs_error_free(rs_sample_trace_close(t, 0, err, NULL));
	else
		*trace = t;
	return err;
}

struct rs_error *rs_sample_trace_close(struct rs_sample_trace *t, uint64_t end_ns,
				       const struct rs_error *failed, uint64_t *records)
{
	struct rs_store_summary sum = { 0 };
	struct rs_error *err = NULL;
	struct task *task;
	size_t at = 0;

	if (!t)
		return NULL;
	if (t->store) {
		rs_store_sink_set_closed(t->store, (int64_t)end_ns);
		err = rs_store_sink_close(t->store, failed, &sum);
	}
	while ((task = rs_map_next(&t->tasks, &at))) {
		free(task->comm);
		free(task);
	}
	rs_map_deinit(&t->tasks);
	rs_schema_destroy(t->schema);
	free(t);
	if (records)
		*records = sum.records;
	return err;
}

/* ---- tasks ---------------------------------------------------------------------------------- */

static bool same_task(const void *item, const void *key)
{
	const struct task *a = item;
	const struct rs_sampled *b = key;

	return a->stream.tid == (int)b->tid && a->stream.pid == (int)b->pid &&
	       a->stream.vcpu == (int)b->vcpu && !strcmp(a->comm, b->comm);
}

/* Returns the stream of a sample's task, or NULL if there is no memory. */
static const struct rs_stream *stream_of(struct rs_sample_trace *t, const struct rs_sampled *sample)
{
	uint64_t hash = rs_hash_pair(sample->tid, sample->vcpu);
	struct task *task;

	if (!sample->comm)
		return &t->of_none;
	task = rs_map_find(&t->tasks, hash, same_task, sample);
	if (task)
		return &task->stream;
	task = rs_map_reserve(&t->tasks) ? calloc(1, sizeof(*task)) : NULL;
	if (!task)
		return NULL;
	task->comm = strdup(sample->comm);
	if (!task->comm) {
		free(task);
		return NULL;
	}
	task->stream = t->of_none;
	task->stream.thread = task->comm;
	task->stream.tid = (int)sample->tid;
	task->stream.pid = (int)sample->pid;
	task->stream.vcpu = (int)sample->vcpu;
	rs_map_add(&t->tasks, hash, task);
	return &task->stream;
}

/* ---- samples -------------------------------------------------------------------------------- */

/* Writes a function's name without the format's semicolon. Returns the number of bytes. */
static size_t put_function(char *to, size_t room, const char *name)
{
	size_t n = 0;

	for (; *name && n < room; name++)
		to[n++] = *name == ';' ? ':' : *name;
	return n;
}

/* Writes the stack, without its outermost frames if it is too long. Returns the number of bytes. */
static size_t put_stack(char to[STACK_BYTES], const struct rs_profile *profile,
			const struct rs_sampled *sample, bool *whole)
{
	size_t need = 0, n = 0;
	uint32_t first = sample->n;

	while (first) {
		const char *name = profile->frames[sample->path[first - 1]]->function;

		if (need + strlen(name) + 1 + sizeof(RS_SAMPLE_CUT) > STACK_BYTES)
			break;
		need += strlen(name) + 1;
		first--;
	}
	if (first) {
		*whole = false;
		n = put_function(to, STACK_BYTES, RS_SAMPLE_CUT);
	}
	for (uint32_t i = first; i < sample->n; i++) {
		if (n)
			to[n++] = ';';
		n += put_function(to + n, STACK_BYTES - n,
				  profile->frames[sample->path[i]]->function);
	}
	return n;
}

static uint8_t *put(uint8_t *to, const void *from, size_t bytes)
{
	memcpy(to, from, bytes);
	return to + bytes;
}

static size_t text_bytes(const char *text, size_t most)
{
	return text ? strnlen(text, most) : 0;
}

/* Writes the payload. Returns its end. */
static uint8_t *put_payload(uint8_t *to, const struct rs_profile *profile,
			    const struct rs_sampled *sample)
{
	const struct rs_profile_frame *leaf =
		sample->n ? profile->frames[sample->path[sample->n - 1]] : NULL;
	uint32_t tid = sample->comm ? sample->tid : UNKNOWN_TASK;
	uint32_t pid = sample->comm ? sample->pid : UNKNOWN_TASK;
	uint16_t vcpu = (uint16_t)sample->vcpu;
	bool whole = sample->whole;
	char stack[STACK_BYTES];
	const char *texts[N_TEXTS] = { sample->comm ? sample->comm : RS_SAMPLE_UNKNOWN,
				       leaf ? leaf->function : NULL, leaf ? leaf->module : NULL,
				       stack };
	size_t bytes[N_TEXTS] = { text_bytes(texts[COMM], NAME_BYTES),
				  text_bytes(texts[FUNCTION], NAME_BYTES),
				  text_bytes(texts[MODULE], NAME_BYTES),
				  put_stack(stack, profile, sample, &whole) };

	to = put(to, &tid, sizeof(tid));
	to = put(to, &pid, sizeof(pid));
	to = put(to, &sample->pc, sizeof(sample->pc));
	to = put(to, &sample->period_ns, sizeof(sample->period_ns));
	to = put(to, &vcpu, sizeof(vcpu));
	*to++ = sample->cpl;
	*to++ = whole;
	for (uint32_t i = 0; i < N_TEXTS; i++) {
		uint16_t length = (uint16_t)bytes[i];

		to = put(to, &length, sizeof(length));
	}
	for (uint32_t i = 0; i < N_TEXTS; i++)
		if (bytes[i])
			to = put(to, texts[i], bytes[i]);
	return to;
}

struct rs_error *rs_sample_trace_add(struct rs_sample_trace *t, const struct rs_profile *profile,
				     const struct rs_sampled *sample)
{
	const struct rs_stream *stream = stream_of(t, sample);
	struct rs_view view = { .ts_ns = (int64_t)sample->now_ns,
				.tsc = sample->now_ns,
				.event = t->event,
				.stream = stream,
				.payload = t->payload,
				.cpu = RS_UNKNOWN };

	if (!stream)
		return rs_error_no_memory();
	view.payload_bytes = (uint32_t)(put_payload(t->payload, profile, sample) - t->payload);
	return t->store->ops->events(t->store, &view, 1);
}

/* ---- a profile of a trace ------------------------------------------------------------------- */

bool rs_sample_is(const struct rs_event *event)
{
	if (strcmp(event->class_name, CLASS) != 0 || strcmp(event->name, NAME) != 0 ||
	    event->n_fields != N_FIELDS)
		return false;
	for (uint32_t i = 0; i < N_FIELDS; i++)
		if (event->fields[i].type != fields[i].type ||
		    strcmp(event->fields[i].name, fields[i].name) != 0)
			return false;
	return true;
}

/* Adds a frame of the function named by text[0..len). */
static struct rs_error *frame_add(struct rs_profile *profile, const char *text, size_t len,
				  uint32_t *index)
{
	char name[STACK_BYTES + 1];

	if (len >= sizeof(name))
		len = sizeof(name) - 1;
	memcpy(name, text, len);
	name[len] = '\0';
	return rs_profile_frame(profile, &(struct rs_profile_frame){ .function = name }, index);
}

struct rs_error *rs_sample_add(struct rs_profile *profile, const struct rs_view *view)
{
	const struct rs_field *of = view->event->fields;
	const uint64_t amounts[] = { rs_field_value(&of[3], view->payload), 1 };
	uint32_t frames[RS_PROFILE_DEPTH_MAX], n = 0;
	size_t len = 0, left = 0;
	const char *text = rs_view_text(view, &of[N_FIELDS - N_TEXTS + COMM], &len);
	const char *stack = rs_view_text(view, &of[N_FIELDS - N_TEXTS + STACK], &left);
	struct rs_error *err = frame_add(profile, text, len, &frames[n++]);

	while (!err && left && n < RS_PROFILE_DEPTH_MAX) {
		const char *end = memchr(stack, ';', left);

		len = end ? (size_t)(end - stack) : left;
		err = frame_add(profile, stack, len, &frames[n++]);
		stack += len + (end ? 1 : 0);
		left -= len + (end ? 1 : 0);
	}
	return err ? err : rs_profile_add(profile, frames, n, amounts);
}
