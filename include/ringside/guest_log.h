/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Logging from inside a guest or a hypervisor, without a libc: log.h's lines, rings and levels, on
 * the runtime of guest.h. Link with libringside-guest.a.
 *
 *	static char early[RS_GUEST_LOG_EARLY_BYTES] __attribute__((aligned(64)));
 *
 *	rs_guest_log_early(early, sizeof(early));		// lines are kept from here on
 *	RS_LOG(INFO, "cpu %u", cpu);
 *	rs_guest_log_start(&(struct rs_guest_log_config){ .memory = shared, .bytes = 4 << 20 });
 *
 * The memory is laid out as log_ring.h says: the guest's own, or what the host gives it, which
 * survives the VM. The area (guest_abi.h) tells the host where it is. Early lines are copied over
 * by rs_guest_log_start(), and the early buffer is the guest's again.
 *
 * Any vCPU may log, and its exception and interrupt handlers in the middle of that, after its
 * rs_guest_vcpu_init() if the guest traces. A line goes into the lane of its vCPU; if RS_CLASS_log
 * is on, it is an event too.
 */
#ifndef RINGSIDE_GUEST_LOG_H
#define RINGSIDE_GUEST_LOG_H

#include <ringside/guest.h>
#include <ringside/log_ring.h>

#define RS_GUEST_LOG_EARLY_BYTES 49408u /* 512 elements */

/* As in log.h. */
extern const uint32_t *rs_guest_log_levels;

static inline bool rs_guest_log_is_on(enum rs_log_level level)
{
	const uint32_t *at = __atomic_load_n(&rs_guest_log_levels, __ATOMIC_ACQUIRE);

	return __atomic_load_n(&at[RS_LOG_MEMORY], __ATOMIC_RELAXED) >= (uint32_t)level ||
	       __atomic_load_n(&at[RS_LOG_CONSOLE], __ATOMIC_RELAXED) >= (uint32_t)level;
}

/* p: this vCPU's producer; NULL: the guest does not trace, and the line says CPU 0. */
void rs_guest_log_put(struct rs_sbuf_producer *p, enum rs_log_level level, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#ifndef RS_LOG
#define RS_LOG(level, ...)                                                                         \
	do {                                                                                       \
		if (rs_guest_log_is_on(RS_LOG_##level))                                            \
			rs_guest_log_put(rs_guest_mask ? RS_GUEST_THIS() : NULL, RS_LOG_##level,   \
					 __VA_ARGS__);                                             \
	} while (0)
#endif

/* Keeps lines until there is a memory: as many as fit, the newest. mem: 64-byte aligned. */
enum rs_guest_status rs_guest_log_early(void *mem, uint64_t bytes);

struct rs_guest_log_config {
	void *memory; /* 64-byte aligned; what is a log already, is used as one */
	uint64_t bytes;
	uint32_t lanes;	      /* of a new one; 0: 1 */
	uint64_t trace_bytes; /* of each half of a new one, for rs_guest_log_rings(); 0: none */
	uint64_t tsc_hz;      /* 0: as the host says in the memory, or lines say 0us */
	int64_t wall_ns;      /* Unix time when the TSC was 0; 0: not known */
	const char *name;     /* of the guest */
	/* The console: up to RS_LOG_LINE_MAX bytes, a line without its end. From any context that
	 * logs. NULL: none. */
	void (*console)(const char *text, uint32_t bytes);
};

/*
 * Gives the log its memory, on the boot vCPU before others log. What a run before left there, stays
 * for the host to recover. RS_GUEST_BAD_RING: the memory is too small, or both its halves keep what
 * nobody has recovered; lines go on being early ones.
 */
enum rs_guest_status rs_guest_log_start(const struct rs_guest_log_config *config);

/*
 * Trace rings that survive the VM as the lines do, and are recovered with them: what is in them is
 * what the host has not drained. With RS_GUEST_KEEP nobody does, and a full ring drops its oldest.
 *
 * rs_guest_log_rings(): once, after rs_guest_init() and rs_guest_log_start(), for so many vCPUs;
 * name: the guest's, which stays. rs_guest_log_vcpu_init(): instead of rs_guest_vcpu_init().
 * RS_GUEST_BAD_RING: the memory has no room for that.
 */
enum rs_guest_status rs_guest_log_rings(uint32_t vcpus, const char *name);
enum rs_guest_status rs_guest_log_vcpu_init(uint32_t vcpu);

#endif
