/* SPDX-License-Identifier: BSD-2-Clause */
/* Decodes Xen's trace records by the table in layouts.def. */
#include "xen/layout.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ringside/record.h>

_Static_assert(RS_IDS_XDT == 5 && RS_IDS_XEN == 6, "enum rs_xen_symbol has these");

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- the table ------------------------------------------------------------------------------ */

enum from { FROM_WORD, FROM_SIGNED, FROM_PAIR, FROM_CONST, FROM_CYCLES, FROM_STAMP };

/* How a layout's event is selected, if it is not always the same. */
enum how { BY_LAYOUT, BY_IDLE, BY_SHUTDOWN, BY_ISA, BY_HYPERCALL };

struct source {
	uint8_t from;
	uint8_t word; /* from 0 */
	uint8_t shift, bits;
	int32_t value; /* FROM_CONST */
};

struct rs_xen_layout {
	uint32_t event;
	uint8_t words, how, n;
	uint32_t symbol;
	struct source sources[RS_XEN_FIELDS_MAX];
};

#define SOURCE(...)                                                                                \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}
#define W(i)		SOURCE(FROM_WORD, (i)-1, 0, 32, 0)
#define S(i)		SOURCE(FROM_SIGNED, (i)-1, 0, 32, 0)
#define Q(i)		SOURCE(FROM_PAIR, (i)-1, 0, 64, 0)
#define B(i, at, width) SOURCE(FROM_WORD, (i)-1, at, width, 0)
#define LO(i)		SOURCE(FROM_WORD, (i)-1, 0, 16, 0)
#define HI(i)		SOURCE(FROM_WORD, (i)-1, 16, 16, 0)
#define SLO(i)		SOURCE(FROM_SIGNED, (i)-1, 0, 16, 0)
#define SHI(i)		SOURCE(FROM_SIGNED, (i)-1, 16, 16, 0)
#define NS(i)		SOURCE(FROM_CYCLES, (i)-1, 0, 64, 0)
#define K(constant)	SOURCE(FROM_CONST, 0, 0, 32, (constant))
#define NOW		SOURCE(FROM_STAMP, 0, 0, 64, 0)

#define N_SOURCES(...) (sizeof((struct source[]){ __VA_ARGS__ }) / sizeof(struct source))
#define RS_XEN_BY(by, number, n_words, name, ...)                                                  \
	{ .event = (number),                                                                       \
	  .words = (n_words),                                                                      \
	  .how = BY_##by,                                                                          \
	  .n = N_SOURCES(__VA_ARGS__),                                                             \
	  .symbol = RS_XEN_##name,                                                                 \
	  .sources = { __VA_ARGS__ } },
#define RS_XEN(...) RS_XEN_BY(LAYOUT, __VA_ARGS__)

static const struct rs_xen_layout layouts[] = {
#include "xen/layouts.def"
};

#undef W
#undef S
#undef Q
#undef B
#undef K

/* ---- finding one ---------------------------------------------------------------------------- */

_Static_assert(COUNT(layouts) * 4 < RS_XEN_BUCKETS, "collisions are few");
_Static_assert(RS_XEN_BUCKETS == 1u << (32 - 21), "the hash's shift");

/* A source in general form: bits of 8 bytes of the words, or a constant. */
struct rs_xen_step {
	uint8_t from, shift, to; /* bytes, bits, bytes */
	int32_t constant;
	uint64_t mask; /* 0: the constant */
};

static struct rs_xen_bucket *bucket_of(struct rs_xen_bucket *buckets, uint32_t key)
{
	uint32_t at = RS_XEN_BUCKET(key);

	while (buckets[at].key && buckets[at].key != key)
		at = (at + 1) & (RS_XEN_BUCKETS - 1);
	return &buckets[at];
}

const struct rs_event *rs_xen_event(const struct rs_xen_decoder *d, enum rs_xen_symbol symbol)
{
	return rs_schema_find(d->schema, symbol);
}

static const struct rs_event *other_of(const struct rs_xen_decoder *d, uint32_t symbol)
{
	switch (symbol) {
	case RS_XEN_xdt_off_cpu:
		return rs_xen_event(d, RS_XEN_xdt_idle_off_cpu);
	case RS_XEN_xdt_on_cpu:
		return rs_xen_event(d, RS_XEN_xdt_idle_on_cpu);
	case RS_XEN_xdt_vmexit_vmx:
		return rs_xen_event(d, RS_XEN_xdt_vmexit_svm);
	case RS_XEN_xdt_hypercall:
		return rs_xen_event(d, RS_XEN_xdt_hypercall_nr);
	case RS_XEN_xen_pv_subcall:
		return rs_xen_event(d, RS_XEN_xen_pv_subcall_nr);
	case RS_XEN_xen_hvm_nested_vmexit_vmx:
		return rs_xen_event(d, RS_XEN_xen_hvm_nested_vmexit_svm);
	default:
		return NULL;
	}
}

/* The number of a record's words that each kind of source reads. */
static const uint8_t words_of[] = {
	[FROM_WORD] = 1,  [FROM_SIGNED] = 1, [FROM_PAIR] = 2,
	[FROM_CONST] = 0, [FROM_CYCLES] = 2, [FROM_STAMP] = 0,
};

/* A missing source is an error of the table, not of the input. */
static bool fits(const struct rs_xen_layout *layout, const struct rs_event *event)
{
	/* A field is written with 8 bytes. The next field overwrites the excess bytes. */
	if (!event || event->fixed_bytes + 4u > RS_XEN_PAYLOAD_MAX)
		return false;
	if (layout->how != BY_HYPERCALL && layout->n != event->n_fields)
		return false;
	for (uint32_t i = 0; i < layout->n; i++) {
		const struct source *source = &layout->sources[i];

		if (source->word + words_of[source->from] > layout->words)
			return false;
	}
	return true;
}

/* Returns whether the fields are the words, one after the other. */
static bool is_plain(const struct rs_xen_layout *layout, const struct rs_event *event)
{
	uint32_t word = 0;

	for (uint32_t i = 0; i < layout->n; i++) {
		const struct source *source = &layout->sources[i];
		bool is_pair = source->from == FROM_PAIR;

		if ((!is_pair && source->from != FROM_WORD && source->from != FROM_SIGNED) ||
		    (!is_pair && source->bits != 32) || source->word != word ||
		    rs_type_bytes(event->fields[i].type) != (is_pair ? 8 : 4))
			return false;
		word += is_pair ? 2 : 1;
	}
	return true;
}

/* Compiles a layout to steps. Returns false if a source cannot be a step. */
static bool steps_make(const struct rs_xen_layout *layout, const struct rs_event *event,
		       struct rs_xen_step *steps)
{
	for (uint32_t i = 0; i < layout->n; i++) {
		const struct source *source = &layout->sources[i];
		const struct rs_field *field = &event->fields[i];
		struct rs_xen_step *step = &steps[i];

		*step = (struct rs_xen_step){ .from = (uint8_t)(4 * source->word),
					      .shift = source->shift,
					      .to = (uint8_t)field->offset };
		if (source->from == FROM_CONST)
			step->constant = source->value;
		else if (source->from == FROM_PAIR)
			step->mask = UINT64_MAX;
		else if (source->from == FROM_WORD ||
			 (source->from == FROM_SIGNED && /* the field has no room for the sign */
			  rs_type_bytes(field->type) * 8 <= source->bits))
			step->mask = (UINT64_C(1) << source->bits) - 1;
		else
			return false;
	}
	return true;
}

static struct rs_error *index_layouts(struct rs_xen_decoder *d)
{
	for (size_t i = 0; i < COUNT(layouts); i++) {
		const struct rs_xen_layout *layout = &layouts[i];
		uint32_t key = RS_XEN_KEY(layout->event, layout->words);
		struct rs_xen_bucket *bucket = bucket_of(d->buckets, key);
		const struct rs_event *event = rs_xen_event(d, layout->symbol);
		bool is_packed = layout->how == BY_HYPERCALL;

		if (bucket->key || !fits(layout, event))
			return rs_error_create(RS_FAILED, "layouts.def: event 0x%x of %u words",
					       layout->event, layout->words);
		*bucket = (struct rs_xen_bucket){ .key = key,
						  .how = layout->how,
						  .n = layout->n,
						  .plain = layout->how == BY_LAYOUT &&
							   is_plain(layout, event),
						  .event = event,
						  .other = other_of(d, layout->symbol),
						  .layout = layout };
		if (!is_packed && steps_make(layout, event, &d->steps[i * RS_XEN_FIELDS_MAX]))
			bucket->steps = &d->steps[i * RS_XEN_FIELDS_MAX];
		for (uint32_t j = 0; j < layout->n; j++)
			bucket->offsets[j] = event->fields[j].offset;
	}
	return NULL;
}

bool rs_xen_is_known(uint32_t event, uint32_t words)
{
	for (size_t i = 0; i < COUNT(layouts); i++) {
		if (layouts[i].event == event && layouts[i].words == words)
			return true;
	}
	return false;
}

/* ---- records without a layout --------------------------------------------------------------- */

static const char raw_text[] = "raw::%s(x32 event, u32 words, x32 w1, x32 w2, x32 w3, x32 w4, "
			       "x32 w5, x32 w6, x32 w7)";

static struct rs_error *declare_raw(struct rs_xen_decoder *d, uint32_t id, const char *name)
{
	char text[sizeof(raw_text) + 32];
	int len = snprintf(text, sizeof(text), raw_text, name);

	return rs_schema_declare(d->schema, id, text, (size_t)len);
}

/* Returns the event of an unknown number, which few traces have. */
static const struct rs_event *raw_event(struct rs_xen_decoder *d, uint32_t number)
{
	uint32_t id = (uint32_t)RS_ID_XEN_RAW(number);
	const struct rs_event *event = rs_schema_find(d->schema, id);
	char name[16];

	if (event)
		return event;
	if (!number || d->n_raw >= RS_XEN_RAW_MAX)
		return d->raw_other;
	snprintf(name, sizeof(name), "0x%05x", number);
	d->n_raw++;
	rs_error_free(declare_raw(d, id, name)); /* without memory, the shared event is used */
	event = rs_schema_find(d->schema, id);
	return event ? event : d->raw_other;
}

static __attribute__((noinline)) const struct rs_event *
decode_raw(struct rs_xen_decoder *d, const struct rs_xen_record *record, uint8_t *payload)
{
	const uint32_t head[] = { record->event, record->n };

	d->unknown++;
	memcpy(payload, head, sizeof(head));
	memset(payload + sizeof(head), 0, sizeof(record->words));
	memcpy(payload + sizeof(head), record->words, record->n * sizeof(uint32_t));
	return raw_event(d, record->event);
}

/* ---- decoding ------------------------------------------------------------------------------- */

static uint64_t value_of(const struct rs_xen_decoder *d, const struct source *source,
			 const uint32_t *words, uint64_t tsc)
{
	const uint32_t *word = words + source->word;
	uint32_t above = 32u - source->shift - source->bits;

	switch ((enum from)source->from) {
	case FROM_WORD:
		return word[0] << above >> (32u - source->bits);
	case FROM_SIGNED:
		return (uint64_t)(int64_t)((int32_t)(word[0] << above) >> (32u - source->bits));
	case FROM_PAIR:
		return word[0] | (uint64_t)word[1] << 32;
	case FROM_CONST:
		return (uint64_t)(int64_t)source->value;
	case FROM_CYCLES: /* of the low halves of two stamps */
		return (uint64_t)((unsigned __int128)(uint32_t)(word[1] - word[0]) *
					  d->clock.ns_mult >>
				  RS_CLOCK_SHIFT);
	case FROM_STAMP:
		return tsc;
	}
	return 0;
}

#define HYPERCALL_ARGS 6

/*
 * TRC_PV_HYPERCALL_V2: the number in bits 0-19, and from bit 20 on, two bits for each of six
 * arguments: 0 absent, 1 a word, 2 two words. The present arguments follow.
 */
static __attribute__((noinline)) const struct rs_event *
decode_hypercall(const struct rs_xen_bucket *bucket, const struct rs_xen_record *record,
		 uint8_t *payload)
{
	const uint8_t *words = (const uint8_t *)record + offsetof(struct rs_xen_record, words);
	uint32_t presence = record->words[0] >> 20, at = 1, which = 0;
	const uint32_t number = record->words[0] & 0xfffff;

	memcpy(payload, &number, sizeof(number));
	if (!presence) /* another event, with only the number */
		return bucket->other;
	memset(payload + 8, 0, HYPERCALL_ARGS * sizeof(uint64_t));
	for (uint32_t i = 0; presence; i++, presence >>= 2) {
		uint32_t n = presence & 3;
		uint64_t arg;

		if (n - 1 > 1 || at + n > record->n)
			continue;
		memcpy(&arg, words + 4 * at, sizeof(arg));
		arg &= UINT64_MAX >> (64 - 32 * n);
		memcpy(payload + 8 + i * sizeof(arg), &arg, sizeof(arg));
		which |= 1u << i;
		at += n;
	}
	memcpy(payload + 4, &which, sizeof(which));
	return bucket->event;
}

/* SHUTDOWN_*: xdt has probes for four reasons, without the reason as an argument. */
static const struct rs_event *shutdown_event(const struct rs_xen_decoder *d, uint32_t reason,
					     const struct rs_event *event)
{
	static const enum rs_xen_symbol symbols[] = {
		RS_XEN_xdt_shutdown_poweroff,
		RS_XEN_xdt_shutdown_reboot,
		RS_XEN_xdt_shutdown_suspend,
		RS_XEN_xdt_shutdown_crash,
	};

	return reason < COUNT(symbols) ? rs_xen_event(d, symbols[reason]) : event;
}

static const struct rs_event *event_of(const struct rs_xen_decoder *d,
				       const struct rs_xen_bucket *bucket, const uint32_t *words)
{
	switch ((enum how)bucket->how) {
	case BY_LAYOUT:
	case BY_HYPERCALL:
		break;
	case BY_IDLE:
		return words[0] == RS_XEN_DOM_IDLE ? bucket->other : bucket->event;
	case BY_SHUTDOWN:
		return shutdown_event(d, words[2], bucket->event);
	case BY_ISA:
		return d->isa == RS_XEN_SVM ? bucket->other : bucket->event;
	}
	return bucket->event;
}

_Static_assert(offsetof(struct rs_xen_record, words) + 4 * (RS_XEN_WORDS_MAX - 1) + 8 <=
		       sizeof(struct rs_xen_record),
	       "8 bytes from the last word on are in the record");

static inline void copy_steps(const struct rs_xen_bucket *bucket,
			      const struct rs_xen_record *record, uint8_t *payload)
{
	const uint8_t *words = (const uint8_t *)record + offsetof(struct rs_xen_record, words);
	const struct rs_xen_step *step = bucket->steps, *end = step + bucket->n;

	for (; step < end; step++) {
		uint64_t value;

		memcpy(&value, words + step->from, sizeof(value));
		value = (value >> step->shift & step->mask) | (uint64_t)(int64_t)step->constant;
		memcpy(payload + step->to, &value, sizeof(value));
	}
}

/* Handles sources of all kinds. */
static __attribute__((noinline)) void decode_values(const struct rs_xen_decoder *d,
						    const struct rs_xen_bucket *bucket,
						    const struct rs_xen_record *record,
						    uint64_t tsc, uint8_t *payload)
{
	const struct rs_xen_layout *layout = bucket->layout;

	for (uint32_t i = 0; i < layout->n; i++) {
		uint64_t value = value_of(d, &layout->sources[i], record->words, tsc);

		memcpy(payload + bucket->offsets[i], &value, sizeof(value));
	}
}

const struct rs_xen_bucket *rs_xen_bucket_find(const struct rs_xen_decoder *d, uint32_t key)
{
	return bucket_of(d->buckets, key);
}

const struct rs_event *rs_xen_decode_by(struct rs_xen_decoder *d,
					const struct rs_xen_bucket *bucket,
					const struct rs_xen_record *record, uint64_t tsc,
					uint8_t *payload)
{
	if (!bucket->event)
		return decode_raw(d, record, payload);
	if (bucket->how == BY_HYPERCALL)
		return decode_hypercall(bucket, record, payload);
	if (bucket->steps)
		copy_steps(bucket, record, payload);
	else
		decode_values(d, bucket, record, tsc, payload);
	return bucket->how ? event_of(d, bucket, record->words) : bucket->event;
}

/* ---- creation ------------------------------------------------------------------------------- */

struct rs_error *rs_xen_decoder_init(struct rs_xen_decoder *d)
{
	struct rs_error *err;

	*d = (struct rs_xen_decoder){ .clock = { .name = "tsc" } };
	d->buckets = calloc(RS_XEN_BUCKETS, sizeof(*d->buckets));
	d->steps = calloc(COUNT(layouts) * RS_XEN_FIELDS_MAX, sizeof(*d->steps));
	err = d->buckets && d->steps ? rs_schema_create("xen", &d->schema) : rs_error_no_memory();
	if (!err) {
		rs_schema_set_xen(d->schema);
		err = rs_schema_add_catalogue(d->schema, "xen");
	}
	if (!err)
		err = rs_schema_add_provider(d->schema, "xdt");
	if (!err)
		err = declare_raw(d, (uint32_t)RS_ID_XEN_RAW(0), "other");
	if (!err)
		err = index_layouts(d);
	if (err) {
		rs_xen_decoder_deinit(d);
		return err;
	}
	d->raw_other = rs_schema_find(d->schema, RS_ID_XEN_RAW(0));
	d->lost = rs_xen_event(d, RS_XEN_xdt_records_lost);
	return NULL;
}

void rs_xen_decoder_deinit(struct rs_xen_decoder *d)
{
	rs_schema_destroy(d->schema);
	free(d->buckets);
	free(d->steps);
	*d = (struct rs_xen_decoder){ 0 };
}
