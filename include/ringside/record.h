/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A record: 1 to RS_RECORD_SLOTS_MAX adjacent 32-byte slots of a ring or of a trace file. The first
 * 16 bytes are ACRN's trace_entry header (hypervisor/debug/trace.c); the payload follows and
 * continues in the next slots.
 *
 *	byte  0        8                    14       15    16 ...
 *	     | tsc    | id, 48 bits        | n_data | cpu | payload, zero-padded to the slot's end |
 *
 * n_data is 0x80 | slots for Ringside's records; ACRN's own are one slot with n_data 2, 4, 8 or 16.
 */
#ifndef RINGSIDE_RECORD_H
#define RINGSIDE_RECORD_H

#include <ringside/language.h>
#include <ringside/sbuf.h>

RS_C_BEGIN

#define RS_SLOT_BYTES	      32u
#define RS_RECORD_HEAD	      16u /* bytes before the payload */
#define RS_RECORD_SLOTS_MAX   64u
#define RS_RECORD_PAYLOAD_MAX (RS_RECORD_SLOTS_MAX * RS_SLOT_BYTES - RS_RECORD_HEAD)

#define RS_N_DATA_OURS	0x80u
#define RS_N_DATA_SHIFT 48
#define RS_CPU_SHIFT	56
#define RS_ID_MASK	((UINT64_C(1) << RS_N_DATA_SHIFT) - 1)
#define RS_CPU_UNKNOWN	0xffu /* in a slot's 8 bits */

struct rs_slot {
	uint64_t tsc;
	uint64_t head; /* id | n_data << 48 | cpu << 56 */
	uint8_t payload[16];
};
RS_STATIC_ASSERT(sizeof(struct rs_slot) == RS_SLOT_BYTES, "ACRN's trace_entry");

/*
 * Ids: the bits from 20 on identify the provider (0: ACRN's own numbers, unchanged); the lower bits
 * count within it. All ids are below 2^32, though a slot has 48 bits, because babeltrace2 2.0.4
 * distinguishes event classes by 32 bits. Bit 31 is reserved for Xen's 28-bit event numbers. The
 * catalogue (event/common.def) defines each id; those below are the ones that the ring itself
 * needs.
 */
#define RS_ID(provider, n) ((uint64_t)(provider) << 20 | (n))
#define RS_ID_PROVIDER(id) ((uint32_t)((id) >> 20))
#define RS_ID_N_MAX	   0xfffffu
enum {
	RS_IDS_ACRN = 0,
	RS_IDS_COMMON = 1, /* loss, clock, spans: in every stream */
	RS_IDS_USER = 2,   /* defined by a program or guest: RS_ID */
	RS_IDS_VMM = 3,
	RS_IDS_KVM = 4,
	RS_IDS_XDT = 5,
	RS_IDS_XEN = 6,
	RS_IDS_APP = 7, /* memory, stacks, functions: of any program or guest */
};
/* A Xen record that is not in the catalogue; the low 28 bits are the event number. */
#define RS_ID_XEN_RAW(event) (UINT64_C(1) << 31 | (event))
#define RS_ID_FILLER	     RS_ID(RS_IDS_COMMON, 0) /* skip: never leaves the ring */
#define RS_ID_LOST	     RS_ID(RS_IDS_COMMON, 1)
#define RS_ID_CLOCK_BACK     RS_ID(RS_IDS_COMMON, 2)

/* Why records were lost; the enumeration `why` of records-lost in common.def. */
enum rs_lost_why {
	RS_LOST_FULL = 0,    /* the ring was full */
	RS_LOST_DAMAGED = 1, /* the record was invalid, and the reader rejected it */
	RS_LOST_STORAGE = 2, /* the disk was full or failed */
};

/* The payload of RS_ID_LOST. */
struct rs_lost {
	uint64_t count;
	uint64_t from; /* stamp of the first one lost */
	uint64_t to;   /* stamp of this record */
	uint32_t why;
	uint32_t reserved;
};
#define RS_LOST_SLOTS 2u
/* Bytes after its last field: common.def has no line for the reserved word. */
#define RS_LOST_PADDING                                                                            \
	(RS_LOST_SLOTS * RS_SLOT_BYTES - RS_RECORD_HEAD -                                          \
	 (uint32_t)offsetof(struct rs_lost, reserved))
RS_STATIC_ASSERT(RS_RECORD_HEAD + sizeof(struct rs_lost) <= RS_LOST_SLOTS * RS_SLOT_BYTES, "fits");

/* Payload of span begin and end. A reader uses depth to find its place after a loss. */
struct rs_span {
	uint32_t name;
	uint32_t depth; /* spans open around this one, in this ring */
	uint64_t arg;
} __attribute__((packed));

/* Returns the depth for a reader. If a program jumped into a span, which then ended without a
 * begin, its count is below 0; such spans are at depth 0. */
static inline uint32_t rs_span_depth(const struct rs_span *span)
{
	return span->depth > INT32_MAX ? 0 : span->depth;
}

#define RS_ID_SPAN_BEGIN RS_ID(RS_IDS_COMMON, 3)
#define RS_ID_SPAN_END	 RS_ID(RS_IDS_COMMON, 4)

/* A line of the log (log_ring.h), before its text. */
struct rs_log_message {
	uint64_t seq;
	uint32_t level;
} __attribute__((packed));

#define RS_ID_LOG RS_ID(RS_IDS_COMMON, 5)

/* The payloads of app.def, before their stacks: u16 number of addresses, then u64 each. */
struct rs_memory_alloc {
	uint64_t address, size; /* size in bytes */
	uint32_t align;		/* bytes */
	uint64_t by_fp;
} __attribute__((packed));
struct rs_memory_free {
	uint64_t address, by_fp;
} __attribute__((packed));
struct rs_memory_realloc {
	uint64_t from, address, size, by_fp;
} __attribute__((packed));
struct rs_memory_sampling {
	uint64_t interval; /* bytes */
} __attribute__((packed));
struct rs_stack_sample {
	uint32_t name;
	uint64_t by_fp;
} __attribute__((packed));
struct rs_func {
	uint64_t function; /* its address */
	uint32_t depth;
} __attribute__((packed));

#define RS_ID_MEMORY_ALLOC    RS_ID(RS_IDS_APP, 1)
#define RS_ID_MEMORY_FREE     RS_ID(RS_IDS_APP, 2)
#define RS_ID_MEMORY_REALLOC  RS_ID(RS_IDS_APP, 3)
#define RS_ID_MEMORY_SAMPLING RS_ID(RS_IDS_APP, 4)
#define RS_ID_STACK_SAMPLE    RS_ID(RS_IDS_APP, 5)
#define RS_ID_FUNC_ENTER      RS_ID(RS_IDS_APP, 6)
#define RS_ID_FUNC_LEAVE      RS_ID(RS_IDS_APP, 7)

#define RS_STACK_DEPTH_MAX 64u /* addresses in a stack */

/*
 * A Xen record in its original form. It precedes the payload that was made from it, in memory and
 * in the records of a Xen schema (rs_schema_set_xen()), where its last fields are the context.
 */
struct rs_xen_record {
	uint32_t event;	 /* 28 bits */
	uint8_t n;	 /* words */
	uint8_t stamped; /* it had a TSC; else tsc is the previous one of its physical CPU */
	/* Of a stored record: its physical CPU, and the domain and vCPU that ran on it; all ones if
	 * unknown. */
	uint16_t cpu;
	/* The words. For WRAP_BUFFER they are stale memory. The n words of a file's CPU_CHANGE are
	 * followed by its offset in the file and by the correction of its CPU's stamps, 64 bits
	 * each. */
	uint32_t words[7];
	uint16_t dom, vcpu;
};
#define RS_XEN_WORDS_MAX 7
RS_STATIC_ASSERT(sizeof(struct rs_xen_record) == 40, "on disk");

/* The number of slots that a payload takes. */
#define RS_RECORD_SLOTS(payload_bytes)                                                             \
	((uint32_t)((RS_RECORD_HEAD + (payload_bytes) + RS_SLOT_BYTES - 1) / RS_SLOT_BYTES))

static inline uint64_t rs_record_head(uint64_t id, uint32_t slots)
{
	return id | (uint64_t)(RS_N_DATA_OURS | slots) << RS_N_DATA_SHIFT;
}

static inline uint64_t rs_slot_id(uint64_t head)
{
	return head & RS_ID_MASK;
}

/* Returns how many slots a record with this header word takes, or 0 if no record has such a
 * header. */
static inline uint32_t rs_slot_count(uint64_t head)
{
	uint32_t n_data = (uint8_t)(head >> RS_N_DATA_SHIFT);

	if (n_data & RS_N_DATA_OURS) {
		n_data &= ~RS_N_DATA_OURS;
		return n_data <= RS_RECORD_SLOTS_MAX ? n_data : 0;
	}
	return n_data == 2 || n_data == 4 || n_data == 8 || n_data == 16;
}

/* Puts one record; bytes is a constant at every call. Returns false if the ring is full; the ring
 * counts the loss. */
static inline __attribute__((always_inline)) bool
rs_record_put(struct rs_sbuf_producer *p, uint64_t id, const void *payload, uint32_t bytes)
{
	uint32_t slots = RS_RECORD_SLOTS(bytes);
	struct rs_sbuf_room room = rs_sbuf_reserve_nested(p, slots * RS_SLOT_BYTES);
	struct rs_slot *slot = (struct rs_slot *)(void *)room.at;

	if (__builtin_expect(!slot, 0))
		return false;
	slot->tsc = room.tsc;
	slot->head = rs_record_head(id, slots) | p->cpu_bits;
	/* Not slot->payload, because the payload continues in the next slots. */
	rs_sbuf_copy(room.at + RS_RECORD_HEAD, payload, bytes);
	__builtin_memset(room.at + RS_RECORD_HEAD + bytes, 0,
			 slots * RS_SLOT_BYTES - RS_RECORD_HEAD - bytes);
	rs_sbuf_commit_nested(p, room);
	return true;
}

/* Writes a complete loss record to two adjacent slots. */
void rs_record_write_lost(void *at, uint64_t cpu_bits, const struct rs_lost *lost, uint64_t tsc);

/*
 * Puts a record whose last field is a text, which is cut if it is too long. Safe against handlers
 * that do the same. Not inlined; its cost is that of the copy.
 */
bool rs_emit_text(struct rs_sbuf_producer *p, uint64_t id, const void *payload, uint32_t bytes,
		  const char *text, size_t len);

RS_C_END

#endif
