/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of the host's functions that each guest may call. Their arguments come from the guest;
 * only the types are checked. */
#include "vm/internal.h"

#include <string.h>
#include <sys/random.h>

#include "base/now.h"

#define NS_PER_S 1e9

static struct rs_kit_value float_value(double value)
{
	struct rs_kit_value result = { .type = RS_KIT_FLOAT };

	memcpy(&result.v, &value, sizeof(value));
	return result;
}

static bool print(struct rs_vm *vm, uint32_t vcpu, const struct rs_kit_value *args,
		  struct rs_vm_message *answer)
{
	if (args[0].bytes > RS_KIT_TEXT_MAX)
		return false;
	if (vm->options.print)
		vm->options.print(vm->options.print_ctx, vcpu, (const char *)(uintptr_t)args[0].v,
				  args[0].bytes);
	answer->head.values[0].v = args[0].bytes;
	return true;
}

static bool vm_name(struct rs_vm *vm, uint32_t vcpu, const struct rs_kit_value *args,
		    struct rs_vm_message *answer)
{
	(void)vcpu, (void)args;
	answer->head.values[0].v = (uintptr_t)vm->options.name;
	answer->head.values[0].bytes = (uint32_t)strlen(vm->options.name);
	return true;
}

static bool is_recorded(struct rs_vm *vm, uint32_t vcpu, const struct rs_kit_value *args,
			struct rs_vm_message *answer)
{
	(void)vcpu, (void)args;
	answer->head.values[0].v = vm->recorder != NULL;
	return true;
}

/* The time of day, in seconds since 1970. */
static bool wall_time(struct rs_vm *vm, uint32_t vcpu, const struct rs_kit_value *args,
		      struct rs_vm_message *answer)
{
	(void)vm, (void)vcpu, (void)args;
	answer->head.values[0] = float_value((double)rs_now_ns(CLOCK_REALTIME) / NS_PER_S);
	return true;
}

static bool random_bytes(struct rs_vm *vm, uint32_t vcpu, const struct rs_kit_value *args,
			 struct rs_vm_message *answer)
{
	uint8_t *to = answer->bytes + sizeof(answer->head);

	(void)vm, (void)vcpu;
	/* getrandom() returns requests of up to 256 bytes whole. */
	if (args[0].v > 256 || getrandom(to, args[0].v, 0) != (ssize_t)args[0].v)
		return false;
	answer->head.values[0].v = (uintptr_t)to;
	answer->head.values[0].bytes = (uint32_t)args[0].v;
	return true;
}

static const struct rs_vm_host_function functions[] = {
	{ "print", RS_KIT_INT, 1, { RS_KIT_TEXT }, print }, /* returns the bytes printed */
	{ "vm_name", RS_KIT_TEXT, 0, { 0 }, vm_name },
	{ "is_recorded", RS_KIT_BOOL, 0, { 0 }, is_recorded },
	{ "wall_time", RS_KIT_FLOAT, 0, { 0 }, wall_time },
	{ "random", RS_KIT_BYTES, 1, { RS_KIT_INT }, random_bytes },
};

const struct rs_vm_host_function *rs_vm_host_function(const char *name)
{
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		if (!strcmp(functions[i].name, name))
			return &functions[i];
	}
	return NULL;
}
