/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memory of jansson while one input runs. jansson allocates for each key and number, which is
 * most of the cost of a small description or an event in JSON with ASan's allocator.
 *
 * Each piece of memory is used only once per input, between poisoned gaps, and freed memory is
 * poisoned, so that ASan reports a read beyond it or after its free as for malloc().
 */
#ifndef RS_FUZZ_POOL_H
#define RS_FUZZ_POOL_H

/* Makes jansson allocate from the pool. Called before each input. */
void fuzz_pool_begin(void);

/* Aborts if anything is still allocated: it leaked. Called after each input. */
void fuzz_pool_end(void);

#endif
