/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Xen's trace buffers in memory that the hypervisor shares (public/trace.h): one for each physical
 * CPU, and a table of their pages.
 *
 *	t_info	u16 pages of each buffer | u16 offset[CPU], in words | u32 frame[]: a buffer's pages
 *	t_buf	u32 cons | u32 prod | X bytes of records
 *
 *	         cons                  prod
 *	          v                     v          0 <= cons, prod < 2 X; equal: empty
 *	|---------|#####################|------|   X apart: full
 *
 * The hypervisor writes records and moves prod; the reader moves cons. The memory is untrusted:
 * each field is read once, and checked. One thread.
 */
#ifndef RS_LIVE_XEN_TBUF_H
#define RS_LIVE_XEN_TBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ringside/error.h>

#define RS_XEN_PAGE_BYTES     4096u
#define RS_XEN_TBUF_PAGES_MAX 65535u

/* ---- the table ------------------------------------------------------------------------------ */

/* A private copy of t_info. */
struct rs_xen_tinfo {
	uint32_t *words;
	uint32_t n_words;
	uint32_t pages; /* of each buffer */
	uint32_t cpus;	/* the highest CPU number, plus 1 */
};

/* Copies the table, and checks it. Returns RS_DAMAGED if it is invalid. */
struct rs_error *rs_xen_tinfo_init(struct rs_xen_tinfo *info, const void *shared, size_t bytes);
void rs_xen_tinfo_deinit(struct rs_xen_tinfo *info); /* also a zeroed one */

/* Returns the frames of a CPU's buffer, info->pages of them, or NULL if it has none. cpu is below
 * info->cpus. */
const uint32_t *rs_xen_tinfo_frames(const struct rs_xen_tinfo *info, uint32_t cpu);

/* ---- a buffer ------------------------------------------------------------------------------- */

struct rs_xen_tbuf {
	uint32_t cpu;
	void *mem; /* the pages in sequence; the caller keeps them */
	uint32_t data_bytes;
	uint32_t cons; /* the reader's copy; the shared field is only compared with it */
};

enum rs_xen_tbuf_status {
	RS_XEN_TBUF_OK,
	RS_XEN_TBUF_BROKEN, /* the positions are invalid */
	RS_XEN_TBUF_TAKEN,  /* another reader has moved cons */
};

/* Starts to read at the present position. Returns BROKEN if the buffer cannot be read. */
enum rs_xen_tbuf_status rs_xen_tbuf_init(struct rs_xen_tbuf *buf, uint32_t cpu, void *mem,
					 size_t bytes);

/*
 * Returns in *bytes how many bytes rs_xen_tbuf_read() can read, at most data_bytes. On TAKEN, they
 * begin at the position of the other reader; on BROKEN, there are none.
 */
enum rs_xen_tbuf_status rs_xen_tbuf_poll(struct rs_xen_tbuf *buf, uint32_t *bytes);

/* Copies the bytes, and returns their room to the hypervisor. bytes is at most what
 * rs_xen_tbuf_poll() returned. */
void rs_xen_tbuf_read(struct rs_xen_tbuf *buf, void *to, uint32_t bytes);

/* Discards the content. */
void rs_xen_tbuf_skip(struct rs_xen_tbuf *buf);

/* Returns both positions, to detect whether they move. */
void rs_xen_tbuf_peek(const struct rs_xen_tbuf *buf, uint32_t *cons, uint32_t *prod);

#endif
