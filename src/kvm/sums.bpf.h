// SPDX-License-Identifier: BSD-2-Clause
/*
 * What a filter of the probe language adds up (event/filter.h): a hash of sums, each of one CPU's,
 * so that nobody else adds to it. A program comes to them one record after the other: records that
 * come in between wait until it is done.
 *
 * An epoch's sums are at rest when no record of it can come any more; then the session reads them
 * and takes them out (sums.c).
 */
#ifndef RS_KVM_SUMS_BPF_H
#define RS_KVM_SUMS_BPF_H

#include "event/filter_sum.h"
#include "kvm/filter.bpf.h"

/* Sizes are the session's to set. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__uint(key_size, (RS_FILTER_KEY_HEAD + RS_FILTER_KEYS) * 8);
	__uint(value_size, sizeof(struct rs_filter_sum));
} sums SEC(".maps");

/* Of the CPU's i-th row: its sum is there, or made; and has it, where that is asked for. 0: there
 * is no room. */
__noinline int sum_take(uint32_t number, uint32_t i, uint64_t epoch, uint32_t adds)
{
	struct rs_kvm_cpu *cpu = bpf_map_lookup_elem(&cpus, &number);
	const struct rs_filter_sum none = { 0 };
	struct rs_filter_sum *sum;
	uint64_t *row, *key;
	uint32_t how;

	if (!config.adds || !cpu || i >= RS_FILTER_ROWS)
		return 0;
	row = cpu->rows[i];
	if (!row[0])
		return 1;
	how = (row[0] >> RS_FILTER_HOW) & 0xff;
	key = row + RS_FILTER_KEY;
	key[0] = (row[0] & 0xffff) | (uint64_t)rs_filter_bin(how, row) << 16 |
		 (uint64_t)number << 32;
	key[1] = epoch;
	sum = bpf_map_lookup_elem(&sums, key);
	if (!sum) {
		bpf_map_update_elem(&sums, key, &none, BPF_NOEXIST);
		sum = bpf_map_lookup_elem(&sums, key);
	}
	if (!sum)
		return 0;
	if (adds)
		rs_filter_add(sum, how, row);
	return 1;
}

/* All of the rows or none: the first look is whether there is room. */
static __always_inline bool sums_add(uint32_t number, uint32_t n, uint64_t now)
{
	uint64_t epoch = config.epoch_ns ? (now - config.from_ns) / config.epoch_ns : 0;

	if (n == 1)
		return sum_take(number, 0, epoch, 1);
#pragma unroll
	for (uint32_t i = 0; i < RS_FILTER_ROWS; i++)
		if (i < n && !sum_take(number, i, epoch, 0))
			return false;
#pragma unroll
	for (uint32_t i = 0; i < RS_FILTER_ROWS; i++)
		if (i < n)
			sum_take(number, i, epoch, 1);
	return true;
}

#endif
