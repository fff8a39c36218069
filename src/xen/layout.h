/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Xen's trace records made into events: layouts.def says which record makes which, and where each
 * argument comes from. Decoding writes the payload that the event's fields describe. It knows one
 * record at a time; contexts, and records that only make sense together, are the source's.
 *
 * One thread uses a decoder at a time.
 */
#ifndef RS_XEN_LAYOUT_H
#define RS_XEN_LAYOUT_H

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

/* The events of Xen that a reader itself must know. */
enum {
	RS_XEN_LOST_RECORDS = 0x1f001,
	RS_XEN_WRAP_BUFFER = 0x1f002, /* its words are stale memory */
	RS_XEN_CPU_CHANGE = 0x1f003,  /* heads each window of a file */
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
/* Numbers that layouts.def does not know and that get an event of their own; all others share
 * one. */
#define RS_XEN_RAW_MAX 1024u

enum rs_xen_isa { RS_XEN_VMX, RS_XEN_SVM };

struct rs_xen_layout;
struct rs_xen_bucket;
struct rs_xen_step;

struct rs_xen_decoder {
	struct rs_schema *schema; /* with the events of both, xdt and xen */
	struct rs_clock clock; /* for cycles; the owner sets it */
	enum rs_xen_isa isa;   /* whose exit codes they are */
	const struct rs_event *lost, *raw_other;
	struct rs_xen_bucket *buckets; /* of layouts, by event and number of words */
	struct rs_xen_step *steps;     /* of layouts' sources */
	uint64_t unknown;	       /* records that no layout fits */
	uint32_t n_raw;
};

struct rs_error *rs_xen_decoder_init(struct rs_xen_decoder *decoder);
void rs_xen_decoder_deinit(struct rs_xen_decoder *decoder); /* also one of zero bytes */

/*
 * Decodes a record; tsc is the stamp that it has or was given. payload has room for
 * RS_XEN_PAYLOAD_MAX. Never fails: what no layout fits is an event `xen:raw::`, with its words.
 */
const struct rs_event *rs_xen_decode(struct rs_xen_decoder *decoder,
				     const struct rs_xen_record *record, uint64_t tsc,
				     uint8_t *payload);

/* Whether layouts.def has it. Slow. */
bool rs_xen_is_known(uint32_t event, uint32_t words);

/* An event of the catalogue by its symbol. */
const struct rs_event *rs_xen_event(const struct rs_xen_decoder *decoder,
				    enum rs_xen_symbol symbol);

#endif
