/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads a running guest's memory through its VMM's memory. */
#include "live/vmm_memory.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define PAGE	    RS_KVM_SAMPLE_PAGE
#define KERNEL_HALF (UINT64_C(1) << 63)
#define OTHER_STACK (UINT64_C(16) << 10) /* IRQ_STACK_SIZE, the largest stack of a processor */

struct rs_error *rs_vmm_memory_init(struct rs_vmm_memory *vmm, int pid)
{
	*vmm = (struct rs_vmm_memory){ .pid = pid };
	vmm->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	return vmm->pidfd < 0 ? rs_error_errno(errno, "process %d", pid) : NULL;
}

void rs_vmm_memory_deinit(struct rs_vmm_memory *vmm)
{
	if (vmm->pidfd > 0)
		close(vmm->pidfd);
	vmm->pidfd = -1;
}

void rs_vmm_memory_slots(struct rs_vmm_memory *vmm, const struct rs_kvm_slot_memory *slots,
			 uint32_t n)
{
	vmm->n = n < RS_KVM_SLOTS ? n : RS_KVM_SLOTS;
	memcpy(vmm->slots, slots, vmm->n * sizeof(slots[0]));
}

bool rs_vmm_memory_lives(const struct rs_vmm_memory *vmm)
{
	struct pollfd end = { .fd = vmm->pidfd, .events = POLLIN };

	return poll(&end, 1, 0) == 0;
}

/* Reads from one address of the VMM. */
static bool hva_read(struct rs_vmm_memory *vmm, uint64_t hva, void *buf, size_t bytes)
{
	const struct iovec to = { buf, bytes }, from = { (void *)hva, bytes };

	vmm->calls++;
	vmm->bytes += bytes;
	return process_vm_readv(vmm->pid, &to, 1, &from, 1, 0) == (ssize_t)bytes;
}

static const struct rs_kvm_slot_memory *slot_of(const struct rs_vmm_memory *vmm, uint64_t gpa)
{
	for (uint32_t i = 0; i < vmm->n; i++)
		if (gpa - vmm->slots[i].gpa < vmm->slots[i].bytes)
			return &vmm->slots[i];
	return NULL;
}

/* Returns whether an address is in the part of a page that the sample has. `begin` is the page's
 * address of the same kind. */
static bool page_has(const struct rs_kvm_sample_page *page, uint64_t begin, uint64_t at)
{
	return page->gva && begin == at - at % PAGE && page->from <= at % PAGE;
}

/* Reads a part of a page from the sample, if it has that part. */
static bool sample_read(const struct rs_vmm_memory *vmm, uint64_t gpa, void *buf, size_t bytes)
{
	const struct rs_kvm_sample *sample = vmm->sample;

	for (uint32_t i = 0; sample && i < RS_KVM_SAMPLE_PAGES; i++) {
		const struct rs_kvm_sample_page *page = &sample->pages[i];

		if (!page_has(page, page->gpa, gpa))
			continue;
		memcpy(buf, sample->bytes[i] + gpa % PAGE - page->from, bytes);
		return true;
	}
	return false;
}

/* Returns whether an address is on the task's kernel stack, on the stack that the processor used,
 * or in user memory. */
static bool is_volatile(const struct rs_kvm_sample *sample, uint64_t gva)
{
	uint64_t sp = sample->state.gpr[RS_KVM_RSP];

	return gva < KERNEL_HALF || gva - sample->stack < RS_KVM_SAMPLE_TASK_PAGES * PAGE ||
	       gva - (sp - sp % PAGE) < OTHER_STACK;
}

static bool virtual_allowed(void *ctx, uint64_t gva, size_t bytes)
{
	const struct rs_kvm_sample *sample = ((const struct rs_vmm_memory *)ctx)->sample;

	(void)bytes;
	if (!sample || !is_volatile(sample, gva))
		return true;
	for (uint32_t i = 0; i < RS_KVM_SAMPLE_PAGES; i++)
		if (page_has(&sample->pages[i], sample->pages[i].gva, gva))
			return true;
	return false;
}

static bool physical_read(void *ctx, uint64_t gpa, void *buf, size_t bytes)
{
	struct rs_vmm_memory *vmm = ctx;
	uint8_t *to = buf;

	while (bytes) {
		const struct rs_kvm_slot_memory *slot = slot_of(vmm, gpa);
		uint64_t at = slot ? gpa - slot->gpa : 0, part;

		if (!slot)
			return false;
		part = slot->bytes - at < bytes ? slot->bytes - at : bytes;
		if (vmm->sample && part > PAGE - gpa % PAGE)
			part = PAGE - gpa % PAGE;
		if (!sample_read(vmm, gpa, to, part) && !hva_read(vmm, slot->hva + at, to, part))
			return false;
		gpa += part;
		to += part;
		bytes -= part;
	}
	return true;
}

struct rs_error *rs_vmm_memory_check(struct rs_vmm_memory *vmm)
{
	int denied = 0;
	uint64_t word;

	for (uint32_t i = 0; i < vmm->n; i++) {
		if (hva_read(vmm, vmm->slots[i].hva, &word, sizeof(word)))
			return NULL;
		denied |= errno == EPERM;
	}
	if (denied)
		return rs_error_create(
			RS_FAILED,
			"the memory of process %d cannot be read: run it as root, or "
			"with CAP_SYS_PTRACE",
			vmm->pid);
	return rs_error_create(RS_FAILED, "process %d has no guest memory that can be read",
			       vmm->pid);
}

void rs_vmm_memory_use(struct rs_vmm_memory *vmm, struct rs_memory *memory)
{
	*memory =
		(struct rs_memory){ .read = physical_read, .allows = virtual_allowed, .ctx = vmm };
}
