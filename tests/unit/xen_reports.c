/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The Xen analysis, over literal records; a cycle is a nanosecond. The expected values were added
 * up by hand, from the stamps next to them.
 */
#include "xen_kit.h"

#include "analyze/xen.h"
#include "event/exit_reason.h"
#include "event/query.h"
#include "kvm/kvm.h"

#define HLT	0x78 /* SVM's exit codes */
#define IOIO	0x7b
#define VMMCALL 0x81
#define IDLE	0x7fff

/* Runstate changes: the event's number has the states. */
#define CHANGE(old, new) (0x21001 | (old) << 8 | (new) << 4)
#define CONTINUE	 0x21002
#define WHO(dom, vcpu)	 ((uint32_t)(dom) << 16 | (vcpu))
enum { RUNNING, RUNNABLE, BLOCKED, OFFLINE };

static struct maker m;
static struct rs_sink *sink;
static struct rs_xen_result result;

static void start(void)
{
	m = (struct maker){ 0 };
}

static void read_window(int64_t from_ns, int64_t to_ns)
{
	static const struct rs_foreign_options ghz = { .freq_hz = 1000000000 };
	int fd = memfd_create("xentrace", MFD_CLOEXEC);
	struct rs_source *source, *merge;
	struct rs_foreign *foreign;
	bool stop = false;
	struct rs_query query;

	rs_query_init(&query);
	query.from_ns = from_ns;
	query.to_ns = to_ns;
	CHECK(fd >= 0 && write(fd, m.words, m.n * 4) == (ssize_t)m.n * 4 &&
	      !lseek(fd, 0, SEEK_SET));
	REQUIRE_OK(rs_xentrace_open_fd(fd, "made", "", 0, &ghz, &foreign));
	REQUIRE_OK(rs_xen_sink_create(RS_XEN_ALL_KINDS, &sink));
	source = &foreign->source;
	REQUIRE_OK(rs_merge_create(&source, 1, &merge)); /* cuts the window out */
	CHECK_OK(rs_run(merge, &query, sink, &stop));
	rs_source_destroy(merge);
	REQUIRE_OK(rs_xen_collect(sink, &result));
	CHECK_OK(rs_xen_check(&result));
}

static void read_all(void)
{
	read_window(INT64_MIN, INT64_MAX);
}

/* Returns the row, or zeros if there is none. */
static const struct rs_xen_row *row(enum rs_xen_kind kind, int dom, int vcpu, uint32_t sub,
				    uint64_t key)
{
	static const struct rs_xen_row none;

	for (size_t i = 0; i < result.n_rows; i++) {
		const struct rs_xen_row *r = &result.rows[i];

		if (r->kind == kind && r->dom == dom && r->vcpu == vcpu && r->sub == sub &&
		    r->key == key)
			return r;
	}
	return &none;
}

static void state(const struct rs_xen_row *r, uint64_t count, uint64_t whole_ns, uint64_t edge_ns)
{
	CHECK_EQ_U64(r->count, count);
	CHECK_EQ_U64(r->total_ns, whole_ns);
	CHECK_EQ_U64(r->edge_ns, edge_ns);
}

#define VCPU(dom, vcpu, key, ...) state(row(RS_XEN_STATES, dom, vcpu, 0, key), __VA_ARGS__)
#define DOMAIN(dom, key, ...)	  state(row(RS_XEN_DOMAINS, dom, -1, 0, key), __VA_ARGS__)
#define PCPU(cpu, key, ...)	  state(row(RS_XEN_PCPUS, -1, -1, cpu, key), __VA_ARGS__)

/* d1v0 wakes up, waits for the CPU, runs, is preempted for a moment, and blocks. */
static void one_vcpu(void)
{
	start();
	window(&m, 0);
	RECORD(&m, CHANGE(BLOCKED, RUNNABLE), 1000, WHO(1, 0));
	RECORD(&m, CHANGE(RUNNING, RUNNABLE), 1490, WHO(IDLE, 0));
	RECORD(&m, CHANGE(RUNNABLE, RUNNING), 1500, WHO(1, 0));
	RECORD(&m, CONTINUE, 2500, WHO(1, 0));
	RECORD(&m, CHANGE(RUNNING, RUNNABLE), 4000, WHO(1, 0));
	RECORD(&m, CHANGE(RUNNABLE, RUNNING), 4100, WHO(1, 0));
	RECORD(&m, CHANGE(RUNNING, BLOCKED), 5000, WHO(1, 0));
	RECORD(&m, CHANGE(RUNNABLE, RUNNING), 5010, WHO(IDLE, 0));
	RECORD(&m, 0x28009, 9000, 1);
}

TEST(states_of_a_vcpu)
{
	const struct rs_xen_row *running;

	one_vcpu();
	read_all();
	CHECK_EQ_U64(result.to_ns - result.from_ns, 8000);
	VCPU(1, 0, RS_XEN_RUNNABLE_WAKE, 1, 500, 0);
	VCPU(1, 0, RS_XEN_RUNNABLE_PREEMPT, 1, 100, 0);
	VCPU(1, 0, RS_XEN_RUNNING, 2, 2500 + 900, 0);
	VCPU(1, 0, RS_XEN_BLOCKED, 0, 0, 4000);
	VCPU(1, 0, RS_XEN_LOST, 0, 0, 0);
	running = row(RS_XEN_STATES, 1, 0, 0, RS_XEN_RUNNING);
	CHECK_EQ_U64(running->continued, 1);
	CHECK_EQ_U64(running->min_ns, 900);
	CHECK_EQ_U64(running->max_ns, 2500);
	VCPU(IDLE, 0, RS_XEN_RUNNING, 0, 0, 490 + 3990);
	VCPU(IDLE, 0, RS_XEN_RUNNABLE_PREEMPT, 1, 3520, 0);
	state(row(RS_XEN_AFFINITY, 1, 0, 0, 0), 2, 3400, 0);
	rs_xen_sink_destroy(sink);
}

TEST(states_of_its_cpu_and_domain)
{
	one_vcpu();
	read_all();
	PCPU(0, RS_XEN_PCPU_BUSY, 2, 3400, 0);
	PCPU(0, RS_XEN_PCPU_IDLE, 0, 0, 490 + 3990);
	PCPU(0, RS_XEN_PCPU_SWITCH, 3, 10 + 100 + 10, 0);
	PCPU(0, RS_XEN_PCPU_LOST, 0, 0, 0);
	DOMAIN(1, RS_XEN_FULL_CONTENTION, 2, 500 + 100, 0);
	DOMAIN(1, RS_XEN_FULL_RUN, 2, 3400, 0);
	DOMAIN(1, RS_XEN_ALL_BLOCKED, 0, 0, 4000);
	rs_xen_sink_destroy(sink);
}

/* Within 1000..4000 after the start: the first change shows the earlier state. */
TEST(states_in_a_window)
{
	one_vcpu();
	read_window(1000, 4000);
	/*
	 * events at 1500, 3000 and 3100; that at 4000 is outside, the first at 1000 lets it
	 * continue
	 */
	CHECK_EQ_U64(result.to_ns - result.from_ns, 4100 - 2500);
	VCPU(1, 0, RS_XEN_RUNNING, 0, 0, 1500);
	VCPU(1, 0, RS_XEN_RUNNABLE_PREEMPT, 1, 100, 0);
	rs_xen_sink_destroy(sink);
}

/* Two vCPUs that run, block and wait at different times. */
TEST(vcpus_together)
{
	start();
	window(&m, 0);
	RECORD(&m, CONTINUE, 1000, WHO(1, 0));
	RECORD(&m, CHANGE(RUNNING, RUNNABLE), 3000, WHO(1, 0));
	RECORD(&m, CHANGE(RUNNABLE, RUNNING), 6000, WHO(1, 0));
	window(&m, 1);
	RECORD(&m, CONTINUE, 1000, WHO(1, 1));
	RECORD(&m, CHANGE(RUNNING, BLOCKED), 2000, WHO(1, 1));
	RECORD(&m, CHANGE(BLOCKED, RUNNABLE), 4000, WHO(1, 1));
	RECORD(&m, CHANGE(RUNNABLE, RUNNING), 5000, WHO(1, 1));
	RECORD(&m, 0x28009, 7000, 1);
	read_all();
	DOMAIN(1, RS_XEN_PARTIAL_RUN, 1, 1000, 0);	  /* 2000..3000 */
	DOMAIN(1, RS_XEN_PARTIAL_CONTENTION, 1, 1000, 0); /* 3000..4000 */
	DOMAIN(1, RS_XEN_FULL_CONTENTION, 1, 1000, 0);	  /* 4000..5000 */
	DOMAIN(1, RS_XEN_CONCURRENCY_HAZARD, 1, 1000, 0); /* 5000..6000 */
	DOMAIN(1, RS_XEN_FULL_RUN, 0, 0, 1000 + 1000);
	rs_xen_sink_destroy(sink);
}

/* Records of CPU 1 are lost from 3000 to 5000. The vCPU that ran on CPU 0 is known. A vCPU
 * that ran on CPU 1 or slept has no known state until its next change. */
TEST(loss_is_unknown_time)
{
	start();
	window(&m, 0);
	RECORD(&m, CONTINUE, 1000, WHO(1, 0));
	RECORD(&m, CHANGE(RUNNING, BLOCKED), 8000, WHO(1, 0));
	RECORD(&m, 0x28009, 9000, 1);
	window(&m, 1);
	RECORD(&m, CONTINUE, 1100, WHO(1, 1));
	RECORD(&m, CHANGE(OFFLINE, BLOCKED), 1200, WHO(1, 2));
	RECORD(&m, 0x1f001, 5000, 7, 1 | 1 << 16, 3000, 0);
	RECORD(&m, CHANGE(RUNNING, BLOCKED), 6000, WHO(1, 1));
	RECORD(&m, CHANGE(BLOCKED, RUNNABLE), 7000, WHO(1, 2));
	read_all();
	CHECK_EQ_U64(result.lost, 7);
	CHECK_EQ_U64(result.losses, 1);
	CHECK_EQ_U64(result.contradictions, 0);
	VCPU(1, 0, RS_XEN_RUNNING, 0, 0, 7000);
	VCPU(1, 0, RS_XEN_BLOCKED, 0, 0, 1000);
	VCPU(1, 0, RS_XEN_LOST, 0, 0, 0);
	VCPU(1, 1, RS_XEN_RUNNING, 0, 0, 2000);
	VCPU(1, 1, RS_XEN_LOST, 1, 3000, 0);
	VCPU(1, 1, RS_XEN_BLOCKED, 0, 0, 3000);
	VCPU(1, 2, RS_XEN_OFFLINE, 0, 0, 200);
	VCPU(1, 2, RS_XEN_BLOCKED, 0, 0, 1800);
	VCPU(1, 2, RS_XEN_LOST, 1, 4000, 0);
	VCPU(1, 2, RS_XEN_RUNNABLE_WAKE, 0, 0, 2000);
	PCPU(1, RS_XEN_PCPU_BUSY, 0, 0, 2000);
	PCPU(1, RS_XEN_PCPU_LOST, 1, 3000, 0);
	PCPU(0, RS_XEN_PCPU_LOST, 0, 0, 0);
	DOMAIN(1, RS_XEN_DOMAIN_LOST, 1, 4000, 0);
	rs_xen_sink_destroy(sink);
}

/* Records of CPU 1 are lost at first. CPU 0 lost none: a vCPU that leaves it ran since the start.
 * A vCPU that blocks may not have run. */
TEST(loss_at_the_start)
{
	start();
	window(&m, 0);
	RECORD(&m, 0x28009, 1000, 1);
	RECORD(&m, CONTINUE, 3000, WHO(1, 0));
	RECORD(&m, CHANGE(OFFLINE, BLOCKED), 3500, WHO(1, 2));
	RECORD(&m, 0x28009, 5000, 1);
	window(&m, 1);
	RECORD(&m, 0x1f001, 2000, 7, 1 | 1 << 16, 500, 0);
	RECORD(&m, CONTINUE, 4000, WHO(1, 1));
	read_all();
	VCPU(1, 0, RS_XEN_RUNNING, 0, 0, 4000);
	VCPU(1, 0, RS_XEN_LOST, 0, 0, 0);
	VCPU(1, 1, RS_XEN_LOST, 0, 0, 3000);
	VCPU(1, 1, RS_XEN_RUNNING, 0, 0, 1000);
	VCPU(1, 2, RS_XEN_LOST, 0, 0, 2500);
	VCPU(1, 2, RS_XEN_BLOCKED, 0, 0, 1500);
	rs_xen_sink_destroy(sink);
}

/* It runs, and is then reported as blocked before: the time of the change is unknown. */
TEST(contradiction_is_unknown_time)
{
	start();
	window(&m, 0);
	RECORD(&m, CHANGE(RUNNABLE, RUNNING), 1000, WHO(1, 0));
	RECORD(&m, CHANGE(BLOCKED, RUNNABLE), 2000, WHO(1, 0));
	RECORD(&m, 0x28009, 4000, 1);
	read_all();
	CHECK_EQ_U64(result.contradictions, 1);
	VCPU(1, 0, RS_XEN_RUNNING, 0, 0, 0);
	VCPU(1, 0, RS_XEN_LOST, 1, 1000, 0);
	VCPU(1, 0, RS_XEN_RUNNABLE_WAKE, 0, 0, 2000);
	rs_xen_sink_destroy(sink);
}

static void timed(const struct rs_xen_row *r, uint64_t count, uint64_t timed, uint64_t total_ns)
{
	CHECK_EQ_U64(r->count, count);
	CHECK_EQ_U64(r->timed, timed);
	CHECK_EQ_U64(r->total_ns, total_ns);
}

/* d1v0 halts for 2000, makes a hypercall of 600 in which an interrupt is injected, reads a port for
 * 300 and 400, changes its address space, and halts. */
TEST(guest)
{
	start();
	window(&m, 0);
	RECORD(&m, CONTINUE, 1000, WHO(1, 0));
	RECORD(&m, 0x81003, 2000, HLT, 0);
	RECORD(&m, CHANGE(RUNNING, BLOCKED), 2100, WHO(1, 0));
	RECORD(&m, CHANGE(BLOCKED, RUNNABLE), 4000, WHO(1, 0)); /* the exit ends */
	RECORD(&m, CHANGE(RUNNABLE, RUNNING), 4110, WHO(1, 0));
	RECORD(&m, 0x81001, 4200);
	RECORD(&m, 0x81003, 5000, VMMCALL, 0);
	RECORD(&m, 0x82012, 5100, 29);
	RECORD(&m, 0x82004, 5400, 0xf3);
	RECORD(&m, 0x81001, 5600);
	RECORD(&m, 0x81003, 6000, IOIO, 0);
	RECORD(&m, 0x82016, 6010, 0x3f8, 1, 1);
	RECORD(&m, 0x81001, 6300);
	RECORD(&m, 0x81003, 6400, IOIO, 0);
	RECORD(&m, 0x82016, 6410, 0x3f8, 1, 1);
	RECORD(&m, 0x81001, 6800);
	RECORD(&m, 0x82109, 7000, 3, 0x1000, 0);
	RECORD(&m, 0x81003, 7900, HLT, 0); /* never ends */
	RECORD(&m, CHANGE(RUNNING, BLOCKED), 8000, WHO(1, 0));
	RECORD(&m, 0x28009, 9000, 1);
	read_all();
	timed(row(RS_XEN_EXITS, 1, 0, RS_ISA_SVM, HLT), 2, 1, 2000);
	timed(row(RS_XEN_EXITS, 1, 0, RS_ISA_SVM, VMMCALL), 1, 1, 600);
	timed(row(RS_XEN_EXITS, 1, 0, RS_ISA_SVM, IOIO), 2, 2, 700);
	CHECK_EQ_U64(row(RS_XEN_EXITS, 1, 0, RS_ISA_SVM, IOIO)->min_ns, 300);
	CHECK_EQ_U64(row(RS_XEN_EXITS, 1, 0, RS_ISA_SVM, IOIO)->max_ns, 400);
	timed(row(RS_XEN_CALLS, 1, 0, RS_XEN_CALL_HVM, 29), 1, 1, 600);
	timed(row(RS_XEN_IO, 1, 0, RS_CAUSE_PIO_READ, 0x3f8), 2, 2, 700);
	timed(row(RS_XEN_INTERRUPTS, 1, 0, RS_XEN_VIRQ, 0xf3), 1, 1, 200);
	timed(row(RS_XEN_INTERRUPTS, 1, 0, RS_XEN_VIRQ_WAKE_HALT, 0xf3), 1, 1, 2600);
	timed(row(RS_XEN_CR3, 1, 0, 0, 0x1000), 1, 1, 1000);
	rs_xen_sink_destroy(sink);
}

/* Exits before the CPU's vCPU is known are counted, and their times are attributed to none. */
TEST(exits_of_an_unknown_vcpu)
{
	start();
	window(&m, 0);
	RECORD(&m, 0x81003, 1000, HLT, 0);
	window(&m, 1);
	RECORD(&m, 0x81001, 1500);
	RECORD(&m, 0x28009, 2000, 1);
	read_all();
	timed(row(RS_XEN_EXITS, -1, -1, RS_ISA_SVM, HLT), 1, 0, 0);
	rs_xen_sink_destroy(sink);
}

TEST(pv_domain_and_power)
{
	start();
	window(&m, 0);
	RECORD(&m, CONTINUE, 1000, WHO(2, 0));
	RECORD(&m, 0x20100d, 1100, 23);
	RECORD(&m, 0x20100d, 1200, 13);
	RECORD(&m, 0x20200e, 1210, 14);
	RECORD(&m, 0x20200e, 1220, 14);
	RECORD(&m, 0x201004, 1300, 0x10, 0x20, 2);
	RECORD(&m, 0x801001, 1400, 2000, 1200);
	RECORD(&m, 0x801002, 1500, 2, 77);
	RECORD(&m, 0x801003, 2000, 2, 99);
	RECORD(&m, 0x802008, 2100, 9, 50, 350);
	read_all();
	timed(row(RS_XEN_CALLS, 2, 0, RS_XEN_CALL_PV, 23), 1, 0, 0);
	timed(row(RS_XEN_CALLS, 2, 0, RS_XEN_CALL_PV, 13), 1, 0, 0);
	timed(row(RS_XEN_CALLS, 2, 0, RS_XEN_CALL_SUBCALL, 14), 2, 0, 0);
	timed(row(RS_XEN_PV, 2, 0, 0, RS_XEN_xdt_page_fault), 1, 0, 0);
	timed(row(RS_XEN_PM, -1, -1, 0, RS_XEN_PM_FREQUENCY | 1200), 1, 0, 0);
	timed(row(RS_XEN_PM, -1, -1, 0, 2), 1, 1, 500);
	timed(row(RS_XEN_INTERRUPTS, -1, -1, RS_XEN_IRQ, 9), 1, 1, 300);
	rs_xen_sink_destroy(sink);
}

/* Header 4, stamp 8, one word 4. */
TEST(volume)
{
	start();
	window(&m, 3);
	RECORD(&m, CONTINUE, 1000, WHO(2, 0));
	RECORD(&m, 0x20100d, 1100, 23, 1, 2);
	RECORD(&m, 0x20100d, 0, 23);
	read_all();
	CHECK_EQ_U64(row(RS_XEN_VOLUME, -1, -1, 3, 0x21)->bytes, 16);
	CHECK_EQ_U64(row(RS_XEN_VOLUME, -1, -1, 3, 0x201)->bytes, 24 + 8);
	CHECK_EQ_U64(row(RS_XEN_VOLUME, -1, -1, 3, 0x201)->count, 2);
	CHECK_EQ_U64(row(RS_XEN_VOLUME, -1, -1, 3, RS_XEN_VOLUME_WINDOW)->bytes, 12);
	rs_xen_sink_destroy(sink);
}

/* Sums that do not add up are reported. */
TEST(check_reports_inconsistency)
{
	const struct rs_xen_row rows[] = {
		{ .kind = RS_XEN_STATES, .dom = 1, .vcpu = 2, .key = 0, .total_ns = 60 },
		{ .kind = RS_XEN_STATES, .dom = 1, .vcpu = 2, .key = 4, .edge_ns = 39 },
	};
	struct rs_xen_result made = { .to_ns = 100, .rows = rows, .n_rows = 2 };

	CHECK_ERR(rs_xen_check(&made), RS_FAILED,
		  "d1v2: its states add up to 99 ns, expected 100 ns");
	made.to_ns = 99;
	CHECK_OK(rs_xen_check(&made));
	(void)read_made; /* of the kit, and unused here */
	(void)lines_free;
}

/* No records. */
TEST(empty)
{
	REQUIRE_OK(rs_xen_sink_create(RS_XEN_ALL_KINDS, &sink));
	REQUIRE_OK(rs_xen_collect(sink, &result));
	CHECK_EQ_U64(result.n_rows, 0);
	CHECK_OK(rs_xen_check(&result));
	rs_xen_sink_destroy(sink);
	rs_xen_sink_destroy(NULL);
}
