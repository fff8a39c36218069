/* SPDX-License-Identifier: BSD-2-Clause */
/* The outcome of the programs that fuzz/lang_made.c made. */
#ifndef RS_FUZZ_LANG_MADE_H
#define RS_FUZZ_LANG_MADE_H

#include <stdint.h>

extern struct lang_made_tally {
	uint64_t made, compiled;
	uint64_t spoiled, passed; /* instructions changed; and the verifier accepted it */
} lang_made_tally;

#endif
