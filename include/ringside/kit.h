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
 * One function runs at a time on a vCPU; several vCPUs may run the same one at once.
 */
#ifndef RINGSIDE_KIT_H
#define RINGSIDE_KIT_H

#include <ringside/guest.h>
#include <ringside/kit_abi.h>

struct rs_kit_args {
	uint32_t vcpu; /* on which the function runs */
	uint32_t n;
	uint64_t v[RS_KIT_ARGS_MAX];
};

/* Exports a function of this file to the host, by its name or by another, with exactly n
 * arguments. */
#define RS_KIT_EXPORT(symbol, n, help_text) RS_KIT_EXPORT_AS(#symbol, symbol, n, help_text)
#define RS_KIT_EXPORT_AS(as_name, symbol, n, help_text)                                            \
	_Static_assert((n) <= RS_KIT_ARGS_MAX, "too many arguments");                              \
	_Static_assert(sizeof(as_name) <= RS_KIT_NAME_MAX, "too long a name");                     \
	static const struct rs_kit_export rs_kit_export_##symbol                                   \
		__attribute__((section("rs_exports"), used, aligned(8))) = {                       \
			.name = (as_name),                                                         \
			.function = symbol,                                                        \
			.n_args = (n),                                                             \
			.help = (help_text),                                                       \
		}

/* Calls a function of the host. Returns false if the host has no such function, or it takes other
 * arguments. */
bool rs_kit_call_host(const char *name, const uint64_t *args, uint32_t n, uint64_t *result);

/* Prints a text of up to RS_KIT_TEXT_MAX bytes through the host. */
void rs_kit_print(const char *text);

/* Ends the guest: traces the reason and reports it to the host. */
__attribute__((noreturn)) void rs_kit_panic(const char *why);

/* ---- memory ------------------------------------------------------------------------------- */

/*
 * A guest that calls malloc(), calloc(), realloc(), free(), aligned_alloc() or posix_memalign() and
 * has none of its own gets the kit's, which all vCPUs share; exception handlers may not call them.
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
_Static_assert(offsetof(struct rs_kit_frame, vector) == 15 * 8, "start.S");
_Static_assert(sizeof(struct rs_kit_frame) == 22 * 8, "start.S");

#define RS_KIT_VECTORS 32u

/*
 * Sets a handler on all vCPUs, or removes it if NULL. It may trace. It returns true to resume at
 * the frame. If it returns false, or there is no handler, the kit prints and traces the exception
 * and ends the guest.
 */
void rs_kit_on_exception(uint32_t vector, bool (*handler)(struct rs_kit_frame *frame));

#endif
