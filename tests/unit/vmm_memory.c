/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A guest's memory in another process: slots that are contiguous or not, memory that the process
 * has unmapped, and the process's end. The child stands for any VMM; one slot is anonymous memory,
 * the other a memfd.
 */
#include "../test.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "live/vmm_memory.h"

#define PAGE	4096u
#define LOW_AT	0x10000u
#define PAGES	4u
#define HIGH_AT (LOW_AT + PAGES * PAGE) /* after the first */
#define FAR_AT	UINT64_C(0x100000000)

static uint8_t *low, *high, *far;
static struct rs_vmm_memory vmm;
static struct rs_memory memory;

static uint8_t byte_of(uint64_t gpa)
{
	return (uint8_t)(gpa * 131 + (gpa >> 12));
}

static void fill(uint8_t *at, uint64_t gpa)
{
	for (uint32_t i = 0; i < PAGES * PAGE; i++)
		at[i] = byte_of(gpa + i);
}

/*
 * Makes the memory, and the child with a private copy of it, or with the shared one; this process
 * then has other bytes.
 */
static int child_begin(void)
{
	int fd = memfd_create("vmm_memory", 0);
	uint64_t bytes = PAGES * PAGE;
	pid_t pid;

	CHECK(fd >= 0 && !ftruncate(fd, (off_t)bytes));
	low = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	high = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	far = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(low != MAP_FAILED && high != MAP_FAILED && far != MAP_FAILED);
	fill(low, LOW_AT);
	fill(high, HIGH_AT);
	fill(far, FAR_AT);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		munmap(far + PAGE, PAGE);
		for (;;)
			pause();
	}
	memset(low, 0, bytes);
	CHECK(!munmap(high, bytes));
	return pid;
}

static bool holds(uint64_t gpa, size_t bytes)
{
	uint8_t buf[2 * PAGES * PAGE];

	if (rs_memory_read_phys(&memory, gpa, buf, bytes))
		return false;
	for (size_t i = 0; i < bytes; i++)
		if (buf[i] != byte_of(gpa + i))
			return false;
	return true;
}

static void slots_check(void)
{
	CHECK(holds(LOW_AT, 1));
	CHECK(holds(LOW_AT + 5, 3 * PAGE));
	CHECK(holds(HIGH_AT, PAGES * PAGE));
	CHECK(holds(FAR_AT, PAGE));
	/* Across two slots whose memory is not contiguous in the process. */
	CHECK(holds(HIGH_AT - 7, 14));
	CHECK(holds(LOW_AT, 2 * PAGES * PAGE));
	/* In no slot, or not completely. */
	CHECK(!holds(LOW_AT - 1, 1));
	CHECK(!holds(LOW_AT - 1, 2));
	CHECK(!holds(HIGH_AT + PAGES * PAGE - 1, 2));
	CHECK(!holds(FAR_AT + PAGES * PAGE, 1));
	CHECK(!holds(UINT64_MAX - 1, 1));
}

/* A missing part is a fault, although the kernel reads the part before it. */
static void unmapped_check(void)
{
	while (holds(FAR_AT + PAGE, 1)) /* until the child has unmapped it */
		usleep(1000);
	CHECK(!holds(FAR_AT + PAGE - 1, 2));
	CHECK(holds(FAR_AT + PAGE - 1, 1));
	CHECK(holds(FAR_AT + 2 * PAGE, 2 * PAGE));
}

/*
 * With a sample, its pages are read as they were at that time, and no other page of a stack or of
 * user memory can be read.
 */
static void sample_check(void)
{
	static struct rs_kvm_sample sample = { .stack = UINT64_C(0xffffc90000010000) };
	const struct {
		uint64_t gva;
		bool is_allowed;
	} cases[] = {
		{ 0x7000, false },
		{ 0x7fef, false },
		{ 0x7ff0, true },
		{ 0x7fff, true },
		{ 0x8000, false },
		{ UINT64_C(0xffffc90000010000), false },
		{ UINT64_C(0xffffc90000013ff8), true },
		{ UINT64_C(0xffffc90000014000), true },
		{ UINT64_C(0xffff888000000000), true },
		{ UINT64_C(0xfffffe0000001000), false },
		{ UINT64_C(0xfffffe0000004fff), false },
		{ UINT64_C(0xfffffe0000005000), true },
	};
	uint8_t two[2];

	sample.state.gpr[RS_KVM_RSP] = UINT64_C(0xfffffe0000001ff0);
	sample.pages[RS_KVM_SAMPLE_TASK + 3].gva = UINT64_C(0xffffc90000013000);
	sample.pages[RS_KVM_SAMPLE_TASK + 3].gpa = FAR_AT;
	sample.pages[RS_KVM_SAMPLE_USER].gva = 0x7000;
	sample.pages[RS_KVM_SAMPLE_USER].gpa = LOW_AT;
	sample.pages[RS_KVM_SAMPLE_USER].from = 0xff0;
	memset(sample.bytes[RS_KVM_SAMPLE_USER], 0x5a, 15);
	sample.bytes[RS_KVM_SAMPLE_USER][15] = 0xa5;
	vmm.sample = &sample;
	CHECK(!rs_memory_read_phys(&memory, LOW_AT + PAGE - 1, two, sizeof(two)));
	CHECK(two[0] == 0xa5 && two[1] == byte_of(LOW_AT + PAGE));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK(memory.allows(memory.ctx, cases[i].gva, 1) == cases[i].is_allowed);
	vmm.sample = NULL;
	CHECK(holds(LOW_AT, PAGE));
	CHECK(memory.allows(memory.ctx, 0x8000, 1));
}

TEST(memory_of_another_process)
{
	int pid = child_begin();
	const struct rs_kvm_slot_memory slots[] = {
		{ LOW_AT, PAGES * PAGE, (uint64_t)low },
		{ FAR_AT, PAGES * PAGE, (uint64_t)far },
		{ HIGH_AT, PAGES * PAGE, (uint64_t)high },
	};
	const struct rs_kvm_slot_memory nowhere = { LOW_AT, PAGE, 0x1000 };

	REQUIRE_OK(rs_vmm_memory_init(&vmm, pid));
	rs_vmm_memory_use(&vmm, &memory);
	CHECK(!holds(LOW_AT, 1)); /* no slots yet */
	rs_vmm_memory_slots(&vmm, &nowhere, 1);
	CHECK_ERR(rs_vmm_memory_check(&vmm), RS_FAILED, "no guest memory");
	rs_vmm_memory_slots(&vmm, slots, 3);
	CHECK_OK(rs_vmm_memory_check(&vmm));
	slots_check();
	unmapped_check();
	sample_check();
	CHECK(rs_vmm_memory_lives(&vmm));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	CHECK(!rs_vmm_memory_lives(&vmm));
	CHECK(!holds(LOW_AT, 1));
	rs_vmm_memory_deinit(&vmm);
	CHECK_ERR(rs_vmm_memory_init(&vmm, pid), RS_FAILED, "No such process");
	rs_vmm_memory_deinit(&vmm);
}
