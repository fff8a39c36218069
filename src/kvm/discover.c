/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the threads that are vCPUs, and their VMs. KVM's debugfs has a folder for each VM, with the
 * thread that last ran each vCPU. If debugfs is not mounted, lacks the thread (before Linux 5.19),
 * has no vCPUs (arm64; kvm_create_vcpu_debugfs() in virt/kvm/kvm_main.c), or a vCPU has not run
 * yet, each process that holds vCPU descriptors is examined instead:
 *
 *	a thread that sleeps in ioctl(fd, KVM_RUN)	the vCPU of that descriptor
 *	a thread named as VMMs name vCPU n's		the n-th of the descriptors, or vCPU n
 *	the only thread					the only vCPU
 *
 * Numbers are KVM's vcpu_id, which kvm_entry has, too. QEMU's n in "CPU n/KVM" differs if a
 * topology leaves gaps between APIC ids, hence "the n-th".
 *
 * Processes and threads that end during the search are left out.
 */
#include "kvm/proc.h"
#include "base/vector.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINK_BYTES 64u
#define COMM_BYTES 64u
#define TEXT_BYTES 256u

/* A growing list of items of one size. */
struct list {
	void *items;
	uint32_t n, room;
};

static bool list_room(struct list *list, size_t item_bytes)
{
	size_t room = list->room;
	void *items = list->n < room
			      ? list->items
			      : rs_vector_reserve(list->items, &room, list->n + 1, item_bytes);

	if (!items)
		return false;
	list->items = items;
	list->room = (uint32_t)room;
	return true;
}

struct finder {
	int proc;
	int only;	  /* only this process; 0: all */
	bool past;	  /* also vCPUs whose threads have ended */
	struct list vcpu; /* struct rs_kvm_vcpu */
	int holder;	  /* whether `holder`, the process examined last, holds vCPUs */
	bool holds;
	bool no_memory;
};

static void add(struct finder *f, int pid, int tid, int vcpu)
{
	struct rs_kvm_vcpu *at;

	if (!list_room(&f->vcpu, sizeof(*at))) {
		f->no_memory = true;
		return;
	}
	at = (struct rs_kvm_vcpu *)f->vcpu.items + f->vcpu.n++;
	*at = (struct rs_kvm_vcpu){ .pid = pid, .tid = tid, .vcpu = vcpu };
}

static bool known(const struct finder *f, int tid)
{
	const struct rs_kvm_vcpu *vcpu = f->vcpu.items;

	for (uint32_t i = 0; i < f->vcpu.n; i++) {
		if (vcpu[i].tid == tid)
			return true;
	}
	return false;
}

static DIR *open_folder(int at, const char *path)
{
	int fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (fd >= 0 && !dir)
		close(fd);
	return dir;
}

/* ---- a process's descriptors of vCPUs ------------------------------------------------------- */

struct held {
	int fd, vcpu;
};

static int held_order(const void *a, const void *b)
{
	const struct held *x = a, *y = b;

	return (x->vcpu > y->vcpu) - (x->vcpu < y->vcpu);
}

/* Lists the vCPU descriptors of a process, sorted by number. Returns false if access to them is
 * denied. */
static bool held_list(struct finder *f, int pid, struct list *held)
{
	char path[32], link[LINK_BYTES];
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), "%d/fd", pid);
	dir = open_folder(f->proc, path);
	if (!dir)
		return errno != EACCES && errno != EPERM;
	while ((entry = readdir(dir))) {
		ssize_t len = readlinkat(dirfd(dir), entry->d_name, link, sizeof(link) - 1);
		struct held one;

		link[len < 0 ? 0 : len] = '\0';
		if (!rs_kvm_vcpu_of_link(link, &one.vcpu) || !rs_kvm_number(entry->d_name, &one.fd))
			continue;
		if (!list_room(held, sizeof(one))) {
			f->no_memory = true;
			break;
		}
		((struct held *)held->items)[held->n++] = one;
	}
	closedir(dir);
	if (held->n)
		qsort(held->items, held->n, sizeof(struct held), held_order);
	return true;
}

/* Returns whether a process holds vCPU descriptors, or true if access to them is denied. */
static bool holds(struct finder *f, int pid)
{
	struct list held = { 0 };

	if (f->holder != pid) {
		f->holds = !held_list(f, pid, &held) || held.n;
		f->holder = pid;
		free(held.items);
	}
	return f->holds;
}

/* ---- debugfs: kvm/PID-FD/vcpuN/pid ---------------------------------------------------------- */

/* Returns the process of the thread that ran a vCPU last, or 0 if the process is unknown or holds
 * no vCPUs. vm: the name of the VM's folder. */
static int runner_of(struct finder *f, const char *vm, int tid)
{
	int pid = rs_kvm_process_of(f->proc, tid), maker;

	/* The thread may have ended, and another thread may have its number now. */
	if (pid && holds(f, pid))
		return pid;
	/* The folder's name has the number of the thread that created the VM, which is in the same
	 * process. */
	if (!f->past || sscanf(vm, "%9d-", &maker) != 1)
		return 0;
	pid = rs_kvm_process_of(f->proc, maker);
	return pid && holds(f, pid) ? pid : 0;
}

/* Reads one VM's folder. Returns false if it does not name all vCPUs. */
static bool find_in_vm(struct finder *f, int kvm, const char *vm)
{
	DIR *dir = open_folder(kvm, vm);
	struct dirent *entry;
	bool all = true, any = false;

	if (!dir)
		return true; /* the VM has just ended */
	while ((entry = readdir(dir))) {
		char path[32], text[TEXT_BYTES];
		int vcpu, tid, pid;

		if (strncmp(entry->d_name, "vcpu", 4) || !rs_kvm_number(entry->d_name + 4, &vcpu))
			continue;
		any = true;
		snprintf(path, sizeof(path), "vcpu%d/pid", vcpu);
		if (rs_kvm_read(dirfd(dir), path, text, sizeof(text)) < 0) {
			all = false;
			continue;
		}
		text[strcspn(text, "\n")] = '\0';
		if (!rs_kvm_number(text, &tid) || !tid) {
			all = false;
			continue;
		}
		pid = runner_of(f, vm, tid);
		if (pid && (!f->only || f->only == pid))
			add(f, pid, tid, vcpu);
	}
	closedir(dir);
	return all && any;
}

static bool find_in_debugfs(struct finder *f, const char *debugfs)
{
	int fd = open(debugfs, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : open_folder(fd, "kvm");
	struct dirent *entry;
	bool all = dir;

	if (fd >= 0)
		close(fd);
	if (!dir)
		return false;
	while ((entry = readdir(dir))) {
		/* The folder's PID is that of the thread that created the VM. */
		if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9')
			all = find_in_vm(f, dirfd(dir), entry->d_name) && all;
	}
	closedir(dir);
	return all;
}

/* ---- without debugfs: threads --------------------------------------------------------------- */

struct candidate {
	int tid;
	int number; /* the number in its name; -1: none */
	int vcpu;   /* the number of the descriptor that it runs; -1: none */
};

static int candidate_order(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

/* Returns whether a thread of a VMM's process is a kernel thread. */
static bool kernel_worker(const char *comm)
{
	return !strncmp(comm, "kvm-", 4) || !strncmp(comm, "vhost-", 6);
}

static void candidate_read(const struct finder *f, int pid, const struct list *held,
			   struct candidate *one, bool *worker)
{
	char path[64], text[TEXT_BYTES];
	const struct held *at = held->items;
	int fd;

	snprintf(path, sizeof(path), "%d/task/%d/comm", pid, one->tid);
	if (rs_kvm_read(f->proc, path, text, COMM_BYTES) < 0)
		text[0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	if (!rs_kvm_vcpu_of_comm(text, &one->number))
		one->number = -1;
	*worker = one->number < 0 && kernel_worker(text);
	one->vcpu = -1;
	snprintf(path, sizeof(path), "%d/task/%d/syscall", pid, one->tid);
	if (*worker || rs_kvm_read(f->proc, path, text, sizeof(text)) < 0 ||
	    !rs_kvm_fd_of_syscall(text, &fd))
		return;
	for (uint32_t i = 0; i < held->n; i++) {
		if (at[i].fd == fd)
			one->vcpu = at[i].vcpu;
	}
}

/* Returns the vCPU to which the number in a thread's name refers. all: each descriptor has a thread
 * with a number in its name, and this thread is the rank-th. */
static int vcpu_of_number(const struct list *held, bool all, uint32_t rank, int number)
{
	const struct held *at = held->items;

	if (all)
		return at[rank].vcpu;
	for (uint32_t i = 0; i < held->n; i++) {
		if (at[i].vcpu == number)
			return number;
	}
	return -1;
}

/* Lists a process's threads without kernel threads. Counts those with a number and those with a
 * descriptor. */
static uint32_t candidates(struct finder *f, int pid, const struct list *held, struct list *threads)
{
	struct dirent *entry;
	uint32_t good = 0;
	char path[32];
	DIR *dir;

	snprintf(path, sizeof(path), "%d/task", pid);
	dir = open_folder(f->proc, path);
	while (dir && (entry = readdir(dir))) {
		struct candidate one;
		bool worker;

		if (!rs_kvm_number(entry->d_name, &one.tid))
			continue;
		candidate_read(f, pid, held, &one, &worker);
		if (worker)
			continue;
		if (!list_room(threads, sizeof(one))) {
			f->no_memory = true;
			break;
		}
		((struct candidate *)threads->items)[threads->n++] = one;
		good += one.number >= 0 || one.vcpu >= 0;
	}
	if (dir)
		closedir(dir);
	return good;
}

static void find_in_process(struct finder *f, int pid)
{
	struct list held = { 0 }, threads = { 0 };
	uint32_t good, named = 0, rank = 0;
	struct candidate *at;

	held_list(f, pid, &held);
	good = held.n ? candidates(f, pid, &held, &threads) : 0;
	at = threads.items;
	if (held.n == 1 && !good && threads.n == 1 && !known(f, at->tid))
		add(f, pid, at->tid, ((struct held *)held.items)->vcpu);
	if (good)
		qsort(at, threads.n, sizeof(*at), candidate_order);
	for (uint32_t i = 0; i < threads.n; i++)
		named += at[i].number >= 0;
	for (uint32_t i = 0; good && i < threads.n; i++) {
		int vcpu = at[i].vcpu;

		if (at[i].number < 0 && vcpu < 0)
			continue;
		if (vcpu < 0)
			vcpu = vcpu_of_number(&held, named == held.n, rank, at[i].number);
		rank += at[i].number >= 0;
		if (!known(f, at[i].tid))
			add(f, pid, at[i].tid, vcpu);
	}
	free(held.items);
	free(threads.items);
}

static struct rs_error *find_in_proc(struct finder *f, const char *proc)
{
	struct dirent *entry;
	DIR *dir;
	int pid;

	if (f->only) {
		find_in_process(f, f->only);
		return NULL;
	}
	dir = open_folder(f->proc, ".");
	if (!dir)
		return rs_error_errno(errno, "%s", proc);
	while ((entry = readdir(dir))) {
		if (rs_kvm_number(entry->d_name, &pid))
			find_in_process(f, pid);
	}
	closedir(dir);
	return NULL;
}

/* ---- all of it ------------------------------------------------------------------------------ */

static int vcpu_order(const void *a, const void *b)
{
	const struct rs_kvm_vcpu *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid > y->pid ? 1 : -1;
	if (x->vcpu != y->vcpu)
		return x->vcpu > y->vcpu ? 1 : -1;
	return (x->tid > y->tid) - (x->tid < y->tid);
}

static void name_all(struct finder *f)
{
	struct rs_kvm_vcpu *vcpu = f->vcpu.items;

	for (uint32_t i = 0; i < f->vcpu.n; i++) {
		if (i && vcpu[i].pid == vcpu[i - 1].pid)
			memcpy(vcpu[i].vm, vcpu[i - 1].vm, sizeof(vcpu[i].vm));
		else
			rs_kvm_vm_name_in(f->proc, vcpu[i].pid, vcpu[i].vm);
	}
}

struct rs_error *rs_kvm_discover_in(const struct rs_kvm_roots *roots, int pid,
				    struct rs_kvm_vcpu **vcpus, uint32_t *n)
{
	struct finder f = { .only = pid, .past = roots->past };
	struct rs_error *err = NULL;

	f.proc = open(roots->proc, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (f.proc < 0)
		return rs_error_errno(errno, "cannot open %s, which lists the processes",
				      roots->proc);
	if (!find_in_debugfs(&f, roots->debugfs))
		err = find_in_proc(&f, roots->proc);
	if (!err && f.no_memory)
		err = rs_error_no_memory();
	if (!err && f.vcpu.n) {
		qsort(f.vcpu.items, f.vcpu.n, sizeof(struct rs_kvm_vcpu), vcpu_order);
		name_all(&f);
	}
	close(f.proc);
	if (err) {
		free(f.vcpu.items);
		return err;
	}
	*vcpus = f.vcpu.items;
	*n = f.vcpu.n;
	return NULL;
}

static const struct rs_kvm_roots machine = { "/proc", "/sys/kernel/debug", .past = false };

struct rs_error *rs_kvm_discover(struct rs_kvm_vcpu **vcpus, uint32_t *n)
{
	return rs_kvm_discover_in(&machine, 0, vcpus, n);
}

struct rs_error *rs_kvm_discover_past(struct rs_kvm_vcpu **vcpus, uint32_t *n)
{
	struct rs_kvm_roots past = machine;

	past.past = true;
	return rs_kvm_discover_in(&past, 0, vcpus, n);
}

int rs_kvm_find_vcpu(int pid, int vcpu)
{
	struct rs_kvm_vcpu *vcpus = NULL;
	uint32_t n = 0;
	int tid = 0;

	rs_error_free(rs_kvm_discover_in(&machine, pid, &vcpus, &n));
	for (uint32_t i = 0; i < n && !tid; i++) {
		if (vcpus[i].pid == pid && vcpus[i].vcpu == vcpu)
			tid = vcpus[i].tid;
	}
	free(vcpus);
	return tid;
}
