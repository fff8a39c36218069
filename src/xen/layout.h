/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Converts Xen's trace records to events: layouts.def maps each record to an event, and the words
 * to its arguments. Decoding writes the payload that the event's fields describe. It handles one
 * record at a time. The source handles contexts, and records that belong together.
 *
 * One thread uses a decoder at a time.
 */
#ifndef RS_XEN_LAYOUT_H
#define RS_XEN_LAYOUT_H

#include <string.h>

#include <ringside/clock.h>
#include <ringside/schema.h>
#include <ringside/source.h>

/* Events by their symbols in xdt.def and xen.def. */
enum rs_xen_symbol {
#define RS_EVENT(symbol, n, kind, mask_class, class_name, name, help, fields)                      \
	RS_XEN_##symbol = (5 << 20 | (n)),
#include <ringside/event/xdt.def>
#undef RS_EVENT
#define RS_EVENT(symbol, n, kind, mask_class, class_name, name, help, fields)                      \
	RS_XEN_##symbol = (6 << 20 | (n)),
#include <ringside/event/xen.def>
#undef RS_EVENT
};

/* The events of Xen that a reader interprets. */
enum {
	RS_XEN_LOST_RECORDS = 0x1f001,
	RS_XEN_WRAP_BUFFER = 0x1f002, /* its words are stale memory */
	RS_XEN_CPU_CHANGE = 0x1f003,  /* begins each window of a file */
	RS_XEN_RUNSTATES = 0x21001,   /* | old << 8 | new << 4 */
	RS_XEN_CONTINUE_RUNNING = 0x21002,
	RS_XEN_SWITCH = 0x2800a,
	RS_XEN_SWITCH_PREV = 0x2800e,
	RS_XEN_SWITCH_NEXT = 0x2800f,
	RS_XEN_SWITCH_CONTINUE = 0x28011,
	RS_XEN_VMEXIT = 0x81002, /* | RS_XEN_64 | RS_XEN_NESTED */
	RS_XEN_VMEXIT_SVM = 0x81003,
};
#define RS_XEN_64     0x100u
#define RS_XEN_NESTED 0x400u

/* The scheduler's events had other numbers before Xen 3.3. */
static inline uint32_t rs_xen_number(uint32_t event)
{
	return event >> 12 == 0x2f ? 0x28000 | (event & 0xfff) : event;
}

#define RS_XEN_DOM_IDLE	   0x7fffu
#define RS_XEN_PAYLOAD_MAX 64u
/* The most numbers without a layout that get a separate event; all others share one event. */
#define RS_XEN_RAW_MAX 1024u

enum rs_xen_isa { RS_XEN_VMX, RS_XEN_SVM };

struct rs_xen_layout;
struct rs_xen_step;

#define RS_XEN_FIELDS_MAX 10

/* A layout, in a hash table by its event and number of words. */
struct rs_xen_bucket {
	uint32_t key; /* RS_XEN_KEY(); 0: a free entry */
	uint8_t how, n;
	bool plain; /* the payload is the unchanged words, and the event is always this one */
	const struct rs_event *event;
	const struct rs_event *other;	 /* idle, SVM, or without arguments */
	const struct rs_xen_step *steps; /* of each field; NULL: some sources have none */
	const struct rs_xen_layout *layout;
	uint16_t offsets[RS_XEN_FIELDS_MAX]; /* bytes of the fields */
};
#define RS_XEN_BUCKETS		 2048u /* a power of two, several times the number of layouts */
#define RS_XEN_KEY(event, words) (1u << 31 | (event) << 3 | (words))
/* The factor was found by trial: eleven keys collide. */
#define RS_XEN_BUCKET(key) ((key)*0x382f21e5u >> 21)

struct rs_xen_decoder {
	struct rs_schema *schema; /* with the events of both xdt and xen */
	struct rs_clock clock;	  /* converts cycles; the owner sets it */
	enum rs_xen_isa isa;	  /* the vendor of the exit codes */
	const struct rs_event *lost, *raw_other;
	struct rs_xen_bucket *buckets; /* of layouts, by event and number of words */
	struct rs_xen_step *steps;     /* of layouts' sources */
	uint64_t unknown;	       /* records without a layout */
	uint32_t n_raw;
};

struct rs_error *rs_xen_decoder_init(struct rs_xen_decoder *decoder);
void rs_xen_decoder_deinit(struct rs_xen_decoder *decoder); /* a zeroed decoder is valid */

/* The result of rs_xen_decode(). */
const struct rs_xen_bucket *rs_xen_bucket_find(const struct rs_xen_decoder *decoder, uint32_t key);
const struct rs_event *rs_xen_decode_by(struct rs_xen_decoder *decoder,
					const struct rs_xen_bucket *bucket,
					const struct rs_xen_record *record, uint64_t tsc,
					uint8_t *payload);

/*
 * Decodes a record. tsc is its own or its assigned stamp. payload has room for RS_XEN_PAYLOAD_MAX.
 * Never fails: a record without a layout becomes an event `xen:raw::` with its words.
 */
static inline const struct rs_event *rs_xen_decode(struct rs_xen_decoder *decoder,
						   const struct rs_xen_record *record, uint64_t tsc,
						   uint8_t *payload)
{
	const uint32_t key = RS_XEN_KEY(record->event, record->n);
	const struct rs_xen_bucket *bucket = &decoder->buckets[RS_XEN_BUCKET(key)];

	if (bucket->key != key)
		bucket = rs_xen_bucket_find(decoder, key);
	if (!bucket->plain)
		return rs_xen_decode_by(decoder, bucket, record, tsc, payload);
	/* Reads in the units of the stores, because a load across two stores would wait for
	 * them. */
	memcpy(payload, (const uint8_t *)record + offsetof(struct rs_xen_record, words),
	       sizeof(*record) - offsetof(struct rs_xen_record, words));
	return bucket->event;
}

/* Returns whether layouts.def has the record. Slow. */
bool rs_xen_is_known(uint32_t event, uint32_t words);

/* Returns an event of the catalogue by its symbol. */
const struct rs_event *rs_xen_event(const struct rs_xen_decoder *decoder,
				    enum rs_xen_symbol symbol);

#endif
