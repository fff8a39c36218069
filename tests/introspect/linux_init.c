/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The /init of the guests of linux.test. It starts processes of known names and structure, and then
 * prints to the console what the kernel says of itself:
 *
 *	T PASS PID TID PPID COMM	a task, of /proc/PID/task/TID/stat; twice, as PASS 1 and 2
 *	S ADDRESS NAME			a symbol, of /proc/kallsyms: one of STRIDE
 *	M PID LINE			a line of /proc/PID/maps
 *	Y TID LINE			/proc/PID/task/TID/syscall, of a task that waits
 *	K PASS TID LINE			a line of /proc/PID/task/TID/stack
 *	C COUNT				symbols of the kernel itself in /proc/kallsyms
 *	V TEXT				/proc/version
 *	N NANOSECONDS			CLOCK_REALTIME
 *	READY				nothing follows
 */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* A function that stays one, and a call that is not its caller's last instruction. */
#define CALLED	    static __attribute__((noipa))
#define KEEP_CALL() __asm__ volatile("" ::: "memory")

#define GAMMA_MARK   0x67616d6d61676d61 /* as in linux_guest.py */
#define STRIDE	     61 /* prime */
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

/* A sleeper, which maps a file of the initramfs, in part, and memory of no file. */
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

/* A process that is always in user mode, in this function, unless the kernel interrupts it.
 * linux_guest.py knows it by the register. */
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

/* A sleeper that calls itself RECURSIONS times, and then waits in what a library calls. */
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

static void delta(void)
{
	name_set("de lta) R 1");
	for (;;)
		pause();
}

static void omega(void)
{
	name_set("omega");
	_exit(0); /* nobody waits for it: a zombie, without memory */
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
	char line[1024], address[32], name[600];
	unsigned long n = 0;

	while (file && fgets(line, sizeof(line), file)) {
		if (strchr(line, '['))
			break; /* a module's, behind the kernel's own */
		if (!(n++ % STRIDE) && sscanf(line, "%31s %*c %599s", address, name) == 2)
			printf("S %s %s\n", address, name);
	}
	printf("C %lu\n", n);
}

int main(void)
{
	static void (*const roles[])(void) = { alpha, beta, gamma_, delta, omega, epsilon };
	struct timespec now;

	mount("proc", "/proc", "proc", 0, NULL);
	mount("tmpfs", "/tmp", "tmpfs", 0, NULL);
	mkdir("/tmp/inner", 0700);
	for (unsigned i = 0; i < sizeof(roles) / sizeof(roles[0]); i++) {
		int pid = fork();

		if (!pid) {
			roles[i]();
			_exit(1);
		}
	}
	sleep(1);
	symbols_print();
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
