/* SPDX-License-Identifier: BSD-2-Clause */
/* The second file of the guest in C++. */
#include "guest.h"

int other(int n)
{
	RS_FUNCTION();
	return in_line(n) + of_any_type(n);
}
