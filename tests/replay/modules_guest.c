/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The guest of modules.test, the first process of a Linux. It loads and unloads modules of the
 * kernel, and opens their devices prime numbers of times. Its children, each of them executed anew,
 * call functions of libraries prime numbers of times. It prints on the console:
 *
 *	MODULE ADDRESS NAME [MODULE]	a line of /proc/kallsyms, after each load
 *	CALLED WHO ADDRESS		where a child has counted() of the library
 *
 * With "waits" on the kernel's command line, the guest waits for a line on the console before each
 * of its two parts.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/reboot.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FIRST_OPENS = 37, AGAIN_OPENS = 23, FUSE_OPENS = 41, IOCTLS = 4001 };
/* Calls of counted() of the library, and of memfrob() of the C library, which nothing else
 * calls. */
static const struct child {
	const char *name;
	int counted, memfrobs;
} children[] = { { "linked", 101, 13 }, { "again", 61, 7 }, { "opens", 53, 3 } };
#define N_CHILDREN (sizeof(children) / sizeof(children[0]))

long counted(long n);

static void load(const char *path)
{
	int fd = open(path, O_RDONLY);

	if (fd < 0 || syscall(SYS_finit_module, fd, "", 0))
		perror(path);
	close(fd);
}

static void symbols_print(void)
{
	FILE *file = fopen("/proc/kallsyms", "r");
	char line[1024], address[32], name[600], module[100];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "%31s %*c %599s %99s", address, name, module) == 3 &&
		    (!strcmp(name, "tun_chr_open") || !strcmp(name, "fuse_dev_open")))
			printf("MODULE %s %s %s\n", address, name, module);
	if (file)
		fclose(file);
}

static void opens(const char *path, int n)
{
	symbols_print();
	for (int i = 0; i < n; i++) {
		int fd = open(path, O_RDWR);

		if (fd < 0)
			perror(path);
		close(fd);
	}
}

__attribute__((noipa)) static void asks(int fd)
{
	unsigned int features;

	for (int i = 0; i < IOCTLS; i++)
		ioctl(fd, TUNGETFEATURES, &features);
}

static void child_run(const struct child *child)
{
	char text[8] = "text";
	void *library = NULL;
	long (*call)(long n) = counted;

	prctl(PR_SET_NAME, child->name);
	if (!strcmp(child->name, "opens")) {
		library = dlopen("/lib/libopened.so", RTLD_NOW);
		call = library ? (long (*)(long))dlsym(library, "counted") : NULL;
		if (!call) {
			printf("%s\n", dlerror());
			return;
		}
	}
	printf("CALLED %s %p\n", child->name, (void *)call);
	for (int i = 0; i < child->counted; i++)
		call(i);
	for (int i = 0; i < child->memfrobs; i++)
		memfrob(text, sizeof(text));
}

static void apart(char *argument)
{
	char *const words[] = { (char *)"/init", argument, NULL };
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		execv("/init", words);
		_exit(1);
	}
	waitpid(pid, NULL, 0);
}

static void wait_for_line(const char *what)
{
	char line[4096] = "", byte;
	int fd = open("/proc/cmdline", O_RDONLY);

	if (read(fd, line, sizeof(line) - 1) > 0 && strstr(line, "waits")) {
		printf("WAITS %s\n", what);
		read(0, &byte, 1);
	}
	close(fd);
}

static void modules_use(void)
{
	load("/modules/tun.ko");
	opens("/dev/net/tun", FIRST_OPENS);
	if (syscall(SYS_delete_module, "tun", O_NONBLOCK))
		perror("delete_module");
	load("/modules/fuse.ko"); /* its memory may be that of the first */
	opens("/dev/fuse", FUSE_OPENS);
	load("/modules/tun.ko");
	opens("/dev/net/tun", AGAIN_OPENS);
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (unsigned i = 0; argc > 1 && i < N_CHILDREN; i++)
		if (!strcmp(argv[1], children[i].name)) {
			child_run(&children[i]);
			return 0;
		}
	if (argc > 1 && !strcmp(argv[1], "asks")) {
		prctl(PR_SET_NAME, "asks");
		asks(open("/dev/net/tun", O_RDWR));
		return 0;
	}
	mount("proc", "/proc", "proc", 0, NULL);
	mount("dev", "/dev", "devtmpfs", 0, NULL);
	wait_for_line("modules");
	modules_use();
	wait_for_line("children");
	for (unsigned i = 0; i < N_CHILDREN; i++)
		apart((char *)children[i].name);
	apart((char *)"asks");
	printf("the guest ends\n");
	fflush(stdout);
	reboot(RB_POWER_OFF);
	return 1;
}
