/* SPDX-License-Identifier: BSD-2-Clause */
/* For cpp.d. */
#define TWICE(n) ((n) * 2)
#define NAME	 "name"
