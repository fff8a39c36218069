/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sbuf in overwrite mode: a full ring loses its oldest element, not the newest. The header is that
 * of sbuf.h, byte for byte ACRN's; an element is a record, of any size that is a multiple of 8.
 * (A reader that skips could not tell where a longer record begins.) A ring keeps ele_num - 1.
 * There are two forms.
 *
 * Locked, as ACRN's hypervisor has it: writer and readers are of one program and take a lock
 * around each put and get. The writer of a full ring moves head past the oldest element, and with
 * RS_SBUF_COUNT_OVERRUNS adds one to overrun_cnt.
 *
 * Positioned (RS_SBUF_POSITIONED): nobody locks. `position` counts the bytes ever written and
 * never comes round, so a reader that lags sees how far, were it a whole lap or many:
 *
 *	          position - keep                        position
 *	   overwritten |    what is kept, keep bytes at most  | written next, maybe now
 *
 *	writer: element, then position (release), then tail, head
 *	reader: position (acquire), copies, position again: what is not kept any more, it skips
 *
 * Each word of an element is stored with release and loaded with acquire: who has seen a word of
 * an element sees the position that stood when that was begun, or a later one. So an element torn
 * by an overrun is always found out. head and tail are kept for ACRN's tools, to be read at rest.
 * `read` is the reader's: what it has done with. overrun_cnt is the writer's count of what it
 * overwrote before that; what a reader counts as lost is exact.
 *
 * Trust: as in sbuf.h. A writer trusts its private position alone; a hostile `read` can but
 * falsify overrun_cnt. A reader checks each position against the last.
 *
 * Who may call: a positioned writer from one thread and from no handler that interrupts it; a
 * reader from one thread. Locked rings from any thread, but no handler: it would wait for itself.
 */
#ifndef RINGSIDE_OVERWRITE_H
#define RINGSIDE_OVERWRITE_H

#include <ringside/sbuf.h>

/*
 * Makes an empty ring in bytes of memory at mem. flags: RS_SBUF_POSITIONED, or 0 for a locked
 * one; RS_SBUF_COUNT_OVERRUNS. The magic is written last, with release.
 */
enum rs_sbuf_status rs_overwrite_create(void *mem, size_t bytes, uint32_t ele_size, uint64_t flags);

/*
 * Checks a header copied out of shared memory, of the magic given, as rs_sbuf_check() does. A ring
 * of the last boot is at rest, and may be of either mode: ACRN's have flags 0.
 */
enum rs_sbuf_status rs_overwrite_check(const struct rs_sbuf *copy, size_t bytes, uint64_t magic);

/*
 * Says of a ring of either mode that survived its writer that it is of the last boot. Until then
 * it looks like one in use. RS_SBUF_NO_MAGIC: it is none, or was marked before.
 */
enum rs_sbuf_status rs_sbuf_mark_last(void *mem, size_t bytes);

/* ---- positioned: the writer ----------------------------------------------------------------- */

struct rs_overwriter {
	struct rs_sbuf *ring;
	uint64_t position; /* bytes ever written */
	uint32_t at;	   /* position in the ring */
	uint32_t size, ele_size;
	bool counts;
};

/* Takes the writing side of a ring; goes on where the last writer ended. */
enum rs_sbuf_status rs_overwriter_init(struct rs_overwriter *w, void *mem, size_t bytes);

/* Puts an element of ele_size bytes, 8-byte aligned. It always finds room. */
void rs_overwriter_put(struct rs_overwriter *w, const void *element);

/* ---- positioned: a reader ------------------------------------------------------------------- */

struct rs_overwrite_reader {
	struct rs_sbuf *ring;
	const uint8_t *data;
	uint64_t position; /* bytes read or skipped */
	uint64_t seen;	   /* the writer's position, as last seen */
	uint64_t lost;	   /* elements skipped, ever */
	uint32_t size, ele_size;
	bool last; /* of the last boot, at rest: nothing is written to it */
};

/*
 * Attaches to a ring that is positioned or, of either form, RS_SBUF_MAGIC_LAST: then magic says
 * so. A ring in use is read on from `read`; one of the last boot from the oldest that it keeps.
 */
enum rs_sbuf_status rs_overwrite_attach(struct rs_overwrite_reader *r, void *mem, size_t bytes,
					uint64_t magic);

/*
 * Copies up to n elements to `to`, 8-byte aligned, oldest first: *got of them, after *lost that
 * were overwritten before they could be copied. RS_SBUF_BAD_POSITION: the position is invalid
 * (or the ring was made anew), and nothing more can be read.
 */
enum rs_sbuf_status rs_overwrite_read(struct rs_overwrite_reader *r, void *to, uint32_t n,
				      uint32_t *got, uint64_t *lost);

/* ---- locked --------------------------------------------------------------------------------- */

/* In private memory of the program that writes and reads. */
struct rs_locked {
	struct rs_sbuf *ring;
	uint32_t size, ele_size;
	uint32_t head, tail; /* ours; the shared ones are only written */
	uint32_t lock;	     /* 1: taken */
	bool counts;
};

/* Takes both sides of a ring; what is in it, stays. */
enum rs_sbuf_status rs_locked_init(struct rs_locked *l, void *mem, size_t bytes);

/* False: an element was overwritten for it. */
bool rs_locked_put(struct rs_locked *l, const void *element);

/* Takes the oldest element out; false: there is none. */
bool rs_locked_get(struct rs_locked *l, void *element);

#endif
