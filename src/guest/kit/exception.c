/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Exceptions and the fatal end of a guest. A handler that the guest set may resume; every other
 * exception is fatal: the kit traces it, prints it, and reports it to the host. A fatal exception
 * may interrupt a put or the handling of another exception, so each further one skips the steps
 * that may have failed:
 *
 *	1st fatal exception	abandon the put, trace, print, abort
 *	one during the first	abandon the put, abort
 *	one more		halt: the host detects a vCPU that halted unexpectedly
 */
#include "guest/kit/internal.h"

RS_DEFINE_EVENT(exception, irq, "exception", (u32, vector), (x32, error), (x64, rip),
		(x64, address));
RS_DEFINE_EVENT(panic, boot, "panic", (u32, vector));

#define VECTOR_PAGE_FAULT 14u

static bool (*handlers[RS_KIT_VECTORS])(struct rs_kit_frame *frame);

void rs_kit_on_exception(uint32_t vector, bool (*handler)(struct rs_kit_frame *frame))
{
	/* Release pairs with the acquire in rs_kit_exception(), on other vCPUs. */
	if (vector < RS_KIT_VECTORS)
		__atomic_store_n(&handlers[vector], handler, __ATOMIC_RELEASE);
}

__attribute__((noreturn)) static void stop(void)
{
	for (;;)
		__asm__ volatile("hlt");
}

__attribute__((noreturn)) static void abort_vcpu(const struct rs_kit_abort *abort)
{
	rs_kit_out(RS_KIT_ABORT, abort);
	stop();
}

static uint32_t text_bytes(const char *text)
{
	uint32_t n = 0;

	while (text[n] && n < RS_KIT_TEXT_MAX)
		n++;
	return n;
}

void rs_kit_panic(const char *why)
{
	struct rs_kit_abort abort = {
		.vector = RS_KIT_NO_VECTOR,
		.text = (uintptr_t)why,
		.text_bytes = text_bytes(why),
		.rip = (uintptr_t)__builtin_return_address(0),
	};

	rs_guest_abandon(rs_kit_self()->boot->vcpu);
	RS_LOG(FATAL, "panic: %s", why);
	RS_EMIT(panic, .vector = RS_KIT_NO_VECTOR);
	abort_vcpu(&abort);
}

/* "guest: exception 14 at 0x0000000000200abc\n" */
static void print_exception(const struct rs_kit_frame *frame)
{
	static const char digits[16] = "0123456789abcdef";
	char text[] = "guest: exception ## at 0x################\n";
	const uint32_t vector_at = sizeof("guest: exception ") - 1;
	const uint32_t rip_at = sizeof("guest: exception ## at 0x") - 1;

	text[vector_at] = digits[frame->vector / 10 % 10];
	text[vector_at + 1] = digits[frame->vector % 10];
	for (uint32_t i = 0; i < 16; i++)
		text[rip_at + i] = digits[frame->rip >> (60 - 4 * i) & 15];
	rs_kit_print(text);
}

__attribute__((noreturn)) static void fatal(struct rs_kit_vcpu *vcpu,
					    const struct rs_kit_frame *frame)
{
	struct rs_kit_abort abort = {
		.vector = (uint32_t)frame->vector,
		.error = frame->error,
		.rip = frame->rip,
	};

	if (vcpu->faults > 2)
		stop();
	rs_guest_abandon(vcpu->boot->vcpu);
	if (vcpu->faults == 1) {
		if (frame->vector == VECTOR_PAGE_FAULT)
			__asm__ volatile("movq %%cr2, %0" : "=r"(abort.address));
		RS_EMIT(exception, .vector = abort.vector, .error = (uint32_t)abort.error,
			.rip = abort.rip, .address = abort.address);
		print_exception(frame);
		RS_LOG(FATAL, "exception %u, error 0x%x, at 0x%llx, address 0x%llx", abort.vector,
		       (uint32_t)abort.error, (unsigned long long)abort.rip,
		       (unsigned long long)abort.address);
		RS_EMIT(panic, .vector = abort.vector);
	}
	abort_vcpu(&abort);
}

void rs_kit_exception(struct rs_kit_frame *frame)
{
	struct rs_kit_vcpu *vcpu = rs_kit_self();
	/* Pairs with the release in rs_kit_on_exception(). */
	bool (*handler)(struct rs_kit_frame *) =
		__atomic_load_n(&handlers[frame->vector % RS_KIT_VECTORS], __ATOMIC_ACQUIRE);

	vcpu->faults++;
	if (handler && vcpu->faults == 1) {
		rs_guest_handler_enter(vcpu->boot->vcpu);
		if (handler(frame)) {
			vcpu->faults--;
			return;
		}
	}
	fatal(vcpu, frame);
}
