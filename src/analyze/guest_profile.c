/* SPDX-License-Identifier: BSD-2-Clause */
/* Adds up samples of a guest's vCPUs. */
#include "analyze/guest_profile.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"

#define ALL_VCPUS  UINT32_MAX
#define TITLE_MAX  64
#define NESTED	   "[guest of the guest]"
#define UNPLACED   "[exit, place not known]"
#define CUT	   "[callers not known]"
#define FRAMES_MAX (RS_SAMPLED_FRAMES_MAX + RS_SYMBOL_FRAMES_MAX + 3)

static const struct rs_profile_value values[RS_GUEST_VALUES] = {
	[RS_GUEST_SAMPLES] = { "samples", "count" },
	[RS_GUEST_TIME] = { "time", "nanoseconds" },
};

void rs_guest_profile_init(struct rs_guest_profile *p, uint64_t interval_ns, bool by_vcpu)
{
	*p = (struct rs_guest_profile){ .interval_ns = interval_ns, .by_vcpu = by_vcpu };
	rs_profile_init(&p->profile, values, RS_GUEST_VALUES);
}

void rs_guest_profile_deinit(struct rs_guest_profile *p)
{
	rs_profile_deinit(&p->profile);
	rs_map_deinit(&p->map);
	rs_arena_deinit(&p->arena);
	free(p->rows);
	free(p->vcpus);
}

/* ---- rows ----------------------------------------------------------------------------------- */

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static bool same_row(const void *item, const void *key)
{
	const struct rs_guest_row *a = item, *b = key;

	return a->vcpu == b->vcpu && a->is_user == b->is_user && a->is_nested == b->is_nested &&
	       a->is_unplaced == b->is_unplaced && a->tgid == b->tgid && a->cr3 == b->cr3 &&
	       same_text(a->task, b->task) && same_text(a->function, b->function) &&
	       same_text(a->module, b->module);
}

static uint64_t text_hash(const char *text)
{
	return text ? rs_hash_bytes(text, strlen(text)) : 0;
}

static uint64_t row_hash(const struct rs_guest_row *row)
{
	uint64_t hash = rs_hash_pair(text_hash(row->function), text_hash(row->module));

	hash = rs_hash_pair(hash, text_hash(row->task));
	hash = rs_hash_pair(hash, row->cr3);
	return rs_hash_pair(hash, (uint64_t)row->vcpu << 32 | (uint32_t)row->tgid) ^
	       (uint64_t)row->is_user ^ (uint64_t)row->is_nested << 1;
}

/* Makes a row of a sample. The row points to the sample's strings. */
static struct rs_guest_row row_of(const struct rs_guest_profile *p,
				  const struct rs_guest_sample *sample)
{
	struct rs_guest_row row = { .vcpu = p->by_vcpu ? sample->vcpu : ALL_VCPUS,
				    .is_user = sample->is_user,
				    .is_nested = sample->is_nested,
				    .is_unplaced = sample->is_unplaced,
				    .has_task = sample->has_task,
				    .module = sample->module };

	if (sample->is_nested || sample->is_unplaced)
		row.function = sample->is_nested ? NESTED : UNPLACED;
	else if (sample->n_frames)
		row.function = sample->frames[0].function;
	if (sample->has_task) {
		row.tgid = sample->tgid;
		row.task = sample->comm;
	} else if (!sample->is_nested) {
		row.cr3 = sample->cr3;
	}
	return row;
}

static bool text_keep(struct rs_guest_profile *p, const char **text)
{
	*text = *text ? rs_arena_text(&p->arena, *text, strlen(*text)) : NULL;
	return *text;
}

/* Copies the row's strings, which then belong to the profile. */
static bool row_keep(struct rs_guest_profile *p, struct rs_guest_row *row)
{
	const char **texts[] = { &row->task, &row->function, &row->module };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (*texts[i] && !text_keep(p, texts[i]))
			return false;
	return true;
}

/* Sets *row to the row of a key, or to NULL if there are too many. */
static struct rs_error *row_find(struct rs_guest_profile *p, const struct rs_guest_row *key,
				 struct rs_guest_row **row)
{
	uint64_t hash = row_hash(key);
	struct rs_guest_row *found = rs_map_find(&p->map, hash, same_row, key);

	*row = found;
	if (found || p->n_rows == RS_GUEST_ROWS_MAX)
		return NULL;
	if (rs_map_reserve(&p->map) && RS_VECTOR_RESERVE(p->rows, p->rows_room, p->n_rows + 1))
		found = rs_arena_alloc(&p->arena, sizeof(*found));
	if (!found)
		return rs_error_no_memory();
	*found = *key;
	if (!row_keep(p, found))
		return rs_error_no_memory();
	p->rows[p->n_rows++] = found;
	rs_map_add(&p->map, hash, found);
	*row = found;
	return NULL;
}

/* ---- the profile ---------------------------------------------------------------------------- */

/* Adds the frame with which all paths of a task begin: its name and its process id. */
static struct rs_error *task_frame(struct rs_guest_profile *p, const struct rs_guest_sample *sample,
				   uint32_t *index)
{
	char title[TITLE_MAX];
	const struct rs_profile_frame frame = { .function = title };

	if (sample->has_task)
		snprintf(title, sizeof(title), "%s (%d)", sample->comm, sample->tgid);
	else if (sample->cr3)
		snprintf(title, sizeof(title), "page table 0x%" PRIx64, sample->cr3);
	else
		snprintf(title, sizeof(title), "[page table not known]");
	return rs_profile_frame(&p->profile, &frame, index);
}

/* Adds the frames at a sample's address, outermost first. */
static struct rs_error *address_frames(struct rs_guest_profile *p,
				       const struct rs_guest_sample *sample, uint32_t *frames,
				       uint32_t *n)
{
	struct rs_error *err = NULL;
	char hex[32];

	snprintf(hex, sizeof(hex), "0x%" PRIx64, sample->rip);
	for (uint32_t i = sample->n_frames; !err && i-- > 0;) {
		const struct rs_frame *from = &sample->frames[i];
		const struct rs_profile_frame frame = {
			.function = from->function ? from->function : hex,
			.file = from->file,
			.module = sample->module,
			.line = from->line,
			.inlined = from->inlined,
		};

		err = rs_profile_frame(&p->profile, &frame, &frames[(*n)++]);
	}
	if (!err && !sample->n_frames) {
		const struct rs_profile_frame frame = {
			.function = sample->is_nested	  ? NESTED
				    : sample->is_unplaced ? UNPLACED
							  : hex,
			.module = sample->module,
			.address = sample->is_nested ? 0 : sample->rip,
		};

		err = rs_profile_frame(&p->profile, &frame, &frames[(*n)++]);
	}
	return err;
}

/* Adds the frames of a stack, outermost first. */
static struct rs_error *stack_frames(struct rs_guest_profile *p,
				     const struct rs_sampled_stack *stack, uint32_t *frames,
				     uint32_t *n)
{
	const struct rs_profile_frame cut = { .function = CUT };
	struct rs_error *err = NULL;
	char hex[32];

	if (stack->is_cut)
		err = rs_profile_frame(&p->profile, &cut, &frames[(*n)++]);
	for (uint32_t i = stack->n; !err && i-- > 0;) {
		const struct rs_sampled_frame *from = &stack->frames[i];
		const struct rs_profile_frame frame = {
			.function = from->function ? from->function : hex,
			.file = from->file,
			.module = from->module,
			.line = from->line,
			.inlined = from->inlined,
			.by_fp = from->is_guess,
		};

		snprintf(hex, sizeof(hex), "0x%" PRIx64, from->address);
		err = rs_profile_frame(&p->profile, &frame, &frames[(*n)++]);
		if (!err && i && i == stack->gap)
			err = rs_profile_frame(&p->profile, &cut, &frames[(*n)++]);
	}
	return err;
}

static struct rs_error *path_add(struct rs_guest_profile *p, const struct rs_guest_sample *sample)
{
	const uint64_t amounts[RS_GUEST_VALUES] = { 1, p->interval_ns };
	uint32_t frames[FRAMES_MAX], n = 1;
	struct rs_error *err = task_frame(p, sample, &frames[0]);

	if (!err && sample->stack && sample->stack->n)
		err = stack_frames(p, sample->stack, frames, &n);
	else if (!err)
		err = address_frames(p, sample, frames, &n);
	return err ? err : rs_profile_add(&p->profile, frames, n, amounts);
}

/* ---- all ------------------------------------------------------------------------------------ */

/* Returns the row of a vCPU, or NULL without memory. */
static struct rs_guest_vcpu_row *vcpu_find(struct rs_guest_profile *p, uint32_t vcpu)
{
	for (size_t i = 0; i < p->n_vcpus; i++)
		if (p->vcpus[i].vcpu == vcpu)
			return &p->vcpus[i];
	if (!RS_VECTOR_RESERVE(p->vcpus, p->vcpus_room, p->n_vcpus + 1))
		return NULL;
	p->vcpus[p->n_vcpus] = (struct rs_guest_vcpu_row){ .vcpu = vcpu };
	return &p->vcpus[p->n_vcpus++];
}

struct rs_error *rs_guest_profile_add(struct rs_guest_profile *p,
				      const struct rs_guest_sample *sample)
{
	struct rs_guest_vcpu_row *vcpu = vcpu_find(p, sample->vcpu);
	const struct rs_guest_row key = row_of(p, sample);
	struct rs_guest_row *row = NULL;
	struct rs_error *err = vcpu ? row_find(p, &key, &row) : rs_error_no_memory();

	if (err)
		return err;
	vcpu->samples++;
	if (!row) {
		p->left_out++;
		return NULL;
	}
	row->samples++;
	row->handled += sample->is_handled;
	return path_add(p, sample);
}

struct rs_error *rs_guest_profile_now(struct rs_guest_profile *p, enum rs_guest_now now,
				      const struct rs_guest_sample *sample)
{
	struct rs_guest_vcpu_row *vcpu = vcpu_find(p, sample->vcpu);

	if (!vcpu)
		return rs_error_no_memory();
	vcpu->now = now == RS_NOW_RUNS && !vcpu->samples ? RS_NOW_STOPPED : now;
	vcpu->at = row_of(p, sample);
	return row_keep(p, &vcpu->at) ? NULL : rs_error_no_memory();
}

static int row_order(const void *a, const void *b)
{
	const struct rs_guest_row *x = *(struct rs_guest_row *const *)a;
	const struct rs_guest_row *y = *(struct rs_guest_row *const *)b;

	if (x->vcpu != y->vcpu)
		return x->vcpu > y->vcpu ? 1 : -1;
	if (x->samples != y->samples)
		return x->samples < y->samples ? 1 : -1;
	if (x->tgid != y->tgid)
		return x->tgid > y->tgid ? 1 : -1;
	return strcmp(x->function ? x->function : "", y->function ? y->function : "");
}

static int vcpu_order(const void *a, const void *b)
{
	const struct rs_guest_vcpu_row *x = a, *y = b;

	return (x->vcpu > y->vcpu) - (x->vcpu < y->vcpu);
}

void rs_guest_profile_sort(struct rs_guest_profile *p)
{
	if (p->n_rows)
		qsort(p->rows, p->n_rows, sizeof(*p->rows), row_order);
	if (p->n_vcpus)
		qsort(p->vcpus, p->n_vcpus, sizeof(*p->vcpus), vcpu_order);
}
