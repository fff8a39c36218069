/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A session on the host's KVM tracepoints: BPF programs that count exits, account vCPUs' time and,
 * on request, write the events into rings. One gate enables all of them. One object serves each
 * kernel with module BTF (from 5.11 on). No compiler and no kernel headers are needed to load it,
 * and no kernel BTF to build it.
 *
 *	tracepoints --> BPF: time and cell of the thread ----> mapped arrays --> rs_kvm_snapshot()
 *	                     event into this CPU's sbuf -----> mapped rings  --> a drain, per CPU
 *
 * Each thread has its own cells. A thread runs on one CPU at a time, so cells need no lock, and no
 * copy per CPU. What does not fit is counted by kind; each snapshot has these counts.
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

/* A VMM whose arguments do not name its VM may hold a memfd whose name is this prefix and the VM's
 * name, as the micro-VM does. /proc/PID/fd shows it. */
#define RS_KVM_NAME_MEMFD "ringside-vm:"

struct rs_kvm_options {
	bool latency; /* times, latencies, histograms; else only counts */
	bool causes;  /* exits by port, address, MSR, ...; implies latency */
	bool user;    /* count kvm_userspace_exit by KVM_EXIT_ reason (RS_ISA_USER), not kvm_exit */
	bool events;  /* write the events into the rings */
	uint64_t than_ns;    /* exits longer than this as long-exit events in the rings; 0: none */
	uint64_t trigger_ns; /* a longer exit pulls the trigger; 0: none */
	uint32_t trigger_isa, trigger_code; /* only an exit of this reason; isa 0: any */
	int pid;			    /* only this process's threads; 0: all */
	const int *tids;		    /* only these threads; none: all */
	uint32_t n_tids;
	uint32_t ring_bytes;  /* per CPU; 0: 1 MiB; used with events and than_ns */
	uint32_t threads_max; /* 0: by the running vCPUs, at least 4096 */
	bool later;	      /* rs_kvm_program() loads the programs */
};

/* A vCPU thread. It keeps its index in the snapshots for the whole session. A reused tid is another
 * thread. */
struct rs_kvm_thread {
	int pid, tid;
	int vcpu;		/* -1: unknown */
	char vm[RS_KVM_VM_MAX]; /* QEMU's -name, libvirt's, else the process's name */
	bool ended;
	struct rs_vcpu_time time; /* accounted up to the snapshot, or to its end */
	/* /proc/TID/schedstat since the gate opened, or since the thread's first event. 0 if
	 * unknown: the thread has ended, or the kernel has no schedstat. */
	uint64_t run_ns, wait_ns;
	bool sched_known;
	/* By the scheduler's count of arrivals on a CPU, no departure was missed together with the
	 * arrival after it. time.missed has those of which only one was missed. */
	bool complete;
	bool asleep; /* it has no events, because it slept since the gate opened */
};

/* One reason of one thread. */
struct rs_kvm_exit {
	uint32_t thread; /* index */
	uint32_t isa;	 /* enum rs_isa */
	uint32_t code;
	uint32_t nested;  /* 1: from a nested guest */
	uint64_t count;	  /* exits */
	uint64_t entered; /* exits that a re-entry ended; the fields below cover these */
	struct rs_vcpu_cost sum;
	uint64_t min_ns, max_ns;    /* of total_ns, since the previous snapshot */
	const struct rs_hist *hist; /* of total_ns; NULL without latency */
};

/*
 * The cause of an exit; its kind defines the key. Each cause counts once: for MMIO, completed reads
 * and writes; for interrupts, first injections. An exit's cost goes to the last cause before its
 * entry, because a page fault may become MMIO. It never goes to an interrupt, which is injected
 * independent of the exit's reason. On SVM fastpath exits, the cause tracepoint fires before
 * kvm_exit: a cause after an entry belongs to the next exit.
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
	RS_CAUSE_INTERRUPT,  /* vector; counted when injected, without a cost */
	RS_CAUSE_PAGE_FAULT, /* the low bits of the error code: present, write, user, fetch, ... */
	/* arm64 */
	RS_CAUSE_SYSREG_READ, /* rs_cause_sysreg() */
	RS_CAUSE_SYSREG_WRITE,
	RS_CAUSE_WFX,	      /* 0 WFI, 1 WFE */
	RS_CAUSE_GUEST_FAULT, /* RS_CAUSE_GUEST_FAULT_BITS of ESR_EL2 */
	RS_CAUSE_KINDS,
};
#define RS_CAUSE_PAGE_FAULT_BITS 0x3fu /* the bits that the processors' manuals define */

/* The number of arm64's system register S<op0>_<op1>_C<crn>_C<crm>_<op2>, as in
 * KVM_REG_ARM64_SYSREG (asm/kvm.h), and in MRS and MSR. */
static inline uint64_t rs_cause_sysreg(uint32_t op0, uint32_t op1, uint32_t crn, uint32_t crm,
				       uint32_t op2)
{
	return (uint64_t)(op0 & 3) << 14 | (op1 & 7) << 11 | (crn & 15) << 7 | (crm & 15) << 3 |
	       (op2 & 7);
}

/* The bits of ESR_EL2 that classify an abort from a guest (Arm ARM, ESR_EL2: ISS of data and
 * instruction aborts): the exception class, S1PTW, WnR, and the status code without the level. */
#define RS_CAUSE_GUEST_FAULT_BITS 0xfc0000fcu

struct rs_kvm_cause {
	uint32_t thread;
	uint32_t kind;
	uint64_t key;
	uint64_t count;
	uint64_t entered, total_ns, max_ns; /* exits that a re-entry ended */
};

/* Counts since the gate opened. The session owns the arrays, which are valid until its next
 * call. */
struct rs_kvm_snapshot {
	uint64_t opened_ns, now_ns; /* CLOCK_MONOTONIC; now_ns stops when the gate closes */
	const struct rs_kvm_thread *threads;
	const struct rs_kvm_exit *exits;
	const struct rs_kvm_cause *causes;
	uint32_t n_threads, n_exits, n_causes;
	/* What did not fit: exits without a place for the thread or the reason, causes, and records
	 * of full rings. */
	uint64_t dropped_threads, dropped_exits, dropped_causes, dropped_records;
};

struct rs_kvm_session;

/*
 * Loads and attaches the programs, with the gate closed. Returns RS_FAILED with a line that names
 * what is missing (rights, BTF, the tracepoints, KVM) and the remedy.
 */
struct rs_error *rs_kvm_open(const struct rs_kvm_options *options, struct rs_kvm_session **session);
void rs_kvm_close(struct rs_kvm_session *session); /* closes a session; NULL is ignored */

/*
 * Loads and attaches the programs of a session that was opened with `later`, once, before its gate
 * opens. filter: for its events; NULL: none. Returns RS_FAILED if this kernel rejects the filter;
 * the caller may then call it again.
 */
struct rs_filter;
struct rs_error *rs_kvm_program(struct rs_kvm_session *session, const struct rs_filter *filter);

/*
 * Removes the sums of epochs that ended before a stamp, and passes them to consume() in any order.
 * All records before the stamp must have arrived. UINT64_MAX: all sums. The keys are valid until
 * consume() returns.
 */
struct rs_filter_row;
struct rs_error *rs_kvm_sums(struct rs_kvm_session *session, uint64_t before_ns,
			     void (*consume)(void *ctx, const struct rs_filter_row *row),
			     void *ctx);

/* Returns the name of a thread's VM by the thread's number in a filter's keys, or "" if it is
 * unknown. The name is valid until the session is closed. */
const char *rs_kvm_sums_vm(struct rs_kvm_session *session, uint64_t thread);

/* Opens or closes the gate for counting, time and events together. Closing waits until no program
 * runs any more, so that the counts and the rings' records agree exactly. */
struct rs_error *rs_kvm_gate(struct rs_kvm_session *session, bool open);

struct rs_error *rs_kvm_snapshot(struct rs_kvm_session *session, struct rs_kvm_snapshot *snapshot);

/* Takes a snapshot of the threads alone. It does not restart the minimum and maximum of the next
 * rs_kvm_snapshot(). */
struct rs_error *rs_kvm_threads(struct rs_kvm_session *session, struct rs_kvm_snapshot *snapshot);

/* The rings, one for each possible CPU. Each is an sbuf of 32-byte slots whose producer is BPF,
 * mapped until the session is closed. Stamps are CLOCK_MONOTONIC ns; the events are those of
 * provider "kvm". */
uint32_t rs_kvm_ring_count(const struct rs_kvm_session *session);
void rs_kvm_ring(const struct rs_kvm_session *session, uint32_t cpu, void **mem, size_t *bytes);

/* Returns whether an exit has pulled the trigger, and describes the first such exit. */
struct rs_kvm_trigger {
	uint64_t at_ns, cost_ns;
	int tid;
	uint32_t isa, code;
};
bool rs_kvm_triggered(const struct rs_kvm_session *session, struct rs_kvm_trigger *trigger);

/* Rearms the trigger. */
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

/* Also lists the vCPUs whose thread has ended while their VM exists, if debugfs has them. Their tid
 * is unused, or belongs to another thread. */
struct rs_error *rs_kvm_discover_past(struct rs_kvm_vcpu **vcpus, uint32_t *n);

/* Writes the name of a process's VM to vm: from a memfd whose name begins with RS_KVM_NAME_MEMFD,
 * from QEMU's -name (also guest=NAME), from libvirt's domain, else the process's comm. */
void rs_kvm_vm_name(int pid, char vm[RS_KVM_VM_MAX]);

/* Reads /proc/PID/task/TID/schedstat. Returns false if the thread or the file does not exist. */
bool rs_kvm_schedstat(int pid, int tid, uint64_t *run_ns, uint64_t *wait_ns);

/* Returns whether a thread sleeps, by /proc/PID/task/TID/stat, or false if that is unknown. */
bool rs_kvm_asleep(int pid, int tid);

/* Returns the thread of a process's vCPU with exactly this number, or 0 if no thread is found. */
int rs_kvm_find_vcpu(int pid, int vcpu);

/* ---- requirements (probe.c) ------------------------------------------------------------ */

/* The result of one requirement's check, for `doctor` and for errors. */
struct rs_kvm_check {
	const char *what; /* "kernel BTF", "tracepoint kvm:kvm_exit" */
	bool met;
	char missing[160];  /* what is missing, if the requirement is not met */
	const char *remedy; /* what to do about it */
};

/* Fills at most max checks, and returns their number. No check changes the machine. */
uint32_t rs_kvm_checks(struct rs_kvm_check *checks, uint32_t max);

/* Returns an error that names the first requirement that is not met, and its remedy; the most
 * specific first. `tracepoints`: includes those of sessions on KVM's tracepoints. */
struct rs_error *rs_kvm_unmet(bool tracepoints);

/* Returns whether kvm_exit never fires although guests run: KVM without VMX and SVM (as PVM). */
bool rs_kvm_only_user_exits(void);

#endif
