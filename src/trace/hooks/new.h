/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What both files of operator new share. The names are those of the ABI of C++ that gcc and clang
 * have in common (Itanium). The operators replace the C++ library's, as the language allows, and
 * call malloc() or aligned_alloc(), and free(), whose calls the linker wraps: each allocation is
 * recorded once. A guest without a C++ library has them from here.
 */
#ifndef RS_TRACE_HOOKS_NEW_H
#define RS_TRACE_HOOKS_NEW_H

#include "trace/hooks/hooks.h"

/* Of the C++ library, where there is one: std::get_new_handler(), std::__throw_bad_alloc(). */
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

/* Throws std::bad_alloc; without a C++ library there are no exceptions to throw. */
__attribute__((noreturn)) static inline void new_failed(void)
{
	if (_ZSt17__throw_bad_allocv)
		_ZSt17__throw_bad_allocv();
	__builtin_trap();
}

#endif
