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
 * per CPU. What does not fit is counted by kind; each snapshot has these counts.
 *
 * All calls come from one thread. A session needs CAP_BPF and CAP_PERFMON, or root.
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

/* A vCPU thread. It keeps its index in the snapshots for the whole session. A reused tid is another
 * thread. */
struct rs_kvm_thread {
	int pid, tid;
	int vcpu;		/* -1: not known */
	char vm[RS_KVM_VM_MAX]; /* QEMU's -name, libvirt's, else the process's name */
	bool ended;
	struct rs_vcpu_time time; /* accounted up to the snapshot, or to its end */
	/* /proc/TID/schedstat since the gate opened, or since the thread's first event. 0 if
	 * unknown: the thread has ended, or the kernel has no schedstat. */
	uint64_t run_ns, wait_ns;
	bool sched_known;
	bool asleep; /* it has no events, because it slept all the time */
};

/* One reason of one thread. */
struct rs_kvm_exit {
	uint32_t thread; /* index */
	uint32_t isa;	 /* enum rs_isa */
	uint32_t code;
	uint32_t nested;  /* 1: out of a guest's guest */
	uint64_t count;	  /* exits */
	uint64_t entered; /* those that a re-entry ended; the fields below cover these */
	struct rs_vcpu_cost sum;
	uint64_t min_ns, max_ns;    /* of total_ns, since the snapshot before */
	const struct rs_hist *hist; /* of total_ns; NULL without latency */
};

/*
 * The cause of an exit; its kind defines the key. Every cause counts once: of MMIO the completed
 * reads and the writes, of interrupts those that are not injected again. An
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
	RS_CAUSE_INTERRUPT,  /* vector; counted when injected, has no cost of its own */
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
	/* What did not fit: exits of threads, of reasons, of causes; records of full rings. */
	uint64_t dropped_threads, dropped_exits, dropped_causes, dropped_records;
};

struct rs_kvm_session;

/*
 * Loads and attaches; the gate is shut. RS_FAILED says in one line what is missing (rights, BTF,
 * the tracepoints, KVM) and what to do.
 */
struct rs_error *rs_kvm_open(const struct rs_kvm_options *options, struct rs_kvm_session **session);
void rs_kvm_close(struct rs_kvm_session *session); /* NULL is a no-op */

/*
 * Loads and attaches the programs of a session that was opened with `later`, once, before its gate
 * opens; with a filter for its events, or none (NULL). RS_FAILED: this kernel refuses the filter;
 * then it may be called again.
 */
struct rs_filter;
struct rs_error *rs_kvm_program(struct rs_kvm_session *session, const struct rs_filter *filter);

/*
 * Removes the sums of epochs that ended before a stamp, and passes them to consume() in no order.
 * No record before the stamp may still arrive. UINT64_MAX: all sums. The keys are valid until
 * consume() returns.
 */
struct rs_filter_row;
struct rs_error *rs_kvm_sums(struct rs_kvm_session *session, uint64_t before_ns,
			     void (*consume)(void *ctx, const struct rs_filter_row *row),
			     void *ctx);

/* Returns the name of a thread's VM by the thread's number in a filter's keys, or "" if it is
 * unknown. Valid until the session is closed. */
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

/* Returns whether the trigger was pulled, by what, and when. */
struct rs_kvm_trigger {
	uint64_t at_ns, cost_ns;
	int tid;
	uint32_t isa, code;
};
bool rs_kvm_triggered(const struct rs_kvm_session *session, struct rs_kvm_trigger *trigger);

/* Makes the trigger ready to be pulled again. */
void rs_kvm_rearm(struct rs_kvm_session *session);

/* ---- the running vCPUs (discover.c) ---------------------------------------------------- */

struct rs_kvm_vcpu {
	int pid, tid, vcpu;
	char vm[RS_KVM_VM_MAX];
};

/*
 * Lists the current vCPU threads: from debugfs (kvm/PID-FD/vcpuN/pid) if it is available, else the
 * threads named "CPU n/KVM" of processes that hold anon_inode:kvm-vcpu descriptors. The caller
 * frees *vcpus.
 */
struct rs_error *rs_kvm_discover(struct rs_kvm_vcpu **vcpus, uint32_t *n);

/* Lists also the vCPUs whose thread has ended while their VM exists, if debugfs has them. Their tid
 * is unused, or is another thread's by now. */
struct rs_error *rs_kvm_discover_past(struct rs_kvm_vcpu **vcpus, uint32_t *n);

/* Gives the name of a process's VM: from its memfd named RS_KVM_NAME_MEMFD, from QEMU's -name (also
 * guest=NAME), from libvirt's domain, else the process's comm. */
void rs_kvm_vm_name(int pid, char vm[RS_KVM_VM_MAX]);

/* Reads /proc/PID/task/TID/schedstat. Returns false if the thread or the file does not exist. */
bool rs_kvm_schedstat(int pid, int tid, uint64_t *run_ns, uint64_t *wait_ns);

/* Returns whether a thread sleeps, by /proc/PID/task/TID/stat, or false if that is unknown. */
bool rs_kvm_asleep(int pid, int tid);

/* Returns the thread of a process's vCPU with exactly this number, or 0 if there is none. */
int rs_kvm_find_vcpu(int pid, int vcpu);

/* ---- requirements (probe.c) ----------------------------------------------------- */

/* One requirement, met or not; for `doctor` and for errors. */
struct rs_kvm_check {
	const char *what; /* "kernel BTF", "tracepoint kvm:kvm_exit" */
	bool met;
	char missing[160];  /* what is missing, if it is not met */
	const char *remedy; /* what to do, then */
};

/* Fills at most max checks, and returns their number. No check changes the machine. */
uint32_t rs_kvm_checks(struct rs_kvm_check *checks, uint32_t max);

/* Returns whether kvm_exit never fires although guests run: KVM without VMX and SVM (as PVM). */
bool rs_kvm_only_user_exits(void);

#endif
