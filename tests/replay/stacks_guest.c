/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The guest of stacks.test: /init, with a shared library. It prints the base of each file, calls
 * functions of many kinds, each of which has a point, and prints its own /proc/self/stack, and the
 * stack that the kernel gave to a BPF program.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <inttypes.h>
#include <link.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define NOINLINE    __attribute__((noipa))
#define INLINED	    static inline __attribute__((always_inline))
#define POINT(name) __asm__ volatile(".globl point_" #name "\npoint_" #name ": nop")

void library_leaf(int n);
void library_calls(void (*call)(int n), int n);
long library_getppid(void);

volatile int sink;
static char other_stack[64 << 10] __attribute__((aligned(16)));

NOINLINE void leaf(int n)
{
	int local[4] = { n, n + 1, n + 2, n + 3 };

	for (int i = 0; i < 4; i++)
		sink += ((volatile int *)local)[i];
	POINT(leaf);
}

/* Its first instructions set up a frame. The test stops before, among and after them. */
NOINLINE __attribute__((optimize("no-omit-frame-pointer"))) void framed(int n)
{
	sink += n;
	POINT(framed);
	leaf(n + 1);
	sink++;
}

INLINED void innermost(int n)
{
	sink += 2 * n;
	POINT(inlined);
}

INLINED void inlined(int n)
{
	innermost(n + sink);
	sink--;
}

NOINLINE void outlined(int n)
{
	inlined(n);
	framed(n);
	sink++;
}

/* The library calls it. */
NOINLINE static void called_back(int n)
{
	library_leaf(n);
	sink++;
}

/* libc calls it. */
static int compare(const void *one, const void *other)
{
	POINT(compare);
	return *(const int *)one - *(const int *)other;
}

NOINLINE static void sorts(int n)
{
	int numbers[] = { 3 + n, 2 + n, 1 + n };

	qsort(numbers, 3, sizeof(numbers[0]), compare);
	sink += numbers[0];
}

/* Its first instruction faults. */
void faults(void);
__asm__(".pushsection .text\n.globl faults\n.type faults, @function\n"
	"faults: .cfi_startproc\nud2\nret\n.cfi_endproc\n.size faults, . - faults\n.popsection");

NOINLINE static void handles(int number, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	(void)number, (void)info;
	leaf(3);
	POINT(handler);
	uc->uc_mcontext.gregs[REG_RIP] += 2; /* behind ud2 */
}

NOINLINE static void signals(void)
{
	const stack_t stack = { .ss_sp = other_stack, .ss_size = sizeof(other_stack) };
	struct sigaction action = { .sa_sigaction = handles, .sa_flags = SA_SIGINFO | SA_ONSTACK };

	sigaltstack(&stack, NULL);
	sigaction(SIGILL, &action, NULL);
	faults();
	sink++;
}

NOINLINE static void in_thread(int n)
{
	sink += n;
	POINT(thread);
}

static void *thread(void *n)
{
	in_thread(*(int *)n);
	sink++;
	return NULL;
}

static int base_print(struct dl_phdr_info *info, size_t bytes, void *unused)
{
	(void)bytes, (void)unused;
	printf("BASE %#lx %s\n", (unsigned long)info->dlpi_addr, info->dlpi_name);
	return 0;
}

/* One read() of the file, so that the kernel makes this text once. */
NOINLINE static void kernel_stack_print(void)
{
	char text[4096];
	int fd = open("/proc/self/stack", O_RDONLY);
	ssize_t len = read(fd, text, sizeof(text) - 1);

	text[len < 0 ? 0 : len] = '\0';
	printf("STACK\n%sSTACK ends\n", text);
}

/* ---- a BPF program ------------------------------------------------------------------------ */

enum { FRAMES = 64, CALL = SYS_getpgrp };

struct taken {
	uint64_t frames[FRAMES];
	int64_t bytes;
};

#define INSN(op, to, from, offset, value)                                                          \
	{                                                                                          \
		.code = (op), .dst_reg = (to), .src_reg = (from), .off = (offset), .imm = (value)  \
	}

/* Loads a program that stores its kernel stack at the entry of a system call, once it is attached
 * to the raw tracepoint sys_enter. Returns its file descriptor. */
static int program_load(int map)
{
	const struct bpf_insn code[] = {
		INSN(BPF_ALU64 | BPF_MOV | BPF_X, 6, 1, 0, 0),	 /* r6 = context */
		INSN(BPF_LDX | BPF_MEM | BPF_DW, 2, 6, 8, 0),	 /* r2 = its number */
		INSN(BPF_JMP | BPF_JNE | BPF_K, 2, 0, 14, CALL), /* to the end */
		INSN(BPF_ST | BPF_MEM | BPF_W, 10, 0, -4, 0),	 /* key 0 */
		INSN(BPF_ALU64 | BPF_MOV | BPF_X, 2, 10, 0, 0),
		INSN(BPF_ALU64 | BPF_ADD | BPF_K, 2, 0, 0, -4),
		INSN(BPF_LD | BPF_IMM | BPF_DW, 1, BPF_PSEUDO_MAP_FD, 0, map),
		INSN(0, 0, 0, 0, 0),
		INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_map_lookup_elem),
		INSN(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 7, 0),
		INSN(BPF_ALU64 | BPF_MOV | BPF_X, 7, 0, 0, 0), /* r7 = struct taken */
		INSN(BPF_ALU64 | BPF_MOV | BPF_X, 1, 6, 0, 0),
		INSN(BPF_ALU64 | BPF_MOV | BPF_X, 2, 7, 0, 0),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, 3, 0, 0, FRAMES * 8),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, 4, 0, 0, 0),
		INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_get_stack),
		INSN(BPF_STX | BPF_MEM | BPF_DW, 7, 0, FRAMES * 8, 0),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 0),
		INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
	};
	static char log[8192];
	union bpf_attr attr = { .prog_type = BPF_PROG_TYPE_RAW_TRACEPOINT,
				.insn_cnt = sizeof(code) / sizeof(code[0]),
				.insns = (uint64_t)code,
				.license = (uint64_t) "GPL",
				.log_buf = (uint64_t)log,
				.log_size = sizeof(log),
				.log_level = 1 };
	int fd;

	strcpy(attr.prog_name, "takes_stack");
	fd = (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
	if (fd < 0)
		printf("BPF %m: %s\n", log);
	return fd;
}

/* Prints the name and the offset of an address, as /proc/kallsyms has them. */
static void frame_print(uint64_t address)
{
	static char line[512], name[256], here[256], module[64];
	uint64_t at, nearest = 0;
	FILE *file = fopen("/proc/kallsyms", "r");

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%" SCNx64 " %*c %255s", &at, here) != 2 || at > address ||
		    at <= nearest) /* the first of several names */
			continue;
		nearest = at;
		strcpy(name, here);
		strcpy(module, strstr(line, "[bpf]") ? "bpf" : "kernel");
	}
	if (file)
		fclose(file);
	printf("%s`%s+0x%" PRIx64 "\n", module, name, address - nearest);
}

NOINLINE static void bpf_stack_print(void)
{
	union bpf_attr map_attr = { .map_type = BPF_MAP_TYPE_ARRAY,
				    .key_size = 4,
				    .value_size = sizeof(struct taken),
				    .max_entries = 1 };
	int map = (int)syscall(SYS_bpf, BPF_MAP_CREATE, &map_attr, sizeof(map_attr));
	union bpf_attr attach = { .raw_tracepoint = { .name = (uint64_t) "sys_enter",
						      .prog_fd = (uint32_t)program_load(map) } };
	int link = (int)syscall(SYS_bpf, BPF_RAW_TRACEPOINT_OPEN, &attach, sizeof(attach));
	static struct taken taken;
	uint32_t key = 0;
	union bpf_attr read = { .map_fd = (uint32_t)map,
				.key = (uint64_t)&key,
				.value = (uint64_t)&taken };

	syscall(CALL);
	close(link);
	syscall(SYS_bpf, BPF_MAP_LOOKUP_ELEM, &read, sizeof(read));
	printf("BPF %d %d %" PRId64 "\n", map, link, taken.bytes);
	for (int64_t i = 0; i < taken.bytes / 8 && i < FRAMES; i++)
		frame_print(taken.frames[i]);
	puts("BPF ends");
}

int main(void)
{
	pthread_t other;
	int n = 5;

	mount("proc", "/proc", "proc", 0, NULL);
	dl_iterate_phdr(base_print, NULL);
	outlined(1);
	library_calls(called_back, 7);
	sorts(2);
	signals();
	sink += (int)library_getppid();
	pthread_create(&other, NULL, thread, &n);
	pthread_join(other, NULL);
	kernel_stack_print();
	bpf_stack_print();
	reboot(RB_POWER_OFF);
	return 0;
}
