/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which threads are vCPUs, and of which VM: on literal texts, on folders laid out like /proc and
 * debugfs, and on this machine's own, with real threads and, if /dev/kvm exists, real vCPUs.
 */
#include "../test.h"

#include <fcntl.h>
#include <linux/kvm.h>
#include <dirent.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kvm/proc.h"

/* ---- texts ---------------------------------------------------------------------------------- */

/* Checks the name in these arguments, whose last NUL the compiler adds; "-": none. */
#define NAME_IN(arguments) name_in(arguments, sizeof(arguments))

static const char *name_in(const char *text, size_t bytes)
{
	static char vm[RS_KVM_VM_MAX];

	return rs_kvm_name_of_arguments(text, bytes, vm) ? vm : "-";
}

TEST(name_of_qemu)
{
	CHECK_STR(NAME_IN("qemu-system-x86_64\0-name\0web"), "web");
	CHECK_STR(NAME_IN("qemu\0-name\0web,debug-threads=on"), "web");
	CHECK_STR(NAME_IN("/usr/bin/qemu-system-x86_64\0-name\0guest=db 1,debug-threads=on\0-S"),
		  "db 1");
	CHECK_STR(NAME_IN("qemu\0-name\0debug-threads=on,guest=late"), "late");
	CHECK_STR(NAME_IN("qemu\0-name\0a,,b,process=c"), "a,b");
	CHECK_STR(NAME_IN("qemu\0--name\0web"), "web");
	CHECK_STR(NAME_IN("qemu\0-name\0first\0-name\0second"), "second");
	CHECK_STR(NAME_IN("firecracker\0--id\0fc-7"), "fc-7");
}

TEST(arguments_without_a_name)
{
	CHECK_STR(NAME_IN("qemu"), "-");
	CHECK_STR(NAME_IN(""), "-");
	CHECK_STR(NAME_IN("\0\0\0"), "-");
	CHECK_STR(NAME_IN("qemu\0-name"), "-");
	CHECK_STR(NAME_IN("qemu\0-name\0"), "-");
	CHECK_STR(NAME_IN("qemu\0-name\0,"), "-");
	CHECK_STR(NAME_IN("qemu\0-name\0guest="), "-");
	CHECK_STR(NAME_IN("qemu\0-name\0process=x,debug-threads=on"), "-");
	CHECK_STR(NAME_IN("qemu\0-names\0x\0x-name\0y"), "-");
	/* No NUL at the end: a process has overwritten its arguments with a title. */
	CHECK_STR(name_in("qemu: -name x", 13), "-");
	CHECK_STR(name_in("", 0), "-");
}

TEST(name_hostile)
{
	char text[1024] = "qemu\0-name";
	char expected[RS_KVM_VM_MAX];

	CHECK_STR(NAME_IN("q\0-name\0a\nb\033[2Jc"), "a?b?[2Jc");
	CHECK_STR(NAME_IN("q\0-name\0\xff\xc3"), "??");
	CHECK_STR(NAME_IN("q\0-name\0gr\xc3\xbc\xc3\x9f"), "gr\xc3\xbc\xc3\x9f");
	memset(text + 11, 'x', 900);
	memset(expected, 'x', sizeof(expected) - 1);
	expected[sizeof(expected) - 1] = '\0';
	CHECK_STR(name_in(text, sizeof(text)), expected);
	/* A character of two bytes that would cross the end is left out completely. */
	memset(text + 11, 0, 900);
	memset(text + 11, 'y', RS_KVM_VM_MAX - 2);
	memcpy(text + 11 + RS_KVM_VM_MAX - 2, "\xc3\xbc", 2);
	memset(expected, 'y', sizeof(expected) - 2);
	expected[sizeof(expected) - 2] = '\0';
	CHECK_STR(name_in(text, sizeof(text)), expected);
}

static int vcpu_in(const char *comm)
{
	int vcpu;

	return rs_kvm_vcpu_of_comm(comm, &vcpu) ? vcpu : -1;
}

TEST(vcpu_of_a_name)
{
	CHECK_EQ_S64(vcpu_in("CPU 1/KVM"), 1);
	CHECK_EQ_S64(vcpu_in("CPU 10/KVM"), 10);
	CHECK_EQ_S64(vcpu_in("CPU 0/KVM"), 0);
	CHECK_EQ_S64(vcpu_in("vcpu3"), 3);
	CHECK_EQ_S64(vcpu_in("fc_vcpu 12"), 12);
	CHECK_EQ_S64(vcpu_in("crosvm_vcpu2"), 2);
	CHECK_EQ_S64(vcpu_in("kvm-vcpu-5"), 5);
	CHECK_EQ_S64(vcpu_in("CPU 1/TCG"), -1);
	CHECK_EQ_S64(vcpu_in("CPU /KVM"), -1);
	CHECK_EQ_S64(vcpu_in("CPU -1/KVM"), -1);
	CHECK_EQ_S64(vcpu_in("CPU 1 /KVM"), -1);
	CHECK_EQ_S64(vcpu_in("CPU 1/KVM) x"), -1);
	CHECK_EQ_S64(vcpu_in("CPU 0x1/KVM"), -1);
	CHECK_EQ_S64(vcpu_in("CPU 4294967296/KVM"), -1);
	CHECK_EQ_S64(vcpu_in("CPU 99999999999999999999/KVM"), -1);
	CHECK_EQ_S64(vcpu_in("vcpu"), -1);
	CHECK_EQ_S64(vcpu_in("qemu-system-x86"), -1);
	CHECK_EQ_S64(vcpu_in(""), -1);
}

TEST(other_texts)
{
	uint64_t run = 7, wait = 7;
	int number;

	CHECK(rs_kvm_vcpu_of_link("anon_inode:kvm-vcpu:10", &number) && number == 10);
	CHECK(!rs_kvm_vcpu_of_link("anon_inode:kvm-vm", &number));
	CHECK(!rs_kvm_vcpu_of_link("anon_inode:kvm-vcpu:1 (deleted)", &number));
	CHECK(!rs_kvm_vcpu_of_link("/tmp/anon_inode:kvm-vcpu:1", &number));

	CHECK(rs_kvm_schedstat_of("12345 678 9\n", &run, &wait));
	CHECK_EQ_U64(run, 12345);
	CHECK_EQ_U64(wait, 678);
	CHECK(!rs_kvm_schedstat_of("0 0 0\n", &run, &wait));
	CHECK(!rs_kvm_schedstat_of("", &run, &wait));
	CHECK(!rs_kvm_schedstat_of("x y z\n", &run, &wait));

	CHECK(rs_kvm_state_of("7 (CPU 0/KVM) S 1 2") == 'S');
	CHECK(rs_kvm_state_of("7 (a) R (b) D 1") == 'D');
	CHECK(rs_kvm_state_of("7 (x)") == 0);
	CHECK(rs_kvm_state_of("7 x S") == 0);
	CHECK(rs_kvm_state_of("") == 0);

	CHECK(rs_kvm_number("0", &number) && !number);
	CHECK(rs_kvm_number("2147483647", &number) && number == 2147483647);
	CHECK(!rs_kvm_number("2147483648", &number));
	CHECK(!rs_kvm_number(" 1", &number));
	CHECK(!rs_kvm_number("1 ", &number));
	CHECK(!rs_kvm_number("+1", &number));
	CHECK(!rs_kvm_number("", &number));
}

TEST(syscalls)
{
	char text[128];
	int fd;

	snprintf(text, sizeof(text), "%d 0x1f 0xae80 0x0 0x1 0x5 0x0 0x7efdf5ebcc70 0x7efdf5fced6b",
		 SYS_ioctl);
	CHECK(rs_kvm_fd_of_syscall(text, &fd) && fd == 0x1f);
	/* A kernel worker: no stack in user space. */
	snprintf(text, sizeof(text), "%d 0x5 0xae80 0x0 0x1 0x5 0x0 0x0 0x0", SYS_ioctl);
	CHECK(!rs_kvm_fd_of_syscall(text, &fd));
	/* Another request, another call, none. */
	snprintf(text, sizeof(text), "%d 0x5 0xae81 0x0 0x1 0x5 0x0 0x7ef0 0x7ef0", SYS_ioctl);
	CHECK(!rs_kvm_fd_of_syscall(text, &fd));
	CHECK(!rs_kvm_fd_of_syscall("230 0x5 0xae80 0x0 0x1 0x5 0x0 0x7ef0 0x7ef0", &fd));
	CHECK(!rs_kvm_fd_of_syscall("running\n", &fd));
	CHECK(!rs_kvm_fd_of_syscall("-1 0x7ffc 0x7f00\n", &fd));
	CHECK(!rs_kvm_fd_of_syscall("", &fd));
}

/* ---- folders laid out like /proc and debugfs ------------------------------------------------ */

static char top[64];

static void folders_make(void)
{
	snprintf(top, sizeof(top), "/tmp/ringside-discover.XXXXXX");
	if (!mkdtemp(top))
		top[0] = '\0';
}

static void folders_remove(void)
{
	char command[128];

	if (!top[0])
		return;
	snprintf(command, sizeof(command), "rm -rf '%s'", top);
	if (system(command))
		test_fail(TEST_HERE, "%s stays", top);
}

/* Writes a file, with its folders; text of len bytes. */
static void put(const char *name, const char *text, size_t len)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", top, name);
	for (char *c = path + strlen(top) + 1; (c = strchr(c, '/')); c++) {
		*c = '\0';
		mkdir(path, 0755);
		*c = '/';
	}
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	CHECK(fd >= 0 && write(fd, text, len) == (ssize_t)len);
	close(fd);
}

static void put_text(const char *name, const char *text)
{
	put(name, text, strlen(text));
}

/* Adds a descriptor of a process. */
static void put_link(int pid, int fd, const char *to)
{
	char path[256];

	put_text("proc/made", "");
	snprintf(path, sizeof(path), "%s/proc/%d", top, pid);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/proc/%d/fd", top, pid);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/proc/%d/fd/%d", top, pid, fd);
	CHECK(!symlink(to, path));
}

/* Adds a thread; in /proc it also has a folder of its own. */
static void put_thread(int pid, int tid, const char *comm, const char *syscall_text)
{
	char path[128], text[256];

	snprintf(path, sizeof(path), "proc/%d/task/%d/comm", pid, tid);
	snprintf(text, sizeof(text), "%s\n", comm);
	put_text(path, text);
	snprintf(path, sizeof(path), "proc/%d/task/%d/syscall", pid, tid);
	put_text(path, syscall_text);
	snprintf(path, sizeof(path), "proc/%d/comm", tid);
	put_text(path, text);
	snprintf(path, sizeof(path), "proc/%d/status", tid);
	snprintf(text, sizeof(text), "Name:\tx\\nTgid:\\t1\nUmask:\t0\nTgid:\t%d\nPid:\t%d\n", pid,
		 tid);
	put_text(path, text);
}

/* Checks "PID/TID:VCPU=NAME" for each, separated by spaces. */
static const char *found_of(int pid, bool past)
{
	static char text[1024];
	char proc[96], debugfs[96];
	struct rs_kvm_roots roots = { proc, debugfs, past };
	struct rs_kvm_vcpu *vcpus = NULL;
	uint32_t n = 0;

	text[0] = '\0';
	snprintf(proc, sizeof(proc), "%s/proc", top);
	snprintf(debugfs, sizeof(debugfs), "%s/debug", top);
	if (!CHECK_OK(rs_kvm_discover_in(&roots, pid, &vcpus, &n)))
		return "failed";
	for (uint32_t i = 0; i < n; i++) {
		size_t used = strlen(text);

		snprintf(text + used, sizeof(text) - used, "%s%d/%d:%d=%s", i ? " " : "",
			 vcpus[i].pid, vcpus[i].tid, vcpus[i].vcpu, vcpus[i].vm);
	}
	free(vcpus);
	return text;
}

static const char *found(int pid)
{
	return found_of(pid, false);
}

static const char running[] = "running\n";

TEST(debugfs_identifies_vcpus)
{
	folders_make();
	/* The folder's number is the thread that made the VM; the process is 100. */
	put_text("debug/kvm/101-9/vcpu1/pid", "103\n");
	put_text("debug/kvm/101-9/vcpu10/pid", "102\n");
	put_text("debug/kvm/exits", "5\n");
	put_text("debug/kvm/102-3/vcpux/pid", "104\n");
	put_text("debug/kvm/102-4/vcpu2/pid", "999\n");	  /* ended */
	put_text("debug/kvm/102-5/vcpu3/pid", "200\n");	  /* now another process's number */
	put_text("debug/kvm/102-6/vcpu4/pid", "-1\nx\n"); /* nonsense */
	put("proc/100/cmdline", "q\0-name\0guest=web", 18);
	put_thread(100, 100, "qemu (x) R 1", running);
	put_thread(100, 102, "CPU 10/KVM", running);
	put_thread(100, 103, "CPU 1/KVM", running);
	put_thread(200, 200, "cat", running);
	put_link(100, 9, "anon_inode:kvm-vm");
	put_link(100, 20, "anon_inode:kvm-vcpu:1");
	put_link(100, 21, "anon_inode:kvm-vcpu:10");
	put_link(200, 0, "/dev/null");
	CHECK_STR(found(0), "100/103:1=web 100/102:10=web");
	CHECK_STR(found(100), "100/103:1=web 100/102:10=web");
	CHECK_STR(found(200), "");
	CHECK_STR(found(12345), "");
	folders_remove();
}

TEST(threads_that_have_ended)
{
	folders_make();
	put_text("debug/kvm/100-9/vcpu0/pid", "101\n");
	put_text("debug/kvm/100-9/vcpu1/pid", "102\n"); /* ended */
	put_text("debug/kvm/100-9/vcpu2/pid", "200\n"); /* ended; now another's number */
	put_text("debug/kvm/300-9/vcpu3/pid", "103\n"); /* its VM's process has ended, too */
	put_text("debug/kvm/200-9/vcpu4/pid", "104\n"); /* now another's number */
	put_thread(100, 100, "qemu", running);
	put_thread(100, 101, "CPU 0/KVM", running);
	put_thread(200, 200, "cat", running);
	put_link(100, 20, "anon_inode:kvm-vcpu:0");
	put_link(200, 0, "/dev/null");
	CHECK_STR(found(0), "100/101:0=qemu");
	CHECK_STR(found_of(0, true), "100/101:0=qemu 100/102:1=qemu 100/200:2=qemu");
	folders_remove();
}

TEST(a_vcpu_that_has_not_run)
{
	folders_make();
	put_text("debug/kvm/100-9/vcpu0/pid", "101\n");
	put_text("debug/kvm/100-9/vcpu1/pid", "0\n");
	put_thread(100, 100, "qemu", running);
	put_thread(100, 101, "CPU 0/KVM", running);
	put_thread(100, 102, "CPU 1/KVM", running);
	put_link(100, 20, "anon_inode:kvm-vcpu:0");
	put_link(100, 21, "anon_inode:kvm-vcpu:1");
	CHECK_STR(found(0), "100/101:0=qemu 100/102:1=qemu");
	folders_remove();
}

/* As on arm64. */
TEST(debugfs_without_vcpus)
{
	folders_make();
	put_text("debug/kvm/100-9/exits", "5\n");
	put_thread(100, 100, "qemu", running);
	put_thread(100, 101, "CPU 0/KVM", running);
	put_link(100, 20, "anon_inode:kvm-vcpu:0");
	CHECK_STR(found(0), "100/101:0=qemu");
	CHECK_STR(found(100), "100/101:0=qemu");
	folders_remove();
}

TEST(without_debugfs)
{
	char text[128];

	folders_make();
	/* Named, with gaps between KVM's numbers. */
	put("proc/100/cmdline", "q\0-name\0gaps", 13);
	put_thread(100, 100, "qemu", running);
	put_thread(100, 101, "CPU 0/KVM", running);
	put_thread(100, 102, "CPU 1/KVM", running);
	put_thread(100, 103, "CPU 2/KVM", running);
	put_link(100, 20, "anon_inode:kvm-vcpu:0");
	put_link(100, 21, "anon_inode:kvm-vcpu:2");
	put_link(100, 22, "anon_inode:kvm-vcpu:1");
	put_link(100, 23, "socket:[1]");
	/* Without a name, asleep in KVM_RUN; and a worker in the same state. */
	snprintf(text, sizeof(text), "%d 0x7 0xae80 0x0 0x1 0x5 0x0 0x7efd 0x7efd", SYS_ioctl);
	put_thread(200, 200, "vmm", running);
	put_thread(200, 201, "vmm", text);
	put_thread(200, 202, "kvm-nx-lpage-re", text);
	put_link(200, 7, "anon_inode:kvm-vcpu:4");
	put_link(200, 8, "anon_inode:kvm-vcpu:5");
	/* One thread, one vCPU, apart from the kernel's worker. */
	put_thread(300, 300, "tiny", running);
	put_thread(300, 301, "kvm-nx-lpage-re", running);
	put_link(300, 5, "anon_inode:kvm-vcpu:0");
	/* Ambiguous cases, and names without vCPUs. */
	put_thread(400, 400, "two", running);
	put_thread(400, 401, "two", running);
	put_link(400, 5, "anon_inode:kvm-vcpu:0");
	put_thread(500, 500, "CPU 0/KVM", running);
	CHECK_STR(found(0), "100/101:0=gaps 100/102:1=gaps 100/103:2=gaps 200/201:4=vmm "
			    "300/300:0=tiny");
	folders_remove();
}

TEST(numbers_with_gaps)
{
	folders_make();
	put_thread(100, 100, "q", running);
	put_thread(100, 101, "CPU 0/KVM", running);
	put_thread(100, 102, "CPU 2/KVM", running);
	put_thread(100, 103, "CPU 3/KVM", running);
	put_link(100, 20, "anon_inode:kvm-vcpu:0");
	put_link(100, 21, "anon_inode:kvm-vcpu:2");
	put_link(100, 22, "anon_inode:kvm-vcpu:4");
	/* As many names as descriptors: the n-th name belongs to the n-th descriptor. */
	CHECK_STR(found(100), "100/101:0=q 100/102:2=q 100/103:4=q");
	/* One more than there are threads: the number itself, if there is one. */
	put_link(100, 23, "anon_inode:kvm-vcpu:1");
	CHECK_STR(found(100), "100/103:-1=q 100/101:0=q 100/102:2=q");
	folders_remove();
}

TEST(no_proc)
{
	struct rs_kvm_roots roots = { "/nonexistent/proc", "/nonexistent/debug" };
	struct rs_kvm_vcpu *vcpus;
	uint32_t n;

	CHECK_ERR(rs_kvm_discover_in(&roots, 0, &vcpus, &n), RS_FAILED, "/nonexistent/proc");
}

/* ---- this machine --------------------------------------------------------------------------- */

/* Forks a child with the name and arguments of a QEMU; returns -1 on failure. */
static pid_t child_named(const char *const arguments[])
{
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execv("/bin/sh", (char *const *)arguments);
		_exit(127);
	}
	return pid;
}

TEST(names_of_processes)
{
	/* sh -c SCRIPT NAME ARGS...: a process with these arguments, which reports that it runs. */
	const char *const arguments[] = {
		"sh", "-c", "echo x; read y; exit 0", "-name", "guest=real,x=on", NULL
	};
	char vm[RS_KVM_VM_MAX], byte;
	int in[2], out[2], saved[2] = { dup(0), dup(1) };
	pid_t pid;

	REQUIRE(!pipe2(in, O_CLOEXEC) && !pipe2(out, O_CLOEXEC));
	dup2(in[0], 0);
	dup2(out[1], 1);
	pid = child_named(arguments);
	dup2(saved[0], 0);
	dup2(saved[1], 1);
	REQUIRE(pid > 0);
	CHECK(read(out[0], &byte, 1) == 1);
	rs_kvm_vm_name(pid, vm);
	CHECK_STR(vm, "real");
	close(in[1]);
	close(in[0]);
	waitpid(pid, NULL, 0);
	rs_kvm_vm_name(pid, vm);
	CHECK_STR(vm, "");
	rs_kvm_vm_name(0x7fffffff, vm);
	CHECK_STR(vm, "");
	close(out[0]);
	close(out[1]);
	close(saved[0]);
	close(saved[1]);
}

/* The micro-VM's arguments need not name its VM; its memfd does. */
TEST(name_of_a_memfd)
{
	const char *name = RS_KVM_NAME_MEMFD "a VM, \n and its name\xff";
	char vm[RS_KVM_VM_MAX];
	int fd = memfd_create(name, MFD_CLOEXEC);

	REQUIRE(fd >= 0);
	rs_kvm_vm_name(getpid(), vm);
	CHECK_STR(vm, "a VM, ? and its name?");
	close(fd);
	rs_kvm_vm_name(getpid(), vm);
	CHECK_STR(vm, "kvm_discover");
	CHECK(!rs_kvm_name_of_link("/memfd:" RS_KVM_NAME_MEMFD " (deleted)", vm));
	CHECK(!rs_kvm_name_of_link("/memfd:" RS_KVM_NAME_MEMFD "x", vm));
	CHECK(!rs_kvm_name_of_link("/memfd:other (deleted)", vm));
	CHECK(!rs_kvm_name_of_link("", vm));
	CHECK_STR(vm, "kvm_discover");
	CHECK(rs_kvm_name_of_link("/memfd:" RS_KVM_NAME_MEMFD "x (deleted)", vm));
	CHECK_STR(vm, "x");
}

TEST(schedstat_of_a_thread)
{
	uint64_t run = 0, wait = 0;

	if (access("/proc/self/schedstat", R_OK))
		TEST_SKIP("this kernel has no /proc/PID/schedstat");
	CHECK(rs_kvm_schedstat(getpid(), (int)syscall(SYS_gettid), &run, &wait));
	CHECK(run > 0);
	CHECK(!rs_kvm_schedstat(getpid(), 0x7fffffff, &run, &wait));
	CHECK(!rs_kvm_schedstat(0x7fffffff, 0x7fffffff, &run, &wait));
}

static void *sleep_until(void *barrier)
{
	pthread_barrier_wait(barrier);
	pthread_barrier_wait(barrier);
	return NULL;
}

TEST(threads_that_sleep)
{
	pthread_barrier_t barrier;
	pthread_t thread;
	bool asleep = false;

	CHECK(!rs_kvm_asleep(getpid(), (int)syscall(SYS_gettid)));
	CHECK(!rs_kvm_asleep(getpid(), 0x7fffffff));
	pthread_barrier_init(&barrier, NULL, 2);
	REQUIRE(!pthread_create(&thread, NULL, sleep_until, &barrier));
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < 10000 && !asleep; i++) {
		DIR *tasks = opendir("/proc/self/task");
		const struct dirent *task;

		while ((task = readdir(tasks)))
			asleep |= atoi(task->d_name) != getpid() &&
				  rs_kvm_asleep(getpid(), atoi(task->d_name));
		closedir(tasks);
		usleep(1000);
	}
	CHECK(asleep);
	pthread_barrier_wait(&barrier);
	pthread_join(thread, NULL);
	pthread_barrier_destroy(&barrier);
}

struct guest {
	int vm, id, tid;
	pthread_t thread;
	pthread_barrier_t *ready;
	pthread_barrier_t *done;
};

/* The guest: HLT, immediately; without an interrupt controller KVM_RUN returns. */
static void *guest_run(void *arg)
{
	struct guest *g = arg;
	struct kvm_regs regs = { .rip = 0, .rflags = 2 };
	struct kvm_sregs sregs;
	char name[16];
	int vcpu = ioctl(g->vm, KVM_CREATE_VCPU, g->id);

	g->tid = (int)syscall(SYS_gettid);
	snprintf(name, sizeof(name), "CPU %d/KVM", g->id);
	prctl(PR_SET_NAME, name);
	if (vcpu >= 0 && !ioctl(vcpu, KVM_GET_SREGS, &sregs)) {
		sregs.cs.base = 0;
		sregs.cs.selector = 0;
		if (ioctl(vcpu, KVM_SET_SREGS, &sregs) || ioctl(vcpu, KVM_SET_REGS, &regs) ||
		    ioctl(vcpu, KVM_RUN, 0))
			g->tid = 0;
	}
	pthread_barrier_wait(g->ready);
	pthread_barrier_wait(g->done);
	close(vcpu);
	return NULL;
}

static int tid_of(const struct rs_kvm_vcpu *vcpus, uint32_t n, int vcpu)
{
	for (uint32_t i = 0; i < n; i++) {
		if (vcpus[i].pid == getpid() && vcpus[i].vcpu == vcpu)
			return vcpus[i].tid;
	}
	return 0;
}

/* With debugfs, if it exists, and without. */
static void check_found(const struct guest guests[2])
{
	static const struct rs_kvm_roots no_debugfs = { "/proc", "/nonexistent" };
	struct rs_kvm_vcpu *vcpus = NULL;
	uint32_t n = 0;

	CHECK_EQ_S64(rs_kvm_find_vcpu(getpid(), 1), guests[0].tid);
	CHECK_EQ_S64(rs_kvm_find_vcpu(getpid(), 10), guests[1].tid);
	CHECK_EQ_S64(rs_kvm_find_vcpu(getpid(), 0), 0);
	REQUIRE_OK(rs_kvm_discover(&vcpus, &n));
	CHECK_EQ_S64(tid_of(vcpus, n, 1), guests[0].tid);
	CHECK_EQ_S64(tid_of(vcpus, n, 10), guests[1].tid);
	free(vcpus);
	REQUIRE_OK(rs_kvm_discover_in(&no_debugfs, 0, &vcpus, &n));
	CHECK_EQ_S64(tid_of(vcpus, n, 1), guests[0].tid);
	CHECK_EQ_S64(tid_of(vcpus, n, 10), guests[1].tid);
	free(vcpus);
}

TEST(real_vcpus)
{
	static uint8_t memory[4096] __attribute__((aligned(4096))) = { 0xf4 };
	struct kvm_userspace_memory_region region = { .memory_size = sizeof(memory),
						      .userspace_addr = (uintptr_t)memory };
	struct guest guests[2] = { { .id = 1 }, { .id = 10 } };
	pthread_barrier_t ready, done;
	int kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC), vm;

	if (kvm < 0)
		TEST_SKIP("/dev/kvm can't be opened");
	vm = ioctl(kvm, KVM_CREATE_VM, 0);
	REQUIRE(vm >= 0);
	REQUIRE(!ioctl(vm, KVM_SET_USER_MEMORY_REGION, &region));
	pthread_barrier_init(&ready, NULL, 3);
	pthread_barrier_init(&done, NULL, 3);
	for (int i = 0; i < 2; i++) {
		guests[i].vm = vm;
		guests[i].ready = &ready;
		guests[i].done = &done;
		REQUIRE(!pthread_create(&guests[i].thread, NULL, guest_run, &guests[i]));
	}
	pthread_barrier_wait(&ready);
	check_found(guests);
	pthread_barrier_wait(&done);
	for (int i = 0; i < 2; i++)
		pthread_join(guests[i].thread, NULL);
	close(vm);
	close(kvm);
}

/* Processes that start and end while /proc is read: no read may fail or block. */
TEST(while_processes_vanish)
{
	for (int round = 0; round < 40; round++) {
		struct rs_kvm_vcpu *vcpus = NULL;
		uint32_t n = 0;
		pid_t pid = fork();

		if (!pid)
			_exit(0);
		CHECK_OK(rs_kvm_discover_in(&(struct rs_kvm_roots){ "/proc", "/nonexistent" }, 0,
					    &vcpus, &n));
		free(vcpus);
		waitpid(pid, NULL, 0);
	}
}

/* ---- checks of the machine ------------------------------------------------------------------ */

TEST(checks_report_what_is_missing)
{
	struct rs_kvm_check checks[32];
	uint32_t n = rs_kvm_checks(checks, 32);

	CHECK(n > 4);
	for (uint32_t i = 0; i < n; i++) {
		CHECK(checks[i].what && checks[i].what[0]);
		CHECK(checks[i].remedy && checks[i].remedy[0]);
		CHECK_EQ_U64(checks[i].met, !checks[i].missing[0]);
	}
	CHECK_EQ_U64(rs_kvm_checks(checks, 2), 2);
	CHECK_EQ_U64(rs_kvm_checks(NULL, 0), 0);
}
