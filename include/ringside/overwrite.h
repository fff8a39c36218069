/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sbuf in overwrite mode: a full ring loses its oldest element, not the newest. The header is that
 * of sbuf.h, which equals ACRN's byte for byte; an element is a record, of any size that is a
 * multiple of 8. (A reader that skips could not find the start of longer records.) A ring keeps
 * ele_num - 1 elements. There are two forms.
 *
 * Locked, as in ACRN's hypervisor: writer and readers are in one program and hold a lock during
 * each put and get. The writer of a full ring moves head past the oldest element, and with
 * RS_SBUF_COUNT_OVERRUNS increments overrun_cnt.
 *
 * Positioned (RS_SBUF_POSITIONED): there is no lock. `position` counts the bytes ever written and
 * never wraps, so a reader that lags can compute by how much, even over many laps:
 *
 *	          position - keep                        position
 *	   overwritten |    what is kept, keep bytes at most  | written next, maybe now
 *
 *	writer: element, then position (release), then tail, head
 *	reader: position (acquire), copies, position again: skips what is not kept any more
 *
 * The writer stores each word of an element with release, and the reader loads it with acquire. A
 * reader that has loaded a word of an element therefore loads the position at which that element
 * was begun, or a later one, and always detects an element torn by an overrun. head and tail are
 * kept for ACRN's tools, which may read them while no writer runs. The reader stores in `read` what
 * it has consumed. overrun_cnt is the writer's count of unread elements that it overwrote; the
 * count of losses in a reader is exact.
 *
 * Trust: as in sbuf.h. A writer trusts only its private position; a hostile `read` can only falsify
 * overrun_cnt. A reader checks each position against the previous one.
 *
 * Threads: a positioned writer belongs to one thread, and no handler that interrupts it may use it;
 * a reader belongs to one thread. Any thread may use locked rings, but no handler may, since it
 * would wait for the code that it interrupted.
 */
#ifndef RINGSIDE_OVERWRITE_H
#define RINGSIDE_OVERWRITE_H

#include <ringside/language.h>
#include <ringside/sbuf.h>

RS_C_BEGIN

/*
 * Creates an empty ring in bytes of memory at mem. flags are RS_SBUF_POSITIONED, or 0 for a locked
 * ring, and RS_SBUF_COUNT_OVERRUNS. Writes the magic last, with release.
 */
enum rs_sbuf_status rs_overwrite_create(void *mem, size_t bytes, uint32_t ele_size, uint64_t flags);

/*
 * Checks a header that was copied from shared memory, with the given magic, as rs_sbuf_check()
 * does. A ring of the last boot is not written any more, and may be of either mode, because ACRN's
 * rings have flags 0.
 */
enum rs_sbuf_status rs_overwrite_check(const struct rs_sbuf *copy, size_t bytes, uint64_t magic);

/*
 * Marks a ring of either mode that survived its writer as one of the last boot. Until then it
 * cannot be distinguished from a ring in use. Returns RS_SBUF_NO_MAGIC if it is not a ring, or was
 * marked before.
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

/* Attaches the writing side to a ring, and continues where the last writer ended. */
enum rs_sbuf_status rs_overwriter_init(struct rs_overwriter *w, void *mem, size_t bytes);

/* Puts an element of ele_size bytes, 8-byte aligned. There is always room. */
void rs_overwriter_put(struct rs_overwriter *w, const void *element);

/* ---- positioned: a reader ------------------------------------------------------------------- */

struct rs_overwrite_reader {
	struct rs_sbuf *ring;
	const uint8_t *data;
	uint64_t position; /* bytes read or skipped */
	uint64_t seen;	   /* the writer's position, as last seen */
	uint64_t lost;	   /* elements skipped, ever */
	uint32_t size, ele_size;
	bool last; /* of the last boot; nothing writes to it */
};

/*
 * Attaches to a ring that is positioned or, with magic RS_SBUF_MAGIC_LAST, of either form. Reading
 * continues from `read` in a ring in use, and starts at the oldest element in one of the last boot.
 */
enum rs_sbuf_status rs_overwrite_attach(struct rs_overwrite_reader *r, void *mem, size_t bytes,
					uint64_t magic);

/*
 * Copies up to n elements to `to`, 8-byte aligned, oldest first. Sets *got to their number, and
 * *lost to the number of elements before them that were overwritten. Returns RS_SBUF_BAD_POSITION
 * if the position is invalid (or the ring was created again); no more can be read then.
 */
enum rs_sbuf_status rs_overwrite_read(struct rs_overwrite_reader *r, void *to, uint32_t n,
				      uint32_t *got, uint64_t *lost);

/* ---- locked --------------------------------------------------------------------------------- */

/* A locked ring's state, in private memory of the program that writes and reads. */
struct rs_locked {
	struct rs_sbuf *ring;
	uint32_t size, ele_size;
	uint32_t head, tail; /* the trusted copies; the shared ones are only written */
	uint32_t lock;	     /* 1: held */
	bool counts;
};

/* Attaches both sides to a ring, and keeps its content. */
enum rs_sbuf_status rs_locked_init(struct rs_locked *l, void *mem, size_t bytes);

/* Puts an element. Returns false if it overwrote another one. */
bool rs_locked_put(struct rs_locked *l, const void *element);

/* Removes the oldest element. Returns false if there is none. */
bool rs_locked_get(struct rs_locked *l, void *element);

RS_C_END

#endif
