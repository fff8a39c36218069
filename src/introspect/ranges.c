/* SPDX-License-Identifier: BSD-2-Clause */
/* Flattens nested ranges, and finds the one at an address. */
#include "introspect/ranges.h"

#include <stdlib.h>

#include "base/search.h"
#include "base/vector.h"

void rs_ranges_deinit(struct rs_ranges *ranges)
{
	free(ranges->at);
	*ranges = (struct rs_ranges){ 0 };
}

bool rs_ranges_add(struct rs_ranges *ranges, struct rs_range range)
{
	if (range.lo >= range.hi)
		return true;
	if (!RS_VECTOR_RESERVE(ranges->at, ranges->room, ranges->n + 1))
		return false;
	ranges->at[ranges->n++] = range;
	return true;
}

static int by_address(const void *a, const void *b)
{
	const struct rs_range *one = a, *other = b;

	if (one->lo != other->lo)
		return one->lo < other->lo ? -1 : 1;
	if (one->rank != other->rank)
		return one->rank < other->rank ? -1 : 1;
	return (one->item > other->item) - (one->item < other->item);
}

/* Appends the part of a range from *from to `to`, where another range begins or this one ends. */
static void emit(struct rs_ranges *flat, const struct rs_range *range, uint64_t *from, uint64_t to)
{
	if (to > range->hi)
		to = range->hi;
	if (*from >= to)
		return;
	flat->at[flat->n] = *range;
	flat->at[flat->n].lo = *from;
	flat->at[flat->n++].hi = to;
	*from = to;
}

bool rs_ranges_flatten(struct rs_ranges *ranges)
{
	size_t n = ranges->n, depth = 0;
	struct rs_ranges flat = { 0 };
	const struct rs_range **open = NULL; /* the ranges around `from`, innermost last */
	uint64_t from = 0;

	if (!n)
		return true;
	/* Each range begins once and ends once: at most two parts for each. */
	open = calloc(n, sizeof(const struct rs_range *));
	flat.at = calloc(n, 2 * sizeof(*flat.at));
	flat.room = 2 * n;
	if (!open || !flat.at) {
		free(open);
		free(flat.at);
		return false;
	}
	qsort(ranges->at, n, sizeof(*ranges->at), by_address);
	for (size_t i = 0; i <= n; i++) {
		uint64_t next = i < n ? ranges->at[i].lo : UINT64_MAX;

		while (depth && (open[depth - 1]->hi <= next || i == n))
			emit(&flat, open[--depth], &from, UINT64_MAX);
		if (depth)
			emit(&flat, open[depth - 1], &from, next);
		if (i < n) {
			from = next;
			open[depth++] = &ranges->at[i];
		}
	}
	free(open);
	free(ranges->at);
	*ranges = flat;
	return true;
}

const struct rs_range *rs_ranges_find(const struct rs_ranges *ranges, uint64_t address)
{
	size_t after = RS_SEARCH(i, ranges->n, ranges->at[i].lo <= address);

	return after && address < ranges->at[after - 1].hi ? &ranges->at[after - 1] : NULL;
}
