/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared by mutators of structured inputs: they change a part of an input and repair the sizes and
 * checksums around it, so that a change reaches the code behind these checks. libFuzzer's own
 * mutations change a part.
 */
#ifndef RS_FUZZ_MUTATE_H
#define RS_FUZZ_MUTATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* libFuzzer's: replay.c, which runs seeds, has none and mutates nothing. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most) __attribute__((weak));
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned int seed);

/* An input that is being mutated. */
struct fuzz_mutant {
	uint8_t *data;
	size_t size, most;
	uint32_t random;
};

/* Some bytes of it. */
struct fuzz_part {
	size_t at, bytes;
};

/* Returns a number below n, which is not 0. */
uint32_t fuzz_pick(struct fuzz_mutant *m, uint32_t n);

/* Replaces `old` bytes by n bytes. Returns whether there was room. */
bool fuzz_splice(struct fuzz_mutant *m, size_t at, size_t old, const void *bytes, size_t n);

/* Mutates a part of the input, whose length may change. Returns its new length. */
size_t fuzz_mutate_part(struct fuzz_mutant *m, size_t at, size_t len);

/* The same of a part whose length stays. */
void fuzz_mutate_fixed(struct fuzz_mutant *m, size_t at, size_t len);

/* Little-endian numbers in the input; the caller ensures that they are inside. */
uint32_t fuzz_get_u32(const struct fuzz_mutant *m, size_t at);
void fuzz_put_u32(struct fuzz_mutant *m, size_t at, uint32_t value);

#endif
