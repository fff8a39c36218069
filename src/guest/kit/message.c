/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Passes arguments and results between host and guest, as messages in the vCPU's input, which the
 * host writes, and in its output, which the kit writes. Spans and events are those of Hyperlight's
 * guest library.
 *
 *	input	| the arguments of the running function | the answer to its last call to the host |
 *	output	| its result, if it is a text or bytes | the arguments of its call to the host |
 *
 * An exception handler may run between any two instructions, and may call the host, too. So room is
 * claimed before it is written, and the last bytes of the input are reserved for such calls.
 */
#include "guest/kit/internal.h"

RS_DEFINE_EVENT(start_converting, call, "start-converting-buffer", (u32, bytes));
RS_DEFINE_EVENT(finish_converting, call, "finish-converting-buffer", (u32, values));
RS_DEFINE_EVENT(start_copy, call, "start-copy-of-data", (u32, bytes));
RS_DEFINE_EVENT(finish_copy, call, "finish-copy-of-data");

#define ALIGN(bytes)  (((bytes) + 7u) & ~7u)
#define HANDLER_BYTES ALIGN((uint32_t)sizeof(struct rs_kit_message))

/* Counts a text's bytes, up to max. */
static uint32_t text_bytes(const char *text, uint32_t max)
{
	uint32_t n = 0;

	while (n < max && text[n])
		n++;
	return n;
}

struct rs_kit_value rs_kit_text(const char *text)
{
	return (struct rs_kit_value){ .type = RS_KIT_TEXT,
				      .bytes = text_bytes(text, RS_KIT_BUFFER_BYTES),
				      .v = (uintptr_t)text };
}

/* ---- input -------------------------------------------------------------------------------- */

bool rs_kit_pop(const struct rs_kit_message *message, uint32_t room, struct rs_kit_value *values,
		uint32_t *n)
{
	RS_SPAN(call, "try_pop_shared_input_data_into");

	RS_EMIT(start_converting, .bytes = message->bytes);
	if (!rs_kit_message_valid(message, room))
		return false;
	for (uint32_t i = 0; i < message->n; i++) {
		values[i] = message->values[i];
		if (values[i].type >= RS_KIT_TEXT)
			values[i].v += (uintptr_t)message;
	}
	*n = message->n;
	RS_EMIT(finish_converting, .values = message->n);
	return true;
}

/* ---- output ------------------------------------------------------------------------------- */

/* Returns the size of a message of these values, or a size larger than any buffer if they do not
 * fit. */
static uint32_t message_bytes(const struct rs_kit_value *values, uint32_t n)
{
	uint64_t bytes = sizeof(struct rs_kit_message);

	for (uint32_t i = 0; i < n; i++) {
		if (values[i].type >= RS_KIT_TEXT)
			bytes += values[i].bytes + (values[i].type == RS_KIT_TEXT);
	}
	return bytes < RS_KIT_BUFFER_BYTES ? (uint32_t)bytes : RS_KIT_BUFFER_BYTES + 1;
}

static void copy(struct rs_kit_message *to, const struct rs_kit_value *values, uint32_t n,
		 uint32_t bytes)
{
	uint32_t at = sizeof(*to);

	RS_EMIT(start_copy, .bytes = bytes);
	to->n = n;
	to->bytes = bytes;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t data = values[i].bytes;

		to->values[i] = values[i];
		if (values[i].type < RS_KIT_TEXT)
			continue;
		to->values[i].v = at;
		__builtin_memmove((char *)to + at, (const void *)(uintptr_t)values[i].v, data);
		at += data;
		if (values[i].type == RS_KIT_TEXT)
			((char *)to)[at++] = 0;
	}
	RS_EMIT(finish_copy);
}

const struct rs_kit_message *rs_kit_push(struct rs_kit_vcpu *vcpu,
					 const struct rs_kit_value *values, uint32_t n)
{
	RS_SPAN(call, "push_shared_output_data");
	uint32_t bytes = message_bytes(values, n), at = vcpu->output_used;
	struct rs_kit_message *message = (void *)(uintptr_t)(vcpu->boot->output + at);

	if (at + bytes > RS_KIT_BUFFER_BYTES)
		return NULL;
	vcpu->output_used = at + ALIGN(bytes);
	rs_signal_fence();
	copy(message, values, n, bytes);
	return message;
}

/* ---- a function's result ------------------------------------------------------------------ */

static uint64_t return_data(struct rs_kit_value value)
{
	struct rs_kit_vcpu *vcpu = rs_kit_self();
	const struct rs_kit_message *message;

	vcpu->output_used = 0;
	message = rs_kit_push(vcpu, &value, 1);
	vcpu->returned = message ? value.type : RS_KIT_VOID;
	return 0;
}

uint64_t rs_kit_return_text(const char *text)
{
	return return_data(rs_kit_text(text));
}

uint64_t rs_kit_return_bytes(const void *data, uint32_t bytes)
{
	return return_data(rs_kit_bytes(data, bytes));
}

bool rs_kit_return(struct rs_kit_vcpu *vcpu, uint32_t type, uint64_t v)
{
	if (type >= RS_KIT_TEXT) /* pushed while the function ran */
		return vcpu->returned == type;
	vcpu->output_used = 0;
	return rs_kit_push(vcpu, &(struct rs_kit_value){ .type = type, .v = v },
			   type != RS_KIT_VOID);
}

/* ---- calls to the host -------------------------------------------------------------------- */

/* Sends the call in a separate span, which covers the exit and the host's work. */
static void out32(struct rs_kit_host_call *call)
{
	RS_SPAN(call, "out32");

	rs_kit_out(RS_KIT_CALL_HOST, call);
}

static bool call_host_function_without_returning_result(struct rs_kit_vcpu *vcpu,
							struct rs_kit_host_call *call,
							const struct rs_kit_value *args, uint32_t n)
{
	RS_SPAN(call, "call_host_function_without_returning_result");
	const struct rs_kit_message *message = rs_kit_push(vcpu, args, n);

	if (!message)
		return false;
	call->args = (uintptr_t)message;
	out32(call);
	return call->status == RS_KIT_HOST_OK;
}

static bool get_host_return_value(const struct rs_kit_host_call *call, struct rs_kit_value *result)
{
	RS_SPAN(call, "get_host_return_value");
	struct rs_kit_value values[RS_KIT_ARGS_MAX];
	uint32_t n;

	if (!rs_kit_pop((const void *)(uintptr_t)call->answer, call->answer_bytes, values, &n) ||
	    n != (call->result != RS_KIT_VOID) || (n && values[0].type != result->type))
		return false;
	if (n)
		*result = values[0];
	return true;
}

static bool call_host_function(struct rs_kit_vcpu *vcpu, struct rs_kit_host_call *call,
			       const struct rs_kit_value *args, uint32_t n,
			       struct rs_kit_value *result)
{
	RS_SPAN(call, "call_host_function");
	uint32_t used = vcpu->input_used, room = RS_KIT_BUFFER_BYTES - used;
	bool done;

	call->result = result->type;
	call->answer = vcpu->boot->input + used;
	call->answer_bytes = room > 2 * HANDLER_BYTES ? room - HANDLER_BYTES : room;
	vcpu->input_used = used + call->answer_bytes;
	rs_signal_fence();
	done = call_host_function_without_returning_result(vcpu, call, args, n) &&
	       get_host_return_value(call, result);
	rs_signal_fence();
	vcpu->input_used = used;
	return done;
}

bool rs_kit_call_host(const char *name, const struct rs_kit_value *args, uint32_t n,
		      struct rs_kit_value *result)
{
	struct rs_kit_vcpu *vcpu = rs_kit_self();
	struct rs_kit_host_call call = {
		.name = (uintptr_t)name,
		.name_bytes = text_bytes(name, RS_KIT_NAME_MAX),
		.result = RS_KIT_VOID,
	};
	uint32_t used = vcpu->output_used;
	bool done;

	if (n > RS_KIT_ARGS_MAX)
		return false;
	done = result ? call_host_function(vcpu, &call, args, n, result)
		      : call_host_function_without_returning_result(vcpu, &call, args, n);
	rs_signal_fence();
	vcpu->output_used = used;
	return done;
}

void rs_kit_print(const char *text)
{
	struct rs_kit_value value = rs_kit_text(text), printed = { .type = RS_KIT_INT };

	if (value.bytes > RS_KIT_TEXT_MAX)
		value.bytes = RS_KIT_TEXT_MAX;
	rs_kit_call_host("print", &value, 1, &printed);
}
