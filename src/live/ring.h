/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A ring that another program writes, by its path: a file that can be mapped, a device. Of a trace,
 * or of a log (event/log_port.h), by the size of its elements; a device that can't be mapped, and a
 * FIFO, give a log's elements by read(), as ACRN's do. The file belongs to root or to this user
 * (ring/shared.h), but its content is hostile: its writer may truncate it (ring/guard.h), and its
 * header may change at any time.
 *
 *	open -> port, which the recorder's thread drains -> state, for anybody -> close
 *
 * The port never ends unasked. Where the ring is not the one any more that was opened, it gives
 * nothing more, and the state says why: the path may have to be opened anew.
 *
 * That a ring was made anew in the same memory shows by its head, which is ours and stands
 * elsewhere then; one that stands where it did is the same to us.
 */
#ifndef RS_LIVE_RING_H
#define RS_LIVE_RING_H

#include "event/log_port.h"
#include "event/overwrite_port.h"

struct rs_live_ring;

enum rs_live_state {
	RS_LIVE_RUNS,
	RS_LIVE_ANEW,	/* somebody has begun it anew, or broken it: no more comes of this one */
	RS_LIVE_CUT,	/* the memory went away: the file was cut short */
	RS_LIVE_FAILED, /* it can't be read() any more */
};

/*
 * *ring NULL: there is none yet: no file, nothing in it, no magic. RS_DAMAGED: what is there is no
 * ring that can be read, and why. keep: what is in it is read too; else it is skipped.
 */
/* epoch: of lines of a log. One of the last boot is read as if to be kept: it has nothing else.
 * before: what was read there until now, or NULL. A device has one opener, and ACRN's counts a
 * mapping as one; what was opened may be in use for a while yet. So it is not opened again. */
struct rs_error *rs_live_ring_open(const char *path, bool keep, const struct rs_live_ring *before,
				   struct rs_log_epoch *epoch, struct rs_live_ring **ring);
void rs_live_ring_close(struct rs_live_ring *ring); /* NULL is nothing */

struct rs_port rs_live_ring_port(struct rs_live_ring *ring);
enum rs_live_state rs_live_ring_state(const struct rs_live_ring *ring);
uint64_t rs_live_ring_skipped(const struct rs_live_ring *ring);		     /* elements */
const struct rs_log_port *rs_live_ring_log(const struct rs_live_ring *ring); /* NULL: a trace */
bool rs_live_ring_overwrites(const struct rs_live_ring *ring);

/* Whether the path is another file by now. */
bool rs_live_ring_is_replaced(const struct rs_live_ring *ring, const char *path);

#endif
