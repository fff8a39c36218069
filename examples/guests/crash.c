/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A guest that fails half-way, in typical ways: each function plans STEPS steps and ends after
 * HALF_WAY, except for resume, which survives. Their traces must have every step up to the failure.
 */
#include <ringside/kit.h>

RS_TRACE_CLASS(step, 0)
RS_DEFINE_EVENT(step, step, "step", (u32, number), (u32, of));
RS_DEFINE_EVENT(handled, step, "handled", (u32, vector), (x64, rip));
RS_DEFINE_EVENT(interrupted, step, "interrupted", (u64, first), (u64, second));

#define STEPS	 29u
#define HALF_WAY 13u

/* Neither RAM nor a device of the micro-VM: RAM ends below 3 GiB. */
#define WILD_ADDRESS	      ((volatile uint64_t *)UINT64_C(0xd0000000))
#define NOBODYS_PORT	      0x5eed
#define INTERRUPTED_FIRST     UINT64_C(0x1111111111111111)
#define INTERRUPTED_SECOND    UINT64_C(0x2222222222222222)
#define VECTOR_INVALID_OPCODE 6u
#define UD2_BYTES	      2u

static void half_way(void)
{
	for (uint32_t i = 0; i < HALF_WAY; i++)
		RS_EMIT(step, .number = i, .of = STEPS);
}

/* Without an IDT, an exception causes a double and then a triple fault. */
static uint64_t triple_fault(const struct rs_kit_args *args)
{
	RS_FUNCTION();
	struct {
		uint16_t limit;
		uint64_t base;
	} __attribute__((packed)) none = { 0, 0 };

	half_way();
	__asm__ volatile("lidt %0\n\tud2" : : "m"(none));
	return args->n;
}
RS_KIT_EXPORT_AS("main", triple_fault, 0, "ends in a triple fault");

static uint64_t wild_write(const struct rs_kit_args *args)
{
	RS_FUNCTION();

	half_way();
	*WILD_ADDRESS = args->vcpu;
	return 0;
}
RS_KIT_EXPORT(wild_write, 0, "writes where there is no memory");

static volatile uint64_t *null_pointer(void)
{
	volatile uint64_t *null = NULL;

	__asm__("" : "+r"(null)); /* hides the value from the compiler */
	return null;
}

static uint64_t null_write(const struct rs_kit_args *args)
{
	RS_FUNCTION();

	half_way();
	*null_pointer() = args->vcpu;
	return 0;
}
RS_KIT_EXPORT(null_write, 0, "writes through a null pointer: a page fault");

static uint64_t wild_out(const struct rs_kit_args *args)
{
	RS_FUNCTION();

	half_way();
	__asm__ volatile("outb %%al, %%dx" : : "a"(args->vcpu), "d"((uint16_t)NOBODYS_PORT));
	return 0;
}
RS_KIT_EXPORT(wild_out, 0, "writes to a port without a device");

static uint64_t endless(const struct rs_kit_args *args)
{
	RS_FUNCTION();

	half_way();
	while (args->n == 0)
		__asm__ volatile("pause");
	return 0;
}
RS_KIT_EXPORT(endless, 0, "loops for ever");

static uint64_t halts(const struct rs_kit_args *args)
{
	RS_FUNCTION();

	half_way();
	__asm__ volatile("hlt" : : "r"(args));
	return 0;
}
RS_KIT_EXPORT(halts, 0, "halts before its function returns");

static uint64_t panics(const struct rs_kit_args *args)
{
	RS_FUNCTION();

	half_way();
	if (args->n == 0)
		rs_kit_panic("out of patience");
	return 0;
}
RS_KIT_EXPORT(panics, 0, "panics with a reason");

/* A put with an exception between its reservation and its commit, on request a fatal one. */
static void put_with_exception(bool fatal)
{
	struct rs_sbuf_producer *p = RS_THIS_PRODUCER();
	struct rs_payload_interrupted payload = { INTERRUPTED_FIRST, INTERRUPTED_SECOND };
	struct rs_sbuf_room room = rs_sbuf_reserve_nested(p, RS_SLOT_BYTES);
	struct rs_slot *slot = (struct rs_slot *)(void *)room.at;

	if (!slot)
		return;
	slot->tsc = room.tsc;
	__asm__ volatile("ud2" : : : "memory");
	if (fatal)
		*null_pointer() = 0;
	slot->head = rs_record_head(RS_ID(RS_IDS_USER, rs_site_of_interrupted.id), 1) | p->cpu_bits;
	__builtin_memcpy(slot->payload, &payload, sizeof(payload));
	rs_sbuf_commit_nested(p, room);
}

static uint64_t fault_in_put(const struct rs_kit_args *args)
{
	RS_FUNCTION();

	half_way();
	if (rs_guest_mask)
		put_with_exception(false);
	return args->n;
}
RS_KIT_EXPORT(fault_in_put, 0, "an invalid opcode in the middle of a put");

static bool handle(struct rs_kit_frame *frame)
{
	RS_FUNCTION();

	RS_EMIT(handled, .vector = (uint32_t)frame->vector, .rip = frame->rip);
	frame->rip += UD2_BYTES;
	return true;
}

/* All STEPS steps, each after a put that is interrupted by a handler that traces. */
static uint64_t resume(const struct rs_kit_args *args)
{
	RS_FUNCTION();

	rs_kit_on_exception(VECTOR_INVALID_OPCODE, handle);
	for (uint32_t i = 0; i < STEPS && rs_guest_mask; i++) {
		put_with_exception(false);
		RS_EMIT(step, .number = i, .of = STEPS);
	}
	return STEPS + args->n;
}
RS_KIT_EXPORT(resume, 0, "exceptions in the middle of puts, handled: continues to the end");

/*
 * The first exception in the middle of the put is handled, and traced; the second ends the guest.
 */
static uint64_t fault_after_handler(const struct rs_kit_args *args)
{
	RS_FUNCTION();

	rs_kit_on_exception(VECTOR_INVALID_OPCODE, handle);
	half_way();
	if (rs_guest_mask)
		put_with_exception(true);
	return args->n;
}
RS_KIT_EXPORT(fault_after_handler, 0, "two exceptions in the middle of a put, one handled");

/*
 * Breaks the trace itself: the host must detect and report it without harm. The guest then traces
 * into a ring that is unknown to the host, because its next put would repair the tail.
 */
static uint64_t bad_ring(const struct rs_kit_args *args)
{
	RS_FUNCTION();
	static uint64_t elsewhere[1024];
	struct rs_sbuf_producer *p;
	struct rs_sbuf *ring;

	half_way();
	if (!rs_guest_mask)
		return args->n;
	p = RS_THIS_PRODUCER();
	ring = p->ring;
	rs_sbuf_create(elsewhere, sizeof(elsewhere), RS_SLOT_BYTES);
	rs_sbuf_producer_init(p, elsewhere, sizeof(elsewhere));
	__atomic_store_n(&ring->tail, UINT32_MAX, __ATOMIC_RELEASE);
	return args->n;
}
RS_KIT_EXPORT(bad_ring, 0, "breaks its own trace ring, and returns");
