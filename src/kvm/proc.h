/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What /proc and debugfs say of vCPUs and their processes. All of it is hostile: a process chooses
 * its name, its threads' names and its arguments, and may end at any moment. A text is read once,
 * to a bound, and looked at in the copy.
 */
#ifndef RS_KVM_PROC_H
#define RS_KVM_PROC_H

#include "kvm/kvm.h"

/* Where to look. */
struct rs_kvm_roots {
	const char *proc;    /* "/proc" */
	const char *debugfs; /* "/sys/kernel/debug" */
	bool past;	     /* as rs_kvm_discover_past() */
};

/* ---- texts ---------------------------------------------------------------------------------- */

/* A process's arguments, each ended by a NUL. False: they name no VM. */
bool rs_kvm_name_of_arguments(const char *text, size_t bytes, char vm[RS_KVM_VM_MAX]);

/* A thread's name, as QEMU and others give it to vCPU n's. */
bool rs_kvm_vcpu_of_comm(const char *comm, int *vcpu);

/* A link of /proc/PID/fd: a memfd's of RS_KVM_NAME_MEMFD. */
bool rs_kvm_name_of_link(const char *link, char vm[RS_KVM_VM_MAX]);

/* What a link of /proc/PID/fd says: "anon_inode:kvm-vcpu:3". */
bool rs_kvm_vcpu_of_link(const char *link, int *vcpu);

/* /proc/PID/task/TID/syscall of a thread that sleeps in ioctl(fd, KVM_RUN): that fd. */
bool rs_kvm_fd_of_syscall(const char *text, int *fd);

/* A number, and nothing else, from 0 to INT_MAX. */
bool rs_kvm_number(const char *text, int *number);

/* Two numbers, as schedstat begins with. False: also where the kernel counts nothing. */
bool rs_kvm_schedstat_of(const char *text, uint64_t *run_ns, uint64_t *wait_ns);

/* /proc/PID/task/TID/stat: the state's letter, behind a name that may hold anything; 0: none. */
char rs_kvm_state_of(const char *text);

/* ---- files ---------------------------------------------------------------------------------- */

/* Reads a file below the folder `at`, at most size - 1 bytes, and puts a NUL behind. -1: it is not
 * there, or not for us. */
long rs_kvm_read(int at, const char *path, char *text, size_t size);

/* The process that a thread is of; 0: it is not there. */
int rs_kvm_process_of(int proc, int tid);

/* As rs_kvm_vm_name(), rs_kvm_discover(); of one process alone, unless pid is 0. */
void rs_kvm_vm_name_in(int proc, int pid, char vm[RS_KVM_VM_MAX]);
struct rs_error *rs_kvm_discover_in(const struct rs_kvm_roots *roots, int pid,
				    struct rs_kvm_vcpu **vcpus, uint32_t *n);

#endif
