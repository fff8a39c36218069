/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions in both files of the C++ guest; the linker keeps one copy. */
#include <ringside/guest.h>

RS_TRACE_CLASS(app, 0)

inline int in_line(int n)
{
	RS_SPAN(app, "inline");
	return n;
}

template <typename T> T of_any_type(T n)
{
	RS_SPAN_ARG(app, "template", sizeof(T));
	return n;
}

int other(int n);
