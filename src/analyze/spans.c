/* SPDX-License-Identifier: BSD-2-Clause */
/* Times spans by name and by call path. */
#include "analyze/spans.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"
#include <ringside/record.h>

/* A vCPU's accumulated time outside its guest, up to since_ns. */
struct vcpu {
	const char *vm;
	int number;
	bool by_kvm; /* the trace has KVM's own events, so the VMM's are not needed */
	bool is_known, is_outside, in_call;
	int64_t since_ns;
	uint64_t calls_ns, exits_ns;
};

struct open_span {
	struct rs_span_row *row;
	struct rs_span_node *node;
	int64_t since_ns;
	uint64_t within_ns;	     /* in nested spans */
	uint64_t calls_ns, exits_ns; /* of the vCPU at the begin */
	bool is_timed, is_doubtful;
};

struct track {
	const struct rs_stream *stream;
	struct vcpu *vcpu; /* NULL: a stream of no guest */
	uint32_t depth;
	struct open_span open[RS_SPANS_DEPTH_MAX];
};

/* An event of a schema, and its meaning for this analysis. */
enum role { ROLE_NONE, ROLE_BEGIN, ROLE_END, ROLE_ENTER, ROLE_LEAVE, ROLE_HOST };
enum host_role { HOST_EXIT = 1, HOST_ENTRY, HOST_CALL, HOST_CALL_END };

struct spans_sink {
	struct rs_sink sink;
	struct rs_spans spans;
	struct rs_map tracks, vcpus, row_map, node_map;
	struct rs_arena arena; /* of vCPUs, rows and nodes */
	struct rs_span_row **rows;
	struct rs_span_node **nodes;
	uint32_t n_rows, rows_room, n_nodes, nodes_room;
	struct track *last;
	bool began;
};

const struct rs_profile_value rs_spans_values[RS_SPANS_VALUES] = {
	[RS_SPANS_COUNT] = { "spans", "count" },
	[RS_SPANS_TIME] = { "time", "nanoseconds" },
};

/* ---- vCPUs ---------------------------------------------------------------------------------- */

static bool same_vcpu(const void *item, const void *key)
{
	const struct vcpu *a = item, *b = key;

	return a->number == b->number && !strcmp(a->vm, b->vm);
}

/* Finds or creates a vCPU's state. Sets *out to NULL if the stream belongs to no vCPU. */
static struct rs_error *vcpu_find(struct spans_sink *s, const char *vm, int number,
				  struct vcpu **out)
{
	struct vcpu key = { .vm = vm, .number = number };
	uint64_t hash;

	*out = NULL;
	if (!vm || number < 0)
		return NULL;
	hash = rs_hash_pair(rs_hash_bytes(vm, strlen(vm)), (uint64_t)number);
	*out = rs_map_find(&s->vcpus, hash, same_vcpu, &key);
	if (*out)
		return NULL;
	key.vm = rs_arena_text(&s->arena, vm, strlen(vm));
	if (key.vm && rs_map_reserve(&s->vcpus))
		*out = rs_arena_alloc(&s->arena, sizeof(**out));
	if (!*out)
		return rs_error_no_memory();
	**out = key;
	rs_map_add(&s->vcpus, hash, *out);
	return NULL;
}

/* Accounts a vCPU's time up to ts_ns. */
static void vcpu_advance(struct vcpu *v, int64_t ts_ns)
{
	uint64_t ns = ts_ns > v->since_ns ? (uint64_t)(ts_ns - v->since_ns) : 0;

	if (v->is_outside && v->in_call)
		v->calls_ns += ns;
	else if (v->is_outside)
		v->exits_ns += ns;
	v->since_ns = ts_ns;
}

static enum host_role host_role(const struct rs_event *event, bool *by_kvm)
{
	*by_kvm = RS_ID_PROVIDER(event->id) == RS_IDS_KVM;
	if (*by_kvm)
		return !strcmp(event->name, "entry") ? HOST_ENTRY : HOST_EXIT;
	if (!strcmp(event->class_name, "vcpu"))
		return !strcmp(event->name, "run") ? HOST_ENTRY : HOST_EXIT;
	return !strcmp(event->name, "host-begin") ? HOST_CALL : HOST_CALL_END;
}

static struct rs_error *host_event(struct spans_sink *s, const struct rs_view *view)
{
	const struct rs_stream *stream = view->stream;
	int number = stream->vcpu;
	struct rs_error *err;
	enum host_role role;
	struct vcpu *v;
	bool by_kvm;

	role = host_role(view->event, &by_kvm);
	if (!by_kvm)
		number = (int)rs_field_value(&view->event->fields[0], view->payload);
	err = vcpu_find(s, stream->vm, number, &v);
	if (err || !v)
		return err;
	vcpu_advance(v, view->ts_ns);
	if (role == HOST_CALL || role == HOST_CALL_END) {
		v->in_call = role == HOST_CALL;
	} else if (by_kvm || !v->by_kvm) {
		v->by_kvm = by_kvm;
		v->is_outside = role == HOST_EXIT;
		v->is_known = true;
	}
	return NULL;
}

/* ---- rows and nodes ------------------------------------------------------------------------- */

static bool same_row(const void *item, const void *key)
{
	const struct rs_span_key *a = &((const struct rs_span_row *)item)->key, *b = key;

	return a->schema == b->schema && a->name == b->name && a->id == b->id &&
	       a->address == b->address;
}

static struct rs_error *row_find(struct spans_sink *s, const struct rs_span_key *key,
				 struct rs_span_row **row)
{
	uint64_t hash =
		rs_hash_pair((uintptr_t)key->schema, key->address ^ (uint64_t)key->id << 32);

	*row = rs_map_find(&s->row_map, hash, same_row, key);
	if (*row)
		return NULL;
	if (rs_map_reserve(&s->row_map) && RS_VECTOR_RESERVE(s->rows, s->rows_room, s->n_rows + 1))
		*row = rs_arena_alloc(&s->arena, sizeof(**row));
	if (!*row)
		return rs_error_no_memory();
	**row = (struct rs_span_row){ .key = *key };
	(*row)->index = s->n_rows;
	s->rows[s->n_rows++] = *row;
	rs_map_add(&s->row_map, hash, *row);
	return NULL;
}

static bool same_node(const void *item, const void *key)
{
	const struct rs_span_node *a = item, *b = key;

	return a->row == b->row && a->parent == b->parent;
}

static struct rs_error *node_find(struct spans_sink *s, const struct rs_span_row *row,
				  const struct rs_span_node *parent, struct rs_span_node **node)
{
	const struct rs_span_node key = { .row = row, .parent = parent };
	uint64_t hash = rs_hash_pair((uintptr_t)row, (uintptr_t)parent);

	*node = rs_map_find(&s->node_map, hash, same_node, &key);
	if (*node)
		return NULL;
	if (rs_map_reserve(&s->node_map) &&
	    RS_VECTOR_RESERVE(s->nodes, s->nodes_room, s->n_nodes + 1))
		*node = rs_arena_alloc(&s->arena, sizeof(**node));
	if (!*node)
		return rs_error_no_memory();
	**node = key;
	s->nodes[s->n_nodes++] = *node;
	rs_map_add(&s->node_map, hash, *node);
	return NULL;
}

/* ---- spans ---------------------------------------------------------------------------------- */

static bool same_track(const void *item, const void *key)
{
	return ((const struct track *)item)->stream == key;
}

static struct rs_error *track_find(struct spans_sink *s, const struct rs_stream *stream,
				   struct track **track)
{
	uint64_t hash = rs_hash_pair((uintptr_t)stream, 0);

	*track = s->last && s->last->stream == stream
			 ? s->last
			 : rs_map_find(&s->tracks, hash, same_track, stream);
	if (!*track) {
		*track = rs_map_reserve(&s->tracks) ? calloc(1, sizeof(**track)) : NULL;
		if (!*track)
			return rs_error_no_memory();
		(*track)->stream = stream;
		rs_map_add(&s->tracks, hash, *track);
	}
	s->last = *track;
	if ((*track)->vcpu || stream->tid >= 0) /* a thread of the VMM is not a guest */
		return NULL;
	return vcpu_find(s, stream->vm, stream->vcpu, &(*track)->vcpu);
}

/* Drops the spans of a track that are deeper than `depth`, because their ends are missing. */
static void track_cut(struct spans_sink *s, struct track *track, uint32_t depth)
{
	for (; track->depth > depth; track->depth--)
		s->spans.open += track->open[track->depth - 1].row != NULL;
}

/* Adds a guest span's parts when it ends, by the time of its vCPU. */
static void split_time(struct rs_span_row *row, const struct open_span *open, struct vcpu *v,
		       uint64_t ns)
{
	if (!open->is_timed)
		return;
	row->timed++;
	row->timed_ns += ns;
	row->calls_ns += v->calls_ns - open->calls_ns;
	row->exits_ns += v->exits_ns - open->exits_ns;
}

static bool is_recursive(const struct track *track, const struct rs_span_row *row)
{
	for (uint32_t i = 0; i < track->depth; i++) {
		if (track->open[i].row == row)
			return true;
	}
	return false;
}

static struct rs_error *begin(struct spans_sink *s, struct track *track,
			      const struct rs_span_key *key, uint32_t depth, int64_t ts_ns)
{
	struct open_span *open;
	struct rs_span_row *row;
	struct rs_span_node *node;
	struct rs_error *err;

	if (depth >= RS_SPANS_DEPTH_MAX) {
		s->spans.too_deep++;
		return NULL;
	}
	track_cut(s, track, depth);
	for (; track->depth < depth; track->depth++) /* begins that are missing */
		track->open[track->depth] = (struct open_span){ 0 };
	err = row_find(s, key, &row);
	if (!err)
		err = node_find(s, row, depth ? track->open[depth - 1].node : NULL, &node);
	if (err)
		return err;
	open = &track->open[track->depth++];
	*open = (struct open_span){ .row = row, .node = node, .since_ns = ts_ns };
	if (track->vcpu && track->vcpu->is_known) {
		vcpu_advance(track->vcpu, ts_ns);
		open->is_timed = true;
		open->calls_ns = track->vcpu->calls_ns;
		open->exits_ns = track->vcpu->exits_ns;
	}
	return NULL;
}

static void end(struct spans_sink *s, struct track *track, const struct rs_span_key *key,
		uint32_t depth, int64_t ts_ns)
{
	struct open_span open;
	struct rs_span_row *row;
	uint64_t ns, self;

	if (depth >= RS_SPANS_DEPTH_MAX)
		return;
	track_cut(s, track, depth + 1);
	if (track->depth != depth + 1 || !track->open[depth].row ||
	    !same_row(track->open[depth].row, key)) {
		s->spans.unbegun++;
		if (track->depth > depth)
			track_cut(s, track, depth);
		return;
	}
	open = track->open[depth];
	track->depth = depth;
	row = open.row;
	ns = ts_ns > open.since_ns ? (uint64_t)(ts_ns - open.since_ns) : 0;
	self = ns > open.within_ns ? ns - open.within_ns : 0;
	if (!row->count++ || ns < row->min_ns)
		row->min_ns = ns;
	if (ns > row->max_ns)
		row->max_ns = ns;
	row->hist.count[rs_hist_bucket(ns)]++;
	row->self_ns += self;
	row->sum_ns += ns;
	row->doubtful += open.is_doubtful;
	open.node->count++;
	open.node->self_ns += self;
	open.node->total_ns += ns;
	if (!is_recursive(track, row)) {
		row->total_ns += ns;
		if (track->vcpu) {
			vcpu_advance(track->vcpu, ts_ns);
			split_time(row, &open, track->vcpu, ns);
		}
	}
	if (depth)
		track->open[depth - 1].within_ns += ns;
}

/* ---- events --------------------------------------------------------------------------------- */

static enum role role_of(const struct rs_event *event)
{
	if (event->kind == RS_KIND_SPAN_BEGIN)
		return ROLE_BEGIN;
	if (event->kind == RS_KIND_SPAN_END)
		return ROLE_END;
	if (event->id == RS_ID_FUNC_ENTER && event->fixed_bytes == sizeof(struct rs_func))
		return ROLE_ENTER;
	if (event->id == RS_ID_FUNC_LEAVE && event->fixed_bytes == sizeof(struct rs_func))
		return ROLE_LEAVE;
	if (RS_ID_PROVIDER(event->id) == RS_IDS_KVM)
		return !strcmp(event->name, "exit") || !strcmp(event->probe, "kvm:vcpu::entry")
			       ? ROLE_HOST
			       : ROLE_NONE;
	if (RS_ID_PROVIDER(event->id) != RS_IDS_VMM || !event->n_fields)
		return ROLE_NONE;
	if (!strcmp(event->class_name, "vcpu"))
		return ROLE_HOST;
	return !strcmp(event->class_name, "call") && !strncmp(event->name, "host-", 5) ? ROLE_HOST
										       : ROLE_NONE;
}

static struct rs_error *span_event(struct spans_sink *s, const struct rs_view *view, enum role role)
{
	struct rs_span_key key = { .schema = view->stream->schema };
	struct track *track;
	struct rs_span span;
	struct rs_func func;
	struct rs_error *err = track_find(s, view->stream, &track);
	uint32_t depth;

	if (err)
		return err;
	if (role == ROLE_BEGIN || role == ROLE_END) {
		memcpy(&span, view->payload, sizeof(span)); /* a payload has at least 16 bytes */
		key.name = rs_schema_name(key.schema, span.name);
		key.id = span.name;
		depth = rs_span_depth(&span);
	} else {
		memcpy(&func, view->payload, sizeof(func));
		key.address = func.function;
		depth = func.depth;
	}
	if (role == ROLE_BEGIN || role == ROLE_ENTER)
		return begin(s, track, &key, depth, view->ts_ns);
	end(s, track, &key, depth, view->ts_ns);
	return NULL;
}

/* A loss may concern any stream. */
static void loss(struct spans_sink *s, const struct rs_view *view)
{
	struct track *track;

	s->spans.lost += rs_view_loss(view).count;
	for (size_t at = 0; (track = rs_map_next(&s->tracks, &at));) {
		if (track->stream != view->stream && !view->stream->mixed)
			continue;
		for (uint32_t i = 0; i < track->depth; i++)
			track->open[i].is_doubtful = true;
	}
}

static struct rs_error *spans_events(struct rs_sink *sink, const struct rs_view *views, size_t n)
{
	struct spans_sink *s = (struct spans_sink *)sink;
	struct rs_error *err = NULL;

	if (n && !s->began)
		s->spans.first_ns = views[0].ts_ns;
	s->began |= n > 0;
	for (size_t i = 0; !err && i < n; i++) {
		enum role role = role_of(views[i].event);

		if (views[i].event->kind == RS_KIND_LOSS)
			loss(s, &views[i]);
		else if (role == ROLE_HOST)
			err = host_event(s, &views[i]);
		else if (role)
			err = span_event(s, &views[i], role);
		s->spans.last_ns = views[i].ts_ns;
	}
	return err;
}

static const struct rs_sink_ops spans_ops = {
	.name = "spans",
	.events = spans_events,
};

/* ---- the sink ------------------------------------------------------------------------------- */

struct rs_error *rs_spans_sink_create(struct rs_sink **sink)
{
	struct spans_sink *s = calloc(1, sizeof(*s));

	if (!s)
		return rs_error_no_memory();
	s->sink.ops = &spans_ops;
	*sink = &s->sink;
	return NULL;
}

void rs_spans_sink_destroy(struct rs_sink *sink)
{
	struct spans_sink *s = (struct spans_sink *)sink;
	void *track;

	if (!s)
		return;
	for (size_t at = 0; (track = rs_map_next(&s->tracks, &at));)
		free(track);
	rs_map_deinit(&s->tracks);
	rs_map_deinit(&s->vcpus);
	rs_map_deinit(&s->row_map);
	rs_map_deinit(&s->node_map);
	rs_arena_deinit(&s->arena);
	free(s->rows);
	free(s->nodes);
	free(s);
}

static int longest_first(const void *left, const void *right)
{
	const struct rs_span_row *a = *(struct rs_span_row *const *)left;
	const struct rs_span_row *b = *(struct rs_span_row *const *)right;

	if (a->total_ns != b->total_ns)
		return a->total_ns > b->total_ns ? -1 : 1;
	return (a->index > b->index) - (a->index < b->index);
}

struct rs_error *rs_spans_collect(struct rs_sink *sink, struct rs_spans *spans)
{
	struct spans_sink *s = (struct spans_sink *)sink;
	struct track *track;

	for (size_t at = 0; (track = rs_map_next(&s->tracks, &at));)
		track_cut(s, track, 0);
	if (s->n_rows)
		qsort(s->rows, s->n_rows, sizeof(struct rs_span_row *), longest_first);
	*spans = s->spans;
	spans->rows = s->rows;
	spans->n_rows = s->n_rows;
	spans->nodes = s->nodes;
	spans->n_nodes = s->n_nodes;
	return NULL;
}

/* ---- the profile ---------------------------------------------------------------------------- */

/* Makes the frame of a span's name, or of a function's address. */
static struct rs_error *frame_of(struct rs_profile *profile,
				 const struct rs_profile_resolver *resolver,
				 const struct rs_span_row *row, uint32_t *frame)
{
	uint32_t path[RS_PROFILE_DEPTH_MAX], n;
	struct rs_error *err;
	char number[16];

	if (row->key.id) {
		snprintf(number, sizeof(number), "#%u", row->key.id);
		return rs_profile_frame(
			profile,
			&(struct rs_profile_frame){ .function = row->key.name ? row->key.name
									      : number },
			frame);
	}
	err = rs_profile_stack(profile, resolver, row->key.schema, &row->key.address, 1, 0, path,
			       &n);
	if (!err)
		*frame = path[0]; /* functions inlined at the entry are not this function */
	return err;
}

struct rs_error *rs_spans_profile(const struct rs_spans *spans,
				  const struct rs_profile_resolver *resolver,
				  struct rs_profile *profile)
{
	uint32_t frames[RS_SPANS_DEPTH_MAX];
	struct rs_error *err = NULL;

	rs_profile_init(profile, rs_spans_values, RS_SPANS_VALUES);
	profile->start_ns = spans->first_ns;
	profile->duration_ns = spans->last_ns - spans->first_ns;
	for (size_t i = 0; !err && i < spans->n_nodes; i++) {
		const struct rs_span_node *node = spans->nodes[i], *at;
		const uint64_t amounts[] = {
			[RS_SPANS_COUNT] = node->count, [RS_SPANS_TIME] = node->self_ns
		};
		uint32_t n = 0, left;

		for (at = node; at; at = at->parent)
			n++;
		left = n;
		for (at = node; !err && at; at = at->parent)
			err = frame_of(profile, resolver, at->row, &frames[--left]);
		if (!err && node->count)
			err = rs_profile_add(profile, frames, n, amounts);
	}
	return err;
}
