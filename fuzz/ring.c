/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A ring in hostile memory: the header and the slots come from the input, and so do changes between
 * any two accesses. The drain's output must keep its promises.
 *
 *	input: flags, size of the ring's memory, the memory; then, at each access, what to change
 */
#include "event/log_port.h"
#include "event/overwrite_port.h"

#include "fuzz.h"

#define MEMORY_MAX (64u << 10)
#define ROUNDS	   64
#define NOW	   (UINT64_C(1) << 62)

static struct rs_schema *schema; /* made once */

struct hostile {
	struct fuzz_input *in;
	uint8_t *memory;
	size_t bytes;
	struct rs_port local;
};

/* The other side changes memory: writes a word somewhere, mostly into the header. */
static void change_memory(struct hostile *h)
{
	uint8_t what = fuzz_u8(h->in);
	uint32_t at, value;

	if (!(what & 1))
		return;
	value = fuzz_u32(h->in);
	at = what & 2 ? (uint32_t)(what >> 2) % 16 * 4
		      : fuzz_u32(h->in) % (uint32_t)(h->bytes / 4) * 4;
	memcpy(h->memory + at, &value, sizeof(value));
}

static bool hostile_poll(void *ctx, uint32_t *tail, uint64_t *refused)
{
	struct hostile *h = ctx;

	change_memory(h);
	return h->local.poll(h->local.ctx, tail, refused);
}

static bool hostile_copy(void *ctx, uint32_t offset, void *to, uint32_t bytes)
{
	struct hostile *h = ctx;
	bool done;

	MUST(offset < h->local.size && bytes && bytes <= h->local.size - offset);
	done = h->local.copy(h->local.ctx, offset, to, bytes);
	change_memory(h);
	return done;
}

static bool hostile_release(void *ctx, uint32_t head)
{
	struct hostile *h = ctx;

	MUST(head < h->local.size && head % RS_SLOT_BYTES == 0);
	change_memory(h);
	return h->local.release(h->local.ctx, head);
}

/* Records must be known to the schema, complete, sorted by stamp, and not filler. */
static void check_output(const uint8_t *at, const struct rs_drained *got, uint64_t *last_tsc)
{
	uint32_t left = got->bytes / RS_SLOT_BYTES, records = 0;
	struct rs_layouts layouts;
	uint64_t lost = 0;

	rs_layouts_init(&layouts, schema);
	MUST(got->bytes % RS_SLOT_BYTES == 0);
	while (left) {
		const struct rs_slot *slot = (const void *)at;
		uint32_t slots = rs_slot_count(slot->head);
		const struct rs_event *event = rs_schema_find(schema, rs_slot_id(slot->head));
		const struct rs_layout *layout;

		MUST(slots && slots <= left && event);
		MUST(rs_layouts_check(&layouts, slot, left, &layout) == slots);
		MUST(slots != left || got->padding == rs_layout_padding(event, slot));
		MUST(rs_slot_id(slot->head) != RS_ID_FILLER);
		MUST(RS_RECORD_HEAD + event->fixed_bytes <= slots * RS_SLOT_BYTES);
		MUST(slot->tsc >= *last_tsc && slot->tsc <= NOW);
		*last_tsc = slot->tsc;
		if (event->kind == RS_KIND_LOSS) {
			struct rs_lost told;

			memcpy(&told, at + RS_RECORD_HEAD, sizeof(told));
			lost += told.count;
		} else if (rs_slot_id(slot->head) != RS_ID_CLOCK_BACK) {
			records++;
		}
		at += slots * RS_SLOT_BYTES;
		left -= slots;
	}
	MUST(lost == got->lost && records <= got->records);
}

static void drain_all(struct hostile *h)
{
	static uint8_t to[RS_DRAIN_ROOM_MIN * 3] __attribute__((aligned(8)));
	struct rs_port port = {
		h, hostile_poll, hostile_copy, hostile_release, h->local.size, h->local.head
	};
	enum rs_drain_status status = RS_DRAIN_OK;
	struct rs_drained got;
	struct rs_drain drain;
	uint64_t last_tsc = 0;

	rs_drain_init(&drain, &port, schema);
	for (int i = 0; i < ROUNDS && status == RS_DRAIN_OK; i++) {
		uint32_t room = i % 2 ? sizeof(to) : RS_DRAIN_ROOM_MIN;

		status = rs_drain_read(&drain, to, room, NOW, &got);
		MUST(got.bytes <= room);
		check_output(to, &got, &last_tsc);
		if (!got.bytes && !h->in->left)
			break;
	}
	MUST(rs_drain_status_text(status)[0]);
	rs_drain_end(&drain, to, sizeof(to), NOW, &got);
	MUST(got.bytes <= sizeof(to));
	check_output(to, &got, &last_tsc);
}

/* The consumer alone, and a producer on bytes that claim to be a ring. */
static void use(struct hostile *h)
{
	struct rs_sbuf_producer p = { 0 };
	struct rs_sbuf_consumer c;
	const uint8_t *run = NULL;
	uint32_t bytes = 0;
	uint64_t sum = 0;

	if (rs_sbuf_attach(&c, h->memory, h->bytes) != RS_SBUF_OK)
		return;
	for (int i = 0; i < 8; i++) {
		change_memory(h);
		if (rs_sbuf_peek(&c, &run, &bytes) != RS_SBUF_OK)
			break;
		MUST(run >= h->memory + sizeof(struct rs_sbuf) && bytes <= c.size);
		for (uint32_t k = 0; k < bytes; k++)
			sum += run[k];
		rs_sbuf_release(&c, bytes);
	}
	if (rs_sbuf_producer_init(&p, h->memory, h->bytes) != RS_SBUF_OK)
		return;
	for (int i = 0; i < 32; i++) {
		uint8_t element[256] = { (uint8_t)sum };

		change_memory(h);
		if (p.ele_size == RS_SLOT_BYTES && i % 2)
			rs_emit_text(&p, RS_ID(RS_IDS_USER, 2), "ab", 2, "a text, two slots", 17);
		else if (p.ele_size <= sizeof(element))
			rs_sbuf_put(&p, element, p.ele_size);
		MUST((uint32_t)p.reserve < p.size);
	}
}

/* The same in overwrite mode, in use or of the last boot. */
static void use_overwrite(struct hostile *h, uint64_t magic)
{
	static struct rs_overwrite_port port;
	uint64_t element[512] = { 0 };
	struct rs_overwriter w;

	if (rs_overwrite_port_init(&port, h->memory, h->bytes, magic) == RS_SBUF_OK) {
		h->local = rs_port_overwrite(&port);
		drain_all(h);
	}
	if (rs_overwriter_init(&w, h->memory, h->bytes) != RS_SBUF_OK ||
	    w.ele_size > sizeof(element))
		return;
	for (int i = 0; i < 32; i++) {
		change_memory(h);
		rs_overwriter_put(&w, element);
		MUST(w.at < w.size);
	}
}

/* For a log: lines become records. */
static void use_log(struct hostile *h, uint64_t magic, bool keep)
{
	static struct rs_log_port port;
	struct rs_clock clock = { .freq_hz = 3000000000 };
	struct rs_log_epoch epoch = { .clock = &clock, .from = UINT64_C(1) << 40 };
	struct rs_overwrite_reader reader;
	struct rs_sbuf_consumer c;
	uint64_t skipped;

	for (int i = 0; i < 2; i++) {
		rs_log_port_init(&port, &epoch);
		port.old = keep ? UINT64_MAX : 0;
		port.last = magic == RS_SBUF_MAGIC_LAST;
		if (i) {
			port.reader = &reader;
			if (rs_overwrite_attach(&reader, h->memory, h->bytes, magic) !=
				    RS_SBUF_OK ||
			    reader.ele_size != RS_LOG_ELEMENT_BYTES)
				continue;
		} else {
			port.consumer = &c;
			if (rs_sbuf_attach(&c, h->memory, h->bytes) != RS_SBUF_OK ||
			    c.ele_size != RS_LOG_ELEMENT_BYTES)
				continue;
		}
		h->local = rs_port_log(&port);
		drain_all(h);
		MUST(!port.lines || port.first_seq <= port.last_seq);
		rs_log_port_skip(&port, &skipped);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	struct hostile h = { .in = &in };
	struct rs_sbuf_consumer c;
	uint8_t flags = fuzz_u8(&in);

	if (!schema)
		schema = fuzz_schema();
	h.bytes = fuzz_u16(&in);
	if (h.bytes < sizeof(struct rs_sbuf) || h.bytes > MEMORY_MAX)
		return 0;
	/* Exactly as long as stated, so that a sanitizer detects access beyond it. */
	h.memory = aligned_alloc(8, (h.bytes + 7) & ~(size_t)7);
	if (!h.memory)
		return 0;
	fuzz_take(&in, h.memory, h.bytes);
	if (flags & 1)
		use(&h);
	if (rs_sbuf_attach(&c, h.memory, h.bytes) == RS_SBUF_OK && c.ele_size == RS_SLOT_BYTES) {
		h.local = rs_port_local(&c);
		drain_all(&h);
	}
	use_log(&h, flags & 2 ? RS_SBUF_MAGIC_LAST : RS_SBUF_MAGIC, flags & 4);
	use_overwrite(&h, flags & 2 ? RS_SBUF_MAGIC_LAST : RS_SBUF_MAGIC);
	free(h.memory);
	return 0;
}
