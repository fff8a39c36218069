/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The first process of a guest whose programs are a folder of the host (replay/initramfs.h): runs
 * the command in /ringside-exec, prints its exit status, and powers the machine off. x86-64 Linux,
 * without a libc, so that the guest needs nothing outside the folder.
 *
 *	/ringside-exec   path NUL argument NUL ... (at most EXEC_MAX bytes)
 */
#include <stddef.h>
#include <stdint.h>

#define EXEC_MAX 4096
#define ARGS_MAX 128

/* arch/x86/entry/syscalls/syscall_64.tbl */
enum {
	SYS_READ = 0,
	SYS_WRITE = 1,
	SYS_OPEN = 2,
	SYS_IOCTL = 16,
	SYS_FORK = 57,
	SYS_EXECVE = 59,
	SYS_EXIT = 60,
	SYS_WAIT4 = 61,
	SYS_SYNC = 162,
	SYS_MOUNT = 165,
	SYS_REBOOT = 169,
	SYS_MKDIR = 83,
};

#define TCSBRK	  0x5409 /* with 1: wait until all output is written */
#define MAGIC1	  0xfee1dead
#define MAGIC2	  672274793
#define POWER_OFF 0x4321fedc

static long call(long n, long a, long b, long c, long d, long e)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
			 : "rcx", "r11", "memory");
	return result;
}

static void print(const char *text)
{
	size_t n = 0;

	while (text[n])
		n++;
	call(SYS_WRITE, 1, (long)text, (long)n, 0, 0);
}

static void say_number(unsigned int number)
{
	char digits[12];
	int at = sizeof(digits) - 1;

	digits[at] = '\0';
	do
		digits[--at] = (char)('0' + number % 10);
	while (number /= 10);
	print(digits + at);
}

static void mount(const char *type, const char *where)
{
	call(SYS_MKDIR, (long)where, 0755, 0, 0, 0);
	call(SYS_MOUNT, (long)type, (long)where, (long)type, 0, 0);
}

static char text[EXEC_MAX + 1];
static char *args[ARGS_MAX + 1];
static char *const environment[] = { (char *)"PATH=/bin:/usr/bin:/sbin:/usr/sbin:/",
				     (char *)"HOME=/", (char *)"TERM=dumb", NULL };

static void read_args(void)
{
	long fd = call(SYS_OPEN, (long)"/ringside-exec", 0, 0, 0, 0);
	long n = fd < 0 ? 0 : call(SYS_READ, fd, (long)text, EXEC_MAX, 0, 0);
	int count = 0;

	for (long at = 0; at < n && count < ARGS_MAX; count++) {
		args[count] = text + at;
		while (at < n && text[at])
			at++;
		at++;
	}
}

static void run(void)
{
	unsigned int status = 0;
	long pid = call(SYS_FORK, 0, 0, 0, 0, 0), error;

	if (!pid) {
		error = call(SYS_EXECVE, (long)args[0], (long)args, (long)environment, 0, 0);
		print("ringside-init: cannot execute it, error ");
		say_number((unsigned int)-error);
		print("\n");
		call(SYS_EXIT, 127, 0, 0, 0, 0);
	}
	while (call(SYS_WAIT4, -1, (long)&status, 0, 0, 0) != pid)
		;
	print(status & 0x7f ? "ringside-init: ended by signal " : "ringside-init: exit status ");
	say_number(status & 0x7f ? status & 0x7f : status >> 8 & 0xff);
	print("\n");
}

__attribute__((used)) static void begin(void)
{
	mount("proc", "/proc");
	mount("sysfs", "/sys");
	mount("devtmpfs", "/dev");
	mount("tmpfs", "/tmp");
	read_args();
	run();
	call(SYS_SYNC, 0, 0, 0, 0, 0);
	call(SYS_IOCTL, 1, TCSBRK, 1, 0, 0);
	call(SYS_REBOOT, (long)MAGIC1, MAGIC2, POWER_OFF, 0, 0);
	for (;;)
		;
}

__asm__(".globl _start\n_start:\n\txor %ebp, %ebp\n\tand $-16, %rsp\n\tcall begin\n");
