/* SPDX-License-Identifier: BSD-2-Clause */
/* Parses what /proc and debugfs report about vCPU threads. */
#include "kvm/proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/kvm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/utf8.h"

#define STATUS_BYTES	4096u
#define COMM_BYTES	64u
#define LINK_BYTES	512u	   /* a memfd's name has up to 249 */
#define ARGUMENTS_BYTES (1u << 20) /* of a process's arguments; QEMU's -name comes long before */

/* ---- texts ---------------------------------------------------------------------------------- */

bool rs_kvm_number(const char *text, int *number)
{
	size_t len = strspn(text, "0123456789");
	unsigned long value;

	if (!len || text[len])
		return false;
	errno = 0;
	value = strtoul(text, NULL, 10);
	if (errno || value > INT_MAX)
		return false;
	*number = (int)value;
	return true;
}

/* Parses the number between a prefix and a suffix. Returns false if the text has another form. */
static bool number_between(const char *text, const char *before, const char *behind, int *number)
{
	char digits[16];
	size_t len;

	if (strncmp(text, before, strlen(before)))
		return false;
	text += strlen(before);
	len = strspn(text, "0123456789");
	if (len >= sizeof(digits) || strcmp(text + len, behind))
		return false;
	memcpy(digits, text, len);
	digits[len] = '\0';
	return rs_kvm_number(digits, number);
}

bool rs_kvm_vcpu_of_comm(const char *comm, int *vcpu)
{
	static const struct {
		const char *before, *behind;
	} names[] = {
		{ "CPU ", "/KVM" },    /* QEMU, with debug-threads=on, as libvirt starts it */
		{ "vcpu", "" },	       /* Cloud Hypervisor */
		{ "fc_vcpu ", "" },    /* Firecracker */
		{ "crosvm_vcpu", "" }, /* crosvm */
		{ "kvm-vcpu-", "" },   /* kvmtool */
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (number_between(comm, names[i].before, names[i].behind, vcpu))
			return true;
	}
	return false;
}

/* create_vcpu_fd() in virt/kvm/kvm_main.c. */
bool rs_kvm_vcpu_of_link(const char *link, int *vcpu)
{
	return number_between(link, "anon_inode:kvm-vcpu:", "", vcpu);
}

/* "16 0x5 0xae80 ... SP PC" (proc_pid_syscall() in fs/proc/base.c). A kernel worker has a copy of
 * its creator's registers, but no stack in user space. */
bool rs_kvm_fd_of_syscall(const char *text, int *fd)
{
	unsigned long long number, file, request, sp;

	if (sscanf(text, "%llu %llx %llx %*x %*x %*x %*x %llx", &number, &file, &request, &sp) != 4)
		return false;
	if (number != SYS_ioctl || request != KVM_RUN || !sp || file > INT_MAX)
		return false;
	*fd = (int)file;
	return true;
}

/* A kernel without CONFIG_SCHED_INFO prints "0 0 0". Otherwise an existing thread has run. */
bool rs_kvm_schedstat_of(const char *text, uint64_t *run_ns, uint64_t *wait_ns)
{
	unsigned long long run, wait;

	if (sscanf(text, "%llu %llu", &run, &wait) != 2 || (!run && !wait))
		return false;
	*run_ns = run;
	*wait_ns = wait;
	return true;
}

/* ---- a VM's name ---------------------------------------------------------------------------- */

/* Copies up to len bytes, in whole UTF-8 sequences, as far as they fit. Each other byte becomes
 * '?'. Returns false if the name is empty. */
static bool name_put(const char *text, size_t len, char vm[RS_KVM_VM_MAX])
{
	size_t at = 0;

	while (len && at < RS_KVM_VM_MAX - 1) {
		size_t take = rs_utf8_len(text, len);

		if (at + (take ? take : 1) > RS_KVM_VM_MAX - 1)
			break;
		if (take)
			memcpy(vm + at, text, take);
		else
			vm[at] = '?';
		take = take ? take : 1;
		at += take;
		text += take;
		len -= take;
	}
	vm[at] = '\0';
	return at;
}

/*
 * Parses the value of QEMU's -name (util/qemu-option.c): KEY=VALUE parts separated by commas, among
 * them NAME as the first part, or guest=NAME. A comma in a value is doubled.
 */
static bool name_of_qemu(const char *text, char vm[RS_KVM_VM_MAX])
{
	char part[2 * RS_KVM_VM_MAX];
	bool first = true, found = false;

	while (*text) {
		size_t len = 0;
		const char *value = part;

		while (*text && (*text != ',' || text[1] == ',')) {
			text += *text == ',';
			if (len < sizeof(part) - 1)
				part[len++] = *text;
			text++;
		}
		part[len] = '\0';
		text += *text == ',';
		if (!strncmp(part, "guest=", 6))
			value += 6;
		else if (!first || strchr(part, '='))
			value = NULL;
		if (value && *value)
			found = name_put(value, strlen(value), vm);
		first = false;
	}
	return found;
}

static bool name_plain(const char *text, char vm[RS_KVM_VM_MAX])
{
	return name_put(text, strlen(text), vm);
}

/* Options whose value is the VM's name. */
static const struct name_option {
	const char *option;
	bool (*value)(const char *text, char vm[RS_KVM_VM_MAX]);
} name_options[] = {
	{ "-name", name_of_qemu },  /* QEMU, and so libvirt */
	{ "--name", name_of_qemu }, /* the same; kvmtool's value has no commas */
	{ "--id", name_plain },	    /* Firecracker */
};

/* Returns the argument after the one at text, or NULL at the end. */
static const char *argument_next(const char *text, const char *end)
{
	const char *nul = memchr(text, '\0', (size_t)(end - text));

	return nul && nul + 1 < end ? nul + 1 : NULL;
}

/* The last option takes precedence, as in QEMU. */
bool rs_kvm_name_of_arguments(const char *text, size_t bytes, char vm[RS_KVM_VM_MAX])
{
	const char *end = text + bytes;
	bool found = false;

	if (!bytes || end[-1]) /* cut, or replaced by a title that the process has set */
		return false;
	for (const char *at = text; at; at = argument_next(at, end)) {
		const char *value = argument_next(at, end);

		for (size_t i = 0; value && i < sizeof(name_options) / sizeof(name_options[0]);
		     i++) {
			if (!strcmp(at, name_options[i].option))
				found = name_options[i].value(value, vm) || found;
		}
	}
	return found;
}

/* A memfd's link is its name with a prefix and a suffix. memfd_create() in mm/memfd.c adds the
 * prefix. d_path() in fs/d_path.c adds the suffix, because the file has no directory entry. */
bool rs_kvm_name_of_link(const char *link, char vm[RS_KVM_VM_MAX])
{
	static const char before[] = "/memfd:" RS_KVM_NAME_MEMFD, behind[] = " (deleted)";
	const char *name = link + sizeof(before) - 1;
	size_t len = strlen(link), around = sizeof(before) + sizeof(behind) - 2;

	if (len <= around || memcmp(link, before, sizeof(before) - 1) != 0 ||
	    memcmp(link + len - sizeof(behind) + 1, behind, sizeof(behind)) != 0)
		return false;
	return name_put(name, len - around, vm) != 0;
}

char rs_kvm_state_of(const char *text)
{
	const char *end = strrchr(text, ')'); /* the text after the name has no ')' */

	return end && end[1] == ' ' ? end[2] : '\0';
}

/* ---- files ---------------------------------------------------------------------------------- */

long rs_kvm_read(int at, const char *path, char *text, size_t size)
{
	int fd = openat(at, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	size_t used = 0;

	if (fd < 0)
		return -1;
	while (used < size - 1) {
		ssize_t got = read(fd, text + used, size - 1 - used);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0) {
			close(fd);
			return -1;
		}
		if (!got)
			break;
		used += (size_t)got;
	}
	close(fd);
	text[used] = '\0';
	return (long)used;
}

/* Reads the line "Tgid:". The name, in a line before it, has its newlines escaped. */
int rs_kvm_process_of(int proc, int tid)
{
	char path[32], text[STATUS_BYTES];
	const char *line;
	int pid;

	snprintf(path, sizeof(path), "%d/status", tid);
	if (rs_kvm_read(proc, path, text, sizeof(text)) < 0)
		return 0;
	line = strstr(text, "\nTgid:\t");
	return line && sscanf(line, "\nTgid:\t%d", &pid) == 1 && pid > 0 ? pid : 0;
}

/* Returns false if the process holds no memfd that names a VM, or access to its descriptors is
 * denied. */
static bool name_of_memfd(int proc, int pid, char vm[RS_KVM_VM_MAX])
{
	char path[32], link[LINK_BYTES];
	struct dirent *entry;
	bool found = false;
	DIR *dir = NULL;
	int fd;

	snprintf(path, sizeof(path), "%d/fd", pid);
	fd = openat(proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		dir = fdopendir(fd);
	if (fd >= 0 && !dir)
		close(fd);
	while (dir && !found && (entry = readdir(dir))) {
		ssize_t len = readlinkat(dirfd(dir), entry->d_name, link, sizeof(link) - 1);

		link[len < 0 ? 0 : len] = '\0';
		found = rs_kvm_name_of_link(link, vm);
	}
	if (dir)
		closedir(dir);
	return found;
}

/* Returns false if the process does not exist, or has no name. */
static bool name_of_comm(int proc, int pid, char vm[RS_KVM_VM_MAX])
{
	char path[32], comm[COMM_BYTES];
	long len;

	snprintf(path, sizeof(path), "%d/comm", pid);
	len = rs_kvm_read(proc, path, comm, sizeof(comm));
	if (len > 0 && comm[len - 1] == '\n')
		len--;
	return len > 0 && name_put(comm, (size_t)len, vm);
}

void rs_kvm_vm_name_in(int proc, int pid, char vm[RS_KVM_VM_MAX])
{
	char path[32], *arguments;
	bool found = false;
	long len;

	vm[0] = '\0';
	if (name_of_memfd(proc, pid, vm))
		return;
	arguments = malloc(ARGUMENTS_BYTES);
	snprintf(path, sizeof(path), "%d/cmdline", pid);
	len = arguments ? rs_kvm_read(proc, path, arguments, ARGUMENTS_BYTES) : -1;
	if (len > 0) {
		/* A longer text is cut after its last whole argument. */
		while (len && arguments[len - 1])
			len--;
		found = rs_kvm_name_of_arguments(arguments, (size_t)len, vm);
	}
	free(arguments);
	if (!found)
		name_of_comm(proc, pid, vm);
}

void rs_kvm_vm_name(int pid, char vm[RS_KVM_VM_MAX])
{
	int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	vm[0] = '\0';
	if (proc < 0)
		return;
	rs_kvm_vm_name_in(proc, pid, vm);
	close(proc);
}

bool rs_kvm_schedstat(int pid, int tid, uint64_t *run_ns, uint64_t *wait_ns)
{
	char path[64], text[128];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", pid, tid);
	return rs_kvm_read(AT_FDCWD, path, text, sizeof(text)) > 0 &&
	       rs_kvm_schedstat_of(text, run_ns, wait_ns);
}

bool rs_kvm_asleep(int pid, int tid)
{
	char path[64], text[512], state;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", pid, tid);
	if (rs_kvm_read(AT_FDCWD, path, text, sizeof(text)) <= 0)
		return false;
	state = rs_kvm_state_of(text);
	return state == 'S' || state == 'D' || state == 'I';
}
