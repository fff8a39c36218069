/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A hostile guest: its memory, its doorbells, and its concurrent changes of memory all come from
 * the input.
 *
 *	input: vCPUs, flags, the area's address;
 *	       pieces of memory, each after an odd byte: offset u32, length u16, bytes
 *	       operations until the end
 */
#include "event/query.h"
#include "host/guest.h"

#include "fuzz.h"
#include "mutate.h"

#define RAM_BASE   UINT64_C(0x10000)
#define RAM_BYTES  (256u << 10)
#define OPERATIONS 64u

static struct guest_ram {
	uint8_t *bytes;
	struct fuzz_input *in;
	bool restless; /* memory changes between reads */
	uint64_t writes;
} ram;

static bool ram_reach(uint64_t gpa, size_t bytes)
{
	return gpa >= RAM_BASE && gpa - RAM_BASE <= RAM_BYTES &&
	       bytes <= RAM_BYTES - (gpa - RAM_BASE);
}

static void piece(size_t most)
{
	uint32_t offset = fuzz_u32(ram.in) % RAM_BYTES;
	size_t len = fuzz_u16(ram.in);

	if (len > most)
		len = most;
	if (len > ram.in->left)
		len = ram.in->left;
	if (len > RAM_BYTES - offset)
		len = RAM_BYTES - offset;
	fuzz_take(ram.in, ram.bytes + offset, len);
}

static bool ram_read(void *ctx, uint64_t gpa, void *to, size_t bytes)
{
	(void)ctx;
	if (!ram_reach(gpa, bytes))
		return false;
	memcpy(to, ram.bytes + (gpa - RAM_BASE), bytes);
	if (ram.restless && ram.in->left && fuzz_u8(ram.in) & 1)
		piece(64);
	return true;
}

static bool ram_write(void *ctx, uint64_t gpa, const void *from, size_t bytes)
{
	(void)ctx;
	/* a ring's head, a stack's count; a stack's by_fp and elements */
	MUST(bytes == 4 || (bytes > 8 && bytes <= 8 + 8 * RS_GUEST_STACK_MAX && bytes % 8 == 0));
	if (!ram_reach(gpa, bytes))
		return false;
	memcpy(ram.bytes + (gpa - RAM_BASE), from, bytes);
	ram.writes++;
	return true;
}

/* Any count, even one above max. */
static uint32_t ram_unwind(void *ctx, uint32_t vcpu, uint64_t *frames, uint32_t max,
			   uint64_t *by_fp)
{
	(void)ctx, (void)vcpu;
	for (uint32_t i = 0; i < max; i++)
		frames[i] = i;
	*by_fp = max;
	return ram.in->left ? fuzz_u8(ram.in) : max;
}

static void next(struct rs_source *source, struct fuzz_sink *sink, bool *ended)
{
	struct rs_batch batch = { 0 };
	struct rs_error *err;

	if (*ended)
		return;
	err = source->ops->next(source, &batch);
	if (err || batch.kind == RS_NEXT_END) {
		*ended = true;
		fuzz_drop(err);
		return;
	}
	if (batch.kind == RS_NEXT_EVENTS)
		fuzz_events(&sink->sink, batch.views, batch.n);
}

static void operate(struct rs_host_guest *guest, struct rs_source *source)
{
	struct fuzz_sink sink = FUZZ_SINK(true);
	bool ended = false;

	for (uint32_t i = 0; i < OPERATIONS && ram.in->left; i++) {
		uint8_t what = fuzz_u8(ram.in);
		uint32_t vcpu = (what >> 4) % rs_host_guest_vcpus(guest);
		struct rs_host_ring ring;
		uint32_t eax;

		switch (what & 7) {
		case 0:
			eax = fuzz_u32(ram.in);
			fuzz_drop(rs_host_doorbell(guest, vcpu, eax, fuzz_u64(ram.in)));
			break;
		case 1:
			fuzz_drop(rs_host_ring_poll(guest, vcpu, &ring));
			break;
		case 2:
			for (uint32_t v = 0; v < rs_host_guest_vcpus(guest); v++)
				fuzz_drop(rs_host_ring_poll(guest, v, &ring));
			break;
		case 3:
			piece(UINT16_MAX);
			break;
		default:
			next(source, &sink, &ended);
			break;
		}
	}
	rs_host_guest_end(guest);
	for (uint32_t i = 0; i < 1000 && !ended; i++)
		next(source, &sink, &ended);
	MUST(ended || ram.restless);
}

/* ---- a mutated input ------------------------------------------------------------------------- */

#define PIECES_AT   10u /* after vCPUs, flags, the area's address */
#define PIECE_BYTES 7u	/* an odd byte, offset, length */
#define PLAIN_1_IN  3u	/* mutants that libFuzzer makes of the whole input */

/* Chooses the contents of a piece of memory, with equal chances. Returns whether there is any. */
static bool piece_pick(struct fuzz_mutant *m, struct fuzz_part *contents)
{
	size_t at = PIECES_AT;
	uint32_t n = 0;

	while (m->size > at && m->size - at > PIECE_BYTES && m->data[at] & 1) {
		size_t bytes = fuzz_get_u32(m, at + 3) >> 16; /* the length is its upper half */

		at += PIECE_BYTES;
		bytes = bytes < m->size - at ? bytes : m->size - at;
		if (bytes >= 8 && !fuzz_pick(m, ++n))
			*contents = (struct fuzz_part){ at, bytes };
		at += bytes;
	}
	return n > 0;
}

/*
 * Changes a number of the area, of a site, of a ring or of a record in place: all of them are
 * aligned, and an inserted or removed byte would move those after it.
 */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned int seed)
{
	struct fuzz_mutant m = { data, size, most, seed };
	struct fuzz_part piece = { 0 };
	size_t bytes;

	if (!fuzz_pick(&m, PLAIN_1_IN) || !piece_pick(&m, &piece))
		return LLVMFuzzerMutate(data, size, most);
	bytes = fuzz_pick(&m, 2) ? 4 : 8;
	fuzz_mutate_fixed(&m, piece.at + fuzz_pick(&m, (uint32_t)(piece.bytes / bytes)) * bytes,
			  bytes);
	return m.size;
}

/* ---- an input -------------------------------------------------------------------------------- */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct rs_clock clock = { .name = "host",
					       .freq_hz = 1000000000,
					       .ns_mult = UINT64_C(1) << RS_CLOCK_SHIFT };
	struct fuzz_input in = { data, size };
	struct rs_host_options options = {
		.vm = "fuzz",
		.memory = { .read = ram_read, .write = ram_write },
		.unwind = ram_unwind,
		.clock = &clock,
		.vcpus = 1 + fuzz_u8(&in) % 4,
	};
	uint8_t flags = fuzz_u8(&in);
	uint64_t area = fuzz_u64(&in);
	struct rs_host_guest *guest;
	struct rs_source *source;
	struct rs_query query;
	uint32_t pushed;
	uint8_t more;

	ram = (struct guest_ram){ .in = &in, .bytes = calloc(1, RAM_BYTES) };
	if (!ram.bytes)
		return 0;
	while ((more = fuzz_u8(&in)) & 1)
		piece(UINT16_MAX);
	ram.restless = flags & 2;
	fuzz_drop(rs_host_guest_create(&options, &guest));
	if (flags & 1)
		rs_host_set_area(guest, area);
	fuzz_drop(rs_host_source(guest, &source));
	rs_query_init(&query);
	if (source->ops->open)
		fuzz_drop(source->ops->open(source, &query, &pushed));
	operate(guest, source);
	rs_source_destroy(source);
	rs_host_guest_destroy(guest);
	free(ram.bytes);
	return 0;
}
