/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Declarations that both files of operator new share. The names are those of the C++ ABI that gcc
 * and clang share (Itanium). The operators replace the C++ library's, as the language allows, and
 * call malloc() or aligned_alloc(), and free(), whose calls the linker wraps: each allocation is
 * recorded once. They also serve a guest without a C++ library.
 */
#ifndef RS_TRACE_HOOKS_NEW_H
#define RS_TRACE_HOOKS_NEW_H

#include "trace/hooks/hooks.h"

/* Defined by the C++ library, if there is one: std::get_new_handler(), std::__throw_bad_alloc(). */
void (*_ZSt15get_new_handlerv(void))(void) __attribute__((weak));
__attribute__((noreturn, weak)) void _ZSt17__throw_bad_allocv(void);

/* After an allocation that failed: calls the program's handler, if it has one. Returns whether to
 * try again. */
static inline bool new_handled(void)
{
	void (*handler)(void) = _ZSt15get_new_handlerv ? _ZSt15get_new_handlerv() : NULL;

	if (handler)
		handler();
	return handler != NULL;
}

/* Throws std::bad_alloc. Without a C++ library, exceptions do not exist. */
__attribute__((noreturn)) static inline void new_failed(void)
{
	if (_ZSt17__throw_bad_allocv)
		_ZSt17__throw_bad_allocv();
	__builtin_trap();
}

#endif
