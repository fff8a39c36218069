/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The host's TSC: its frequency, and whether it is invariant.
 *
 * The table `ways` lists the sources of the frequency, the most exact first. If no source has it,
 * the frequency is measured against CLOCK_MONOTONIC_RAW, and later again over a longer baseline.
 */
#include "base/now.h"
#include <ringside/arch.h>
#include <ringside/clock.h>

#include <linux/perf_event.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#define NS_PER_SEC UINT64_C(1000000000)
#define MEASURE_NS (50 * 1000 * 1000)
#define PAIR_TRIES 16

/* Reads the TSC and a clock at the same moment, by the closest pair of a few tries. */
static void read_pair(clockid_t id, uint64_t *tsc, uint64_t *ns)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < PAIR_TRIES; i++) {
		uint64_t before = rs_tsc();
		uint64_t now = rs_now_ns(id);
		uint64_t after = rs_tsc();

		if (after - before < best) {
			best = after - before;
			*tsc = before + (after - before) / 2;
			*ns = now;
		}
	}
}

/*
 * perf's mmap page carries the kernel's own factor: ns = cycles * time_mult >> time_shift
 * (struct perf_event_mmap_page in linux/perf_event.h, cap_user_time).
 */
static uint64_t freq_from_kernel(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.exclude_kernel = 1,
	};
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct perf_event_mmap_page *map;
	uint64_t freq = 0;
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return 0;
	map = mmap(NULL, page, PROT_READ, MAP_SHARED, fd, 0);
	if (map != MAP_FAILED) {
		if (map->cap_user_time && map->time_mult)
			freq = (uint64_t)(((unsigned __int128)NS_PER_SEC << map->time_shift) /
					  map->time_mult);
		munmap(map, page);
	}
	close(fd);
	return freq;
}

#if defined(__x86_64__)

/* CPUID 15H: crystal Hz in ECX times EBX / EAX (SDM vol. 2, CPUID); 16H EAX: base MHz. */
static uint64_t freq_from_cpuid(void)
{
	unsigned int a, b, c, d;

	if (__get_cpuid_count(0x15, 0, &a, &b, &c, &d) && a && b && c)
		return (uint64_t)c * b / a;
	if (__get_cpuid_count(0x16, 0, &a, &b, &c, &d) && (a & 0xffff))
		return (uint64_t)(a & 0xffff) * 1000000;
	return 0;
}

/*
 * A PV domain of Xen (usually dom0) executes CPUID directly; after this prefix, Xen emulates it
 * (public/arch-x86/xen.h, XEN_EMULATE_PREFIX), and EAX of its leaf 3, subleaf 2, has the host's TSC
 * in kHz (public/arch-x86/cpuid.h). Elsewhere, the prefix is an invalid instruction.
 */
static uint64_t freq_from_xen(void)
{
	unsigned int a = 0x40000003, b, c = 2, d;
	char text[16] = "";
	FILE *file = fopen("/sys/hypervisor/guest_type", "re");

	if (!file)
		return 0;
	if (!fgets(text, sizeof(text), file))
		text[0] = '\0';
	fclose(file);
	if (strcmp(text, "PV\n") != 0)
		return 0;
	__asm__ volatile(".byte 0x0f, 0x0b, 0x78, 0x65, 0x6e; cpuid"
			 : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
	return (uint64_t)a * 1000;
}

/* Leaf 40000010H EAX: the virtual TSC in kHz (VMware's timing leaf; KVM and others follow). */
static uint64_t freq_from_hypervisor(void)
{
	unsigned int a, b, c, d;

	__cpuid(1, a, b, c, d);
	if (!(c >> 31))
		return 0;
	__cpuid(0x40000000, a, b, c, d);
	if (a < 0x40000010)
		return 0;
	__cpuid(0x40000010, a, b, c, d);
	return (uint64_t)a * 1000;
}

/* CPUID 80000007H EDX bit 8 (SDM vol. 3, 17.17.1: Invariant TSC). */
static bool tsc_invariant(void)
{
	unsigned int a, b, c, d;

	return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d >> 8 & 1);
}

#elif defined(__aarch64__)

static uint64_t freq_from_cpuid(void)
{
	uint64_t freq;

	__asm__("mrs %0, cntfrq_el0" : "=r"(freq));
	return freq;
}

static uint64_t freq_from_xen(void)
{
	return 0;
}

static uint64_t freq_from_hypervisor(void)
{
	return 0;
}

static bool tsc_invariant(void)
{
	return true;
}

#endif

static const struct {
	const char *name;
	uint64_t (*freq)(void);
} ways[] = {
	{ "kernel", freq_from_kernel },
	{ "xen", freq_from_xen },
	{ "cpuid", freq_from_cpuid },
	{ "hypervisor", freq_from_hypervisor },
};

static uint64_t freq_between(uint64_t tsc, uint64_t ns, uint64_t tsc_later, uint64_t ns_later)
{
	return (uint64_t)((unsigned __int128)(tsc_later - tsc) * NS_PER_SEC / (ns_later - ns));
}

static uint64_t freq_measured(void)
{
	struct timespec pause = { .tv_nsec = MEASURE_NS };
	uint64_t tsc, ns, tsc_later, ns_later;

	read_pair(CLOCK_MONOTONIC_RAW, &tsc, &ns);
	while (nanosleep(&pause, &pause))
		;
	read_pair(CLOCK_MONOTONIC_RAW, &tsc_later, &ns_later);
	return freq_between(tsc, ns, tsc_later, ns_later);
}

/* The TSC's rate, which all clocks of the process share, because a confined process can no longer
 * query the kernel. */
static struct {
	pthread_once_t once;
	uint64_t hz;
	const char *from;
} freq = { .once = PTHREAD_ONCE_INIT };

static void freq_find(void)
{
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]) && !freq.hz; i++) {
		freq.hz = ways[i].freq();
		freq.from = ways[i].name;
	}
	if (!freq.hz) {
		freq.hz = freq_measured();
		freq.from = "measured";
	}
}

struct rs_error *rs_clock_host(struct rs_clock *out)
{
	struct rs_clock clock = { .invariant = tsc_invariant() };
	uint64_t wall, tsc, raw;
	struct rs_error *err;

	snprintf(clock.name, sizeof(clock.name), "host");
	pthread_once(&freq.once, freq_find);
	clock.freq_hz = freq.hz;
	snprintf(clock.freq_from, sizeof(clock.freq_from), "%s", freq.from);
	read_pair(CLOCK_REALTIME, &clock.origin, &wall);
	clock.wall_ns = (int64_t)wall;
	read_pair(CLOCK_MONOTONIC_RAW, &tsc, &raw);
	clock.raw_ns = raw - (tsc - clock.origin) * NS_PER_SEC / clock.freq_hz;
	err = rs_clock_init(&clock);
	if (!err)
		*out = clock;
	return err;
}

bool rs_clock_refine(struct rs_clock *clock)
{
	uint64_t was = clock->freq_hz;
	uint64_t tsc, raw;

	if (strcmp(clock->freq_from, "measured") != 0)
		return false;
	read_pair(CLOCK_MONOTONIC_RAW, &tsc, &raw);
	if (raw <= clock->raw_ns + NS_PER_SEC)
		return false;
	clock->freq_hz = freq_between(clock->origin, clock->raw_ns, tsc, raw);
	if (rs_clock_init(clock)) /* out of bounds only if the TSC stopped */
		clock->freq_hz = was;
	return clock->freq_hz != was;
}
