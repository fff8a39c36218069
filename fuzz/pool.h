/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memory of jansson while one input runs. jansson allocates for each key and number, which is
 * most of what a small description or an event in JSON costs with ASan's allocator.
 *
 * Memory is given out once per input and never twice, between poisoned gaps; what was freed is
 * poisoned. So ASan reports a read behind it or after its end as it does for malloc().
 */
#ifndef RS_FUZZ_POOL_H
#define RS_FUZZ_POOL_H

/* Makes jansson allocate from the pool. Called before each input. */
void fuzz_pool_begin(void);

/* Aborts if anything is still allocated: it leaked. Called after each input. */
void fuzz_pool_end(void);

#endif
