/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rings that a recorder lends to running programs by id, as ACRN's trace module gives its
 * hypervisor a ring for each physical CPU. The reader (the lender) creates the rings, lends them,
 * reclaims them, and removes them at its end. The writer (the borrower) continues without rings
 * until the next lender starts.
 *
 *	PATH, the board                                     PATH.0, PATH.1, ...
 *	| head | place 0 | place 1 | ... |  64 bytes each   the rings (sbuf.h), while they are lent
 *
 * The first lender or borrower creates the board, which then stays. A place has two words:
 *
 *	`lent` odd: there is a ring, and each odd number is another one. The lender's.
 *	`busy`: the borrower is within a put. The borrower's.
 *
 * A put sets busy, then checks that its ring is still lent. The lender clears lent, makes every CPU
 * pass a full barrier (membarrier(2)), and waits until busy is clear: then no put into the ring is
 * in progress, and none will begin. A put thereby needs no barrier, and the lender's last read
 * finds every record.
 *
 * Trust: the lender and its borrowers are processes of one user, or the lender is root's. Both
 * refuse links, and a board or ring that belongs to another user or that others can write to
 * (ring.h). A lender trusts nothing that it reads. A borrower that never ends its put can delay the
 * lender only up to its patience.
 *
 * PATH may be shm:NAME (ring.h).
 */
#ifndef RINGSIDE_LEND_H
#define RINGSIDE_LEND_H

#include <ringside/language.h>
#include <ringside/error.h>
#include <ringside/record.h>

RS_C_BEGIN

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
RS_STATIC_ASSERT(sizeof(struct rs_lend_place) == 64, "a cache line of its own");
RS_STATIC_ASSERT(offsetof(struct rs_lend_board, places) == 64, "as drawn above");

/* ---- the borrower --------------------------------------------------------------------------- */

/* One id of a board. rs_lent_put() owns its fields; one thread uses it. */
struct rs_lent {
	struct rs_lend_place *place;
	uint32_t seen; /* place->lent of the ring that is mapped, or was reclaimed */
	uint32_t id;
	struct rs_sbuf_producer producer; /* without a ring while nothing is lent */
	uint64_t dropped;		  /* puts while nothing was lent */
	struct rs_lend_board *board;
	char *path; /* the board's */
	void *mem;
	size_t bytes;
};

/*
 * Claims an id (0 to RS_LEND_IDS_MAX - 1) of the board at path, which is created if there is none.
 * Returns RS_USAGE if another living process has the id. Does not wait for a ring to be lent.
 */
struct rs_error *rs_lent_open(const char *path, uint32_t id, struct rs_lent **lent);
void rs_lent_close(struct rs_lent *lent); /* NULL is ignored */

/* Applies what changed since `seen`: unmaps the old ring and maps the new one. */
void rs_lent_refresh(struct rs_lent *lent, uint32_t now);

/* Puts a record of one slot. Returns false if nothing is lent (counted in dropped), or the ring is
 * full (the ring counts and reports the loss). Do not call it in code that a handler may interrupt
 * if that handler puts too. */
static inline bool rs_lent_put(struct rs_lent *lent, const struct rs_slot *slot)
{
	struct rs_lend_place *place = lent->place;
	uint32_t now;
	bool kept = false;

	/* The barrier in rs_lender_reclaim() orders this store and the next load, if there is a
	 * lender. */
	__atomic_store_n(&place->busy, 1, __ATOMIC_RELAXED);
	rs_signal_fence();
	/* Pairs with the release in rs_lender_lend(). */
	now = __atomic_load_n(&place->lent, __ATOMIC_ACQUIRE);
	if (__builtin_expect(now != lent->seen, 0))
		rs_lent_refresh(lent, now);
	if (lent->producer.ring)
		kept = rs_sbuf_put(&lent->producer, slot, RS_SLOT_BYTES);
	else
		lent->dropped++;
	/* Pairs with the acquire in rs_lender_reclaim(): the put is complete. */
	__atomic_store_n(&place->busy, 0, __ATOMIC_RELEASE);
	return kept;
}

/* ---- the lender ----------------------------------------------------------------------------- */

struct rs_lender;

struct rs_lend_options {
	const char *path;  /* the board's; created if there is none */
	uint32_t n;	   /* rings: ids 0 to n - 1 */
	size_t ring_bytes; /* size of each ring in memory */
	/* Take over rings, with their contents, that a dead lender has left, instead of creating
	 * new ones. */
	bool keep;
};

/* Creates the rings; lends none yet. Returns RS_USAGE if another living lender has the board. */
struct rs_error *rs_lender_create(const struct rs_lend_options *options, struct rs_lender **lender);

/* Returns the i-th ring's path. */
const char *rs_lender_path(const struct rs_lender *lender, uint32_t i);

/* Lends all rings. Returns RS_FAILED if the board was removed. */
struct rs_error *rs_lender_lend(struct rs_lender *lender);

/*
 * Reclaims all rings: no put into them is in progress afterwards. They stay until the lender is
 * destroyed. Returns RS_FAILED if a borrower did not end a put within patience_ms; that put may be
 * lost.
 */
struct rs_error *rs_lender_reclaim(struct rs_lender *lender, uint32_t patience_ms);

/* Removes the rings. NULL is ignored. */
void rs_lender_destroy(struct rs_lender *lender);

RS_C_END

#endif
