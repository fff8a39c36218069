/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The guest of names.test, the first process of a Linux: calls, system calls and threads whose
 * counts are prime numbers, in two processes and three threads; and a third process with data of
 * many types. It prints their IDs and the data on the console. With the kernel's argument
 * again=1, the third process never ends: it passes its data to typed_here() once in a while, and
 * prints "round".
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define OUT __attribute__((noinline, noclone))

enum { CALLS = 53, DEPTH = 13, TIMES = 17, ESCAPES = 31, RETURNS = 29 };
enum { AGAIN_US = 20000 };
enum { SHARED = 79, THREADS = 3, SYSCALLS = 127, FAILED_SYSCALLS = 41 };

static volatile long sink;
static jmp_buf out;

OUT long called(long a, long b, long c, long d, long e, long f)
{
	sink += a + b + c + d + e + f;
	return 7 * a + 1;
}

OUT long deeper(long n)
{
	if (n)
		sink += deeper(n - 1);
	return n + 1000;
}

OUT long tail(long n)
{
	sink++;
	return called(n, 0, 0, 0, 0, 0);
}

OUT void leaves(int how)
{
	sink++;
	if (how)
		longjmp(out, 1);
}

OUT void shared(long n)
{
	sink += n;
}

/* After a jump out of leaves(), the next instruction is the same as after its return. */
OUT void escape(int how)
{
	if (!setjmp(out))
		leaves(how);
	sink++;
}

/* ---- types: the program prints its own, and /proc has the kernel's ----------------------- */

enum kind { KIND_NONE, KIND_SMALL = -3, KIND_LARGE = 70000 };
typedef struct typed Typed;
struct point {
	short x, y;
};
struct typed {
	char name[12];
	unsigned low : 3, high : 7;
	int below : 5;
	unsigned long wide : 41;
	enum kind kind;
	struct point at, grid[2][3];
	union {
		unsigned long word;
		unsigned char bytes[8];
		struct {
			unsigned int first, second;
		};
	};
	_Bool yes;
	double real;
	int (*call)(void);
	const char *text;
	struct point **points;
	struct opaque *opaque;
	Typed *next;
	int n, tail[];
};
struct opaque { /* only declared above */
	int inside;
};
static struct point point = { -5, 6 };
static struct point *points[] = { &point, &point };
static struct opaque opaque = { 4711 };
struct typed *typed_list; /* the program's variable */

struct variables {
	char name[12];
	unsigned int low : 3, high : 7;
	short table[2][3];
	enum kind kind;
	struct point *at;
	struct variables *self;
} variables = {
	"variables", 5, 77, { { 1, 2, 3 }, { 4, -5, 6 } }, KIND_SMALL, &point, &variables,
};
const char *const texts[] = { "first", "second" };
volatile __thread int of_thread; /* has no fixed address */

OUT void typed_here(struct typed *typed)
{
	sink += typed->n;
}

static struct typed *make_typed(int i, struct typed *next)
{
	struct typed *t = calloc(1, sizeof(*t) + 3 * sizeof(int));

	snprintf(t->name, sizeof(t->name), "typed-%d", i);
	t->low = 5;
	t->high = 77 + (unsigned int)i;
	t->below = -9;
	t->wide = 0x1234567890ul;
	t->kind = i ? KIND_SMALL : KIND_LARGE;
	t->at = (struct point){ -1, (short)i };
	t->grid[1][2] = (struct point){ 12, -13 };
	t->word = 0x0102030405060708ul;
	t->yes = 1;
	t->real = 0.5;
	t->text = "a text";
	t->points = points;
	t->opaque = &opaque;
	t->next = next;
	t->n = 3;
	t->tail[2] = 29 + i;
	return t;
}

static void print_typed(const struct typed *t)
{
	unsigned long real;

	memcpy(&real, &t->real, sizeof(real));
	printf("FACT %s bits %u %u %d %lx kind %d %d\n", t->name, t->low, t->high, t->below,
	       (unsigned long)t->wide, t->kind, t->kind == KIND_SMALL);
	printf("FACT %s at %d %d %d %d\n", t->name, t->at.x, t->at.y, t->grid[1][2].x,
	       t->grid[1][2].y);
	printf("FACT %s union %lx %d %x %x\n", t->name, t->word, t->bytes[6], t->first, t->second);
	printf("FACT %s other %d %lx %s %d %d %d %d\n", t->name, t->yes, real, t->text,
	       t->points[1]->x, t->opaque->inside, t->n, t->tail[2]);
	printf("FACT sizes %zu %zu %zu %zu %zu\n", sizeof(*t), offsetof(struct typed, grid[1][2].y),
	       offsetof(struct typed, second), offsetof(struct typed, tail), sizeof(t->grid));
}

/* Writes the first line of a file in /proc. */
static void print_file(const char *what, const char *path)
{
	char text[256] = "";
	FILE *file = fopen(path, "r");

	if (file && fgets(text, sizeof(text), file))
		text[strcspn(text, "\n")] = '\0';
	if (file)
		fclose(file);
	printf("FACT %s %s\n", what, text);
}

static void print_kernel(void)
{
	char path[64], text[256];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/comm", getppid());
	print_file("parent", path);
	printf("FACT numbers %d %d %d %d\n", getpid(), getppid(), getuid(), geteuid());
	for (int fd = 3; fd < 6; fd++) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		n = readlink(path, text, sizeof(text) - 1);
		text[n < 0 ? 0 : n] = '\0';
		printf("FACT fd %d %s\n", fd, text);
	}
}

/* The program's variables, and those of the kernel that /proc shows. */
static void print_variables(void)
{
	of_thread++;
	printf("FACT variables %s %u %u %d %d %d %d %s %d %d\n", variables.name, variables.low,
	       variables.high, variables.table[1][1], variables.kind, variables.at->y,
	       variables.self->table[0][2], texts[1], typed_list->n, points[1]->x);
	printf("FACT sizes %zu %zu\n", sizeof(variables), sizeof(texts) / sizeof(texts[0]));
	print_file("pid_max", "/proc/sys/kernel/pid_max");
	print_file("command line", "/proc/cmdline");
	print_file("version", "/proc/version");
}

/* A line of /proc/cpuinfo, without what precedes its value. */
static void print_cpu(const char *key)
{
	FILE *file = fopen("/proc/cpuinfo", "r");
	char text[256];

	while (file && fgets(text, sizeof(text), file)) {
		if (strncmp(text, key, strlen(key)) || !strchr(text, ':'))
			continue;
		text[strcspn(text, "\n")] = '\0';
		printf("FACT %s %s\n", key, strchr(text, ':') + 2);
		break;
	}
	if (file)
		fclose(file);
}

static void gamma_task(void)
{
	struct typed *list = NULL;

	prctl(PR_SET_NAME, "gamma");
	printf("TASK gamma %d %d\n", getpid(), gettid());
	for (int i = 0; i < 3; i++)
		print_typed(list = make_typed(i, list));
	typed_list = list;
	mkdir("/proc", 0755);
	mount("proc", "/proc", "proc", 0, NULL);
	open("/proc/version", O_RDONLY);
	open("/dev/console", O_RDONLY);
	open("/proc/self/stat", O_RDONLY);
	setresuid(1234, 2345, 0);
	print_kernel();
	print_variables();
	print_cpu("cpu family");
	print_cpu("model name");
	do {
		printf("round \n");
		usleep(AGAIN_US);
		typed_here(list);
	} while (getenv("again"));
	sink++; /* makes it a call, not a jump */
}

static void *thread(void *of)
{
	char name[16];

	snprintf(name, sizeof(name), "thread-%ld", (long)of);
	prctl(PR_SET_NAME, name);
	printf("TASK %s %d %d\n", name, getpid(), gettid());
	for (long i = 0; i < SHARED + (long)of; i++)
		shared(i);
	return NULL;
}

static void alpha(void)
{
	pthread_t threads[THREADS];

	prctl(PR_SET_NAME, "alpha");
	printf("TASK alpha %d %d\n", getpid(), gettid());
	for (long i = 0; i < CALLS; i++)
		called(i, 1, 2, 3, 4, 5);
	for (long i = 0; i < TIMES; i++)
		deeper(DEPTH - 1);
	for (long i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, thread, (void *)i);
	for (long i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

static void beta(void)
{
	prctl(PR_SET_NAME, "beta");
	printf("TASK beta %d %d\n", getpid(), gettid());
	for (int i = 0; i < ESCAPES; i++)
		escape(1);
	for (int i = 0; i < RETURNS; i++)
		escape(0);
	for (int i = 0; i < TIMES; i++)
		tail(i);
	for (int i = 0; i < SYSCALLS; i++)
		syscall(SYS_getpriority, 0, 0);
	for (int i = 0; i < FAILED_SYSCALLS; i++)
		syscall(SYS_dup2, -1 - i, 5);
}

__attribute__((noipa)) static void apart(void (*what)(void))
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		what();
		fflush(stdout);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

/* Under strace, if present: its summary of this process and its children goes to the console. */
static void traced(void)
{
	execl("/strace", "strace", "-f", "-c", "-U", "name,calls", "/init", "traced", NULL);
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc > 1 && !strcmp(argv[1], "traced")) {
		prctl(PR_SET_NAME, "traced");
		printf("TASK traced %d %d\n", getpid(), gettid());
		apart(alpha);
		apart(beta);
		return 0;
	}
	if (!access("/strace", X_OK)) {
		apart(traced);
		printf("the guest ends\n");
		reboot(RB_POWER_OFF);
	}
	printf("TASK init %d %d\n", getpid(), gettid());
	apart(alpha);
	apart(beta);
	apart(gamma_task);
	printf("the guest ends\n");
	fflush(stdout);
	reboot(RB_POWER_OFF);
	return 1;
}
