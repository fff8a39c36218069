/* SPDX-License-Identifier: BSD-2-Clause */
/* Follows the allocations of programs and guests. */
#include "analyze/heap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"
#include <ringside/record.h>

#define ONE (UINT64_C(1) << RS_HEAP_COUNT_BITS)
#define FAR (INT64_C(1) << 61)

/* An address: its allocation, or the mark of its last free. */
struct block {
	const struct rs_schema *schema;
	const char *vm; /* of a guest, else NULL */
	uint64_t address;
	struct rs_heap_amount amount;
	int64_t since_ns;
	uint32_t site;
	bool is_freed;
	struct block *next; /* of the free list */
};

struct heap_sink {
	struct rs_sink sink;
	struct rs_heap heap; /* the result so far */
	struct rs_stacks stacks;
	struct rs_heap_site *sites;
	uint32_t n_sites, sites_room;
	uint32_t *site_of_stack; /* the site's index plus 1, by the stack's index; 0: no site */
	uint32_t stacks_room;
	struct rs_map blocks;
	struct rs_arena arena; /* of blocks */
	struct block *unused;
	uint32_t n_freed;
	uint64_t peaks; /* how often the total has reached a new peak */
	/* The sampling interval of each producer. A list is enough, because producers are few. */
	struct {
		const struct rs_schema *schema;
		uint64_t interval_bytes;
	} * sampled;
	uint32_t n_sampled, sampled_room;
	struct rs_heap_moment moments[RS_HEAP_MOMENTS];
	uint32_t n_moments;
	int64_t step_ns; /* of moments */
	bool began;
	const struct rs_event *last; /* the last event, and whether it is a memory event */
	bool last_is_memory;
};

/* Returns the time of an event, limited to 73 years around the trace's start, so that no difference
 * overflows. A time outside this range is damage. */
static int64_t time_of(const struct rs_view *view)
{
	if (view->ts_ns < -FAR)
		return -FAR;
	return view->ts_ns > FAR ? FAR : view->ts_ns;
}

/* ---- sites ---------------------------------------------------------------------------------- */

/* Finds or creates the site of a stack field. */
static struct rs_error *site_find(struct heap_sink *s, const struct rs_view *view, uint64_t by_fp,
				  uint32_t *site)
{
	const struct rs_event *event = view->event;
	uint32_t n, stack;
	const uint8_t *raw = rs_view_stack(view, &event->fields[event->n_fields - 1], &n);
	struct rs_error *err =
		rs_stacks_intern(&s->stacks, view->stream->schema, raw, n, by_fp, &stack);

	if (err)
		return err;
	if (stack >= s->stacks_room) {
		uint32_t had = s->stacks_room;

		if (!RS_VECTOR_RESERVE(s->site_of_stack, s->stacks_room, stack + 1))
			return rs_error_no_memory();
		memset(s->site_of_stack + had, 0,
		       (s->stacks_room - had) * sizeof(*s->site_of_stack));
	}
	if (!s->site_of_stack[stack]) {
		if (!RS_VECTOR_RESERVE(s->sites, s->sites_room, s->n_sites + 1))
			return rs_error_no_memory();
		s->sites[s->n_sites] = (struct rs_heap_site){ .stack = stack, .peaks = s->peaks };
		s->site_of_stack[stack] = ++s->n_sites;
	}
	*site = s->site_of_stack[stack] - 1;
	return NULL;
}

/* Saves the site's live amount at the last peak. It is called before each change of live bytes, and
 * has an effect at the first change after a peak. */
static void site_keep_peak(const struct heap_sink *s, struct rs_heap_site *site)
{
	if (site->peaks == s->peaks)
		return;
	site->peak = site->live;
	site->peaks = s->peaks;
}

static void amount_add(struct rs_heap_amount *to, const struct rs_heap_amount *amount)
{
	to->count += amount->count;
	to->bytes += amount->bytes;
}

static void amount_subtract(struct rs_heap_amount *from, const struct rs_heap_amount *amount)
{
	from->count -= amount->count;
	from->bytes -= amount->bytes;
}

/* ---- samples -------------------------------------------------------------------------------- */

static uint64_t interval_of(const struct heap_sink *s, const struct rs_schema *schema)
{
	for (uint32_t i = 0; i < s->n_sampled; i++) {
		if (s->sampled[i].schema == schema)
			return s->sampled[i].interval_bytes;
	}
	return 0;
}

static struct rs_error *sampling(struct heap_sink *s, const struct rs_view *view)
{
	struct rs_memory_sampling sampling;
	uint32_t i = 0;

	memcpy(&sampling, view->payload, sizeof(sampling));
	s->heap.interval_bytes = sampling.interval;
	while (i < s->n_sampled && s->sampled[i].schema != view->stream->schema)
		i++;
	if (i == s->n_sampled) {
		if (!RS_VECTOR_RESERVE(s->sampled, s->sampled_room, s->n_sampled + 1))
			return rs_error_no_memory();
		s->n_sampled++;
	}
	s->sampled[i].schema = view->stream->schema;
	s->sampled[i].interval_bytes = sampling.interval;
	return NULL;
}

/* Returns the amount that a recorded allocation represents. */
static struct rs_heap_amount amount_of(const struct heap_sink *s, const struct rs_schema *schema,
				       uint64_t bytes)
{
	uint64_t interval = s->n_sampled ? interval_of(s, schema) : 0;
	double weight;

	if (!interval || !bytes)
		return (struct rs_heap_amount){ ONE, bytes };
	weight = 1 / -expm1(-(double)bytes / (double)interval);
	return (struct rs_heap_amount){ (uint64_t)llround(weight * (double)ONE),
					(uint64_t)llround(weight * (double)bytes) };
}

/* ---- blocks --------------------------------------------------------------------------------- */

/* An address of a program or guest. Guests of the same program share a schema. */
struct place {
	const struct rs_schema *schema;
	const char *vm;
	uint64_t address;
};

static struct place place_of(const struct rs_view *view, uint64_t address)
{
	const struct rs_stream *stream = view->stream;

	return (struct place){ stream->schema, stream->tid < 0 ? stream->vm : NULL, address };
}

static bool same_vm(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static bool same_place(const void *item, const void *key)
{
	const struct block *block = item;
	const struct place *place = key;

	return block->address == place->address && block->schema == place->schema &&
	       same_vm(block->vm, place->vm);
}

static uint64_t place_hash(const struct place *place)
{
	uint64_t hash = rs_hash_pair((uintptr_t)place->schema, place->address);

	return place->vm ? rs_hash_pair(hash, rs_hash_bytes(place->vm, strlen(place->vm))) : hash;
}

static struct block *block_find(const struct heap_sink *s, const struct place *place)
{
	return rs_map_find(&s->blocks, place_hash(place), same_place, place);
}

static struct block *block_add(struct heap_sink *s, const struct place *place)
{
	struct block *block = NULL;

	if (!rs_map_reserve(&s->blocks))
		return NULL;
	if (s->unused) {
		block = s->unused;
		s->unused = block->next;
	} else {
		block = rs_arena_alloc(&s->arena, sizeof(*block));
	}
	if (!block)
		return NULL;
	*block = (struct block){ .schema = place->schema,
				 .vm = place->vm,
				 .address = place->address };
	rs_map_add(&s->blocks, place_hash(place), block);
	return block;
}

static void lifetime_add(struct heap_sink *s, struct rs_heap_site *site, int64_t ns)
{
	struct rs_heap *heap = &s->heap;
	uint64_t life = ns < 0 ? 0 : (uint64_t)ns;

	site->lifetimes_ns += life;
	site->n_lifetimes++;
	heap->lifetimes.count[rs_hist_bucket(life)]++;
	if (!heap->n_lifetimes++ || life < heap->lifetime_min_ns)
		heap->lifetime_min_ns = life;
	if (life > heap->lifetime_max_ns)
		heap->lifetime_max_ns = life;
	heap->lifetimes_ns += life;
}

/* Ends an allocation, as a free does. */
static void block_end(struct heap_sink *s, struct block *block)
{
	struct rs_heap_site *site = &s->sites[block->site];

	site_keep_peak(s, site);
	amount_add(&site->freed, &block->amount);
	amount_subtract(&site->live, &block->amount);
	amount_add(&s->heap.freed, &block->amount);
	amount_subtract(&s->heap.live, &block->amount);
}

/* Marks an address as freed. Removes the address if too many are marked. */
static void block_mark(struct heap_sink *s, struct block *block)
{
	const struct place place = { block->schema, block->vm, block->address };

	if (s->n_freed < RS_HEAP_FREED_MAX) {
		s->n_freed++;
		block->is_freed = true;
		return;
	}
	rs_map_remove(&s->blocks, place_hash(&place), block);
	block->next = s->unused;
	s->unused = block;
}

/* ---- events --------------------------------------------------------------------------------- */

static void release(struct heap_sink *s, const struct place *place, int64_t ts_ns)
{
	struct block *block = block_find(s, place);

	if (!block) {
		s->heap.unknown_frees++;
	} else if (block->is_freed) {
		s->heap.double_frees++;
	} else {
		block_end(s, block);
		lifetime_add(s, &s->sites[block->site], ts_ns - block->since_ns);
		block_mark(s, block);
	}
}

static struct rs_error *allocate(struct heap_sink *s, const struct rs_view *view,
				 const struct place *place, uint64_t bytes, uint64_t by_fp)
{
	struct rs_heap *heap = &s->heap;
	struct rs_heap_site *at;
	struct block *block;
	uint32_t site;
	struct rs_error *err = site_find(s, view, by_fp, &site);

	if (err)
		return err;
	block = block_find(s, place);
	if (!block) {
		block = block_add(s, place);
		if (!block)
			return rs_error_no_memory();
	} else if (block->is_freed) {
		block->is_freed = false;
		s->n_freed--;
	} else { /* the record of its free was lost, or the producer did not free it */
		heap->again++;
		block_end(s, block);
	}
	block->site = site;
	block->since_ns = time_of(view);
	block->amount = amount_of(s, place->schema, bytes);
	at = &s->sites[site];
	site_keep_peak(s, at);
	amount_add(&at->allocated, &block->amount);
	amount_add(&at->live, &block->amount);
	amount_add(&heap->allocated, &block->amount);
	amount_add(&heap->live, &block->amount);
	if (heap->live.bytes > heap->peak.bytes) {
		heap->peak = heap->live;
		heap->peak_ns = time_of(view);
		s->peaks++;
	}
	return NULL;
}

static struct rs_error *reallocate(struct heap_sink *s, const struct rs_view *view)
{
	struct rs_memory_realloc now;
	struct place place;

	memcpy(&now, view->payload, sizeof(now));
	s->heap.reallocs++;
	if (now.from) {
		place = place_of(view, now.from);
		release(s, &place, time_of(view));
	}
	place = place_of(view, now.address);
	return allocate(s, view, &place, now.size, now.by_fp);
}

/* ---- time ----------------------------------------------------------------------------------- */

/* Merges the moments in pairs, which frees half of the array. */
static void moments_halve(struct heap_sink *s)
{
	for (uint32_t i = 0; i < s->n_moments / 2; i++) {
		const struct rs_heap_moment *a = &s->moments[2 * i], *b = a + 1;

		s->moments[i] = (struct rs_heap_moment){
			.end_ns = b->end_ns,
			.live_bytes = b->live_bytes,
			.most_bytes = a->most_bytes > b->most_bytes ? a->most_bytes : b->most_bytes,
			.allocations = a->allocations + b->allocations,
			.frees = a->frees + b->frees
		};
	}
	s->n_moments /= 2;
	s->step_ns *= 2;
}

/* Returns the moment that contains a time. Adds the moments before it that had no event. */
static struct rs_heap_moment *moment_at(struct heap_sink *s, int64_t ts_ns)
{
	struct rs_heap *heap = &s->heap;

	if (!s->n_moments) {
		s->step_ns = 1;
		s->moments[s->n_moments++] = (struct rs_heap_moment){ .end_ns = ts_ns + 1 };
	}
	while (s->moments[s->n_moments - 1].end_ns <= ts_ns) {
		int64_t end_ns = s->moments[s->n_moments - 1].end_ns;

		if (s->n_moments == RS_HEAP_MOMENTS) {
			moments_halve(s);
			continue;
		}
		s->moments[s->n_moments++] =
			(struct rs_heap_moment){ .end_ns = end_ns + s->step_ns,
						 .live_bytes = heap->live.bytes,
						 .most_bytes = heap->live.bytes };
	}
	return &s->moments[s->n_moments - 1];
}

/* The memory events, each with its payload's size before the stack. */
static const struct {
	uint64_t id;
	uint32_t bytes;
	bool has_stack;
} kinds[] = {
	{ RS_ID_MEMORY_ALLOC, sizeof(struct rs_memory_alloc), true },
	{ RS_ID_MEMORY_FREE, sizeof(struct rs_memory_free), true },
	{ RS_ID_MEMORY_REALLOC, sizeof(struct rs_memory_realloc), true },
	{ RS_ID_MEMORY_SAMPLING, sizeof(struct rs_memory_sampling), false },
};

/* Returns whether an event is a memory event. A trace describes its own events, so the layout is
 * checked. */
static bool is_memory(const struct rs_event *event)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (event->id == kinds[i].id)
			return event->fixed_bytes == kinds[i].bytes + 2u * kinds[i].has_stack &&
			       event->n_tails == kinds[i].has_stack &&
			       event->tail_shift == (kinds[i].has_stack ? 3 : 0);
	}
	return false;
}

static struct rs_error *memory_event(struct heap_sink *s, const struct rs_view *view)
{
	struct rs_heap_moment *moment = moment_at(s, time_of(view));
	struct rs_error *err = NULL;
	struct rs_memory_alloc made;
	struct rs_memory_free freed;
	struct place place;

	s->heap.records++;
	moment->allocations += view->event->id != RS_ID_MEMORY_FREE;
	moment->frees += view->event->id != RS_ID_MEMORY_ALLOC;
	switch (view->event->id) {
	case RS_ID_MEMORY_ALLOC:
		memcpy(&made, view->payload, sizeof(made));
		place = place_of(view, made.address);
		err = allocate(s, view, &place, made.size, made.by_fp);
		break;
	case RS_ID_MEMORY_FREE:
		memcpy(&freed, view->payload, sizeof(freed));
		place = place_of(view, freed.address);
		release(s, &place, time_of(view));
		break;
	default:
		err = reallocate(s, view);
	}
	moment->live_bytes = s->heap.live.bytes;
	if (moment->live_bytes > moment->most_bytes)
		moment->most_bytes = moment->live_bytes;
	return err;
}

static struct rs_error *heap_events(struct rs_sink *sink, const struct rs_view *views, size_t n)
{
	struct heap_sink *s = (struct heap_sink *)sink;
	struct rs_error *err = NULL;

	if (n && !s->began)
		s->heap.first_ns = views[0].ts_ns;
	for (size_t i = 0; !err && i < n; i++) {
		const struct rs_event *event = views[i].event;

		if (event->kind == RS_KIND_LOSS)
			s->heap.lost += rs_view_loss(&views[i]).count;
		if (event != s->last) {
			s->last = event;
			s->last_is_memory = is_memory(event);
		}
		if (s->last_is_memory)
			err = event->id == RS_ID_MEMORY_SAMPLING ? sampling(s, &views[i])
								 : memory_event(s, &views[i]);
	}
	if (n) {
		s->began = true;
		s->heap.last_ns = views[n - 1].ts_ns;
	}
	return err;
}

static const struct rs_sink_ops heap_ops = {
	.name = "heap",
	.events = heap_events,
};

/* ---- the sink ------------------------------------------------------------------------------- */

struct rs_error *rs_heap_sink_create(struct rs_sink **sink)
{
	struct heap_sink *s = calloc(1, sizeof(*s));
	struct rs_error *err;

	if (!s)
		return rs_error_no_memory();
	s->sink.ops = &heap_ops;
	err = rs_stacks_init(&s->stacks);
	if (err)
		rs_heap_sink_destroy(&s->sink);
	else
		*sink = &s->sink;
	return err;
}

void rs_heap_sink_destroy(struct rs_sink *sink)
{
	struct heap_sink *s = (struct heap_sink *)sink;

	if (!s)
		return;
	rs_stacks_deinit(&s->stacks);
	rs_map_deinit(&s->blocks);
	rs_arena_deinit(&s->arena);
	free(s->site_of_stack);
	free(s->sampled);
	free(s->sites);
	free(s);
}

void rs_heap_collect(struct rs_sink *sink, struct rs_heap *heap)
{
	struct heap_sink *s = (struct heap_sink *)sink;

	for (uint32_t i = 0; i < s->n_sites; i++)
		site_keep_peak(s, &s->sites[i]);
	*heap = s->heap;
	heap->sites = s->sites;
	heap->n_sites = s->n_sites;
	heap->stacks = &s->stacks;
	heap->moments = s->moments;
	heap->n_moments = s->n_moments;
}
