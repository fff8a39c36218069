/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rings that a recorder lends to programs that run already, by id, as ACRN's trace module gives its
 * hypervisor a ring for each physical CPU: who reads makes the rings, hands them out, and takes
 * them back and removes them when it goes; who writes goes on without, until the next one comes.
 *
 *	PATH, the board                                     PATH.0, PATH.1, ...
 *	| head | place 0 | place 1 | ... |  64 bytes each   the rings (sbuf.h), while they are lent
 *
 * The first lender or borrower makes the board, and it stays. A place:
 *
 *	`lent` odd: there is a ring, and each odd number is another one. The lender's.
 *	`busy`: the borrower is within a put. The borrower's.
 *
 * A put says that it is busy, then looks whether its ring is still lent. The lender says that it
 * is not, has every CPU pass a full barrier (membarrier(2)), and waits until nobody is busy: then
 * no put into the ring is under way, and none will begin. So a put costs no barrier, and what was
 * put is in the ring to the last record when the lender reads it for the last time.
 *
 * Trust: the lender and its borrowers are processes of one user, or the lender is root's. Both
 * refuse a board or a ring of any other user, one to which others can write, and links (ring.h). A
 * lender trusts nothing that it reads: a borrower that never ends its put costs it its patience,
 * and no more.
 *
 * PATH may be shm:NAME (ring.h).
 */
#ifndef RINGSIDE_LEND_H
#define RINGSIDE_LEND_H

#include <ringside/error.h>
#include <ringside/record.h>

#define RS_LEND_IDS_MAX 256u

struct rs_lend_place {
	uint32_t lent;
	uint32_t busy;
	uint32_t pid; /* the borrower's process; 0: none yet */
	uint32_t reserved[13];
};

struct rs_lend_board {
	uint64_t magic; /* written last */
	uint64_t reserved[7];
	struct rs_lend_place places[RS_LEND_IDS_MAX];
};
_Static_assert(sizeof(struct rs_lend_place) == 64, "a cache line of its own");
_Static_assert(offsetof(struct rs_lend_board, places) == 64, "as said above");

/* ---- the borrower -----------------------------------------------------------------------------
 */

/* One id of a board. Its fields are rs_lent_put()'s; one thread uses it. */
struct rs_lent {
	struct rs_lend_place *place;
	uint32_t seen; /* place->lent, of the ring that we have or know to be gone */
	uint32_t id;
	struct rs_sbuf_producer producer; /* no ring: nothing is lent */
	uint64_t dropped;		  /* puts while nothing was lent */
	struct rs_lend_board *board;
	char *path; /* the board's */
	void *mem;
	size_t bytes;
};

/*
 * Takes an id (0 to RS_LEND_IDS_MAX - 1) of the board at path, which is made if there is none.
 * RS_USAGE: another process that lives has it. Whether there is a ring, or when, is not asked.
 */
struct rs_error *rs_lent_open(const char *path, uint32_t id, struct rs_lent **lent);
void rs_lent_close(struct rs_lent *lent); /* NULL is nothing */

/* What changed since `seen`: the old ring is unmapped, the new one mapped. */
void rs_lent_look(struct rs_lent *lent, uint32_t now);

/* Puts a record of one slot. False: nothing is lent (dropped), or the ring is full (the ring counts
 * it, and tells it). Not for code that a handler interrupts and puts itself. */
static inline bool rs_lent_put(struct rs_lent *lent, const struct rs_slot *slot)
{
	struct rs_lend_place *place = lent->place;
	uint32_t now;
	bool kept = false;

	/* The lender's barrier in rs_lender_take_back() stands between these two, if need be. */
	__atomic_store_n(&place->busy, 1, __ATOMIC_RELAXED);
	rs_signal_fence();
	/* Pairs with the release in rs_lender_lend(). */
	now = __atomic_load_n(&place->lent, __ATOMIC_ACQUIRE);
	if (__builtin_expect(now != lent->seen, 0))
		rs_lent_look(lent, now);
	if (lent->producer.ring)
		kept = rs_sbuf_put(&lent->producer, slot, RS_SLOT_BYTES);
	else
		lent->dropped++;
	/* Pairs with the acquire in rs_lender_take_back(): the put is done. */
	__atomic_store_n(&place->busy, 0, __ATOMIC_RELEASE);
	return kept;
}

/* ---- the lender -------------------------------------------------------------------------------
 */

struct rs_lender;

struct rs_lend_options {
	const char *path;  /* the board's; made if there is none */
	uint32_t n;	   /* rings: ids 0 to n - 1 */
	size_t ring_bytes; /* of memory, each */
	/* Rings that a lender who died has left are taken over with what is in them, not made anew.
	 */
	bool keep;
};

/* Makes the rings; nothing is lent yet. RS_USAGE: another lender that lives has the board. */
struct rs_error *rs_lender_create(const struct rs_lend_options *options, struct rs_lender **lender);

/* The i-th ring's path. */
const char *rs_lender_path(const struct rs_lender *lender, uint32_t i);

/* RS_FAILED: the board went away. */
struct rs_error *rs_lender_lend(struct rs_lender *lender);

/*
 * Takes all rings back: nobody puts into them any more. They stay until the lender is destroyed.
 * RS_FAILED: somebody did not end a put within patience_ms, and what it puts still may be lost.
 */
struct rs_error *rs_lender_take_back(struct rs_lender *lender, uint32_t patience_ms);

/* Removes the rings. NULL is nothing. */
void rs_lender_destroy(struct rs_lender *lender);

#endif
