/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A session on the host's KVM tracepoints: BPF programs that count exits, keep vCPUs' time and, if
 * asked, put the events themselves into rings; all behind one gate. One object for every kernel
 * with module BTF (5.11 on); no compiler, headers or kernel BTF are needed to build or load it.
 *
 *	tracepoints --> BPF: time and cell of the thread ----> mapped arrays --> rs_kvm_snapshot()
 *	                     event into this CPU's sbuf -----> mapped rings  --> a drain, per CPU
 *
 * A thread's cells are its own: it runs on one CPU at a time, so nothing is locked, and nothing is
 * per CPU. What finds no place is counted, by kind, and is in each snapshot.
 *
 * One thread calls. Needs CAP_BPF and CAP_PERFMON, or root.
 */
#ifndef RS_KVM_KVM_H
#define RS_KVM_KVM_H

#include <stddef.h>
#include <ringside/clock.h>

#include "base/hist.h"
#include "event/exit_reason.h"
#include "kvm/vcpu_time.h"

#define RS_KVM_VM_MAX 64 /* bytes of a VM's name */

/* A VMM whose arguments do not name its VM may hold a memfd of this name with the VM's behind it:
 * the micro-VM does. /proc/PID/fd shows it. */
#define RS_KVM_NAME_MEMFD "ringside-vm:"

struct rs_kvm_options {
	bool latency; /* times, latencies, histograms; else counts alone */
	bool causes;  /* exits by port, address, MSR, ...; implies latency */
	bool user;    /* count kvm_userspace_exit by KVM_EXIT_ reason (RS_ISA_USER), not kvm_exit */
	bool events;  /* the events themselves, into the rings */
	uint64_t than_ns;    /* exits longer than this as long-exit events in the rings; 0: none */
	uint64_t trigger_ns; /* a longer exit pulls the trigger; 0: none */
	uint32_t trigger_isa, trigger_code; /* of which reason; isa 0: any */
	int pid;			    /* only this process's threads; 0: all */
	const int *tids;		    /* only these; none: all */
	uint32_t n_tids;
	uint32_t ring_bytes;  /* per CPU; 0: 1 MiB; used with events and than_ns */
	uint32_t threads_max; /* 0: from what is running, at least 4096 */
	bool later;	      /* its programs are loaded by rs_kvm_program() */
};

/* A vCPU thread that was seen. Its index in the snapshot is its own for the whole session; a reused
 * tid is another thread. */
struct rs_kvm_thread {
	int pid, tid;
	int vcpu;		/* -1: not known */
	char vm[RS_KVM_VM_MAX]; /* QEMU's -name, libvirt's, else the process's name */
	bool ended;
	struct rs_vcpu_time time; /* accounted up to the snapshot, or to its end */
	/* /proc/TID/schedstat since the gate opened (or since it was seen); 0 when it is not known:
	 * it ended, or the kernel has none. */
	uint64_t run_ns, wait_ns;
	bool sched_known;
	bool asleep; /* nothing was seen of it, for it slept all the time */
};

/* One reason of one thread. */
struct rs_kvm_exit {
	uint32_t thread; /* index */
	uint32_t isa;	 /* enum rs_isa */
	uint32_t code;
	uint32_t nested;  /* 1: out of a guest's guest */
	uint64_t count;	  /* exits */
	uint64_t entered; /* those that a re-entry ended; the rest is about these */
	struct rs_vcpu_cost sum;
	uint64_t min_ns, max_ns;    /* of total_ns, since the snapshot before */
	const struct rs_hist *hist; /* of total_ns; NULL without latency */
};

/*
 * What an exit was about; key and its meaning are the kind's. Every cause counts once: of MMIO the
 * reads that were answered and the writes, of interrupts those that are not put in again. An
 * exit's cost goes to the last cause before its entry (a fault on a page turns out to be MMIO),
 * never to an interrupt: that is injected whatever the exit was for. On SVM fastpath exits,
 * the cause tracepoint fires before kvm_exit: after the entry, and it belongs to the next exit.
 */
enum rs_cause_kind {
	RS_CAUSE_NONE,
	RS_CAUSE_PIO_READ, /* port */
	RS_CAUSE_PIO_WRITE,
	RS_CAUSE_MMIO_READ, /* guest-physical address */
	RS_CAUSE_MMIO_WRITE,
	RS_CAUSE_MSR_READ, /* number */
	RS_CAUSE_MSR_WRITE,
	RS_CAUSE_CPUID,	     /* leaf */
	RS_CAUSE_HYPERCALL,  /* number */
	RS_CAUSE_INTERRUPT,  /* vector; counted when injected, costs nothing by itself */
	RS_CAUSE_PAGE_FAULT, /* the low bits of its error code: present, write, user, fetch, ... */
	/* arm64 */
	RS_CAUSE_SYSREG_READ, /* rs_cause_sysreg() */
	RS_CAUSE_SYSREG_WRITE,
	RS_CAUSE_WFX,	      /* 0 WFI, 1 WFE */
	RS_CAUSE_GUEST_FAULT, /* RS_CAUSE_GUEST_FAULT_BITS of ESR_EL2 */
	RS_CAUSE_KINDS,
};
#define RS_CAUSE_PAGE_FAULT_BITS 0x3fu /* those that the processors' manuals define */

/* The number of arm64's system register S<op0>_<op1>_C<crn>_C<crm>_<op2>: KVM_REG_ARM64_SYSREG's
 * (asm/kvm.h), which is MRS's and MSR's, too. */
static inline uint64_t rs_cause_sysreg(uint32_t op0, uint32_t op1, uint32_t crn, uint32_t crm,
				       uint32_t op2)
{
	return (uint64_t)(op0 & 3) << 14 | (op1 & 7) << 11 | (crn & 15) << 7 | (crm & 15) << 3 |
	       (op2 & 7);
}

/* Of ESR_EL2, what an abort out of a guest is (Arm ARM, ESR_EL2: ISS of data and instruction
 * aborts): the exception class, S1PTW, WnR, and the status code without the level. */
#define RS_CAUSE_GUEST_FAULT_BITS 0xfc0000fcu

struct rs_kvm_cause {
	uint32_t thread;
	uint32_t kind;
	uint64_t key;
	uint64_t count;
	uint64_t entered, total_ns, max_ns; /* of the exits that a re-entry ended */
};

/* Cumulative since the gate opened. The arrays are the session's, valid until its next call. */
struct rs_kvm_snapshot {
	uint64_t opened_ns, now_ns; /* CLOCK_MONOTONIC; now: the close, once it is closed */
	const struct rs_kvm_thread *threads;
	const struct rs_kvm_exit *exits;
	const struct rs_kvm_cause *causes;
	uint32_t n_threads, n_exits, n_causes;
	/* What found no place: exits of threads, of reasons, of causes; records of full rings. */
	uint64_t dropped_threads, dropped_exits, dropped_causes, dropped_records;
};

struct rs_kvm_session;

/*
 * Loads and attaches; the gate is shut. RS_FAILED says in one line what is missing (rights, BTF,
 * the tracepoints, KVM) and what to do.
 */
struct rs_error *rs_kvm_open(const struct rs_kvm_options *options, struct rs_kvm_session **session);
void rs_kvm_close(struct rs_kvm_session *session); /* NULL is nothing */

/*
 * Loads and attaches the programs of a session that was opened with `later`, once, before its gate
 * opens; with a filter for its events, or none (NULL). RS_FAILED: this kernel refuses the filter;
 * then it may be called again.
 */
struct rs_filter;
struct rs_error *rs_kvm_program(struct rs_kvm_session *session, const struct rs_filter *filter);

/*
 * Takes out what its filter has added up in epochs that are over at a stamp, before which no record
 * comes any more; UINT64_MAX: all of it. In no order. The keys are valid until take() returns.
 */
struct rs_filter_row;
struct rs_error *rs_kvm_sums(struct rs_kvm_session *session, uint64_t before_ns,
			     void (*take)(void *ctx, const struct rs_filter_row *row), void *ctx);

/* The VM of a thread by its number, as a filter finds it; "" where it is not known. The session's,
 * until its close. */
const char *rs_kvm_sums_vm(struct rs_kvm_session *session, uint64_t thread);

/* Opens the gate for counting, time and events at once; shutting it waits until no program runs
 * any more, so that what was counted and what is in the rings agree exactly. */
struct rs_error *rs_kvm_gate(struct rs_kvm_session *session, bool open);

struct rs_error *rs_kvm_snapshot(struct rs_kvm_session *session, struct rs_kvm_snapshot *snapshot);

/* A snapshot of the threads alone: what the next rs_kvm_snapshot() says of least and greatest is
 * still since the one before. */
struct rs_error *rs_kvm_threads(struct rs_kvm_session *session, struct rs_kvm_snapshot *snapshot);

/* The rings, one per possible CPU, each an sbuf of 32-byte slots whose producer is BPF; mapped
 * until close. Its stamps are CLOCK_MONOTONIC ns; its events those of provider "kvm". */
uint32_t rs_kvm_ring_count(const struct rs_kvm_session *session);
void rs_kvm_ring(const struct rs_kvm_session *session, uint32_t cpu, void **mem, size_t *bytes);

/* Whether the trigger was pulled; by what, and when. */
struct rs_kvm_trigger {
	uint64_t at_ns, cost_ns;
	int tid;
	uint32_t isa, code;
};
bool rs_kvm_triggered(const struct rs_kvm_session *session, struct rs_kvm_trigger *trigger);

/* From now on it can be pulled again. */
void rs_kvm_rearm(struct rs_kvm_session *session);

/* ---- which vCPUs there are (discover.c) ---------------------------------------------------- */

struct rs_kvm_vcpu {
	int pid, tid, vcpu;
	char vm[RS_KVM_VM_MAX];
};

/*
 * The vCPU threads of this moment: debugfs (kvm/PID-FD/vcpuN/pid) where it is there, else threads
 * named "CPU n/KVM" of processes that hold anon_inode:kvm-vcpu descriptors. vcpus: malloc()ed.
 */
struct rs_error *rs_kvm_discover(struct rs_kvm_vcpu **vcpus, uint32_t *n);

/* The same, and vCPUs whose thread has ended while their VM has not, where debugfs tells: their tid
 * is no thread, or by now another's. */
struct rs_error *rs_kvm_discover_past(struct rs_kvm_vcpu **vcpus, uint32_t *n);

/* A process's VM: what its memfd of RS_KVM_NAME_MEMFD says, QEMU's -name (guest=NAME, too),
 * libvirt's domain, else its comm. */
void rs_kvm_vm_name(int pid, char vm[RS_KVM_VM_MAX]);

/* /proc/PID/task/TID/schedstat; false: the thread or the file is not there. */
bool rs_kvm_schedstat(int pid, int tid, uint64_t *run_ns, uint64_t *wait_ns);

/* Whether a thread sleeps, by /proc/PID/task/TID/stat; false where that can't be told. */
bool rs_kvm_asleep(int pid, int tid);

/* The thread of vCPU n of a process, exactly n; 0: there is none. */
int rs_kvm_find_vcpu(int pid, int vcpu);

/* ---- what this machine can do (probe.c) ----------------------------------------------------- */

/* One requirement, met or not; for `doctor` and for errors. */
struct rs_kvm_check {
	const char *what; /* "kernel BTF", "tracepoint kvm:kvm_exit" */
	bool met;
	char missing[160];  /* what is missing, if it is not met */
	const char *remedy; /* what to do, then */
};

/* Fills at most max checks; how many. None of them changes anything on the machine. */
uint32_t rs_kvm_checks(struct rs_kvm_check *checks, uint32_t max);

/* True where kvm_exit never fires though guests run: KVM without VMX and SVM (the PVM kind). */
bool rs_kvm_only_user_exits(void);

#endif
