/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The life cycle of a vCPU in the kit: setup, halt, then one function per wake-up, in an endless
 * loop. Spans and events are at the same places as in Hyperlight's guest tracing: entrypoint >
 * load_gdt, load_idt > init_idt; dispatch_function > internal_dispatch_function >
 * try_pop_shared_input_data_into, call_guest_function, push_shared_output_data; halt. message.c has
 * the spans and events of a call to the host.
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

static uint64_t call_guest_function(const struct rs_kit_export *function, uint32_t index,
				    const struct rs_kit_args *args)
{
	RS_SPAN(call, "call_guest_function");

	RS_EMIT(calling, .function = index, .arguments = args->n);
	return function->function(args);
}

/* Reads the arguments from the vCPU's input. Returns false if they are not of the function's
 * types. */
static bool args_pop(struct rs_kit_vcpu *vcpu, const struct rs_kit_export *function,
		     struct rs_kit_args *args)
{
	const struct rs_kit_message *input = (const void *)(uintptr_t)vcpu->boot->input;
	struct rs_kit_value values[RS_KIT_ARGS_MAX];

	if (!rs_kit_pop(input, RS_KIT_BUFFER_BYTES, values, &args->n) ||
	    args->n != function->n_args)
		return false;
	for (uint32_t i = 0; i < args->n; i++) {
		if (values[i].type != function->params[i])
			return false;
		args->v[i] = values[i].v;
		args->bytes[i] = values[i].bytes;
	}
	vcpu->input_used = (input->bytes + 7u) & ~7u;
	return true;
}

static uint32_t internal_dispatch_function(struct rs_kit_vcpu *vcpu, uint32_t index)
{
	RS_SPAN(call, "internal_dispatch_function");
	const struct rs_kit_export *function = __start_rs_exports + index;
	struct rs_kit_args args = { .vcpu = vcpu->boot->vcpu };
	uint64_t result;

	vcpu->input_used = vcpu->output_used = 0;
	vcpu->returned = RS_KIT_VOID;
	if (index >= (size_t)(__stop_rs_exports - __start_rs_exports) ||
	    !args_pop(vcpu, function, &args))
		return RS_KIT_REFUSED;
	result = call_guest_function(function, index, &args);
	return rs_kit_return(vcpu, function->result, result) ? RS_KIT_IDLE : RS_KIT_REFUSED;
}

static void dispatch_function(struct rs_kit_vcpu *vcpu, struct rs_kit_call *call)
{
	RS_SPAN(call, "dispatch_function");

	call->state = internal_dispatch_function(vcpu, call->function);
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
