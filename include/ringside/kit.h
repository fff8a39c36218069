/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The guest kit: the library for guests of the reference micro-VM. It brings the vCPUs up (GDT,
 * IDT, tracing), runs the functions that the host calls by name, and calls the host's functions.
 * Freestanding; x86-64. Link with libringside-guest-kit.a, libringside-guest.a and guest.ld.
 *
 *	#include <ringside/kit.h>
 *
 *	static uint64_t twice(const struct rs_kit_args *args)
 *	{
 *		RS_FUNCTION();
 *		rs_kit_print("Hello from the guest\n");
 *		return 2 * args->v[0];
 *	}
 *	RS_KIT_EXPORT(twice, 1, "twice the argument");
 *
 *	static uint64_t longer(const struct rs_kit_args *args)
 *	{
 *		return args->bytes[0] > args->bytes[1];
 *	}
 *	RS_KIT_EXPORT_TYPED(longer, "whether the first text is longer", RS_KIT_BOOL, RS_KIT_TEXT,
 *			    RS_KIT_TEXT);
 *
 * One function runs at a time on a vCPU; several vCPUs may run the same one at the same time.
 */
#ifndef RINGSIDE_KIT_H
#define RINGSIDE_KIT_H

#include <ringside/language.h>
#include <ringside/guest.h>
#include <ringside/kit_abi.h>

RS_C_BEGIN

/* The arguments of a call, which are of the exported types. Texts and bytes are valid until the
 * function returns. */
struct rs_kit_args {
	uint32_t vcpu; /* on which the function runs */
	uint32_t n;
	uint64_t v[RS_KIT_ARGS_MAX];	 /* as in struct rs_kit_value */
	uint32_t bytes[RS_KIT_ARGS_MAX]; /* of texts, without the NUL, and bytes */
};

/* Exports a function of this file to the host, under its own or another name, with exactly n
 * integers as arguments, and an integer as its result. */
#define RS_KIT_EXPORT(symbol, n, help_text) RS_KIT_EXPORT_AS(#symbol, symbol, n, help_text)
#define RS_KIT_EXPORT_AS(as_name, symbol, n, help_text)                                            \
	RS_STATIC_ASSERT((n) <= RS_KIT_ARGS_MAX, "too many arguments");                            \
	RS_KIT_EXPORT_ENTRY(as_name, symbol, n, help_text, RS_KIT_INT, RS_KIT_INT, RS_KIT_INT,     \
			    RS_KIT_INT, RS_KIT_INT, RS_KIT_INT, RS_KIT_INT)

/* Exports a function with a type (RS_KIT_) of the result and of each argument. A function with a
 * text or bytes as its result returns rs_kit_return_text() or rs_kit_return_bytes(); with a float,
 * rs_kit_return_float(). */
#define RS_KIT_EXPORT_TYPED(symbol, help_text, result_type, ...)                                   \
	RS_KIT_EXPORT_ENTRY(#symbol, symbol, sizeof((uint8_t[]){ 0, ##__VA_ARGS__ }) - 1,          \
			    help_text, result_type, ##__VA_ARGS__)

#define RS_KIT_EXPORT_ENTRY(as_name, symbol, n, help_text, result_type, ...)                       \
	RS_STATIC_ASSERT(sizeof(as_name) <= RS_KIT_NAME_MAX, "too long a name");                   \
	static const struct rs_kit_export rs_kit_export_##symbol                                   \
		__attribute__((section("rs_exports"), used, aligned(8))) = {                       \
			.name = (as_name),                                                         \
			.function = symbol,                                                        \
			.n_args = (n),                                                             \
			.result = (result_type),                                                   \
			.params = { __VA_ARGS__ },                                                 \
			.help = (help_text),                                                       \
		}

/* A text or bytes that a function received. */
static inline const char *rs_kit_text_of(const struct rs_kit_args *args, uint32_t i)
{
	return (const char *)(uintptr_t)args->v[i];
}

static inline const uint8_t *rs_kit_bytes_of(const struct rs_kit_args *args, uint32_t i)
{
	return (const uint8_t *)(uintptr_t)args->v[i];
}

/*
 * Copies the result of the function that runs on this vCPU for the host; the function returns what
 * these return. If the result does not fit the output (RS_KIT_BUFFER_BYTES less the message's
 * head), the call is refused.
 */
uint64_t rs_kit_return_text(const char *text);
uint64_t rs_kit_return_bytes(const void *data, uint32_t bytes);

/* Values for the host's functions. A text or bytes must stay valid during the call. */
static inline struct rs_kit_value rs_kit_int(uint64_t v)
{
	return (struct rs_kit_value){ .type = RS_KIT_INT, .bytes = 0, .v = v };
}

static inline struct rs_kit_value rs_kit_bool(bool v)
{
	return (struct rs_kit_value){ .type = RS_KIT_BOOL, .bytes = 0, .v = v };
}

/* A float by the bits of its binary64, for guests that are compiled without SSE. */
static inline struct rs_kit_value rs_kit_float_bits(uint64_t bits)
{
	return (struct rs_kit_value){ .type = RS_KIT_FLOAT, .bytes = 0, .v = bits };
}

struct rs_kit_value rs_kit_text(const char *text);

static inline struct rs_kit_value rs_kit_bytes(const void *data, uint32_t bytes)
{
	return (struct rs_kit_value){ .type = RS_KIT_BYTES, .bytes = bytes, .v = (uintptr_t)data };
}

#ifdef __SSE2__
static inline double rs_kit_float_of(const struct rs_kit_args *args, uint32_t i)
{
	double value;

	__builtin_memcpy(&value, &args->v[i], sizeof(value));
	return value;
}

static inline uint64_t rs_kit_return_float(double value)
{
	uint64_t bits;

	__builtin_memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static inline struct rs_kit_value rs_kit_float(double value)
{
	return rs_kit_float_bits(rs_kit_return_float(value));
}
#endif

/*
 * Calls a function of the host. Set the type of *result to the expected one; a text or bytes in it
 * are valid until the next such call, or until the function that runs on this vCPU returns. If
 * result is NULL, the host's result is discarded. Returns false if the host has no such function,
 * it has other types of arguments or result, or a buffer is too small.
 */
bool rs_kit_call_host(const char *name, const struct rs_kit_value *args, uint32_t n,
		      struct rs_kit_value *result);

/* Prints a text of up to RS_KIT_TEXT_MAX bytes through the host. */
void rs_kit_print(const char *text);

/* Ends the guest: traces the reason and reports it to the host. */
__attribute__((noreturn)) void rs_kit_panic(const char *why);

/* ---- memory ------------------------------------------------------------------------------- */

/*
 * A guest that calls malloc(), calloc(), realloc(), free(), aligned_alloc() or posix_memalign() and
 * does not define it gets the kit's, which all vCPUs share; exception handlers may not call them.
 * They have RS_KIT_HEAP_BYTES of the image, unless the guest gives them other memory, before their
 * first call.
 */
#define RS_KIT_HEAP_BYTES (1u << 20)
void rs_kit_heap(void *memory, uint64_t bytes);

/* ---- exceptions --------------------------------------------------------------------------- */

/* The registers at an exception. A handler may change them. Layout: start.S. */
struct rs_kit_frame {
	uint64_t r15, r14, r13, r12, r11, r10, r9, r8;
	uint64_t rbp, rdi, rsi, rdx, rcx, rbx, rax;
	uint64_t vector, error;
	uint64_t rip, cs, rflags, rsp, ss;
};
RS_STATIC_ASSERT(offsetof(struct rs_kit_frame, vector) == 15 * 8, "start.S");
RS_STATIC_ASSERT(sizeof(struct rs_kit_frame) == 22 * 8, "start.S");

#define RS_KIT_VECTORS 32u

/*
 * Sets a handler on all vCPUs, or removes it if NULL. It may trace. It returns true to resume at
 * the frame. If it returns false, or there is no handler, the kit prints and traces the exception
 * and ends the guest.
 */
void rs_kit_on_exception(uint32_t vector, bool (*handler)(struct rs_kit_frame *frame));

RS_C_END

#endif
