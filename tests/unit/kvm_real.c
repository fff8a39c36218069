/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A session attached to this machine's own KVM, and a guest with known returns to its VMM: events
 * that fire on every kind of KVM, kvm_userspace_exit and kvm_pio, are counted exactly.
 */
#include "kvm_kit.h"

#include <fcntl.h>
#include <linux/kvm.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#define OUTS	    37 /* a prime */
#define PORT	    0x80
#define GUEST_BYTES 0x10000
#define CODE_GPA    0x1000

/* mov cx, OUTS; again: out PORT, al; loop again; hlt */
static const uint8_t code[] = { 0xb9, OUTS, 0, 0xe6, PORT, 0xe2, 0xfc, 0xf4 };

struct guest {
	int kvm, vm, vcpu;
	struct kvm_run *run;
	pthread_t thread;
	int tid;
	uint64_t outs, halts;
};

static bool guest_create(struct guest *g)
{
	struct kvm_userspace_memory_region region = { .memory_size = GUEST_BYTES };
	struct kvm_regs regs = { .rip = CODE_GPA, .rflags = 2 };
	struct kvm_sregs sregs;
	void *mem =
		mmap(NULL, GUEST_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	memcpy((uint8_t *)mem + CODE_GPA, code, sizeof(code));
	region.userspace_addr = (uintptr_t)mem;
	g->vm = ioctl(g->kvm, KVM_CREATE_VM, 0);
	if (!CHECK(g->vm >= 0) || !CHECK(!ioctl(g->vm, KVM_SET_USER_MEMORY_REGION, &region)))
		return false;
	g->vcpu = ioctl(g->vm, KVM_CREATE_VCPU, 0);
	if (!CHECK(g->vcpu >= 0) || !CHECK(!ioctl(g->vcpu, KVM_GET_SREGS, &sregs)))
		return false;
	sregs.cs.base = 0;
	sregs.cs.selector = 0;
	g->run = mmap(NULL, (size_t)ioctl(g->kvm, KVM_GET_VCPU_MMAP_SIZE, 0),
		      PROT_READ | PROT_WRITE, MAP_SHARED, g->vcpu, 0);
	return CHECK(g->run != MAP_FAILED) && CHECK(!ioctl(g->vcpu, KVM_SET_SREGS, &sregs)) &&
	       CHECK(!ioctl(g->vcpu, KVM_SET_REGS, &regs));
}

static void *guest_run(void *arg)
{
	struct guest *g = arg;

	g->tid = kit_tid();
	while (!g->halts && g->outs <= OUTS && !ioctl(g->vcpu, KVM_RUN, 0)) {
		g->outs += g->run->exit_reason == KVM_EXIT_IO;
		g->halts += g->run->exit_reason == KVM_EXIT_HLT;
	}
	return NULL;
}

/*
 * A thread that joins another may be woken before the kernel reports the other's end: in many
 * kernels do_exit() releases memory, which wakes waiters, before sched_process_exit. The thread's
 * folder disappears later.
 */
static void wait_for_its_end(int tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/task/%d", tid);
	while (!access(path, F_OK))
		usleep(100);
}

/* Runs the guest to its end while a session with these options has its gate open. */
static struct rs_kvm_session *watched(const struct rs_kvm_options *options, struct guest *g,
				      struct rs_kvm_snapshot *got)
{
	struct rs_kvm_session *session = NULL;

	*g = (struct guest){ .kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC) };
	if (!guest_create(g) || !CHECK_OK(rs_kvm_open(options, &session)) ||
	    !CHECK_OK(rs_kvm_gate(session, true)))
		return session;
	pthread_create(&g->thread, NULL, guest_run, g);
	pthread_join(g->thread, NULL);
	wait_for_its_end(g->tid);
	CHECK_OK(rs_kvm_gate(session, false));
	CHECK_OK(rs_kvm_snapshot(session, got));
	close(g->vcpu);
	close(g->vm);
	close(g->kvm);
	CHECK_EQ_U64(g->outs, OUTS);
	CHECK_EQ_U64(g->halts, 1);
	return session;
}

#define REAL_NEEDS()                                                                               \
	do {                                                                                       \
		KIT_NEEDS();                                                                       \
		if (access("/dev/kvm", R_OK | W_OK))                                               \
			TEST_SKIP("there is no /dev/kvm");                                         \
		if (access("/sys/kernel/tracing/events", F_OK))                                    \
			TEST_SKIP("tracefs is not mounted, nor can it be");                        \
	} while (0)

TEST(returns_to_this_vmm_are_counted)
{
	struct rs_kvm_options options = { .user = true, .pid = getpid() };
	struct rs_kvm_snapshot got = { 0 };
	struct rs_kvm_session *session;
	struct guest g;

	REAL_NEEDS();
	session = watched(&options, &g, &got);
	CHECK_EQ_U64(kit_count(&got, g.tid, RS_ISA_USER, 0, KVM_EXIT_IO), OUTS);
	CHECK_EQ_U64(kit_count(&got, g.tid, RS_ISA_USER, 0, KVM_EXIT_HLT), 1);
	CHECK_EQ_U64(got.dropped_threads + got.dropped_exits, 0);
	rs_kvm_close(session);
}

TEST(its_ports_are_counted)
{
	struct rs_kvm_options options = { .causes = true, .pid = getpid() };
	struct rs_kvm_snapshot got = { 0 };
	struct rs_kvm_session *session;
	const struct rs_kvm_thread *thread = NULL;
	uint64_t outs = 0, sum = 0;
	struct guest g;

	REAL_NEEDS();
	session = watched(&options, &g, &got);
	for (uint32_t i = 0; i < got.n_threads; i++) /* or the vendor */
		if (got.threads[i].tid == g.tid)
			thread = &got.threads[i];
	REQUIRE(thread);
	for (uint32_t i = 0; i < got.n_causes; i++)
		if (got.causes[i].kind == RS_CAUSE_PIO_WRITE && got.causes[i].key == PORT)
			outs += got.causes[i].count;
	CHECK_EQ_U64(outs, OUTS);
	CHECK(thread->ended);
	for (int state = 0; state < RS_VCPU_STATES; state++)
		sum += thread->time.ns[state];
	CHECK_EQ_U64(sum, thread->time.at - thread->time.since);
	rs_kvm_close(session);
}

/* A thread of another process is not selected: the guest's exits are not counted. */
TEST(another_process_is_left_out)
{
	struct rs_kvm_options options = { .user = true, .pid = 1 };
	struct rs_kvm_snapshot got = { 0 };
	struct rs_kvm_session *session;
	struct guest g;

	REAL_NEEDS();
	session = watched(&options, &g, &got);
	CHECK_EQ_U64(kit_count(&got, g.tid, RS_ISA_USER, 0, KVM_EXIT_IO), 0);
	CHECK_EQ_U64(got.dropped_threads, 0);
	rs_kvm_close(session);
}
