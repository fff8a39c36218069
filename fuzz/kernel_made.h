/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes the contents of a kernel's image: the symbol tables of scripts/kallsyms.c, in each layout
 * that Linux has had, and BTF with some structures. For the fuzz target and the unit tests of
 * insight.
 */
#ifndef RS_FUZZ_KERNEL_MADE_H
#define RS_FUZZ_KERNEL_MADE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "insight/btf.h"
#include "insight/kallsyms.h"

#define MADE_GVA     UINT64_C(0xffffffff82000000)
#define MADE_BASE    UINT64_C(0xffffffff81000000)
#define MADE_BYTES   (256u << 10)
#define MADE_SYMBOLS 700u
#define MADE_PERCPU  5u
#define MADE_STEP    16u
#define MADE_TOKEN   "ab" /* the token of a byte that is not a character of a name */

enum made_layout { MADE_OLD, MADE_SEQS_4, MADE_SEQS_3, MADE_NEW, MADE_PC_RELATIVE, MADE_LAYOUTS };

/* A symbol with a given name and address, in the place of one of the last. */
struct made_symbol {
	const char *name;
	uint64_t address; /* after the others' addresses, ascending */
};

struct made {
	uint8_t *at;
	uint32_t bytes;
	uint32_t align; /* of tables */
	const struct made_symbol *own;
	uint32_t n_own;
};

static inline void made_put(struct made *m, const void *data, uint32_t bytes)
{
	memcpy(m->at + m->bytes, data, bytes);
	m->bytes += bytes;
}

static inline void made_u32(struct made *m, uint32_t value)
{
	made_put(m, &value, 4);
}

static inline void made_align(struct made *m)
{
	m->bytes = (m->bytes + m->align - 1) & ~(m->align - 1);
}

/* Writes the name of the i-th symbol, which the 200th byte makes longer than a one-byte length. */
static inline void made_name(uint32_t i, char *name)
{
	int n = snprintf(name, 64, "symbol_%u", i);

	if (i == 200) {
		memset(name + n, 'x', 200);
		name[n + 200] = '\0';
	}
}

static inline uint64_t made_address(uint32_t i, bool percpu)
{
	if (percpu && i < MADE_PERCPU)
		return i * 8;
	return MADE_BASE + (i - (percpu ? MADE_PERCPU : 0)) * (uint64_t)MADE_STEP;
}

static inline const struct made_symbol *made_own(const struct made *m, uint32_t i)
{
	return i >= MADE_SYMBOLS - m->n_own ? &m->own[i - (MADE_SYMBOLS - m->n_own)] : NULL;
}

static inline void made_offsets(struct made *m, bool percpu)
{
	uint64_t base = MADE_BASE;

	made_align(m);
	for (uint32_t i = 0; i < MADE_SYMBOLS; i++) {
		const struct made_symbol *own = made_own(m, i);
		uint64_t address = own ? own->address : made_address(i, percpu);

		if (percpu && i < MADE_PERCPU)
			made_u32(m, (uint32_t)address);
		else
			made_u32(m, (uint32_t)(percpu ? base - address - 1 : address - base));
	}
	made_align(m);
	made_put(m, &base, 8);
}

/* Each is relative to its own place in the image. */
static inline void made_pc_offsets(struct made *m)
{
	made_align(m);
	for (uint32_t i = 0; i < MADE_SYMBOLS; i++)
		made_u32(m, (uint32_t)(made_address(i, false) - MADE_GVA - m->bytes));
}

static inline void made_names(struct made *m)
{
	uint32_t markers[MADE_SYMBOLS / 256 + 1], from;
	char name[300];

	made_align(m);
	made_u32(m, MADE_SYMBOLS);
	made_align(m);
	from = m->bytes;
	for (uint32_t i = 0; i < MADE_SYMBOLS; i++) {
		uint8_t length[2];
		uint32_t n;

		if (!(i % 256))
			markers[i / 256] = m->bytes - from;
		if (made_own(m, i))
			strcpy(name, made_own(m, i)->name);
		else
			made_name(i, name);
		/* The type, and a byte that is a token of two. */
		n = (uint32_t)strlen(name) + (made_own(m, i) ? 1 : 3);
		length[0] = (uint8_t)(n > 0x7f ? n | 0x80 : n);
		length[1] = (uint8_t)(n >> 7);
		made_put(m, length, n > 0x7f ? 2 : 1);
		/* Tests expect the meaning of the two tokens; own names are not tokenized. */
		made_put(m, made_own(m, i) ? "T" : "T\x01\x02", made_own(m, i) ? 1 : 3);
		made_put(m, name, (uint32_t)strlen(name));
	}
	made_align(m);
	made_put(m, markers, sizeof(markers));
}

static inline void made_seqs(struct made *m, uint32_t each)
{
	made_align(m);
	for (uint32_t i = 0; i < MADE_SYMBOLS; i++) {
		const uint8_t big[3] = { 0, (uint8_t)(i >> 8), (uint8_t)i };

		if (each == 4)
			made_u32(m, i);
		else
			made_put(m, big, 3);
	}
}

static inline void made_tokens(struct made *m)
{
	uint16_t index[256];
	uint32_t from;

	made_align(m);
	from = m->bytes;
	for (uint32_t i = 0; i < 256; i++) {
		const char one[2] = { (char)i, '\0' };

		index[i] = (uint16_t)(m->bytes - from);
		if (i > ' ' && i < 0x7f)
			made_put(m, one, 2);
		else
			made_put(m, MADE_TOKEN, sizeof(MADE_TOKEN));
	}
	made_align(m);
	made_put(m, index, sizeof(index));
}

/*
 * Makes an image that contains the tables, whose bytes the caller frees. *from and *to are the
 * tables' bounds. The last n_own symbols are those of own[], in a layout other than
 * MADE_PC_RELATIVE.
 */
static inline struct rs_image made_image_own(enum made_layout layout, bool percpu,
					     const struct made_symbol *own, uint32_t n_own,
					     uint32_t *from, uint32_t *to)
{
	uint32_t align = layout == MADE_PC_RELATIVE ? 4 : 8;
	struct made m = { calloc(1, MADE_BYTES), 4096 + align, align, own, n_own };
	struct rs_image image = { .data = m.at, .bytes = MADE_BYTES, .n_runs = 1 };

	image.runs[0] = (struct rs_image_run){ MADE_GVA, MADE_BYTES, 0 };
	if (!m.at)
		abort();
	memset(m.at, 0x5a, 4096);
	*from = m.bytes;
	if (layout < MADE_NEW)
		made_offsets(&m, percpu);
	made_names(&m);
	if (layout == MADE_SEQS_4 || layout == MADE_SEQS_3)
		made_seqs(&m, layout == MADE_SEQS_4 ? 4 : 3);
	made_tokens(&m);
	if (layout == MADE_NEW)
		made_offsets(&m, percpu);
	if (layout == MADE_PC_RELATIVE)
		made_pc_offsets(&m);
	if (layout >= MADE_NEW)
		made_seqs(&m, 3);
	*to = m.bytes;
	memset(m.at + m.bytes, 0xa5, 4096);
	return image;
}

static inline struct rs_image made_image(enum made_layout layout, bool percpu, uint32_t *from,
					 uint32_t *to)
{
	return made_image_own(layout, percpu, NULL, 0, from, to);
}

/* ---- BTF ------------------------------------------------------------------------------------ */

#define MADE_TEXTS	"\0int\0outer\0inner\0first\0second\0bits\0list\0pointer\0alias\0flagged"
#define MADE_TEXT(text) made_text(text)

static inline uint32_t made_text(const char *text)
{
	static const char texts[] = MADE_TEXTS;

	for (uint32_t i = 0; i < sizeof(texts); i += (uint32_t)strlen(texts + i) + 1)
		if (!strcmp(texts + i, text))
			return i;
	abort();
}

static inline void made_words(struct made *m, const uint32_t *words, uint32_t n)
{
	made_put(m, words, n * 4);
}

/*
 * Makes BTF of these, in `room` of 1024 bytes. Returns its size.
 *
 *	struct inner { int first; int second; };	type 2; int is type 1
 *	typedef struct inner alias;			type 3
 *	struct outer {					type 7
 *		int first;
 *		union { struct { int x[6]: list; }; int y; };	types 5 (struct), 6 (union), 4
 * (array)
 *		alias inner;
 *		struct outer *pointer;			type 8
 *	};
 *	struct flagged { int first: 3; int bits: 5; };	type 9, with kind_flag
 */
static inline uint32_t made_btf(uint8_t *room)
{
	static const char texts[] = MADE_TEXTS;
	struct made m = { room, 24 };
	const uint32_t types[] = {
		made_text("int"),
		1u << 24,
		4,
		32, /* 1 */
		made_text("inner"),
		4u << 24 | 2,
		8,
		made_text("first"),
		1,
		0,
		made_text("second"),
		1,
		32, /* 2 */
		made_text("alias"),
		8u << 24,
		2, /* 3 */
		0,
		3u << 24,
		0,
		1,
		1,
		6, /* 4 */
		0,
		4u << 24 | 1,
		24,
		made_text("list"),
		4,
		0, /* 5 */
		0,
		5u << 24 | 1,
		24,
		0,
		5,
		0, /* 6 */
		made_text("outer"),
		4u << 24 | 4,
		48,
		made_text("first"),
		1,
		0,
		0,
		6,
		32,
		made_text("inner"),
		3,
		224,
		made_text("pointer"),
		8,
		320, /* 7 */
		0,
		2u << 24,
		7, /* 8 */
		made_text("flagged"),
		1u << 31 | 4u << 24 | 2,
		4,
		made_text("first"),
		1,
		3u << 24,
		made_text("bits"),
		1,
		5u << 24 | 11, /* 9 */
	};
	const uint32_t header[] = {
		0x0001eb9f, 24, 0, sizeof(types), sizeof(types), sizeof(texts)
	};

	memcpy(room, header, sizeof(header));
	made_words(&m, types, sizeof(types) / 4);
	made_put(&m, texts, sizeof(texts));
	return m.bytes;
}

#endif
