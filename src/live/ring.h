/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opens a ring that another program writes, by its path: a file that can be mapped, or a device.
 * The size of its elements says whether it belongs to a trace or a log (event/log_port.h). A device
 * that cannot be mapped, and a FIFO, return a log's elements by read(), as ACRN's do. The file
 * belongs to root or to this user (ring/shared.h), but its content is hostile: its writer may
 * truncate it (ring/guard.h), and its header may change at any time.
 *
 *	open -> port, which the recorder's thread drains -> state, on any thread -> close
 *
 * The port never ends on its own. If the ring was replaced, the port returns nothing more, and the
 * state gives the reason; the caller may open the path again.
 *
 * A ring that was created anew in the same memory is detected by its head, which only this reader
 * moves; one with the same head looks unchanged.
 */
#ifndef RS_LIVE_RING_H
#define RS_LIVE_RING_H

#include "event/log_port.h"
#include "event/overwrite_port.h"

struct rs_live_ring;

enum rs_live_state {
	RS_LIVE_RUNS,
	RS_LIVE_ANEW,	/* it was created anew, or broken; the port returns nothing more */
	RS_LIVE_CUT,	/* the memory is gone: the file was truncated */
	RS_LIVE_FAILED, /* read() fails */
};

/*
 * Opens the ring at path. Sets *ring to NULL if no ring exists yet: no file, an empty file, or no
 * magic. Returns RS_DAMAGED, with the reason, if the file is not a readable ring. With keep, its
 * content is read too; otherwise it is skipped.
 */
/*
 * epoch is that of a log's lines. A ring of the last boot is read as with keep, because it receives
 * no further elements. before is the ring that was read at this path so far, or NULL. Its device is
 * not opened again, because a device allows one opener, and ACRN's counts a mapping as one, which
 * may stay in use for a while.
 */
struct rs_error *rs_live_ring_open(const char *path, bool keep, const struct rs_live_ring *before,
				   struct rs_log_epoch *epoch, struct rs_live_ring **ring);
void rs_live_ring_close(struct rs_live_ring *ring); /* NULL is ignored */

struct rs_port rs_live_ring_port(struct rs_live_ring *ring);
enum rs_live_state rs_live_ring_state(const struct rs_live_ring *ring);
uint64_t rs_live_ring_skipped(const struct rs_live_ring *ring);		     /* elements */
const struct rs_log_port *rs_live_ring_log(const struct rs_live_ring *ring); /* NULL: a trace */

/* Returns whether the path is now another file. */
bool rs_live_ring_is_replaced(const struct rs_live_ring *ring, const char *path);

#endif
