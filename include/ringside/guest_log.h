/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Logging from inside a guest or a hypervisor, without a libc: the lines, rings and levels of
 * log.h, on the runtime of guest.h. Link with libringside-guest.a.
 *
 *	static char early[RS_GUEST_LOG_EARLY_BYTES] __attribute__((aligned(64)));
 *
 *	rs_guest_log_early(early, sizeof(early));		// lines are kept from here on
 *	RS_LOG(INFO, "cpu %u", cpu);
 *	rs_guest_log_start(&(struct rs_guest_log_config){ .memory = shared, .bytes = 4 << 20 });
 *
 * log_ring.h describes the memory, which is the guest's own, or memory from the host that survives
 * the VM. The area (guest_abi.h) holds its address for the host. rs_guest_log_start() copies the
 * early lines to it, and releases the early buffer to the guest.
 *
 * Any vCPU may log, and so may its exception and interrupt handlers, even in the middle of another
 * log call. If the guest traces, a vCPU logs after its rs_guest_vcpu_init(). A line goes to the
 * lane of its vCPU; if RS_CLASS_log is on, it is also an event.
 */
#ifndef RINGSIDE_GUEST_LOG_H
#define RINGSIDE_GUEST_LOG_H

#include <ringside/language.h>
#include <ringside/guest.h>
#include <ringside/log_ring.h>

RS_C_BEGIN

#define RS_GUEST_LOG_EARLY_BYTES 49408u /* 512 elements */

/* As in log.h. */
extern const uint32_t *rs_guest_log_levels;

static inline bool rs_guest_log_is_on(enum rs_log_level level)
{
	const uint32_t *at = __atomic_load_n(&rs_guest_log_levels, __ATOMIC_ACQUIRE);

	return __atomic_load_n(&at[RS_LOG_MEMORY], __ATOMIC_RELAXED) >= (uint32_t)level ||
	       __atomic_load_n(&at[RS_LOG_CONSOLE], __ATOMIC_RELAXED) >= (uint32_t)level;
}

/* Writes a line. p is this vCPU's producer, or NULL if the guest does not trace; the line then
 * shows CPU 0. */
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

/* Keeps the newest lines that fit, until rs_guest_log_start(). mem is 64-byte aligned. */
enum rs_guest_status rs_guest_log_early(void *mem, uint64_t bytes);

struct rs_guest_log_config {
	void *memory; /* 64-byte aligned; an existing log in it is used */
	uint64_t bytes;
	uint32_t lanes;	      /* lanes of a new log; 0: 1 */
	uint64_t trace_bytes; /* in each half of a new log, for rs_guest_log_rings() */
	uint64_t tsc_hz;  /* 0: the host's value in the memory; if that is 0 too, lines show 0us */
	int64_t wall_ns;  /* Unix time when the TSC was 0; 0: not known */
	const char *name; /* of the guest */
	/* Writes a line without its newline, up to RS_LOG_LINE_MAX bytes, to the console. Runs in
	 * any context that logs. NULL: no console. */
	void (*console)(const char *text, uint32_t bytes);
};

/*
 * Attaches the log to its memory. Runs on the boot vCPU before others log. The lines of an earlier
 * run stay there, and the host can recover them. Returns RS_GUEST_BAD_RING if the memory is too
 * small, or both its halves hold unrecovered lines; lines then stay early ones.
 */
enum rs_guest_status rs_guest_log_start(const struct rs_guest_log_config *config);

/*
 * Trace rings that survive the VM and are recovered with the lines. They hold the records that the
 * host has not drained. With RS_GUEST_KEEP the host drains nothing, and a full ring drops its
 * oldest records.
 *
 * rs_guest_log_rings() runs once, after rs_guest_init() and rs_guest_log_start(), for the given
 * number of vCPUs; name is that of the guest, and must stay valid. rs_guest_log_vcpu_init()
 * replaces rs_guest_vcpu_init(). Both return RS_GUEST_BAD_RING if the memory has no room.
 */
enum rs_guest_status rs_guest_log_rings(uint32_t vcpus, const char *name);
enum rs_guest_status rs_guest_log_vcpu_init(uint32_t vcpu);

RS_C_END

#endif
