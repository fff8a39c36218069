/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds and reads a Linux kernel's own symbol table. */
#include "insight/kallsyms.h"

#include <stdlib.h>
#include <string.h>

#define TOKENS	       256u
#define TOKEN_MAX      RS_KALLSYMS_NAME_MAX
#define GROUP	       256u /* number of names for each marker */
#define CANDIDATES_MAX 64u
/* A compressed name has at most 0x3fff bytes after its length. The average in kernels is below
 * 20. */
#define GROUP_BYTES_MAX (GROUP * 600u)
#define MARKERS_MAX	(RS_KALLSYMS_MAX / GROUP)
#define SEQS_BYTES	4u /* size of an element of seqs_of_names, at most */
/* Limit of the names checked in all candidates, since an image may contain many tables that nearly
 * fit. */
#define WORK_MAX (UINT64_C(64) << 20)

/* Limit of the names of one hash that a lookup compares, since a guest can choose names with equal
 * hashes. */
#define SAME_HASH_MAX 256u

/* How an offset becomes an address. */
enum addresses {
	RELATIVE,	 /* to relative_base */
	ABSOLUTE_PERCPU, /* an address from 0 on, relative below 0 (until 6.14) */
	PC_RELATIVE,	 /* to its own address (since 7.0) */
};

struct rs_kallsyms {
	uint8_t *names;
	uint32_t names_bytes, n;
	uint32_t *markers;
	int32_t *offsets;
	enum addresses how;
	uint64_t base; /* base of the offsets */
	char *tokens;
	uint32_t tokens_bytes;
	uint16_t token_at[TOKENS];
	/* sorted; the upper half is a hash of the name, the lower half the symbol's index */
	uint64_t *by_name;
};

/* The run of the image that is searched. It is page-aligned. All positions are offsets in it. */
struct run {
	const uint8_t *at;
	uint64_t bytes, gva;
	uint64_t *work; /* number of names that may still be checked */
};

/* Positions of the tables. */
struct places {
	uint64_t tokens, index, markers, names, names_end;
	uint32_t n, tokens_bytes;
	uint32_t align; /* alignment of each table: 8, or 4 since 7.0 */
};

static uint32_t u32_at(const struct run *run, uint64_t at)
{
	uint32_t value;

	memcpy(&value, run->at + at, 4);
	return value;
}

static uint64_t u64_at(const struct run *run, uint64_t at)
{
	uint64_t value;

	memcpy(&value, run->at + at, 8);
	return value;
}

static uint64_t align(uint64_t at, uint32_t to)
{
	return (at + to - 1) & ~(uint64_t)(to - 1);
}

/* ---- finding: tokens ------------------------------------------------------------------------ */

/* Skips n texts. Returns false if they exceed the run, or one is longer than a token. */
static bool texts_skip(const struct run *run, uint64_t *at, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint64_t left = run->bytes - *at;
		const uint8_t *nul =
			memchr(run->at + *at, 0, left < TOKEN_MAX ? (size_t)left : TOKEN_MAX);

		if (!nul)
			return false;
		*at = (uint64_t)(nul - run->at) + 1;
	}
	return true;
}

/* Checks the token table that contains the tokens of the digits at `digits`. Uses places->align. */
static bool tokens_check(const struct run *run, uint64_t digits, struct places *places)
{
	uint64_t at = digits, end;
	uint16_t index[TOKENS];

	if (!texts_skip(run, &at, TOKENS - '0'))
		return false;
	end = at;
	places->index = align(end, places->align);
	if (places->index + sizeof(index) > run->bytes)
		return false;
	memcpy(index, run->at + places->index, sizeof(index));
	if (index[0] || index['0'] > digits)
		return false;
	places->tokens = at = digits - index['0'];
	if (at % places->align)
		return false;
	for (uint32_t i = 0; i < TOKENS; i++)
		if (at != places->tokens + index[i] || !texts_skip(run, &at, 1))
			return false;
	places->tokens_bytes = (uint32_t)(end - places->tokens);
	return at == end;
}

/* ---- finding: names ------------------------------------------------------------------------- */

/* Returns the length of the name at *at, and advances *at past that length. Returns 0 if there is
 * no name. */
static uint32_t length_at(const uint8_t *names, uint64_t bytes, uint64_t *at)
{
	uint32_t length;

	if (*at >= bytes)
		return 0;
	length = names[(*at)++];
	if (length & 0x80) {
		if (*at >= bytes)
			return 0;
		length = (length & 0x7f) | (uint32_t)names[(*at)++] << 7;
	}
	return length <= bytes - *at ? length : 0;
}

/* Checks that there are places->n names between `names` and the markers, and that they match the
 * markers. */
static bool names_check(const struct run *run, struct places *places)
{
	const uint8_t *names = run->at + places->names;
	uint64_t bytes = places->markers - places->names, at = 0;

	for (uint32_t i = 0; i < places->n; i++) {
		uint32_t length;

		if (!*run->work)
			return false;
		--*run->work;
		if (!(i % GROUP) && at != u32_at(run, places->markers + i / GROUP * 4))
			return false;
		length = length_at(names, bytes, &at);
		if (!length)
			return false;
		at += length;
	}
	places->names_end = places->names + at;
	return align(places->names_end, places->align) == places->markers;
}

/* Searches num_syms and the names before the n markers. num_syms has four bytes, and is padded with
 * zeros. */
static bool names_find(const struct run *run, uint32_t n, struct places *places)
{
	uint64_t last = u32_at(run, places->markers + (n - 1) * 4), from;
	uint32_t step = places->align;

	if (places->markers < last + step + 1)
		return false;
	from = (places->markers - last - 1) & ~(uint64_t)(step - 1);
	for (uint64_t names = from; names >= step && from - names < GROUP_BYTES_MAX;
	     names -= step) {
		places->n = u32_at(run, names - step);
		if (!places->n || (places->n - 1) / GROUP + 1 != n ||
		    (step > 4 && u32_at(run, names - 4)))
			continue;
		places->names = names;
		if (names_check(run, places))
			return true;
	}
	return false;
}

/* Searches the markers before the token table: they begin with 0 and ascend. */
static bool markers_find(const struct run *run, struct places *places)
{
	uint64_t most = (uint64_t)MARKERS_MAX * 4 + (uint64_t)RS_KALLSYMS_MAX * SEQS_BYTES;
	uint64_t low = places->tokens > most ? places->tokens - most : 0;
	uint32_t tried = 0;

	for (uint64_t at = places->tokens; at >= low + 8 && tried < CANDIDATES_MAX;) {
		uint32_t n = 1;

		at -= places->align;
		if (u32_at(run, at))
			continue;
		while (n < MARKERS_MAX && at + n * 4 + 4 <= places->tokens) {
			uint32_t before = u32_at(run, at + n * 4 - 4),
				 value = u32_at(run, at + n * 4);

			if (value < before + 2 * GROUP || value - before > GROUP_BYTES_MAX)
				break;
			n++;
		}
		if (n < 2)
			continue;
		tried++;
		places->markers = at;
		/* The bytes after the last marker may look like one more. */
		for (uint32_t less = 0; less < 2 && less + 1 < n; less++)
			if (names_find(run, n - less, places))
				return true;
	}
	return false;
}

/* ---- finding: addresses --------------------------------------------------------------------- */

static uint64_t address_of(const struct rs_kallsyms *k, uint32_t i)
{
	int32_t offset = k->offsets[i];

	switch (k->how) {
	case RELATIVE:
		return k->base + (uint32_t)offset;
	case ABSOLUTE_PERCPU:
		return offset >= 0 ? (uint64_t)offset : k->base - 1 - (uint64_t)(int64_t)offset;
	case PC_RELATIVE:
		return k->base + i * sizeof(*k->offsets) + (uint64_t)(int64_t)offset;
	}
	return 0;
}

/* Returns whether the addresses ascend, up to an address in the kernel. */
static bool addresses_check(struct rs_kallsyms *k, enum addresses how)
{
	k->how = how;
	if (how == PC_RELATIVE && address_of(k, 0) < RS_IMAGE_FROM)
		return false;
	for (uint32_t i = 1; i < k->n; i++)
		if (address_of(k, i) < address_of(k, i - 1))
			return false;
	return address_of(k, k->n - 1) >= RS_IMAGE_FROM &&
	       (how != ABSOLUTE_PERCPU || k->offsets[k->n - 1] < 0);
}

static bool offsets_copy(struct rs_kallsyms *k, const struct run *run, uint64_t offsets)
{
	uint64_t bytes = (uint64_t)k->n * sizeof(*k->offsets);

	if (offsets + bytes > run->bytes)
		return false;
	memcpy(k->offsets, run->at + offsets, (size_t)bytes);
	return true;
}

static bool offsets_check(struct rs_kallsyms *k, const struct run *run, uint64_t offsets,
			  uint64_t base)
{
	if (base + 8 > run->bytes || !offsets_copy(k, run, offsets))
		return false;
	k->base = u64_at(run, base);
	if (k->base < RS_IMAGE_FROM || k->base >= RS_IMAGE_TO)
		return false;
	return addresses_check(k, ABSOLUTE_PERCPU) || addresses_check(k, RELATIVE);
}

static bool offsets_find(struct rs_kallsyms *k, const struct run *run, const struct places *places)
{
	uint64_t bytes = align((uint64_t)k->n * sizeof(*k->offsets), places->align);
	uint64_t after = places->index + TOKENS * 2;

	if (places->align == 4) {
		k->base = run->gva + after;
		return offsets_copy(k, run, after) && addresses_check(k, PC_RELATIVE);
	}
	if (places->names >= bytes + 16 &&
	    offsets_check(k, run, places->names - 16 - bytes, places->names - 16))
		return true;
	return offsets_check(k, run, after, after + bytes);
}

/* ---- finding: all --------------------------------------------------------------------------- */

static bool expand(const struct rs_kallsyms *k, uint32_t at, struct rs_ksym *sym, uint32_t *next)
{
	uint64_t pos = at;
	uint32_t length = length_at(k->names, k->names_bytes, &pos), got = 0;

	*next = (uint32_t)(pos + length);
	sym->type = 0;
	for (uint32_t i = 0; i < length; i++)
		for (const char *c = k->tokens + k->token_at[k->names[pos + i]]; *c; c++) {
			if (!sym->type) {
				sym->type = *c;
				continue;
			}
			if (got == RS_KALLSYMS_NAME_MAX - 1)
				return false;
			sym->name[got++] = *c;
		}
	sym->name[got] = '\0';
	return got != 0;
}

static struct rs_error *tables_copy(const struct run *run, const struct places *places,
				    struct rs_kallsyms **out)
{
	struct rs_kallsyms *k = calloc(1, sizeof(*k));
	uint32_t groups = (places->n - 1) / GROUP + 1;

	if (!k)
		return rs_error_no_memory();
	k->n = places->n;
	k->names_bytes = (uint32_t)(places->names_end - places->names);
	k->tokens_bytes = places->tokens_bytes;
	k->names = malloc(k->names_bytes);
	k->markers = malloc(groups * sizeof(*k->markers));
	k->offsets = malloc(k->n * sizeof(*k->offsets));
	k->tokens = malloc(k->tokens_bytes);
	if (!k->names || !k->markers || !k->offsets || !k->tokens) {
		rs_kallsyms_destroy(k);
		return rs_error_no_memory();
	}
	memcpy(k->names, run->at + places->names, k->names_bytes);
	memcpy(k->markers, run->at + places->markers, groups * sizeof(*k->markers));
	memcpy(k->tokens, run->at + places->tokens, k->tokens_bytes);
	memcpy(k->token_at, run->at + places->index, sizeof(k->token_at));
	*out = k;
	return NULL;
}

/* Expands each name once, and adds it to the index by hash. */
static struct rs_error *names_index(struct rs_kallsyms *k, bool *valid);

static struct rs_error *try(const struct run *run, uint64_t digits, uint32_t alignment,
			    struct rs_kallsyms **out)
{
	struct rs_kallsyms *k = NULL;
	struct places places = { .align = alignment };
	struct rs_error *err;
	bool valid = false;

	if (!tokens_check(run, digits, &places) || !markers_find(run, &places) ||
	    places.n > RS_KALLSYMS_MAX)
		return NULL;
	err = tables_copy(run, &places, &k);
	if (!err && offsets_find(k, run, &places))
		err = names_index(k, &valid);
	if (valid)
		*out = k;
	else
		rs_kallsyms_destroy(k);
	return err;
}

struct rs_error *rs_kallsyms_find(const struct rs_image *image, struct rs_kallsyms **out)
{
	static const uint8_t digits[20] = "0\0001\0002\0003\0004\0005\0006\0007\0008\0009";
	struct rs_error *err = NULL;
	uint64_t work = WORK_MAX;
	uint32_t tried = 0;

	for (uint32_t i = 0; i < image->n_runs; i++) {
		struct run run = { image->data + image->runs[i].offset, image->runs[i].bytes,
				   image->runs[i].gva, &work };
		const uint8_t *at = run.at, *end = run.at + run.bytes;
		struct rs_kallsyms *k = NULL;

		while (tried < CANDIDATES_MAX &&
		       (at = memmem(at, (size_t)(end - at), digits, sizeof(digits)))) {
			tried++;
			err = try(&run, (uint64_t)(at - run.at), 8, &k);
			if (!err && !k)
				err = try(&run, (uint64_t)(at - run.at), 4, &k);
			if (err)
				return err;
			if (k) {
				*out = k;
				return NULL;
			}
			at++;
		}
	}
	return rs_error_create(RS_USAGE,
			       tried ? "the kernel's symbol table (kallsyms) is damaged, "
				       "or has an unknown layout"
				     : "the kernel's symbol table (kallsyms) was not found");
}

void rs_kallsyms_destroy(struct rs_kallsyms *k)
{
	if (!k)
		return;
	free(k->names);
	free(k->markers);
	free(k->offsets);
	free(k->tokens);
	free(k->by_name);
	free(k);
}

/* ---- reading -------------------------------------------------------------------------------- */

uint32_t rs_kallsyms_count(const struct rs_kallsyms *k)
{
	return k->n;
}

static void address_set(const struct rs_kallsyms *k, uint32_t i, struct rs_ksym *sym)
{
	sym->address = address_of(k, i);
	sym->percpu = k->how == ABSOLUTE_PERCPU && k->offsets[i] >= 0;
}

bool rs_kallsyms_at(const struct rs_kallsyms *k, uint32_t i, struct rs_ksym *sym)
{
	uint32_t at;
	uint64_t pos;

	if (i >= k->n)
		return false;
	at = k->markers[i / GROUP];
	for (uint32_t left = i % GROUP; left; left--) {
		uint32_t length;

		pos = at;
		length = length_at(k->names, k->names_bytes, &pos);
		at = (uint32_t)(pos + length);
	}
	expand(k, at, sym, &at);
	address_set(k, i, sym);
	return true;
}

static uint32_t hash(const char *name) /* FNV-1a */
{
	uint32_t value = 2166136261u;

	for (; *name; name++)
		value = (value ^ (uint8_t)*name) * 16777619u;
	return value;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static struct rs_error *names_index(struct rs_kallsyms *k, bool *valid)
{
	struct rs_ksym sym;
	uint32_t at = 0;

	k->by_name = malloc(k->n * sizeof(*k->by_name));
	if (!k->by_name)
		return rs_error_no_memory();
	*valid = true;
	for (uint32_t i = 0; i < k->n && *valid; i++) {
		*valid = expand(k, at, &sym, &at);
		k->by_name[i] = (uint64_t)hash(sym.name) << 32 | i;
	}
	if (*valid)
		qsort(k->by_name, k->n, sizeof(*k->by_name), by_value);
	return NULL;
}

/* Returns the index of the first symbol whose name has the given hash or a higher one. */
static uint32_t first_of(const struct rs_kallsyms *k, uint64_t key)
{
	uint32_t low = 0, high = k->n;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (k->by_name[middle] < key)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Returns the index of the first symbol at the given address or above. */
static uint32_t first_at(const struct rs_kallsyms *k, uint64_t address)
{
	uint32_t low = 0, high = k->n;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (address_of(k, middle) < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool rs_kallsyms_by_name(const struct rs_kallsyms *k, const char *name, struct rs_ksym *sym)
{
	uint64_t key = (uint64_t)hash(name) << 32;
	uint32_t first = first_of(k, key);

	for (uint32_t i = first; i < k->n && i - first < SAME_HASH_MAX; i++) {
		if (k->by_name[i] >> 32 != key >> 32)
			break;
		if (rs_kallsyms_at(k, (uint32_t)k->by_name[i], sym) && !strcmp(sym->name, name))
			return true;
	}
	return false;
}

/* Names of one hash are sorted by index, and so by address. */
bool rs_kallsyms_has(const struct rs_kallsyms *k, const char *name, uint64_t address)
{
	uint64_t key = (uint64_t)hash(name) << 32;
	uint32_t first = first_of(k, key | first_at(k, address));
	struct rs_ksym sym;

	for (uint32_t i = first; i < k->n && i - first < SAME_HASH_MAX; i++) {
		if (k->by_name[i] >> 32 != key >> 32 ||
		    address_of(k, (uint32_t)k->by_name[i]) != address)
			break;
		if (rs_kallsyms_at(k, (uint32_t)k->by_name[i], &sym) && !strcmp(sym.name, name))
			return true;
	}
	return false;
}

bool rs_kallsyms_by_address(const struct rs_kallsyms *k, uint64_t address, struct rs_ksym *sym,
			    uint64_t *size)
{
	uint32_t low = 0, high = k->n, next;

	while (low < high) { /* the first symbol above the address */
		uint32_t middle = low + (high - low) / 2;

		if (address_of(k, middle) <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || address < RS_IMAGE_FROM)
		return false;
	next = low--;
	if (k->how == ABSOLUTE_PERCPU && k->offsets[low] >= 0)
		return false; /* the address is below the kernel's */
	while (low && address_of(k, low - 1) == address_of(k, low))
		low--;
	*size = next < k->n ? address_of(k, next) - address_of(k, low) : 0;
	return rs_kallsyms_at(k, low, sym);
}
