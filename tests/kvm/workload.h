/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The interface between workload.c, which has processes, threads and files, and the file of an
 * architecture, workload_ARCH.c, which has the guests' code.
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
#define MEMORY_BYTES 0x10000 /* at gpa 0; no memory above it */
#define CODE_GPA     0x1000
#define CODE_STEP    0x800 /* of each vCPU */
#define WAKE_US	     1000  /* how long a vCPU sleeps in HLT */

/* An action of a guest's loop: the kind of exit, its subject, and the code. */
struct action {
	const char *kind;   /* as in the expected counts */
	const char *detail; /* the cause's kind; NULL: no cause */
	uint64_t key;
	const char *code;
	unsigned char bytes;
};

#define CODE(text) text, sizeof(text) - 1

struct options {
	const char *prefix; /* of the VMs' names: bed-vm0 and so on */
	int vms, vcpus;
	uint32_t rounds;
	int cpu;      /* all threads on this CPU; -1: anywhere */
	int dies;     /* this vCPU's threads end with their guests; -1: none */
	int last_pid; /* the first process gets the next number; 0: any number */
	int last_tid; /* likewise its vCPUs' threads, in order */
	bool irqchip, yield, move, no_hypercall;
	const char *dir;
};

struct vcpu {
	pthread_t thread;
	struct vm *vm;
	int number, fd, tid, wake_fd;
	int wanted;		      /* the requested tid; 0: any */
	uint32_t counts[ACTIONS_MAX]; /* in all rounds */
	volatile bool over;	      /* the guest has ended */
	struct kvm_run *run;
	void *own; /* the architecture's */
};

struct vm {
	int number, fd, run_bytes;
	unsigned char *memory;
	struct vcpu vcpus[VCPUS_MAX];
	int ready; /* of the threads, under lock */
	int going; /* guests that have not ended */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool go;
};

extern struct options options;

__attribute__((noreturn)) void die(const char *what);
int check(int result, const char *what);

/* ---- by architecture ------------------------------------------------------------------------- */

/* A write to `end_key` ends a guest, one to `wake_key` requests an interrupt after a moment. */
struct arch {
	const struct action *actions;
	unsigned int n_actions;
	unsigned int sleeps;	  /* the action that an interrupt ends, with KVM's irqchip */
	const char *const *kinds; /* NULL after the last one */
	const char *key_kind, *key_detail;
	uint64_t end_key, wake_key;
};

extern const struct arch arch;

enum after_exit { GO_ON, WAKE, ENDED, STRANGE };

bool arch_does(unsigned int action);
void arch_vm(struct vm *vm);
/* Builds a loop for each action, all of them `rounds` times, and the write that ends the guest. */
void arch_program(struct vcpu *vcpu);
void arch_vcpu(struct vcpu *vcpu, int kvm);
enum after_exit arch_exit(const struct kvm_run *run);
/* Acknowledges the previous interrupt. */
void arch_calm(struct vcpu *vcpu);
/* A thread that interrupts the vCPU each time that wake_fd can be read. */
void *arch_waker(void *vcpu);

#endif
