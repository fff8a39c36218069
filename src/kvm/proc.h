/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads what /proc and debugfs report about vCPUs and their processes. All of it is hostile: a
 * process chooses its name, its threads' names and its arguments, and may end at any moment. A text
 * is read once, up to a limit, and the copy is parsed.
 */
#ifndef RS_KVM_PROC_H
#define RS_KVM_PROC_H

#include "kvm/kvm.h"

/* The directories to read. */
struct rs_kvm_roots {
	const char *proc;    /* "/proc" */
	const char *debugfs; /* "/sys/kernel/debug" */
	bool past;	     /* as rs_kvm_discover_past() */
};

/* ---- texts ---------------------------------------------------------------------------------- */

/* Finds the VM's name in a process's arguments, each ended by a NUL. Returns false if they name no
 * VM. */
bool rs_kvm_name_of_arguments(const char *text, size_t bytes, char vm[RS_KVM_VM_MAX]);

/* Parses the vCPU's number from a thread's name, as QEMU and other VMMs set it. */
bool rs_kvm_vcpu_of_comm(const char *comm, int *vcpu);

/* Parses the VM's name from a link of /proc/PID/fd to a memfd of RS_KVM_NAME_MEMFD. */
bool rs_kvm_name_of_link(const char *link, char vm[RS_KVM_VM_MAX]);

/* Parses the vCPU's number from a link of /proc/PID/fd: "anon_inode:kvm-vcpu:3". */
bool rs_kvm_vcpu_of_link(const char *link, int *vcpu);

/* /proc/PID/task/TID/syscall: parses fd of a thread that sleeps in ioctl(fd, KVM_RUN). */
bool rs_kvm_fd_of_syscall(const char *text, int *fd);

/* Parses a text that is a number from 0 to INT_MAX, and nothing else. */
bool rs_kvm_number(const char *text, int *number);

/* Parses the first two numbers of schedstat. Returns false also if the kernel does not count
 * them. */
bool rs_kvm_schedstat_of(const char *text, uint64_t *run_ns, uint64_t *wait_ns);

/* /proc/PID/task/TID/stat: returns the state's letter, which follows a name of any characters, or
 * 0. */
char rs_kvm_state_of(const char *text);

/* ---- files ---------------------------------------------------------------------------------- */

/* Reads at most size - 1 bytes of a file in the folder `at`, and appends a NUL. Returns the number
 * of bytes, or -1 if the file cannot be read. */
long rs_kvm_read(int at, const char *path, char *text, size_t size);

/* Returns the process of a thread, or 0 if the thread does not exist. */
int rs_kvm_process_of(int proc, int tid);

/* Do the same as rs_kvm_vm_name() and rs_kvm_discover() with other directories. pid: only this
 * process; 0: all. */
void rs_kvm_vm_name_in(int proc, int pid, char vm[RS_KVM_VM_MAX]);
struct rs_error *rs_kvm_discover_in(const struct rs_kvm_roots *roots, int pid,
				    struct rs_kvm_vcpu **vcpus, uint32_t *n);

#endif
