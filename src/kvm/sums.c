/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Consumes the sums of a session's filter: removes them from the BPF array and hash once their
 * epoch has ended (sums.bpf.h).
 */
#include "base/now.h"
#include "kvm/session.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/vector.h"

#define KEY_WORDS (RS_FILTER_KEY_HEAD + RS_FILTER_KEYS)

#define POLLS	1000	/* the wait for a running program, before it is assumed dead */
#define POLL_NS 1000000 /* between two polls */

struct key {
	uint64_t words[KEY_WORDS];
};

/* Waits until no program runs that took its stamp before `before_ns`. Programs are not preempted,
 * so this takes microseconds, or as long as a hypervisor withholds a CPU. */
static void settle(const struct rs_kvm_session *s, uint64_t before_ns)
{

	for (uint32_t i = 0; i < s->n_cpus; i++) {
		const struct rs_kvm_cpu *cpu = rs_kvm_cpu(s, i);

		for (uint32_t n = 0; n < POLLS; n++) {
			/* Pairs with ring_begin() and ring_end(): the sums are visible. */
			if (!__atomic_load_n(&cpu->busy, __ATOMIC_ACQUIRE) ||
			    __atomic_load_n(&cpu->last_ns, __ATOMIC_RELAXED) >= before_ns)
				break;
			rs_sleep_ns(POLL_NS);
		}
	}
}

struct consumer {
	void (*consume)(void *ctx, const struct rs_filter_row *row);
	void *ctx;
};

static void hand(const struct consumer *consumer, const uint64_t *words,
		 const struct rs_filter_sum *sum)
{
	uint32_t head = (uint32_t)words[0];
	const struct rs_filter_row row = { .number = (head & 0xffff) - 1,
					   .bin = head >> 16,
					   .keys = words + RS_FILTER_KEY_HEAD,
					   .sum = *sum };

	if (sum->n)
		consumer->consume(consumer->ctx, &row);
}

/* ---- near the CPUs -------------------------------------------------------------------------- */

/*
 * Clearing key[0] returns a place to its CPU. The epoch is invalidated first: a reader that sees
 * the CPU's next key[0], but not yet its epoch, must not find an epoch that has ended.
 */
static void consume_near(const struct rs_kvm_session *s, uint64_t epoch,
			 const struct consumer *consumer)
{
	for (uint32_t i = 0; i < s->nears.n && s->nears.mem; i++) {
		struct rs_kvm_near *near = rs_kvm_element(&s->nears, i);

		if (!__atomic_load_n(&near->key[0], __ATOMIC_ACQUIRE) ||
		    __atomic_load_n(&near->key[1], __ATOMIC_RELAXED) >= epoch)
			continue;
		hand(consumer, near->key, &near->sum); /* final: rs_kvm_sums() has waited */
		__atomic_store_n(&near->key[1], UINT64_MAX, __ATOMIC_RELAXED);
		/* Pairs with the load in sum_near(). */
		__atomic_store_n(&near->key[0], 0, __ATOMIC_RELEASE);
	}
}

/* ---- in the hash ---------------------------------------------------------------------------- */

/* Lists the keys of all epochs before one. The caller frees *out. */
static struct rs_error *keys_below(int map, uint64_t epoch, uint32_t room, struct key **out,
				   uint32_t *n)
{
	struct key at = { { 0 } }, *keys = NULL;
	uint32_t have = 0;
	bool first = true;

	*n = 0;
	while (*n < room && !bpf_map_get_next_key(map, first ? NULL : &at, &at)) {
		first = false;
		if (at.words[1] >= epoch)
			continue;
		if (!RS_VECTOR_RESERVE(keys, have, *n + 1)) {
			free(keys);
			return rs_error_no_memory();
		}
		keys[(*n)++] = at;
	}
	*out = keys;
	return NULL;
}

static struct rs_error *consume_far(struct rs_kvm_session *s, uint64_t epoch,
				    const struct consumer *consumer)
{
	int map = bpf_object__find_map_fd_by_name(s->programs, "sums");
	struct rs_filter_sum sum;
	struct key *keys = NULL;
	uint32_t n = 0;
	struct rs_error *err = keys_below(map, epoch, s->sums_max, &keys, &n);

	for (uint32_t i = 0; !err && i < n; i++) {
		if (bpf_map_lookup_elem(map, &keys[i], &sum) ||
		    bpf_map_delete_elem(map, &keys[i])) {
			err = rs_error_errno(errno, "cannot read the sums of BPF");
			break;
		}
		hand(consumer, keys[i].words, &sum);
	}
	free(keys);
	return err;
}

struct rs_error *rs_kvm_sums(struct rs_kvm_session *s, uint64_t before_ns,
			     void (*consume)(void *ctx, const struct rs_filter_row *row), void *ctx)
{
	const struct consumer consumer = { consume, ctx };
	uint64_t epoch = UINT64_MAX;

	if (!s->config.adds || !s->programs)
		return NULL;
	if (before_ns != UINT64_MAX)
		epoch = s->config.epoch_ns && before_ns > s->config.from_ns
				? (before_ns - s->config.from_ns) / s->config.epoch_ns
				: 0;
	if (s->gate == RS_KVM_OPEN)
		settle(s, before_ns);
	consume_near(s, epoch, &consumer);
	return consume_far(s, epoch, &consumer);
}

const char *rs_kvm_sums_vm(struct rs_kvm_session *s, uint64_t slot)
{
	uint32_t known;

	if (!slot || slot > s->threads_max)
		return "";
	if (!s->known_of[slot])
		rs_error_free(rs_kvm_refresh(s));
	known = s->known_of[slot];
	return known ? s->known[known - 1].vm : "";
}
