/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What workload.c and the file of an architecture, workload_ARCH.c, have of each other: the first
 * has processes, threads and files, the second what a guest does and how.
 */
#ifndef TESTS_KVM_WORKLOAD_H
#define TESTS_KVM_WORKLOAD_H

#include <linux/kvm.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VCPUS_MAX    16
#define ACTIONS_MAX  16
#define MEMORY_BYTES 0x10000 /* at gpa 0; what is above is no memory */
#define CODE_GPA     0x1000
#define CODE_STEP    0x800 /* of each vCPU */
#define WAKE_US	     1000  /* how long a vCPU sleeps in HLT */

/* What a guest does in a loop: the kind of exit, what it is about, and the code. */
struct action {
	const char *kind;   /* as the expected counts have it */
	const char *detail; /* the cause's kind; NULL: none */
	uint64_t key;
	const char *code;
	unsigned char bytes;
};

#define CODE(text) text, sizeof(text) - 1

struct options {
	const char *prefix; /* of the names of VMs: bed-vm0 and so on */
	int vms, vcpus;
	uint32_t rounds;
	int cpu;      /* all threads on this one; -1: anywhere */
	int dies;     /* this vCPU's threads end when their guests have; -1: none */
	int last_pid; /* the first process gets the one after it; 0: whichever */
	int last_tid; /* its vCPUs' threads likewise, one after the other */
	bool irqchip, yield, move, no_hypercall;
	const char *dir;
};

struct vcpu {
	pthread_t thread;
	struct vm *vm;
	int number, fd, tid, wake_fd;
	int wanted;		      /* the tid that it is to have; 0: whichever */
	uint32_t counts[ACTIONS_MAX]; /* in all rounds */
	volatile bool over;	      /* its guest has ended */
	struct kvm_run *run;
	void *own; /* the architecture's */
};

struct vm {
	int number, fd, run_bytes;
	unsigned char *memory;
	struct vcpu vcpus[VCPUS_MAX];
	int ready; /* of the threads, under lock */
	int going; /* guests that are not at their end */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool go;
};

extern struct options options;

__attribute__((noreturn)) void die(const char *what);
int check(int result, const char *what);

/* ---- by architecture ------------------------------------------------------------------------- */

/* A write to `end_key` ends a guest, one to `wake_key` asks for an interrupt in a moment. */
struct arch {
	const struct action *actions;
	unsigned int n_actions;
	unsigned int sleeps; /* the action that an interrupt ends, where the kernel has the chip */
	const char *const *kinds; /* NULL behind the last */
	const char *key_kind, *key_detail;
	uint64_t end_key, wake_key;
};

extern const struct arch arch;

enum after_exit { GO_ON, WAKE, ENDED, STRANGE };

bool arch_does(unsigned int action);
void arch_vm(struct vm *vm);
/* Each action in a loop of its own, all of them `rounds` times, and the write that ends it. */
void arch_program(struct vcpu *vcpu);
void arch_vcpu(struct vcpu *vcpu, int kvm);
enum after_exit arch_exit(const struct kvm_run *run);
/* The interrupt before is over. */
void arch_calm(struct vcpu *vcpu);
/* A thread: interrupts the vCPU each time that wake_fd can be read. */
void *arch_waker(void *vcpu);

#endif
