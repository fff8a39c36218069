/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The /init of the guests of linux.test. It starts processes of known names and structure, and then
 * prints to the console what the kernel reports:
 *
 *	T PASS PID TID PPID COMM	a task, of /proc/PID/task/TID/stat; twice, as PASS 1 and 2
 *	S ADDRESS NAME			a symbol, of /proc/kallsyms: one of STRIDE
 *	A ADDRESS			the kernel's first byte: _text, of /proc/kallsyms
 *	M PID LINE			a line of /proc/PID/maps
 *	Y TID LINE			/proc/PID/task/TID/syscall, of a task that waits
 *	K PASS TID LINE			a line of /proc/PID/task/TID/stack
 *	F ADDRESS NAME [MODULE]		a symbol of a module, of /proc/kallsyms: each
 *	G LINE				a line of /proc/modules
 *	C COUNT				symbols of the kernel itself in /proc/kallsyms
 *	V TEXT				/proc/version
 *	N NANOSECONDS			CLOCK_REALTIME
 *	READY				nothing follows
 */
#include <dirent.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Must not be inlined, and its call must not be its caller's last instruction. */
#define CALLED	    static __attribute__((noipa))
#define KEEP_CALL() __asm__ volatile("" ::: "memory")

#define GAMMA_MARK   0x67616d6d61676d61 /* as in linux_guest.py */
#define STRIDE	     61			/* prime */
#define RECURSIONS   5
#define THREADS	     3
#define MAPPED_BYTES 8192

void library_outer(void (*leaf)(void));

static void name_set(const char *name)
{
	prctl(PR_SET_NAME, name);
}

static void *thread(void *name)
{
	name_set(name);
	for (;;)
		pause();
}

/* A sleeping process, which maps part of a file of the initramfs, and anonymous memory. */
static void alpha(void)
{
	int fd = open("/etc/inner/data", O_RDONLY);

	name_set("alpha");
	mmap(NULL, MAPPED_BYTES, PROT_READ, MAP_PRIVATE, fd, MAPPED_BYTES);
	mmap(NULL, MAPPED_BYTES, PROT_READ, MAP_SHARED, fd, 0);
	fd = open("/tmp/inner/gone", O_RDWR | O_CREAT, 0600); /* of another file system */
	if (ftruncate(fd, MAPPED_BYTES))
		_exit(1);
	mmap(NULL, MAPPED_BYTES, PROT_READ, MAP_SHARED, fd, 0);
	unlink("/tmp/inner/gone");
	fd = open("/tmp/inner/kept", O_RDWR | O_CREAT, 0600);
	if (ftruncate(fd, MAPPED_BYTES))
		_exit(1);
	mmap(NULL, MAPPED_BYTES, PROT_READ, MAP_SHARED, fd, 0);
	fd = memfd_create("a/memory", 0); /* files in no folder */
	if (fd < 0 || ftruncate(fd, MAPPED_BYTES))
		_exit(1);
	mmap(NULL, MAPPED_BYTES, PROT_READ, MAP_SHARED, fd, 0);
	mmap(NULL, MAPPED_BYTES, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < 40; i++) /* more areas than a node of the tree has */
		mmap(NULL, MAPPED_BYTES, i % 2 ? PROT_READ : PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (;;)
		pause();
}

static void beta(void)
{
	static char names[THREADS][16];
	pthread_t made;

	name_set("beta");
	for (int i = 0; i < THREADS; i++) {
		snprintf(names[i], sizeof(names[i]), "beta-%d", i);
		pthread_create(&made, NULL, thread, names[i]);
	}
	for (;;)
		pause();
}

/*
 * A process that is always in user mode, in this function, unless the kernel interrupts it.
 * linux_guest.py recognizes the function by the register.
 */
CALLED void gamma_spin(void)
{
	register unsigned long mark __asm__("r15") = GAMMA_MARK;

	for (;;)
		__asm__ volatile("pause" : "+r"(mark));
}

static void gamma_(void)
{
	name_set("gamma");
	gamma_spin();
	KEEP_CALL();
}

/* A sleeping process that calls itself RECURSIONS times, and then waits in a call of a library. */
CALLED void epsilon_leaf(void)
{
	for (;;)
		pause();
}

CALLED void epsilon_recursive(int n)
{
	if (n)
		epsilon_recursive(n - 1);
	else
		library_outer(epsilon_leaf);
	KEEP_CALL();
}

static void epsilon(void)
{
	name_set("epsilon");
	epsilon_recursive(RECURSIONS);
	KEEP_CALL();
}

/* A server of a file system that is a module's (fuse), which waits for its second request there. It
 * never answers the first. */
static void zeta(void)
{
	static char request[1 << 17];
	int fd = open("/dev/fuse", O_RDWR);
	char options[64];

	name_set("zeta");
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", fd);
	mount("zeta", "/tmp/inner/fuse", "fuse", 0, options);
	for (;;)
		if (read(fd, request, sizeof(request)) < 0)
			pause();
}

/* Its client, which waits in the module until it has begun. */
static void eta(void)
{
	struct stat stat_;

	name_set("eta");
	sleep(1); /* then zeta has mounted it; otherwise the test finds no such stack, and fails */
	stat("/tmp/inner/fuse/file", &stat_);
	for (;;)
		pause();
}

/* A reader of a network device that is a module's (tun), to which no packet comes. */
static void theta(void)
{
	struct ifreq request = { .ifr_flags = IFF_TUN };
	int fd = open("/dev/net/tun", O_RDWR);
	char packet[2048];

	name_set("theta");
	if (ioctl(fd, TUNSETIFF, &request))
		perror("tun");
	for (;;)
		if (read(fd, packet, sizeof(packet)) < 0)
			pause();
}

/* Loads the modules that there are. */
static void modules_load(void)
{
	static const char *const paths[] = { "/modules/fuse.ko", "/modules/tun.ko" };

	for (unsigned i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		int fd = open(paths[i], O_RDONLY);

		if (fd >= 0 && syscall(SYS_finit_module, fd, "", 0))
			perror(paths[i]);
		close(fd);
	}
	mkdir("/tmp/inner/fuse", 0700);
	mount("dev", "/dev", "devtmpfs", 0, NULL);
}

/*
 * A process with a misleading name, which writes to a full pipe. It waits in a function of the C
 * library that has others inlined.
 */
static void delta(void)
{
	int ends[2];
	FILE *file;

	name_set("de lta) R 1");
	if (pipe(ends) || !(file = fdopen(ends[1], "w")))
		_exit(1);
	for (;;)
		fputs("full", file);
}

static void omega(void)
{
	name_set("omega");
	_exit(0); /* nothing waits for it: a zombie, without memory */
}

static void lines_print(const char *path, const char *prefix)
{
	FILE *file = fopen(path, "r");
	char line[512];

	while (file && fgets(line, sizeof(line), file))
		printf("%s%s", prefix, line);
	if (file)
		fclose(file);
}

static void task_print(int pass, const char *pid, const char *tid)
{
	char path[64 + 2 * 256], line[512];
	char *open, *close;
	FILE *file;
	int ppid = -1;

	snprintf(path, sizeof(path), "/proc/%s/task/%s/stat", pid, tid);
	file = fopen(path, "r");
	if (!file)
		return;
	if (fgets(line, sizeof(line), file) && (open = strchr(line, '(')) &&
	    (close = strrchr(line, ')'))) {
		sscanf(close + 1, " %*c %d", &ppid);
		*close = '\0';
		printf("T %d %s %s %d %s\n", pass, pid, tid, ppid, open + 1);
	}
	fclose(file);
	snprintf(path, sizeof(path), "/proc/%s/task/%s/stack", pid, tid);
	snprintf(line, sizeof(line), "K %d %s ", pass, tid);
	lines_print(path, line);
	if (pass == 2) {
		snprintf(path, sizeof(path), "/proc/%s/task/%s/syscall", pid, tid);
		snprintf(line, sizeof(line), "Y %s ", tid);
		lines_print(path, line);
	}
}

static void tasks_print(int pass)
{
	DIR *all = opendir("/proc"), *threads;
	struct dirent *one, *tid;

	while ((one = readdir(all))) {
		char path[32 + 256];

		if (!atoi(one->d_name))
			continue;
		snprintf(path, sizeof(path), "/proc/%s/task", one->d_name);
		threads = opendir(path);
		while (threads && (tid = readdir(threads)))
			if (atoi(tid->d_name))
				task_print(pass, one->d_name, tid->d_name);
		if (threads)
			closedir(threads);
	}
	closedir(all);
}

static void symbols_print(void)
{
	FILE *file = fopen("/proc/kallsyms", "r");
	char line[1024], address[32], name[600], module[100];
	unsigned long n = 0;

	while (file && fgets(line, sizeof(line), file)) {
		/* Those of modules follow the kernel's own. */
		if (sscanf(line, "%31s %*c %599s %99s", address, name, module) == 3)
			printf("F %s %s %s\n", address, name, module);
		else if (sscanf(line, "%31s %*c %599s", address, name) == 2) {
			if (!(n++ % STRIDE))
				printf("S %s %s\n", address, name);
			if (!strcmp(name, "_text"))
				printf("A %s\n", address);
		}
	}
	printf("C %lu\n", n);
}

int main(void)
{
	static void (*const roles[])(void) = { alpha,	beta, gamma_, delta, omega,
					       epsilon, zeta, eta,    theta };
	struct timespec now;

	mount("proc", "/proc", "proc", 0, NULL);
	mount("tmpfs", "/tmp", "tmpfs", 0, NULL);
	mkdir("/tmp/inner", 0700);
	modules_load();
	for (unsigned i = 0; i < sizeof(roles) / sizeof(roles[0]); i++) {
		int pid = fork();

		if (!pid) {
			roles[i]();
			_exit(1);
		}
	}
	sleep(2);
	symbols_print();
	lines_print("/proc/modules", "G ");
	lines_print("/proc/version", "V ");
	tasks_print(1);
	for (int pid = 1; pid < 400; pid++) {
		char path[32], prefix[32];

		snprintf(path, sizeof(path), "/proc/%d/maps", pid);
		snprintf(prefix, sizeof(prefix), "M %d ", pid);
		lines_print(path, prefix);
	}
	tasks_print(2);
	clock_gettime(CLOCK_REALTIME, &now);
	printf("N %lld\nREADY\n", now.tv_sec * 1000000000LL + now.tv_nsec);
	fflush(stdout);
	for (;;)
		pause();
}
