/* SPDX-License-Identifier: BSD-2-Clause */
/* Built with -fsanitize=thread, like src/ring/sbuf.c; see hooks.c. */
#include "subject.h"

#define RS_THIS_PRODUCER() (&model_producer)
#define RS_THIS_MASK	   1u
#include <ringside/emit.h>

struct rs_sbuf_producer model_producer;

#define PUT_OF_SLOTS(k)                                                                            \
	static bool put##k(uint32_t n)                                                             \
	{                                                                                          \
		uint64_t words[2 + 4 * (k - 1)];                                                   \
                                                                                                   \
		for (uint32_t i = 0; i < sizeof(words) / 8; i++)                                   \
			words[i] = model_word(n, i);                                               \
		return rs_emit(MODEL_ID, words, sizeof(words));                                    \
	}
PUT_OF_SLOTS(1)
PUT_OF_SLOTS(2)
PUT_OF_SLOTS(3)

bool model_put(uint32_t n, uint32_t slots)
{
	static bool (*const put[])(uint32_t) = { put1, put2, put3 };

	return put[slots - 1](n);
}
