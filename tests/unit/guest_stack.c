/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stacks that a guest gets from its host, with both ends in this program: the guest's runtime rings
 * the doorbell of an rs_host_guest, whose guest memory is this process. Tests the checks of each
 * end on a hostile other one: counts above the room, addresses outside memory, other stacks.
 */
#include "../test.h"

#include <execinfo.h>

#include <ringside/host.h>

#include "guest/stack.c"

#define TO_GPA	   UINT64_C(0x1000)
#define RING_SLOTS 256u

struct rs_guest_area rs_guest_area;
uint32_t rs_guest_mask;

static struct rs_guest_stack blocks[2];
static uint8_t ring[sizeof(struct rs_sbuf) + RING_SLOTS * RS_SLOT_BYTES]
	__attribute__((aligned(64)));
static struct rs_sbuf_producer producer = { .cpu_bits = UINT64_C(1) << RS_CPU_SHIFT };
static struct rs_host_guest *host;

/* The VMM's callback. Its stack is this thread's own, from the C library's unwinder. */
static struct {
	uint32_t more; /* elements beyond max that it claims to have written */
	uint32_t calls;
	bool none, other; /* no stack; another stack than this one */
} vmm;

/* The guest's memory: all of this process, or none. */
static bool visible = true;
static uint64_t gpa_seen;

static bool memory_read(void *ctx, uint64_t gpa, void *to, size_t bytes)
{
	(void)ctx;
	if (visible)
		memcpy(to, (const void *)(uintptr_t)(gpa - TO_GPA), bytes);
	return visible;
}

static bool memory_write(void *ctx, uint64_t gpa, const void *from, size_t bytes)
{
	(void)ctx;
	if (visible)
		memcpy((void *)(uintptr_t)(gpa - TO_GPA), from, bytes);
	return visible;
}

static uint64_t here;

__attribute__((noinline)) static void release(void)
{
	here = rs_here();
	rs_memory_put_free(&producer, here, __builtin_frame_address(0), &producer);
	__asm__ volatile("" : : : "memory"); /* no tail call */
}

static bool within(uint64_t address, void (*function)(void))
{
	return address - (uintptr_t)function < 128;
}

/* Marks only the second caller of release() as found by a frame pointer. */
static uint32_t unwind(void *ctx, uint32_t vcpu, uint64_t *frames, uint32_t max, uint64_t *by_fp)
{
	void *backs[RS_GUEST_STACK_MAX];
	uint32_t n = (uint32_t)backtrace(backs, (int)max), at = 0;

	(void)ctx;
	CHECK_EQ_U64(vcpu, 1);
	vmm.calls++;
	if (vmm.none)
		return 0;
	for (uint32_t i = 0; i < n; i++) {
		frames[i] = vmm.other ? i : (uintptr_t)backs[i];
		at = !at && within(frames[i], release) ? i : at;
	}
	*by_fp = UINT64_C(1) << (at + 2);
	return vmm.more ? max + vmm.more : n;
}

void rs_guest_arch_doorbell(uint32_t request, uint64_t gpa)
{
	gpa_seen = gpa;
	rs_error_free(rs_host_doorbell(host, 1, request, gpa));
}

static bool registers(void *ctx, uint32_t vcpu, struct rs_x86_regs *regs)
{
	*regs = (struct rs_x86_regs){ .rip = 0x401000 + vcpu, .cr3 = (uintptr_t)ctx };
	return vcpu == 1;
}

/* registers_come_from_the_vmm */
TEST(registers_come_from_the_vmm)
{
	struct rs_clock clock = { .name = "host", .freq_hz = 1000000000 };
	struct rs_host_options options = { .memory = { NULL, memory_read, memory_write },
					   .clock = &clock,
					   .vcpus = 2,
					   .vcpu_ctx = &clock,
					   .registers = registers };
	struct rs_host_guest *guest;
	struct rs_x86_regs regs;

	CHECK_OK(rs_host_guest_create(&options, &guest));
	CHECK(rs_host_registers(guest, 1, &regs));
	CHECK_EQ_U64(regs.rip, 0x401001);
	CHECK_EQ_U64(regs.cr3, (uintptr_t)&clock);
	CHECK(!rs_host_registers(guest, 0, &regs));
	CHECK(!rs_host_registers(guest, 2, &regs));
	rs_host_guest_destroy(guest);
	options.registers = NULL;
	CHECK_OK(rs_host_guest_create(&options, &guest));
	CHECK(!rs_host_registers(guest, 1, &regs));
	rs_host_guest_destroy(guest);
}

static void host_create(bool unwinds)
{
	struct rs_clock clock = { .name = "host", .freq_hz = 1000000000 };

	rs_host_guest_destroy(host);
	CHECK_OK(rs_host_guest_create(
		&(struct rs_host_options){ .memory = { NULL, memory_read, memory_write },
					   .clock = &clock,
					   .vcpus = 2,
					   .unwind = unwinds ? unwind : NULL },
		&host));
}

static void start(uint32_t depth)
{
	vmm.more = vmm.calls = 0;
	vmm.none = vmm.other = false;
	visible = true;
	rs_guest_area.to_gpa = TO_GPA;
	memset(blocks, 0, sizeof(blocks));
	CHECK_EQ_U64(rs_sbuf_create(ring, sizeof(ring), RS_SLOT_BYTES), RS_SBUF_OK);
	CHECK_EQ_U64(rs_sbuf_producer_init(&producer, ring, sizeof(ring)), RS_SBUF_OK);
	CHECK(rs_memory_configure(NULL, &(struct rs_memory_options){ .stacks = RS_STACKS_HOST,
								     .depth = depth,
								     .host_stacks = blocks,
								     .n_host_stacks = 2 }));
}

/* Returns the stack of the one record in the ring. */
static uint32_t stack_of_record(uint64_t *frames, uint64_t *by_fp)
{
	const uint8_t *payload = ring + sizeof(struct rs_sbuf) + RS_RECORD_HEAD;
	uint16_t n;

	memcpy(by_fp, payload + 8, 8);
	memcpy(&n, payload + 16, 2);
	memcpy(frames, payload + 18, n * 8u);
	return n;
}

/* A stack by frame pointers: only the block of this test's frame is read. */
static void check_by_fp(void)
{
	uint64_t frames[RS_STACK_DEPTH_MAX], by_fp;
	uint32_t n = stack_of_record(frames, &by_fp);

	CHECK(n >= 2);
	CHECK_EQ_U64(frames[0], here);
	CHECK_EQ_U64(by_fp & 3, 2);
}

TEST(the_host_s_stack_without_the_runtime_s_frames)
{
	uint64_t all[RS_STACK_DEPTH_MAX], frames[RS_STACK_DEPTH_MAX], by_fp;
	void *backs[RS_STACK_DEPTH_MAX];
	uint32_t n = (uint32_t)backtrace(backs, RS_STACK_DEPTH_MAX), n_all;

	host_create(true);
	start(RS_STACK_DEPTH_MAX);
	release();
	/* The call in release(), the one in this function, and its callers. */
	n_all = stack_of_record(all, &by_fp);
	REQUIRE(n_all > 3 && n_all <= n + 1);
	CHECK_EQ_U64(all[0], here);
	for (uint32_t i = 1; i <= n_all - 2; i++)
		CHECK_EQ_U64(all[n_all - i], (uintptr_t)backs[n - i]);
	for (uint32_t depth = 1; depth <= RS_STACK_DEPTH_MAX; depth++) {
		start(depth);
		release();
		CHECK_EQ_U64(vmm.calls, 1);
		CHECK_EQ_U64(stack_of_record(frames, &by_fp), n_all < depth ? n_all : depth);
		CHECK_EQ_U64(by_fp, depth > 2 ? 4 : 0);
		for (uint32_t i = 0; i < depth && i < n_all; i++)
			CHECK(i == 1 || frames[i] == all[i]); /* two places in this function */
		CHECK_EQ_U64(blocks[1].busy, 0);
	}
	CHECK_EQ_U64(gpa_seen, (uintptr_t)&blocks[1] + TO_GPA);
}

TEST(without_a_host_stack_frame_pointers_are_used)
{
	host_create(false);
	start(0);
	release();
	CHECK_EQ_U64(vmm.calls, 0);
	check_by_fp();
	host_create(true);
	start(0);
	vmm.none = true;
	release();
	check_by_fp();
	start(0);
	vmm.other = true; /* another stack than the guest's */
	release();
	CHECK_EQ_U64(vmm.calls, 1);
	check_by_fp();
	start(0);
	vmm.more = 1; /* a VMM that claims more than there is room for */
	release();
	check_by_fp();
	start(0);
	blocks[1].busy = 1; /* a handler that interrupted the use of the block */
	release();
	CHECK_EQ_U64(vmm.calls, 0);
	check_by_fp();
	start(0);
	rs_memory_settings.n_host_stacks = 1; /* none for this vCPU */
	release();
	check_by_fp();
}

TEST(the_guest_checks_the_host_s_result)
{
	struct rs_stack stack;

	host_create(false);
	start(0);
	blocks[1].n = 3; /* of an earlier stack */
	CHECK_EQ_U64(rs_stack_ask_host(&producer, &stack, 64), 0);
	host_create(true);
	CHECK(rs_stack_ask_host(&producer, &stack, 1) <= 1);
}

TEST(the_host_checks_the_guest_s_block)
{
	struct rs_guest_stack *block = &blocks[0];
	uint64_t gpa = (uintptr_t)block + TO_GPA;

	host_create(true);
	start(0);
	for (uint32_t max = 0; max < 3; max++) {
		*block = (struct rs_guest_stack){ .max = max, .busy = 9 };
		CHECK_OK(rs_host_doorbell(host, 1, RS_DOORBELL_STACK, gpa));
		CHECK_EQ_U64(block->n, max);
		CHECK_EQ_U64(block->frames[max], 0);
		CHECK_EQ_U64(block->busy, 9);
	}
	*block = (struct rs_guest_stack){ .max = UINT32_MAX };
	CHECK_OK(rs_host_doorbell(host, 1, RS_DOORBELL_STACK, gpa));
	CHECK(block->n && block->n <= RS_GUEST_STACK_MAX);
	/* Reported once; from then on, the vCPU gets no stack. */
	visible = false;
	CHECK_ERR(rs_host_doorbell(host, 1, RS_DOORBELL_STACK, gpa), RS_DAMAGED,
		  "no memory for a stack");
	CHECK_OK(rs_host_doorbell(host, 1, RS_DOORBELL_STACK, gpa));
	visible = true;
	vmm.calls = 0;
	CHECK_OK(rs_host_doorbell(host, 1, RS_DOORBELL_STACK, gpa));
	CHECK_EQ_U64(vmm.calls, 0);
	CHECK_ERR(rs_host_doorbell(host, 0, RS_DOORBELL_STACK, UINT64_MAX - 8), RS_DAMAGED,
		  "no memory for a stack");
	rs_host_guest_destroy(host);
	host = NULL;
}
