// SPDX-License-Identifier: BSD-2-Clause
/*
 * The sums of a filter of the probe language (event/filter.h). Each sum belongs to one CPU, and no
 * other CPU adds to it. A program adds one record after the other: records that interrupt it wait
 * until it is done.
 *
 * A sum is in an array, at the place that its key's hash selects, if the place was free when the
 * key first appeared. Else it is in a hash, whose lookup costs several times as much. A key may be
 * in both, because a place becomes free when the session has read it.
 *
 * An epoch's sums are final when no more record of the epoch can arrive. The session then reads and
 * removes them (sums.c).
 */
#ifndef RS_KVM_SUMS_BPF_H
#define RS_KVM_SUMS_BPF_H

#include "event/filter_sum.h"
#include "kvm/filter.bpf.h"

/* The session sets the sizes. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__uint(key_size, (RS_FILTER_KEY_HEAD + RS_FILTER_KEYS) * 8);
	__uint(value_size, sizeof(struct rs_filter_sum));
} sums SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct rs_kvm_near);
} nears SEC(".maps");

/* Returns a key's place in the array. The high bits of a product depend on all bits of its
 * factors. */
static __always_inline uint32_t near_at(uint32_t number, const uint64_t *key)
{
	uint64_t mixed = key[0];

#pragma unroll
	for (uint32_t i = 1; i < RS_FILTER_KEY_HEAD + RS_FILTER_KEYS; i++)
		if (i < RS_FILTER_KEY_HEAD + config.n_keys)
			mixed = mixed * 0x9e3779b97f4a7c15 ^ key[i];
	mixed *= 0x9e3779b97f4a7c15;
	return number * config.near + ((uint32_t)(mixed >> 56) & (config.near - 1));
}

/* Returns a key's sum in the array, or NULL if another key has the place. */
static __always_inline struct rs_filter_sum *sum_near(uint32_t number, const uint64_t *key)
{
	uint32_t at = near_at(number, key);
	struct rs_kvm_near *near = bpf_map_lookup_elem(&nears, &at);
	const struct rs_filter_sum none = { 0 };

	if (!near)
		return NULL;
	if (!*(volatile uint64_t *)&near->key[0]) {
#pragma unroll
		for (uint32_t i = 1; i < RS_FILTER_KEY_HEAD + RS_FILTER_KEYS; i++)
			if (i < RS_FILTER_KEY_HEAD + config.n_keys)
				near->key[i] = key[i];
		near->sum = none;
		RS_ORDER();
		near->key[0] = key[0];
		return &near->sum;
	}
#pragma unroll
	for (uint32_t i = 0; i < RS_FILTER_KEY_HEAD + RS_FILTER_KEYS; i++)
		if (i < RS_FILTER_KEY_HEAD + config.n_keys && near->key[i] != key[i])
			return NULL;
	return &near->sum;
}

static __always_inline struct rs_filter_sum *sum_far(const uint64_t *key)
{
	struct rs_filter_sum *sum = bpf_map_lookup_elem(&sums, key);
	const struct rs_filter_sum none = { 0 };

	if (sum)
		return sum;
	bpf_map_update_elem(&sums, key, &none, BPF_NOEXIST);
	return bpf_map_lookup_elem(&sums, key);
}

/* Finds or creates the sum of a row of the CPU, and adds the row to it if `adds` is set. Returns
 * false if there is no room. */
static __always_inline bool row_reserve(uint64_t *row, uint32_t number, uint64_t epoch, bool adds)
{
	struct rs_filter_sum *sum = NULL;
	uint64_t *key;
	uint32_t how;

	if (!row[0])
		return true;
	how = (row[0] >> RS_FILTER_HOW) & 0xff;
	key = row + RS_FILTER_KEY;
	key[0] = (row[0] & 0xffff) | (uint64_t)rs_filter_bin(how, row) << 16 |
		 (uint64_t)number << 32;
	key[1] = epoch;
	if (config.near)
		sum = sum_near(number, key);
	if (!sum)
		sum = sum_far(key);
	if (sum && adds)
		rs_filter_add(sum, how, row);
	return sum;
}

/* Reserves the sum of the i-th row. It is a separate function, so that a program contains the code
 * once. */
__noinline int sum_reserve(uint32_t number, uint32_t i, uint64_t epoch, uint32_t adds)
{
	struct rs_kvm_cpu *cpu = bpf_map_lookup_elem(&cpus, &number);

	if (!config.adds || !cpu || i >= RS_FILTER_ROWS)
		return 0;
	return row_reserve(cpu->rows[i], number, epoch, adds);
}

/* Adds all rows or none: the first pass reserves their sums. */
static __always_inline bool sums_add(struct rs_kvm_cpu *cpu, uint32_t number, uint32_t n,
				     uint64_t now)
{
	uint64_t epoch = config.epoch_ns ? (now - config.from_ns) / config.epoch_ns : 0;

	if (n == 1)
		return row_reserve(cpu->rows[0], number, epoch, true);
#pragma unroll
	for (uint32_t i = 0; i < RS_FILTER_ROWS; i++)
		if (i < n && !sum_reserve(number, i, epoch, 0))
			return false;
#pragma unroll
	for (uint32_t i = 0; i < RS_FILTER_ROWS; i++)
		if (i < n)
			sum_reserve(number, i, epoch, 1);
	return true;
}

#endif
