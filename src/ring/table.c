/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rings by purpose and CPU (or VM). One thread sets places while any number of threads look them
 * up: a place is one pointer, stored with release after the ring was checked. The table does not
 * own the rings; the caller that removes one ensures that no thread still uses it.
 */
#include <ringside/ring.h>

#include <stdlib.h>

#define CPUS_MAX 65536u

/* Numbers: ACRN's acrn_common.h. Sizes: its trace_entry, LOG_ENTRY_SIZE, SEP_BUF_ENTRY_SIZE
 * (which Socwatch shares), a uint64_t for asynchronous I/O, struct vm_event. */
static const struct rs_ring_purpose purposes[] = {
	{ RS_PURPOSE_TRACE, "trace", 32, true },     { RS_PURPOSE_LOG, "log", 80, true },
	{ RS_PURPOSE_SEP, "sep", 32, true },	     { RS_PURPOSE_SOCWATCH, "socwatch", 32, true },
	{ RS_PURPOSE_ASYNCIO, "asyncio", 8, false }, { RS_PURPOSE_VM_EVENT, "vm-event", 32, false },
};
#define PURPOSES (sizeof(purposes) / sizeof(purposes[0]))

struct rs_ring_table {
	uint32_t cpus;
	struct rs_sbuf *place[]; /* [purpose's row * cpus + cpu] */
};

const struct rs_ring_purpose *rs_ring_purpose(uint32_t id)
{
	for (size_t i = 0; i < PURPOSES; i++)
		if (purposes[i].id == id)
			return &purposes[i];
	return NULL;
}

struct rs_error *rs_ring_table_create(uint32_t cpus, struct rs_ring_table **table)
{
	struct rs_ring_table *t;

	if (!cpus || cpus > CPUS_MAX)
		return rs_error_create(RS_USAGE, "rings for %u CPUs: 1 to %u are possible", cpus,
				       CPUS_MAX);
	t = calloc(1, sizeof(*t) + PURPOSES * cpus * sizeof(t->place[0]));
	if (!t)
		return rs_error_no_memory();
	t->cpus = cpus;
	*table = t;
	return NULL;
}

void rs_ring_table_destroy(struct rs_ring_table *table)
{
	free(table);
}

/* Returns the place of a ring, or NULL. */
static struct rs_sbuf **place_of(const struct rs_ring_table *table, uint32_t purpose, uint32_t cpu)
{
	const struct rs_ring_purpose *row = rs_ring_purpose(purpose);

	if (!row || cpu >= table->cpus)
		return NULL;
	return (struct rs_sbuf **)&table->place[(size_t)(row - purposes) * table->cpus + cpu];
}

struct rs_error *rs_ring_table_set(struct rs_ring_table *table, uint32_t purpose, uint32_t cpu,
				   struct rs_sbuf *ring)
{
	struct rs_sbuf **place = place_of(table, purpose, cpu);

	if (!place)
		return rs_error_create(RS_USAGE, "no place for a ring of purpose %u, CPU %u",
				       purpose, cpu);
	if (ring) {
		const struct rs_ring_purpose *row = rs_ring_purpose(purpose);
		uint32_t ele_size = __atomic_load_n(&ring->ele_size, __ATOMIC_RELAXED);

		if (ele_size != row->ele_size)
			return rs_error_create(RS_USAGE,
					       "a %s ring has elements of %u bytes, but this ring "
					       "has elements of %u",
					       row->name, row->ele_size, ele_size);
	}
	/* Pairs with the acquire in rs_ring_table_get(). */
	__atomic_store_n(place, ring, __ATOMIC_RELEASE);
	return NULL;
}

struct rs_sbuf *rs_ring_table_get(const struct rs_ring_table *table, uint32_t purpose, uint32_t cpu)
{
	struct rs_sbuf **place = place_of(table, purpose, cpu);

	/* Pairs with the release in rs_ring_table_set(). */
	return place ? __atomic_load_n(place, __ATOMIC_ACQUIRE) : NULL;
}
