/* SPDX-License-Identifier: BSD-2-Clause */
/* Counts Xen's records by physical CPU and class. */
#include "import/xen/volume.h"

#include <stdlib.h>
#include <string.h>

#include "base/vector.h"

#define CLASS_BITS                                                                                 \
	12 /* bits 16 to 27 of an event; rs_xen_block_check() ensures that one of them is set */
#define SUBCLASSES 16
#define CLASSES	   (CLASS_BITS * SUBCLASSES)
#define OWN	   3 /* enum rs_xen_volume */

struct volume {
	uint64_t records, bytes;
};

struct pcpu {
	struct volume of[CLASSES + OWN];
};

struct rs_xen_volumes {
	struct pcpu *pcpus[RS_XEN_CPUS_MAX];
	uint32_t pcpus_end; /* one more than the highest number of a CPU that has records */
	uint64_t lost, losses;
	uint64_t first_tsc, last_tsc;
	bool any;
	struct rs_xen_volume_row *rows; /* made by the last rs_xen_volumes_counts() */
	uint32_t n_rows, rows_room;
};

struct rs_error *rs_xen_volumes_create(struct rs_xen_volumes **out)
{
	struct rs_xen_volumes *v = calloc(1, sizeof(*v));

	if (!v)
		return rs_error_no_memory();
	*out = v;
	return NULL;
}

void rs_xen_volumes_destroy(struct rs_xen_volumes *v)
{
	for (uint32_t i = 0; v && i < v->pcpus_end; i++)
		free(v->pcpus[i]);
	if (v)
		free(v->rows);
	free(v);
}

/* ---- counting ------------------------------------------------------------------------------- */

static uint32_t word_at(const uint8_t *at)
{
	uint32_t word;

	memcpy(&word, at, sizeof(word));
	return word;
}

/* Returns the place where a record of class GEN is counted. Records about the trace buffers have
 * separate places. */
static uint32_t place_of_gen(struct rs_xen_volumes *v, const uint8_t *at, uint32_t event)
{
	uint32_t head = word_at(at);

	switch (event) {
	case RS_XEN_CPU_CHANGE:
		return CLASSES + (RS_XEN_VOLUME_WINDOW & 3);
	case RS_XEN_WRAP_BUFFER:
		return CLASSES + (RS_XEN_VOLUME_WRAP & 3);
	case RS_XEN_LOST_RECORDS:
		if (RS_XEN_HEAD_WORDS(head) == 4) {
			v->losses++;
			v->lost += word_at(at + 4 + 8 * RS_XEN_HEAD_STAMPED(head));
		}
		return CLASSES + (RS_XEN_VOLUME_LOSS & 3);
	default:
		return event >> 12 & (SUBCLASSES - 1);
	}
}

static void count(struct rs_xen_volumes *v, struct pcpu *p, const uint8_t *at, const uint8_t *end)
{
	while (at < end) {
		uint32_t head = word_at(at), event = RS_XEN_HEAD_EVENT(head);
		uint32_t bit = (uint32_t)__builtin_ctz(event >> 16 | 1u << CLASS_BITS);
		uint32_t place = bit % CLASS_BITS * SUBCLASSES + (event >> 12 & (SUBCLASSES - 1));
		uint32_t bytes = RS_XEN_HEAD_BYTES(head);

		if (__builtin_expect(!bit, 0))
			place = place_of_gen(v, at, event);
		p->of[place].records++;
		p->of[place].bytes += bytes;
		at += bytes;
	}
}

static void span(struct rs_xen_volumes *v, const struct rs_xen_pcpu *pcpu)
{
	uint64_t first = pcpu->next_tsc, last = pcpu->read_tsc + (uint64_t)pcpu->skew;

	if (!v->any || first < v->first_tsc)
		v->first_tsc = first;
	if (!v->any || last > v->last_tsc)
		v->last_tsc = last;
	v->any = true;
}

struct rs_error *rs_xen_volumes_count(struct rs_xen_volumes *v, struct rs_xen_records *r)
{
	for (uint32_t i = 0; i < r->n_pcpus; i++) {
		struct rs_xen_pcpu *pcpu = r->pcpus[i];
		struct pcpu *p = v->pcpus[pcpu->cpu];

		if (!pcpu->in_heap)
			continue;
		if (!p)
			p = v->pcpus[pcpu->cpu] = calloc(1, sizeof(*p));
		if (!p)
			return rs_error_no_memory();
		if (pcpu->cpu >= v->pcpus_end)
			v->pcpus_end = pcpu->cpu + 1;
		span(v, pcpu);
		for (struct rs_xen_block *block = pcpu->first, *next; block; block = next) {
			next = block->next;
			count(v, p, block->data, block->data + block->bytes);
			free(block);
		}
		pcpu->first = pcpu->last = NULL;
		pcpu->in_heap = false;
		pcpu->tsc = pcpu->read_tsc + (uint64_t)pcpu->skew;
	}
	r->n_heap = 0;
	r->held = 0;
	return NULL;
}

uint64_t rs_xen_volumes_lost(const struct rs_xen_volumes *v)
{
	return v->lost;
}

/* ---- giving --------------------------------------------------------------------------------- */

/* Returns the key of a place: an event's bits from 12 on, or an enum rs_xen_volume. */
static uint32_t key_of(uint32_t place)
{
	if (place >= CLASSES)
		return RS_XEN_VOLUME_WINDOW + (place - CLASSES);
	return 1u << (place / SUBCLASSES + 4) | place % SUBCLASSES;
}

static struct rs_error *row_add(struct rs_xen_volumes *v, uint32_t pcpu, uint32_t place)
{
	const struct volume *volume = &v->pcpus[pcpu]->of[place];

	if (!volume->records)
		return NULL;
	if (!RS_VECTOR_RESERVE(v->rows, v->rows_room, v->n_rows + 1))
		return rs_error_no_memory();
	v->rows[v->n_rows++] = (struct rs_xen_volume_row){
		.pcpu = pcpu,
		.key = key_of(place),
		.records = volume->records,
		.bytes = volume->bytes,
	};
	return NULL;
}

struct rs_error *rs_xen_volumes_counts(struct rs_xen_volumes *v, const struct rs_clock *clock,
				       struct rs_xen_counts *counts)
{
	struct rs_error *err = NULL;

	v->n_rows = 0;
	for (uint32_t i = 0; i < v->pcpus_end; i++) {
		for (uint32_t place = 0; !err && v->pcpus[i] && place < CLASSES + OWN; place++)
			err = row_add(v, i, place);
	}
	if (err)
		return err;
	*counts = (struct rs_xen_counts){
		.counts.kind = RS_COUNTS_XEN,
		.rows = v->rows,
		.n_rows = v->n_rows,
		.losses = v->losses,
		.lost = v->lost,
		.from_ns = v->any ? rs_clock_ns(clock, v->first_tsc) : 0,
		.to_ns = v->any ? rs_clock_ns(clock, v->last_tsc) : 0,
	};
	return NULL;
}
