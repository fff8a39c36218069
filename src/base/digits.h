/* SPDX-License-Identifier: BSD-2-Clause */
/* Eight digits at once, in the bytes of a word: the first in the lowest. */
#ifndef RS_BASE_DIGITS_H
#define RS_BASE_DIGITS_H

#include <stdint.h>

/* Returns the eight decimal digits of a value below 10^8. */
static inline uint64_t rs_eight_digits(uint32_t value)
{
	/* Splits into two halves of four digits, then pairs, then digits. x/100 and x/10 are
	 * multiplications, which are exact in this range. */
	uint64_t x = value / 10000 | (uint64_t)(value % 10000) << 32, above;

	above = x * 10486 >> 20 & UINT64_C(0x0000007f0000007f);
	x = above | (x - above * 100) << 16;
	above = x * 103 >> 10 & UINT64_C(0x000f000f000f000f);
	x = above | (x - above * 10) << 8;
	return x | UINT64_C(0x3030303030303030);
}

/* Returns the eight hexadecimal digits of a value. */
static inline uint64_t rs_eight_nibbles(uint32_t value)
{
	uint64_t x = value, letters;

	x = (x | x << 16) & UINT64_C(0x0000ffff0000ffff);
	x = (x | x << 8) & UINT64_C(0x00ff00ff00ff00ff);
	x = (x | x << 4) & UINT64_C(0x0f0f0f0f0f0f0f0f);
	x = __builtin_bswap64(x);
	letters = (x + UINT64_C(0x0606060606060606)) >> 4 & UINT64_C(0x0101010101010101);
	return x + UINT64_C(0x3030303030303030) + letters * ('a' - '9' - 1);
}

#endif
