/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls between host and guest, through the blocks of kit_abi.h. The host copies a block in guest
 * memory once, checks the copy, and writes its answer field by field.
 */
#include "vm/internal.h"

#include <stdio.h>
#include <string.h>

#include <ringside/vmm.h>

#include "base/count.h"

/* ---- the guest calls ---------------------------------------------------------------------- */

static bool typed(const struct rs_kit_message *message, const uint8_t *types, uint32_t n)
{
	if (message->n != n)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		if (message->values[i].type != types[i])
			return false;
	}
	return true;
}

/* Calls a function of the host. Writes its result to `answer`, and to the guest's buffer. */
static enum rs_kit_host_status host_call(struct rs_vm_vcpu *vcpu,
					 const struct rs_kit_host_call *call, const char *name,
					 struct rs_vm_message *answer)
{
	const struct rs_vm_host_function *function = rs_vm_host_function(name);
	struct rs_kit_value *result = &answer->head.values[0];

	if (!function)
		return RS_KIT_HOST_NO_FUNCTION;
	if (call->result != RS_KIT_VOID && call->result != function->result)
		return RS_KIT_HOST_BAD_RESULT;
	result->type = function->result;
	if (!rs_vm_message_read(vcpu->vm, call->args, &vcpu->message) ||
	    !typed(&vcpu->message.head, function->params, function->n_args) ||
	    !function->call(vcpu->vm, vcpu->index, vcpu->message.head.values, answer))
		return RS_KIT_HOST_BAD_ARGS;
	if (call->result != RS_KIT_VOID &&
	    !rs_vm_message_write(vcpu->vm, call->answer, call->answer_bytes, result, 1))
		return RS_KIT_HOST_BAD_RESULT;
	return RS_KIT_HOST_OK;
}

bool rs_vm_serve_call(struct rs_vm_vcpu *vcpu, uint64_t gpa)
{
	RS_SPAN(call, "host call");
	struct rs_kit_host_call call;
	struct rs_vm_message answer;
	char name[RS_KIT_NAME_MAX + 1];
	uint32_t status;

	if (!rs_vm_read(vcpu->vm, gpa, &call, sizeof(call)) || call.name_bytes > RS_KIT_NAME_MAX ||
	    !rs_vm_read_text(vcpu->vm, call.name, call.name_bytes, name, sizeof(name))) {
		rs_vm_crash(vcpu, RS_VM_CRASHED,
			    "a call to the host with its message outside memory (0x%llx)",
			    (unsigned long long)gpa);
		return false;
	}
	RS_LOG(DEBUG, "vCPU %u calls %s", vcpu->index, name);
	RS_EMIT_EVENT_TEXT(call_host, name, strlen(name), .vcpu = vcpu->index);
	answer.head.values[0] = (struct rs_kit_value){ 0 };
	status = host_call(vcpu, &call, name, &answer);
	RS_EMIT_EVENT(call_host_end, .vcpu = vcpu->index,
		      .result = rs_vm_value_number(&answer.head.values[0]));
	rs_vm_write(vcpu->vm, gpa + offsetof(struct rs_kit_host_call, status), &status,
		    sizeof(status));
	return true;
}

/* Intel's names; SDM vol. 3, table 6-1. */
static const char *const vector_names[] = {
	"divide error",
	"debug exception",
	"NMI",
	"breakpoint",
	"overflow",
	"bound exceeded",
	"invalid opcode",
	"no coprocessor",
	"double fault",
	"coprocessor overrun",
	"invalid TSS",
	"segment not present",
	"stack fault",
	"general protection fault",
	"page fault",
	NULL,
	"x87 error",
	"alignment check",
	"machine check",
	"SIMD error",
	"virtualization exception",
	"control protection",
};

void rs_vm_serve_abort(struct rs_vm_vcpu *vcpu, uint64_t gpa)
{
	struct rs_kit_abort abort;
	char text[RS_VM_WHY_MAX / 2];
	const char *name = NULL;

	if (!rs_vm_read(vcpu->vm, gpa, &abort, sizeof(abort)) ||
	    !rs_vm_read_text(vcpu->vm, abort.text, abort.text_bytes, text, sizeof(text))) {
		rs_vm_crash(vcpu, RS_VM_CRASHED, "the guest aborted, with an invalid message");
		return;
	}
	if (abort.vector < sizeof(vector_names) / sizeof(vector_names[0]))
		name = vector_names[abort.vector];
	if (abort.vector == RS_KIT_NO_VECTOR)
		rs_vm_crash(vcpu, RS_VM_CRASHED, "panic: %s", text);
	else
		rs_vm_crash(vcpu, RS_VM_CRASHED, "exception %u (%s), error 0x%llx, address 0x%llx",
			    abort.vector, name ? name : "unknown", (unsigned long long)abort.error,
			    (unsigned long long)abort.address);
	/* address of the exception, not of the code that reported it */
	vcpu->outcome.rip = abort.rip;
}

/* ---- the host calls ----------------------------------------------------------------------- */

static bool is_int(const struct rs_vm_export *export)
{
	for (uint32_t i = 0; i < export->n_args; i++) {
		if (export->params[i] != RS_KIT_INT)
			return false;
	}
	return true;
}

/* Writes a list of the guest's exports, such as "a, b(2), c(text, int)". */
static void exports_list(const struct rs_vm_image *image, char *to, size_t max)
{
	size_t at = 0;

	to[0] = 0;
	for (uint32_t i = 0; i < image->n_exports && at < max; i++) {
		const struct rs_vm_export *export = &image->exports[i];

		at += (size_t)snprintf(to + at, max - at, "%s%s", i ? ", " : "", export->name);
		if (is_int(export)) {
			if (export->n_args && at < max)
				at += (size_t)snprintf(to + at, max - at, "(%u)", export->n_args);
			continue;
		}
		for (uint32_t j = 0; j < export->n_args && at < max; j++)
			at += (size_t)snprintf(to + at, max - at, "%s%s%s", j ? ", " : "(",
					       rs_vm_type_name(export->params[j]),
					       j + 1 == export->n_args ? ")" : "");
	}
}

struct rs_error *rs_vm_export_find(const struct rs_vm *vm, const char *name, uint32_t n_args,
				   const struct rs_vm_export **function)
{
	const struct rs_vm_image *image = &vm->image;
	char list[1024];

	for (uint32_t i = 0; i < image->n_exports; i++) {
		const struct rs_vm_export *export = &image->exports[i];

		if (strcmp(export->name, name) != 0)
			continue;
		if (export->n_args != n_args)
			return rs_error_create(RS_USAGE, "%s: %s takes %s, not %u", image->path,
					       name, RS_COUNT_OF(export->n_args, "argument"),
					       n_args);
		*function = export;
		return NULL;
	}
	exports_list(image, list, sizeof(list));
	return rs_error_create(RS_USAGE, "%s: no function '%s'; there are: %s", image->path, name,
			       list);
}

static void outcomes_copy(const struct rs_vm *vm, struct rs_vm_outcome *outcomes)
{
	for (uint32_t i = 0; i < vm->options.vcpus; i++)
		outcomes[i] = vm->vcpus[i].outcome;
}

struct rs_error *rs_vm_call(struct rs_vm *vm, const struct rs_vm_export *function,
			    const struct rs_kit_value *args, uint32_t timeout_ms,
			    struct rs_vm_outcome *outcomes)
{
	const struct rs_kit_call call = { .state = RS_KIT_CALLED, .function = function->index };

	if (!vm->booted)
		return rs_error_create(RS_USAGE, "call before the guest has booted");
	for (uint32_t i = 0; i < vm->options.vcpus; i++) {
		const struct rs_vm_vcpu *vcpu = &vm->vcpus[i];

		if (!rs_vm_message_write(vm, vcpu->input_gpa, RS_KIT_BUFFER_BYTES, args,
					 function->n_args))
			return rs_error_create(RS_USAGE,
					       "the arguments are longer than the %zu bytes that a "
					       "guest's function can take",
					       RS_KIT_BUFFER_BYTES - sizeof(struct rs_kit_message));
		rs_vm_write(vm, vcpu->boot_gpa + offsetof(struct rs_kit_boot, call), &call,
			    sizeof(call));
	}
	vm->function = function;
	rs_vm_run(vm, 0, vm->options.vcpus, function->name, timeout_ms);
	outcomes_copy(vm, outcomes);
	return NULL;
}

bool rs_vm_call_result(struct rs_vm_vcpu *vcpu)
{
	const struct rs_vm_export *function = vcpu->vm->function;
	uint32_t n = function->result != RS_KIT_VOID;

	if (!rs_vm_message_read(vcpu->vm, vcpu->output_gpa, &vcpu->message) ||
	    !typed(&vcpu->message.head, &function->result, n))
		return false;
	vcpu->outcome.result =
		n ? vcpu->message.head.values[0] : (struct rs_kit_value){ .type = RS_KIT_VOID };
	return true;
}

struct rs_error *rs_vm_boot(struct rs_vm *vm, uint32_t timeout_ms, struct rs_vm_outcome *outcomes)
{
	RS_SPAN(vm, "boot guest");
	struct rs_error *err;

	if (!vm->image.path || vm->booted)
		return rs_error_create(RS_USAGE, "boot without a guest, or booted already");
	err = rs_vm_boot_prepare(vm);
	if (!err)
		err = rs_vm_threads_start(vm);
	if (err)
		return err;
	vm->booted = true;
	rs_vm_run(vm, 0, 1, NULL, timeout_ms);
	if (vm->vcpus[0].outcome.end == RS_VM_RETURNED)
		rs_vm_run(vm, 1, vm->options.vcpus, NULL, timeout_ms);
	outcomes_copy(vm, outcomes);
	return NULL;
}

struct rs_error *rs_vm_trace(struct rs_vm *vm, struct rs_host_guest *guest,
			     struct rs_recorder *recorder)
{
	if (vm->booted || !vm->image.path)
		return rs_error_create(RS_USAGE, "tracing must begin before the guest boots");
	if (vm->options.hand_over == RS_KIT_NO_TRACE)
		return NULL;
	if (vm->options.hand_over == RS_KIT_SHARED) {
		if (!vm->image.trace_area)
			return rs_error_create(
				RS_USAGE,
				"%s: no symbol rs_guest_area, which locates a shared "
				"ring (is the file stripped?)",
				vm->image.path);
		rs_host_set_area(guest, vm->image.trace_area);
	}
	for (uint32_t i = 0; i < vm->options.vcpus; i++)
		rs_host_set_tsc_offset(guest, i, vm->vcpus[i].tsc_offset, vm->vcpus[i].tsc_error);
	vm->trace = guest;
	vm->recorder = recorder;
	return NULL;
}
