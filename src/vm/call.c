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

static bool print(struct rs_vm *vm, uint32_t vcpu, void *ctx, const uint64_t *args,
		  uint64_t *result)
{
	uint64_t gpa = args[0], bytes = args[1];
	char text[RS_KIT_TEXT_MAX];

	(void)ctx;
	if (bytes > sizeof(text) || !rs_vm_read(vm, gpa, text, bytes))
		return false;
	if (vm->options.print)
		vm->options.print(vm->options.print_ctx, vcpu, text, bytes);
	*result = bytes;
	return true;
}

static const struct rs_vm_host_function built_in[] = {
	{ "print", 2, print, NULL }, /* (address, bytes) -> bytes */
};

struct rs_error *rs_vm_add_host_function(struct rs_vm *vm,
					 const struct rs_vm_host_function *function)
{
	if (vm->n_functions == RS_VM_HOST_FUNCTIONS_MAX ||
	    strlen(function->name) >= RS_KIT_NAME_MAX || function->n_args > RS_KIT_ARGS_MAX)
		return rs_error_create(RS_USAGE,
				       "host function '%s': too many, too long a name, or "
				       "too many arguments",
				       function->name);
	vm->functions[vm->n_functions++] = *function;
	return NULL;
}

static const struct rs_vm_host_function *find(const struct rs_vm *vm, const char *name)
{
	for (uint32_t i = 0; i < vm->n_functions; i++) {
		if (!strcmp(vm->functions[i].name, name))
			return &vm->functions[i];
	}
	for (size_t i = 0; i < sizeof(built_in) / sizeof(built_in[0]); i++) {
		if (!strcmp(built_in[i].name, name))
			return &built_in[i];
	}
	return NULL;
}

static enum rs_kit_host_status host_call(struct rs_vm_vcpu *vcpu,
					 const struct rs_kit_host_call *call, const char *name,
					 uint64_t *result)
{
	const struct rs_vm_host_function *function = find(vcpu->vm, name);

	if (!function)
		return RS_KIT_HOST_NO_FUNCTION;
	if (call->n_args != function->n_args ||
	    !function->call(vcpu->vm, vcpu->index, function->ctx, call->args, result))
		return RS_KIT_HOST_BAD_ARGS;
	return RS_KIT_HOST_OK;
}

bool rs_vm_serve_call(struct rs_vm_vcpu *vcpu, uint64_t gpa)
{
	RS_SPAN(call, "host call");
	struct rs_kit_host_call call;
	char name[RS_KIT_NAME_MAX + 1];
	uint64_t result = 0;
	uint32_t status;

	if (!rs_vm_read(vcpu->vm, gpa, &call, sizeof(call)) || call.name_bytes > RS_KIT_NAME_MAX ||
	    !rs_vm_read_text(vcpu->vm, call.name, call.name_bytes, name, sizeof(name))) {
		rs_vm_crash(vcpu, RS_VM_CRASHED, "a call to the host from no memory (0x%llx)",
			    (unsigned long long)gpa);
		return false;
	}
	RS_LOG(DEBUG, "vCPU %u calls %s", vcpu->index, name);
	RS_EMIT_EVENT_TEXT(call_host, name, strlen(name), .vcpu = vcpu->index);
	status = host_call(vcpu, &call, name, &result);
	RS_EMIT_EVENT(call_host_end, .vcpu = vcpu->index, .result = result);
	rs_vm_write(vcpu->vm, gpa + offsetof(struct rs_kit_host_call, result), &result,
		    sizeof(result));
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
		rs_vm_crash(vcpu, RS_VM_CRASHED, "it gave up");
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
	vcpu->outcome.rip = abort.rip; /* of the exception, not of the code that reported it */
}

/* ---- the host calls ----------------------------------------------------------------------- */

/* Writes a list of the guest's exports, such as "a, b(2), c". */
static void exports_list(const struct rs_vm_image *image, char *to, size_t max)
{
	size_t at = 0;

	to[0] = 0;
	for (uint32_t i = 0; i < image->n_exports && at < max; i++) {
		const struct rs_vm_export *export = &image->exports[i];
		int n = snprintf(to + at, max - at, "%s%s", i ? ", " : "", export->name);

		at += (size_t)n;
		if (export->n_args && at < max)
			at += (size_t)snprintf(to + at, max - at, "(%u)", export->n_args);
	}
}

static struct rs_error *function_find(const struct rs_vm_image *image, const char *name,
				      uint32_t n_args, uint32_t *index)
{
	char list[1024];

	for (uint32_t i = 0; i < image->n_exports; i++) {
		if (strcmp(image->exports[i].name, name) != 0)
			continue;
		if (image->exports[i].n_args != n_args)
			return rs_error_create(
				RS_USAGE, "%s: %s takes %s, not %u", image->path, name,
				RS_COUNT_OF(image->exports[i].n_args, "argument"), n_args);
		*index = image->exports[i].index;
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

struct rs_error *rs_vm_call(struct rs_vm *vm, const char *function, const uint64_t *args,
			    uint32_t n_args, uint32_t timeout_ms, struct rs_vm_outcome *outcomes)
{
	struct rs_kit_call call = { .state = RS_KIT_CALLED, .n_args = n_args };
	struct rs_error *err;

	if (!vm->booted)
		return rs_error_create(RS_USAGE, "call before the guest has booted");
	err = function_find(&vm->image, function, n_args, &call.function);
	if (err)
		return err;
	memcpy(call.args, args, n_args * sizeof(args[0]));
	for (uint32_t i = 0; i < vm->options.vcpus; i++)
		rs_vm_write(vm, vm->vcpus[i].boot_gpa + offsetof(struct rs_kit_boot, call), &call,
			    sizeof(call));
	rs_vm_run(vm, 0, vm->options.vcpus, function, timeout_ms);
	outcomes_copy(vm, outcomes);
	return NULL;
}

struct rs_error *rs_vm_boot(struct rs_vm *vm, uint32_t timeout_ms, struct rs_vm_outcome *outcomes)
{
	RS_SPAN(vm, "boot guest");
	struct rs_error *err;

	if (!vm->image.path || vm->booted)
		return rs_error_create(RS_USAGE, "boot without a guest, or for the second time");
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
