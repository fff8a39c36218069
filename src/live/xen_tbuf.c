/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads and validates Xen's shared trace buffers. */
#include "live/xen_tbuf.h"

#include <stdlib.h>
#include <string.h>

/* struct t_buf */
struct head {
	uint32_t cons, prod;
};

/* struct t_info: u16 tbuf_size, u16 mfn_offset[] */
#define INFO_OFFSETS 1u /* the first offset, in u16 */
#define INFO_MAX     (16u << 20)

/* ---- the table ------------------------------------------------------------------------------ */

static uint32_t half_at(const struct rs_xen_tinfo *info, uint32_t at)
{
	uint16_t half;

	memcpy(&half, (const uint8_t *)info->words + at * sizeof(half), sizeof(half));
	return half;
}

/* The offsets end where the first frame list begins; CPUs without a buffer have 0. */
static uint32_t count_cpus(const struct rs_xen_tinfo *info)
{
	uint32_t halves = info->n_words * 2, end = halves, cpus = 0;

	for (uint32_t at = INFO_OFFSETS; at < end; at++) {
		uint32_t offset = half_at(info, at);

		if (!offset)
			continue;
		cpus = at - INFO_OFFSETS + 1;
		if (offset * 2 < end)
			end = offset * 2;
	}
	return cpus;
}

struct rs_error *rs_xen_tinfo_init(struct rs_xen_tinfo *info, const void *shared, size_t bytes)
{
	const char *what = NULL;

	*info = (struct rs_xen_tinfo){ 0 };
	if (bytes < 2 * sizeof(uint32_t) || bytes > INFO_MAX)
		return rs_error_create(RS_DAMAGED, "Xen's table of trace buffers has %zu bytes",
				       bytes);
	info->n_words = (uint32_t)(bytes / sizeof(uint32_t));
	info->words = malloc(bytes);
	if (!info->words)
		return rs_error_no_memory();
	memcpy(info->words, shared, bytes);
	info->pages = half_at(info, 0);
	info->cpus = count_cpus(info);
	if (!info->pages)
		what = "buffers without pages";
	else if (!info->cpus)
		what = "no buffer";
	for (uint32_t cpu = 0; !what && cpu < info->cpus; cpu++) {
		uint32_t offset = half_at(info, INFO_OFFSETS + cpu);

		if (offset && (offset * 2 < INFO_OFFSETS + info->cpus ||
			       offset + info->pages > info->n_words))
			what = "a list of pages outside the table";
	}
	if (!what)
		return NULL;
	rs_xen_tinfo_deinit(info);
	return rs_error_create(RS_DAMAGED, "Xen's table of trace buffers has %s", what);
}

void rs_xen_tinfo_deinit(struct rs_xen_tinfo *info)
{
	free(info->words);
	*info = (struct rs_xen_tinfo){ 0 };
}

const uint32_t *rs_xen_tinfo_frames(const struct rs_xen_tinfo *info, uint32_t cpu)
{
	uint32_t offset = half_at(info, INFO_OFFSETS + cpu);

	return offset ? info->words + offset : NULL;
}

/* ---- a buffer ------------------------------------------------------------------------------- */

/* Returns whether a value is a valid position. Records consist of whole words. */
static bool is_position(const struct rs_xen_tbuf *buf, uint32_t at)
{
	return at < 2 * buf->data_bytes && at % 4 == 0;
}

enum rs_xen_tbuf_status rs_xen_tbuf_init(struct rs_xen_tbuf *buf, uint32_t cpu, void *mem,
					 size_t bytes)
{
	const struct head *head = mem;

	*buf = (struct rs_xen_tbuf){ .cpu = cpu, .mem = mem };
	if (bytes <= sizeof(*head) || bytes % 4 ||
	    bytes > (size_t)RS_XEN_TBUF_PAGES_MAX * RS_XEN_PAGE_BYTES)
		return RS_XEN_TBUF_BROKEN;
	buf->data_bytes = (uint32_t)(bytes - sizeof(*head));
	/* Pairs with the store in rs_xen_tbuf_read(), or with an earlier reader's. */
	buf->cons = __atomic_load_n(&head->cons, __ATOMIC_ACQUIRE);
	return is_position(buf, buf->cons) ? RS_XEN_TBUF_OK : RS_XEN_TBUF_BROKEN;
}

void rs_xen_tbuf_peek(const struct rs_xen_tbuf *buf, uint32_t *cons, uint32_t *prod)
{
	const struct head *head = buf->mem;

	/* No data is read by these positions, so they need no order. */
	*cons = __atomic_load_n(&head->cons, __ATOMIC_RELAXED);
	*prod = __atomic_load_n(&head->prod, __ATOMIC_RELAXED);
}

enum rs_xen_tbuf_status rs_xen_tbuf_poll(struct rs_xen_tbuf *buf, uint32_t *bytes)
{
	enum rs_xen_tbuf_status status = RS_XEN_TBUF_OK;
	const struct head *head = buf->mem;
	/* Pairs with the hypervisor's barrier before it moves prod: records are complete up to
	 * it. */
	uint32_t prod = __atomic_load_n(&head->prod, __ATOMIC_ACQUIRE);
	uint32_t cons = __atomic_load_n(&head->cons, __ATOMIC_RELAXED);
	uint32_t whole = 2 * buf->data_bytes, n;

	*bytes = 0;
	if (!is_position(buf, prod) || !is_position(buf, cons))
		return RS_XEN_TBUF_BROKEN;
	if (cons != buf->cons) {
		buf->cons = cons;
		status = RS_XEN_TBUF_TAKEN;
	}
	n = prod >= cons ? prod - cons : prod + whole - cons;
	if (n > buf->data_bytes)
		return RS_XEN_TBUF_BROKEN;
	*bytes = n;
	return status;
}

void rs_xen_tbuf_read(struct rs_xen_tbuf *buf, void *to, uint32_t bytes)
{
	struct head *head = buf->mem;
	const uint8_t *data = (const uint8_t *)(head + 1);
	uint32_t at = buf->cons % buf->data_bytes, first = buf->data_bytes - at;

	first = bytes < first ? bytes : first;
	memcpy(to, data + at, first);
	memcpy((uint8_t *)to + first, data, bytes - first);
	buf->cons = (buf->cons + bytes) % (2 * buf->data_bytes);
	/* Pairs with the hypervisor's load of cons before a put: the overwritten bytes were
	 * read. */
	__atomic_store_n(&head->cons, buf->cons, __ATOMIC_RELEASE);
}

void rs_xen_tbuf_skip(struct rs_xen_tbuf *buf)
{
	struct head *head = buf->mem;
	/* No data was read before this store, so it needs no order. */
	uint32_t prod = __atomic_load_n(&head->prod, __ATOMIC_RELAXED);

	if (!is_position(buf, prod))
		return;
	buf->cons = prod;
	__atomic_store_n(&head->cons, prod, __ATOMIC_RELAXED);
}
