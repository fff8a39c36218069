/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Declarations that the micro-VM's files share.
 *
 *	kvm.c   the VM and its vCPUs in KVM     boot.c  memory layout, first registers
 *	elf.c   the guest's image                        run.c   the exit loop, threads
 *	call.c  calls between guest and host             memory.c  access to guest memory
 *	message.c  their arguments and results   host_functions.c  what a guest may call
 *	acrn.c  the loop's events in ACRN's layout     guest_log.c  memory for the guest's log
 *	stack.c the guest's stacks, registers    core.c  its core
 *
 * Guest memory is identity-mapped, except page 0, which is not mapped:
 *
 *	0x1000   page tables, GDT                        the host's
 *	0x100000 and up   the image                      where its program headers say
 *	after it, per vCPU: struct rs_kit_boot | stack | ring
 *	behind RAM: the memory of the guest's log, if it has one
 */
#ifndef RS_VM_INTERNAL_H
#define RS_VM_INTERNAL_H

#include <pthread.h>
#include <signal.h>
#include <linux/kvm.h>
#include "introspect/symbols.h"
#include "log/memory.h"
#include "vm/vm.h"

#define RS_VM_PAGE_BYTES UINT64_C(0x1000)
#define RS_VM_TABLES_GPA UINT64_C(0x1000)
#define RS_VM_IMAGE_GPA	 UINT64_C(0x100000) /* lowest address of an image */
#define RS_VM_LARGE_PAGE UINT64_C(0x200000)

/* The signal that ends KVM_RUN in a vCPU's thread, which blocks it everywhere else. */
#define RS_VM_KICK SIGRTMIN

/* A copy of a message. The values of texts and bytes point into it. */
struct rs_vm_message {
	union {
		struct rs_kit_message head;
		uint8_t bytes[RS_KIT_BUFFER_BYTES];
	};
};

/* A function that the guest may call. The types of args are checked; their values come from the
 * guest. Stores the result's value in answer->head.values[0], whose type is set; its data may be in
 * answer->bytes, behind the head. Returns false if the arguments are invalid, and the guest then
 * gets an error. */
struct rs_vm_host_function {
	const char *name;
	uint8_t result, n_args;
	uint8_t params[RS_KIT_ARGS_MAX];
	bool (*call)(struct rs_vm *vm, uint32_t vcpu, const struct rs_kit_value *args,
		     struct rs_vm_message *answer);
};

struct rs_vm_image {
	char *path;
	uint64_t entry;
	uint64_t end;		      /* first free gpa after it */
	uint64_t bytes;		      /* size in memory */
	uint64_t trace_area;	      /* gpa of rs_guest_area; 0 if the guest has none */
	struct rs_vm_export *exports; /* sorted by name */
	uint32_t n_exports;
};

enum rs_vm_job {
	RS_VM_JOB_NONE, /* the vCPU's thread waits */
	RS_VM_JOB_RUN,
	RS_VM_JOB_QUIT,
};

struct rs_vm_vcpu {
	struct rs_vm *vm;
	uint32_t index;
	int fd;
	struct kvm_run *run;
	int64_t tsc_offset; /* the guest's TSC minus the host's TSC */
	uint64_t tsc_error;
	uint64_t tsc_moved;   /* the greatest deviation of the offset observed later */
	uint64_t boot_gpa;    /* struct rs_kit_boot */
	struct rs_lent *lent; /* NULL: the vCPU records no events in ACRN's layout */

	pthread_t thread;
	bool has_thread;
	pthread_cond_t wake;
	enum rs_vm_job job; /* under vm->lock */

	/* Owned by the vCPU's thread while a job runs, else by the VM's owner. */
	const char *function; /* the function to call; NULL: boot */
	struct rs_vm_outcome outcome;
	struct rs_vm_counts counts;
	uint64_t input_gpa, output_gpa;
	struct rs_vm_message message; /* the last message from the guest */
};

struct rs_vm {
	struct rs_vm_options options;
	int kvm, fd;
	int name_fd;		  /* publishes the VM's name to other tools; -1: none */
	size_t run_bytes;	  /* size of a vCPU's struct kvm_run */
	uint8_t *memory;	  /* RAM, followed by log_bytes of the log */
	struct rs_log_memory log; /* if has_log */
	uint64_t log_bytes;
	uint32_t log_half;
	bool has_log;
	struct rs_vm_image image;
	const struct rs_vm_export *function; /* the guest function called last */
	struct rs_host_guest *trace;	     /* NULL: the guest's trace is not collected */
	struct rs_recorder *recorder;	     /* collects the trace */

	pthread_mutex_t symbols_lock;
	struct rs_symbols *symbols; /* symbols of the image, for stacks; under symbols_lock */
	bool symbols_tried;	    /* under symbols_lock */

	pthread_mutex_t lock;
	pthread_cond_t done;	      /* a vCPU's job is done */
	struct rs_error *trace_error; /* under lock */
	/* The enum rs_vm_end with which interrupted vCPUs end; RS_VM_NOT_RUN: no interrupt.
	 * rs_vm_stop_as() stores it; the loop loads it before and after KVM_RUN. */
	int stop;
	bool booted;
	struct rs_vm_vcpu vcpus[RS_VM_VCPUS_MAX];
};

/* kvm.c */
void rs_vm_tsc_check(struct rs_vm_vcpu *vcpu);
struct rs_error *rs_vm_vcpu_registers(struct rs_vm_vcpu *vcpu, struct kvm_regs *regs);

/* boot.c: page tables and GDT; the vCPUs' blocks, stacks and rings; their registers. */
struct rs_error *rs_vm_boot_prepare(struct rs_vm *vm);

/* elf.c */
struct rs_error *rs_vm_image_load(struct rs_vm *vm, const char *path, struct rs_vm_image *image);
void rs_vm_image_deinit(struct rs_vm_image *image);

/* memory.c: returns the host's address of a range, or NULL if any byte of it is not RAM. */
uint8_t *rs_vm_hva(const struct rs_vm *vm, uint64_t gpa, uint64_t bytes);
bool rs_vm_read(const struct rs_vm *vm, uint64_t gpa, void *to, size_t bytes);
bool rs_vm_write(struct rs_vm *vm, uint64_t gpa, const void *from, size_t bytes);
/* Reads up to max - 1 bytes as printable text that ends with a NUL. Returns false if any of it is
 * not RAM. */
bool rs_vm_read_text(const struct rs_vm *vm, uint64_t gpa, uint64_t bytes, char *to, size_t max);

/* message.c. rs_vm_message_read() copies and checks a message; returns false if it is invalid.
 * rs_vm_message_write() returns false if the message is longer than the room, or the room is not in
 * RAM. */
bool rs_vm_message_read(const struct rs_vm *vm, uint64_t gpa, struct rs_vm_message *to);
bool rs_vm_message_write(struct rs_vm *vm, uint64_t gpa, uint64_t room,
			 const struct rs_kit_value *values, uint32_t n);
/* Returns the value that an event shows: the size of a text or bytes, the bits of a float. */
uint64_t rs_vm_value_number(const struct rs_kit_value *value);

/* host_functions.c. Returns NULL if the host has no function of this name. */
const struct rs_vm_host_function *rs_vm_host_function(const char *name);

/* call.c. rs_vm_call_result() reads the result of the function that ran on the vCPU; returns false
 * if it is invalid. */
bool rs_vm_call_result(struct rs_vm_vcpu *vcpu);
/* Serves the guest's request by OUT. Returns false to end the vCPU's run, with its outcome
 * set. */
bool rs_vm_serve_call(struct rs_vm_vcpu *vcpu, uint64_t block_gpa);
void rs_vm_serve_abort(struct rs_vm_vcpu *vcpu, uint64_t block_gpa);

/* acrn.c: before and after KVM_RUN, on the vCPU's thread. */
struct rs_error *rs_vm_acrn_open(struct rs_vm *vm);
void rs_vm_acrn_close(struct rs_vm *vm);
void rs_vm_acrn_enter(struct rs_vm_vcpu *vcpu);
void rs_vm_acrn_exit(struct rs_vm_vcpu *vcpu, uint32_t reason);

/* guest_log.c. _open() recovers what an earlier run left. _map() maps the memory behind RAM, which
 * must be mapped already. _boot() fills in the vCPU's block. _end() may run only when nothing else
 * runs. */
struct rs_error *rs_vm_log_open(struct rs_vm *vm);
struct rs_error *rs_vm_log_map(struct rs_vm *vm);
struct rs_error *rs_vm_log_boot(const struct rs_vm_vcpu *vcpu, struct rs_kit_boot *boot);
void rs_vm_log_end(struct rs_vm *vm);
void rs_vm_log_close(struct rs_vm *vm);

/* run.c: initializes a condition variable on CLOCK_MONOTONIC. */
void rs_vm_condition_init(pthread_cond_t *condition);
struct rs_error *rs_vm_threads_start(struct rs_vm *vm);
void rs_vm_threads_end(struct rs_vm *vm);
/* Runs vCPUs [first, last) until each has halted or ended. */
void rs_vm_run(struct rs_vm *vm, uint32_t first, uint32_t last, const char *function,
	       uint32_t timeout_ms);
/* Sets the outcome of a run that does not return. Reads rip from the vCPU. */
void rs_vm_crash(struct rs_vm_vcpu *vcpu, enum rs_vm_end end, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
