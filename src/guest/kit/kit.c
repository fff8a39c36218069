/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The life cycle of a vCPU in the kit: set up, halt, then run one function per wake-up, without
 * end. Spans and events are at the same places as in Hyperlight's guest tracing: entrypoint >
 * load_gdt, load_idt > init_idt; dispatch_function > internal_dispatch_function >
 * call_guest_function > call_host_function; halt.
 */
#include "guest/kit/internal.h"

#include <ringside/memory.h>

RS_DEFINE_EVENT(guest_main, boot, "guest-main", (u32, vcpu), (u32, vcpus));
RS_DEFINE_EVENT(halt, boot, "halt");
RS_DEFINE_EVENT(calling, call, "calling-guest-function", (u32, function), (u32, arguments));

extern const struct rs_kit_export __start_rs_exports[] __attribute__((weak, visibility("hidden")));
extern const struct rs_kit_export __stop_rs_exports[] __attribute__((weak, visibility("hidden")));

static const enum rs_guest_hand_over hand_overs[] = {
	[RS_KIT_NO_TRACE] = RS_GUEST_KEEP,
	[RS_KIT_DOORBELL] = RS_GUEST_DOORBELL,
	[RS_KIT_SHARED] = RS_GUEST_SHARED,
	[RS_KIT_KEEP] = RS_GUEST_KEEP,
};

static void console(const char *text, uint32_t bytes)
{
	char line[RS_LOG_LINE_MAX + 2];

	__builtin_memcpy(line, text, bytes);
	line[bytes] = '\n';
	line[bytes + 1] = 0;
	rs_kit_print(line);
}

/* Starts the guest's log, on vCPU 0. If that fails, the guest runs without a log. */
static void log_init(const struct rs_kit_boot *boot)
{
	if (!boot->log_bytes)
		return;
	if (rs_guest_log_start(&(struct rs_guest_log_config){
		    .memory = (void *)(uintptr_t)boot->log,
		    .bytes = boot->log_bytes,
		    .lanes = boot->vcpus,
		    .tsc_hz = boot->tsc_hz,
		    .wall_ns = boot->wall_ns,
		    .name = boot->name,
		    .console = console,
	    }) == RS_GUEST_OK &&
	    boot->hand_over != RS_KIT_NO_TRACE)
		rs_guest_log_rings(boot->vcpus, boot->name);
}

/* Creates the vCPU's ring in the log's memory if that has room, else in the host's block. Returns
 * false if there is no memory for it. */
static bool ring_init(const struct rs_kit_boot *boot)
{
	return rs_guest_log_vcpu_init(boot->vcpu) == RS_GUEST_OK ||
	       rs_guest_vcpu_init(boot->vcpu, (void *)(uintptr_t)boot->ring, boot->ring_bytes) ==
		       RS_GUEST_OK;
}

static void trace_init(const struct rs_kit_boot *boot)
{
	if (boot->vcpu == 0 && boot->hand_over != RS_KIT_NO_TRACE)
		rs_guest_init(&(struct rs_guest_config){
			.hand_over = hand_overs[boot->hand_over % 4],
			.mask = boot->mask,
		});
	if (boot->vcpu == 0)
		log_init(boot);
	if (boot->hand_over != RS_KIT_NO_TRACE && !ring_init(boot)) {
		rs_guest_mask = 0;
		if (boot->hand_over != RS_KIT_KEEP)
			rs_kit_panic("no memory for the trace ring");
	} else if (boot->hand_over != RS_KIT_NO_TRACE) {
		rs_memory_stack_range((const void *)(uintptr_t)boot->stack,
				      (const void *)(uintptr_t)(boot->stack + RS_KIT_STACK_BYTES));
	}
}

static void entrypoint(struct rs_kit_vcpu *vcpu)
{
	RS_SPAN(boot, "entrypoint");

	rs_kit_load_gdt(vcpu);
	rs_kit_load_idt(vcpu->boot->vcpu == 0);
	RS_EMIT(guest_main, .vcpu = vcpu->boot->vcpu, .vcpus = vcpu->boot->vcpus);
}

static uint64_t call_guest_function(const struct rs_kit_export *function,
				    const struct rs_kit_args *args)
{
	RS_SPAN(call, "call_guest_function");

	return function->function(args);
}

static uint32_t internal_dispatch_function(struct rs_kit_vcpu *vcpu, struct rs_kit_call *call)
{
	RS_SPAN(call, "internal_dispatch_function");
	const struct rs_kit_export *function = __start_rs_exports + call->function;
	struct rs_kit_args args = { .vcpu = vcpu->boot->vcpu, .n = call->n_args };

	if (call->function >= (size_t)(__stop_rs_exports - __start_rs_exports) ||
	    args.n > RS_KIT_ARGS_MAX || args.n != function->n_args)
		return RS_KIT_REFUSED;
	for (uint32_t i = 0; i < args.n; i++)
		args.v[i] = call->args[i];
	RS_EMIT(calling, .function = call->function, .arguments = args.n);
	call->result = call_guest_function(function, &args);
	return RS_KIT_IDLE;
}

static void dispatch_function(struct rs_kit_vcpu *vcpu, struct rs_kit_call *call)
{
	RS_SPAN(call, "dispatch_function");

	call->state = internal_dispatch_function(vcpu, call);
}

/* Waits for the host's next call. The host writes `call` only while the vCPU is halted, and reads
 * it only after the vCPU has halted. */
static void halt(void)
{
	RS_EMIT(halt);
	__asm__ volatile("hlt" : : : "memory");
}

void rs_kit_main(struct rs_kit_boot *boot)
{
	struct rs_kit_vcpu *vcpu = rs_kit_self();
	struct rs_kit_call *call = &boot->call;

	vcpu->boot = boot;
	vcpu->faults = 0;
	trace_init(boot);
	entrypoint(vcpu);
	call->state = RS_KIT_IDLE;
	for (;;) {
		halt();
		if (call->state == RS_KIT_CALLED)
			dispatch_function(vcpu, call);
	}
}

/* ---- calls to the host -------------------------------------------------------------------- */

static uint32_t text_bytes(const char *text, uint32_t max)
{
	uint32_t n = 0;

	while (n < max && text[n])
		n++;
	return n;
}

/* Sends the call in a span of its own, which covers the exit and the host's work. */
static void out32(struct rs_kit_host_call *call)
{
	RS_SPAN(call, "out32");

	rs_kit_out(RS_KIT_CALL_HOST, call);
}

bool rs_kit_call_host(const char *name, const uint64_t *args, uint32_t n, uint64_t *result)
{
	RS_SPAN(call, "call_host_function");
	struct rs_kit_host_call call = {
		.name = (uintptr_t)name,
		.name_bytes = text_bytes(name, RS_KIT_NAME_MAX),
		.n_args = n,
	};

	if (n > RS_KIT_ARGS_MAX)
		return false;
	for (uint32_t i = 0; i < n; i++)
		call.args[i] = args[i];
	out32(&call);
	if (call.status != RS_KIT_HOST_OK)
		return false;
	if (result)
		*result = call.result;
	return true;
}

void rs_kit_print(const char *text)
{
	uint64_t args[2] = { (uintptr_t)text, text_bytes(text, RS_KIT_TEXT_MAX) };

	rs_kit_call_host("print", args, 2, NULL);
}
