/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Exits from the events of a whole session, which has lines about its threads, and the comparison
 * of their times with schedstat.
 */
#include "exits_kit.h"

#define IO 30u /* VMX */

static const struct rs_exits_options everything = { .latency = true, .causes = true };

/* ---- the session's lines -------------------------------------------------------------------- */

static void session_line_of(struct kit *k, int64_t ts, int tid, uint64_t run, uint64_t wait,
			    bool complete)
{
	CHECK_OK(kit_put_text(k, ts, tid, "session", "thread",
			      (const struct kit_arg[]){ { "pid", 100 },
							{ "vcpu", 1 },
							{ "sched_known", 1 },
							{ "run", run },
							{ "wait", wait },
							{ "complete", complete },
							{ NULL, 0 } },
			      "named"));
}

static void session_line(struct kit *k, int64_t ts, int tid, uint64_t run, uint64_t wait)
{
	session_line_of(k, ts, tid, run, wait, false);
}

/* Opened at 1000: a thread is observed from then on. */
static void session_open(struct kit *k)
{
	kit_init(k, &everything);
	kit_put(k, 1000, 0, "session", "open", { "threads", 1 });
	session_line(k, 1000, 101, 50000000, 3000000);
}

/* 1500000 ns on a CPU, 500000 waiting. */
static void session(struct kit *k, uint64_t run_end, uint64_t wait_end)
{
	session_open(k);
	kit_vmx_exit(k, 1001000, 101, IO);
	kit_off(k, 1101000, 101, 0);
	kit_on(k, 1601000, 101);
	kit_entry(k, 1701000, 101, 1);
	kit_vmx_exit(k, 2001000, 101, IO);
	session_line(k, 2001000, 101, run_end, wait_end);
	kit_put(k, 2001000, 0, "session", "close", { "dropped", 3 });
	kit_take(k, true, 0);
}

TEST(a_session_identifies_threads_and_their_times)
{
	struct kit k;

	session(&k, 51500000, 3500000);
	CHECK_EQ_S64(k.exits.from_ns, 1000);
	CHECK_EQ_S64(k.exits.to_ns, 2001000);
	CHECK_EQ_U64(k.exits.dropped, 3);
	CHECK_STR(kit_vcpu(&k, 101)->vm, "named");
	CHECK_EQ_S64(kit_vcpu(&k, 101)->pid, 100);
	CHECK_EQ_S64(kit_vcpu(&k, 101)->vcpu, 1);
	CHECK_EQ_U64(kit_vcpu(&k, 101)->wall_ns, 2000000);
	CHECK_EQ_U64(kit_vcpu(&k, 101)->ns[RS_VCPU_GUEST], 1000000 + 300000);
	CHECK_EQ_U64(kit_vcpu(&k, 101)->ns[RS_VCPU_KERNEL], 200000);
	CHECK_EQ_U64(kit_vcpu(&k, 101)->ns[RS_VCPU_WAIT], 500000);
	CHECK(kit_vcpu(&k, 101)->sched_known);
	CHECK_EQ_U64(kit_vcpu(&k, 101)->run_ns, 1500000);
	CHECK_EQ_U64(kit_vcpu(&k, 101)->wait_ns, 500000);
	CHECK_OK(rs_exits_check(&k.exits, 0));
	kit_free(&k);
}

TEST(a_difference_is_an_error_with_its_amount)
{
	struct rs_exits_vcpu vcpu = { .vm = "v", .pid = 7, .tid = 8, .vcpu = 2, .wall_ns = 1000 };
	struct rs_exits exits = { .latency = true, .vcpus = &vcpu, .n_vcpus = 1 };
	struct kit k;

	session(&k, 50000000 + 1400000, 3500000); /* 100 us less: 5 % */
	CHECK_ERR(rs_exits_check(&k.exits, 0), RS_FAILED,
		  "on a CPU or waiting for one 2000000 ns, by schedstat 1900000");
	CHECK_OK(rs_exits_check(&k.exits, 100000));
	kit_free(&k);
	session(&k, 51600000, 3400000); /* a small amount charged otherwise */
	CHECK_OK(rs_exits_check(&k.exits, 0));
	kit_free(&k);
	session(&k, 51800000, 3200000); /* and more than the scheduler would charge */
	CHECK_ERR(rs_exits_check(&k.exits, 0), RS_FAILED,
		  "on a CPU 1500000 ns, by schedstat 1800000");
	kit_free(&k);
	session(&k, 51500000, 3000000 + 600000);
	CHECK_ERR(rs_exits_check(&k.exits, 0), RS_FAILED, "named vCPU 1 (pid 100, tid 101)");
	kit_free(&k);
	session(&k, 51510000, 3500000); /* within 1 % */
	CHECK_OK(rs_exits_check(&k.exits, 0));
	kit_free(&k);

	vcpu.ns[RS_VCPU_GUEST] = 990;
	CHECK_ERR(rs_exits_check(&exits, 0), RS_FAILED, "its states are 990 ns");
	CHECK_OK(rs_exits_check(&exits, 10));
	vcpu.ns[RS_VCPU_KERNEL] = 20;
	CHECK_ERR(rs_exits_check(&exits, 9), RS_FAILED, "v vCPU 2 (pid 7, tid 8)");
	exits.latency = false;
	CHECK_OK(rs_exits_check(&exits, 0));
}

/* It runs until 1101000, sleeps until it is woken at `woken`, and waits until 1601000. */
struct a_sleep {
	int64_t woken;	 /* 0: no wake-up is observed */
	int64_t arrives; /* a departure is missed before that arrival; 0: none */
	uint64_t run_ns, wait_ns;
};

static struct rs_error *session_of(struct a_sleep s)
{
	struct rs_error *err;
	struct kit k;

	session_open(&k);
	kit_vmx_exit(&k, 1001000, 101, IO);
	if (s.arrives)
		kit_on(&k, s.arrives, 101);
	kit_off(&k, 1101000, 101, 1);
	if (s.woken)
		kit_wake(&k, s.woken, 101);
	kit_on(&k, 1601000, 101);
	kit_entry(&k, 2001000, 101, 1);
	session_line(&k, 2001000, 101, 50000000 + s.run_ns, 3000000 + s.wait_ns);
	kit_put(&k, 2001000, 0, "session", "close", { "dropped", 0 });
	kit_take(&k, true, 0);
	err = rs_exits_check(&k.exits, 0);
	kit_free(&k);
	return err;
}

/* A thread is enqueued before sched_wakeup, so schedstat may have more waiting. */
TEST(a_wake_up_is_traced_after_the_scheduler_counts_it)
{
	CHECK_OK(session_of((struct a_sleep){ 1501000, 0, 1500000, 100000 }));
	CHECK_OK(session_of((struct a_sleep){ 1501000, 0, 1500000, 400000 }));
	CHECK_ERR(session_of((struct a_sleep){ 1501000, 0, 1500000, 600000 }), RS_FAILED,
		  "by schedstat 2100000");
	CHECK_OK(session_of((struct a_sleep){ 1101000, 0, 1500000, 500000 })); /* as it left */
	/* No wake-up was observed. */
	CHECK_ERR(session_of((struct a_sleep){ 0, 0, 1500000, 100000 }), RS_FAILED,
		  "on a CPU or waiting for one 1500000 ns, by schedstat 1600000");
}

/* The scheduler's clock may stand from the wake-up to the switch, so all waiting after it may be
 * charged as running, and no more. */
TEST(waiting_after_a_wake_up_may_be_charged_as_running)
{
	CHECK_OK(session_of((struct a_sleep){ 1101000, 0, 1500000, 500000 }));
	CHECK_OK(session_of((struct a_sleep){ 1101000, 0, 1800000, 200000 }));
	CHECK_OK(session_of((struct a_sleep){ 1101000, 0, 2000000, 0 }));
	/* Only 200000 ns followed a wake-up, and an eighth may be charged otherwise anyway. */
	CHECK_OK(session_of((struct a_sleep){ 1401000, 0, 1500000 + 400000, 0 }));
	CHECK_ERR(session_of((struct a_sleep){ 1401000, 0, 1500000 + 471000, 0 }), RS_FAILED,
		  "on a CPU 1500000 ns, by schedstat 1971000");
}

/* The scheduler's clock may have stood since the thread came on its CPU, 1100000 ns before its
 * sleep, so schedstat may have that much less time on it. */
TEST(a_sleep_begins_earlier_for_the_scheduler)
{
	CHECK_OK(session_of((struct a_sleep){ 1501000, 0, 1410000, 100000 }));
	CHECK_OK(session_of((struct a_sleep){ 1501000, 0, 410000, 100000 }));
	CHECK_ERR(session_of((struct a_sleep){ 1501000, 0, 370000, 100000 }), RS_FAILED,
		  "on a CPU or waiting for one 1600000 ns, by schedstat 470000");
	/* It came on the CPU 90000 ns before, and had left before that. */
	CHECK_ERR(session_of((struct a_sleep){ 1501000, 1011000, 1410000, 100000 }), RS_FAILED,
		  "on a CPU or waiting for one 1600000 ns, by schedstat 1510000");
	CHECK_OK(session_of((struct a_sleep){ 1501000, 1011000, 1490000, 100000 }));
}

/*
 * The CPU is taken away for 437 ms below the kernel, while it switches from the thread to another,
 * after the scheduler has read its clock. What is running here is waiting there; before a sleep, it
 * is neither.
 */
enum flaw {
	NO_FLAW,
	UNPROVEN, /* a departure and the arrival after it may both have been missed */
	MISSED,	  /* an arrival is observed without a departure before */
	LOSSY,
	FLAWS,
};

struct stalled {
	uint32_t state; /* as of off-cpu */
	bool returns;
	uint64_t run_ns, wait_ns; /* schedstat's */
};

static struct rs_error *session_stalled(const struct stalled *s, enum flaw flaw)
{
	struct rs_error *err;
	struct kit k;

	session_open(&k);
	kit_vmx_exit(&k, 1001000, 101, IO);
	if (flaw == MISSED)
		kit_on(&k, 1001000, 101);
	if (flaw == LOSSY)
		kit_put(&k, 1001000, 0, "trace", "records-lost", { "count", 1 });
	if (flaw == LOSSY)
		kit_user_exit(&k, 1001000, 101, 2);
	kit_off(&k, 441001000, 101, s->state);
	if (s->returns) {
		kit_wake(&k, 441101000, 101);
		kit_on(&k, 441101000, 101);
		kit_entry(&k, 442001000, 101, 1);
	}
	session_line_of(&k, 442001000, 101, 50000000 + s->run_ns, 3000000 + s->wait_ns,
			flaw != UNPROVEN);
	kit_put(&k, 442001000, 0, "session", "close", { "dropped", 0 });
	kit_take(&k, true, 0);
	err = rs_exits_check(&k.exits, 0);
	kit_free(&k);
	return err;
}

TEST(a_stall_at_a_switch)
{
	static const struct stalled all[] = {
		{ 0, true, 4900000, 437100000 },
		{ 1, true, 4900000, 0 },
		{ 0, false, 4000000, 0 },
		{ 1, true, 441900000 + 437000000, 0 }, /* when the watch began */
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		CHECK_OK(session_stalled(&all[i], NO_FLAW));
		for (enum flaw flaw = UNPROVEN; flaw < FLAWS; flaw++)
			CHECK_ERR(session_stalled(&all[i], flaw), RS_FAILED, "by schedstat");
	}
}

/* It waits for a CPU from the beginning until 501000, runs, and waits from 1501000 to the end. */
static struct rs_error *session_waiting(uint64_t run_ns, uint64_t wait_ns)
{
	const struct rs_exits_vcpu *vcpu;
	struct rs_error *err;
	struct kit k;

	session_open(&k);
	kit_on(&k, 501000, 101);
	kit_entry(&k, 501000, 101, 1);
	kit_vmx_exit(&k, 1001000, 101, IO);
	kit_off(&k, 1501000, 101, 0);
	session_line(&k, 2001000, 101, 50000000 + run_ns, 3000000 + wait_ns);
	kit_put(&k, 2001000, 0, "session", "close", { "dropped", 0 });
	kit_take(&k, true, 0);
	vcpu = kit_vcpu(&k, 101);
	CHECK_EQ_U64(vcpu->ns[RS_VCPU_WAIT], 1000000);
	CHECK_EQ_U64(vcpu->ns[RS_VCPU_GUEST], 500000);
	CHECK_EQ_U64(vcpu->ns[RS_VCPU_KERNEL], 500000);
	err = rs_exits_check(&k.exits, 0);
	kit_free(&k);
	return err;
}

/* The scheduler charges a running thread at ticks, so schedstat may lack what follows the thread's
 * last event. */
TEST(the_time_on_the_cpu_after_the_last_event)
{
	const uint64_t runs[] = { 1000000, 400000, 370000, 1040000 };

	for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
		struct kit k;

		session_open(&k);
		kit_entry(&k, 1000, 101, 1);
		kit_vmx_exit(&k, 401000, 101, IO);
		session_line(&k, 1001000, 101, 50000000 + runs[i], 3000000);
		kit_put(&k, 1001000, 0, "session", "close", { "dropped", 0 });
		kit_take(&k, true, 0);
		if (i < 2)
			CHECK_OK(rs_exits_check(&k.exits, 0));
		else
			CHECK_ERR(rs_exits_check(&k.exits, 0), RS_FAILED,
				  "on a CPU or waiting for one 1000000 ns, by schedstat");
		kit_free(&k);
	}
}

/* schedstat counts a wait when it ends: all of one that began before the watch, and nothing of one
 * that has not ended, unless it ends before schedstat is read. */
TEST(a_wait_at_the_beginning_or_the_end)
{
	CHECK_OK(session_waiting(1000000, 500000));
	CHECK_OK(session_waiting(1000000, 1000000));
	CHECK_OK(session_waiting(1000000, 70000000));
	CHECK_ERR(session_waiting(1000000, 470000), RS_FAILED,
		  "on a CPU or waiting for one 2000000 ns, by schedstat 1470000");
	/* The time on the CPU has all ended. */
	CHECK_ERR(session_waiting(700000, 1200000), RS_FAILED,
		  "on a CPU 1000000 ns, by schedstat 700000");
	CHECK_ERR(session_waiting(1300000, 700000), RS_FAILED,
		  "on a CPU 1000000 ns, by schedstat 1300000");
}

/* Its first event is its arrival on a CPU: woken since the beginning, it slept until then. */
TEST(a_wake_up_before_the_first_event)
{
	const struct rs_exits_vcpu *vcpu;
	struct kit k;

	session_open(&k);
	kit_wake(&k, 301000, 101);
	kit_on(&k, 501000, 101);
	kit_entry(&k, 501000, 101, 1);
	session_line(&k, 1001000, 101, 50500000, 3200000 + 400000);
	kit_put(&k, 1001000, 0, "session", "close", { "dropped", 0 });
	kit_take(&k, true, 0);
	vcpu = kit_vcpu(&k, 101);
	CHECK_EQ_U64(vcpu->ns[RS_VCPU_HALTED], 300000);
	CHECK_EQ_U64(vcpu->ns[RS_VCPU_WAIT], 200000);
	CHECK_EQ_U64(vcpu->ns[RS_VCPU_GUEST], 500000);
	/* schedstat has more waiting than it slept */
	CHECK_ERR(rs_exits_check(&k.exits, 0), RS_FAILED,
		  "on a CPU or waiting for one 700000 ns, by schedstat 1100000");
	kit_free(&k);
}

/* The session closes after the thread has ended: its last line is not a new thread's. */
TEST(the_last_line_of_an_ended_thread)
{
	struct kit k;

	kit_init(&k, &everything);
	kit_thread(&k, 100, 101, "named", 1);
	session_line(&k, 1000, 101, 50000000, 3000000);
	kit_vmx_exit(&k, 2000, 101, IO);
	kit_put(&k, 3000, 101, "sched", "end", );
	session_line(&k, 9000, 101, 50000000, 3000000);
	kit_take(&k, true, 0);
	CHECK_EQ_U64(k.exits.n_vcpus, 1);
	CHECK(kit_vcpu(&k, 101)->ended);
	CHECK_EQ_U64(kit_vcpu(&k, 101)->wall_ns, 2000);
	/* but the line of another thread, that has the tid now, is */
	kit_thread(&k, 200, 101, "other", 0);
	session_line(&k, 10000, 101, 0, 0);
	kit_take(&k, true, 0);
	CHECK_EQ_U64(k.exits.n_vcpus, 2);
	kit_free(&k);
}

/* Two traces, of two hosts, in which threads with the same tid take turns. */
TEST(equal_tids_of_two_traces)
{
	struct kit k, other;
	struct rs_sink *own;

	kit_init(&k, &everything);
	kit_init(&other, &everything);
	own = other.sink;
	other.sink = k.sink;
	kit_thread(&k, 100, 101, "web", 0);
	kit_thread(&other, 200, 101, "mail", 1);
	kit_vmx_exit(&k, 1000, 101, IO);
	kit_vmx_exit(&other, 1100, 101, IO);
	kit_entry(&k, 1500, 101, 0);
	kit_entry(&other, 1800, 101, 1);
	kit_take(&k, true, 0);
	REQUIRE(k.exits.n_vcpus == 2 && k.exits.n_rows == 2);
	CHECK_EQ_U64(k.exits.rows[0].sum.total_ns + k.exits.rows[1].sum.total_ns, 500 + 700);
	CHECK_EQ_U64(k.exits.rows[0].entered, 1);
	CHECK_EQ_U64(k.exits.rows[1].entered, 1);
	other.sink = own;
	kit_free(&other);
	kit_free(&k);
}

/*
 * The thread has no events, and the session reports that it slept: its state is known, not unknown.
 */
TEST(threads_that_slept_all_the_time)
{
	static const struct kit_arg slept[] = {
		{ "pid", 100 }, { "vcpu", 2 }, { "asleep", 1 }, { NULL, 0 }
	};
	struct kit k;

	kit_init(&k, &everything);
	kit_put(&k, 1000, 0, "session", "open", { "threads", 2 });
	session_line(&k, 1000, 101, 0, 0);
	session_line(&k, 1000, 102, 0, 0);
	kit_vmx_exit(&k, 2000, 101, IO);
	CHECK_OK(kit_put_text(&k, 9000, 101, "session", "thread", slept, "named"));
	CHECK_OK(kit_put_text(&k, 9000, 102, "session", "thread", slept, "named"));
	kit_put(&k, 9000, 0, "session", "close", { "dropped", 0 });
	kit_take(&k, true, 0);
	CHECK_EQ_U64(kit_vcpu(&k, 102)->ns[RS_VCPU_HALTED], 8000);
	CHECK_EQ_U64(kit_vcpu(&k, 102)->ns[RS_VCPU_UNKNOWN], 0);
	/* a thread with events is in the state that its events left it in, whatever is reported */
	CHECK_EQ_U64(kit_vcpu(&k, 101)->ns[RS_VCPU_GUEST], 1000);
	CHECK_EQ_U64(kit_vcpu(&k, 101)->ns[RS_VCPU_KERNEL], 7000);
	CHECK_OK(rs_exits_check(&k.exits, 0));
	kit_free(&k);
}

/* A single line shows no difference; neither do those of a thread that has ended. */
TEST(schedstat_without_information)
{
	struct kit k;

	kit_init(&k, &everything);
	session_line(&k, 1000, 101, 50000000, 3000000);
	session_line(&k, 1000, 102, 50000000, 3000000);
	kit_entry(&k, 5000, 101, 0);
	kit_put(&k, 6000, 102, "sched", "end", );
	kit_take(&k, true, 0);
	CHECK(!kit_vcpu(&k, 101)->sched_known);
	CHECK(!kit_vcpu(&k, 102)->sched_known);
	CHECK_OK(rs_exits_check(&k.exits, 0));
	kit_free(&k);
}
