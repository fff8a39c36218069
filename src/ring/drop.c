/* SPDX-License-Identifier: BSD-2-Clause */
/* Drops the oldest records of a full ring that is not collected. For host and guest. */
#include <ringside/record.h>

bool rs_sbuf_drop_oldest(struct rs_sbuf_producer *p)
{
	uint32_t head = __atomic_load_n(&p->ring->head, __ATOMIC_ACQUIRE);
	uint32_t tail = (uint32_t)p->published, at = head, gone = 0;
	const uint8_t *data = (const uint8_t *)(p->ring + 1);

	if (head >= p->size || head % RS_SLOT_BYTES)
		return false;
	while (at != tail && gone < p->size / 4) {
		uint32_t bytes =
			rs_slot_count(((const struct rs_slot *)(data + at))->head) * RS_SLOT_BYTES;

		if (!bytes)
			return false;
		gone += bytes;
		at += bytes;
		at = at >= p->size ? at - p->size : at;
	}
	/* A handler may have done the same. Pairs with the acquire in claim_plan() of the same
	 * producer. */
	__atomic_compare_exchange_n(&p->ring->head, &head, at, false, __ATOMIC_ACQ_REL,
				    __ATOMIC_ACQUIRE);
	return gone != 0;
}
