/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counts the instructions that a class which is off costs on the path through it: a child calls
 * a function with the trace macro and one without, and its parent single-steps it (ptrace) from
 * the functions' first instruction to their return. x86-64. Prints TAP.
 */
#include <errno.h>
#include <stdio.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>
#include <ringside/vmm.h>

/* A load with its test, a branch, and one in reserve. */
#define OFF_INSTRUCTIONS_MAX 3

RS_TRACE_CLASS(step, 0)
RS_DEFINE_EVENT(step, step, "step", (u64, a), (u64, b));

/*
 * Two callers. A leaf that does nothing else: gcc moves the frame that a put needs behind the test
 * of the mask, so that the point costs only its test. And a function with its own frame and all
 * saved registers: clang builds a function's frame first, wherever it is needed, and that cost is
 * not the trace point's.
 */
#define LEAF()                                                                                     \
	do {                                                                                       \
		(void)a;                                                                           \
		(void)b;                                                                           \
		__asm__ volatile("" ::: "memory");                                                 \
	} while (0)
#define FRAME()                                                                                    \
	(void)a;                                                                                   \
	(void)b;                                                                                   \
	char frame[512];                                                                           \
	__asm__ volatile(""                                                                        \
			 :                                                                         \
			 : "r"(frame)                                                              \
			 : "rbx", "rbp", "r12", "r13", "r14", "r15", "memory")

#define SUBJECT(surrounding, name, macro)                                                          \
	__attribute__((noinline)) static void surrounding##_##name(uint64_t a, uint64_t b)         \
	{                                                                                          \
		surrounding();                                                                     \
		macro;                                                                             \
		__asm__ volatile("" ::: "memory");                                                 \
	}
#define SUBJECTS_IN(surrounding)                                                                   \
	SUBJECT(surrounding, nothing, (void)0)                                                     \
	SUBJECT(surrounding, emit, RS_EMIT(step, .a = 3, .b = 5))                                  \
	SUBJECT(surrounding, catalogue, RS_EMIT_EVENT(vcpu_run, .vcpu = 7))                        \
	SUBJECT(surrounding, span, RS_SPAN(step, "steps"))                                         \
	SUBJECT(surrounding, function, RS_FUNCTION())

SUBJECTS_IN(FRAME)
#ifndef __clang__
SUBJECTS_IN(LEAF)
#endif

static const struct subject {
	const char *name;
	void (*run)(uint64_t, uint64_t);
	bool baseline; /* the baseline for the functions after it */
} subjects[] = {
	{ "", FRAME_nothing, true },
	{ "RS_EMIT", FRAME_emit, false },
	{ "RS_EMIT_EVENT", FRAME_catalogue, false },
	{ "RS_SPAN", FRAME_span, false },
	{ "RS_FUNCTION", FRAME_function, false },
#ifndef __clang__
	{ "", LEAF_nothing, true },
	{ "RS_EMIT in a leaf", LEAF_emit, false },
	{ "RS_EMIT_EVENT in a leaf", LEAF_catalogue, false },
	{ "RS_SPAN in a leaf", LEAF_span, false },
	{ "RS_FUNCTION in a leaf", LEAF_function, false },
#endif
};
#define SUBJECTS (sizeof(subjects) / sizeof(subjects[0]))

static void child(void)
{
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
		_exit(1);
	raise(SIGSTOP);
	for (size_t i = 0; i < SUBJECTS; i++) {
		void (*volatile run)(uint64_t, uint64_t) = subjects[i].run;

		run(1, 2);
	}
	_exit(0);
}

/* Executes one instruction. Returns false if the child has ended. */
static bool step(pid_t pid, struct user_regs_struct *regs)
{
	int status;

	if (ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) || waitpid(pid, &status, 0) != pid)
		return false;
	return WIFSTOPPED(status) && !ptrace(PTRACE_GETREGS, pid, NULL, regs);
}

/* Counts each function's instructions, including its return. Returns the number of functions. */
static size_t count_all(pid_t pid, unsigned int *counts)
{
	struct user_regs_struct regs;
	size_t seen = 0;

	while (seen < SUBJECTS && step(pid, &regs)) {
		uint64_t back;

		if (regs.rip != (uintptr_t)subjects[seen].run)
			continue;
		errno = 0;
		back = (uint64_t)ptrace(PTRACE_PEEKDATA, pid, (void *)regs.rsp, NULL);
		if (errno)
			break;
		while (regs.rip != back && step(pid, &regs))
			counts[seen]++;
		seen++;
	}
	return seen;
}

static bool judge(unsigned int n, const char *name, unsigned int with, unsigned int without)
{
	bool good = with >= without && with - without <= OFF_INSTRUCTIONS_MAX;

	if (!good)
		printf("# %u instructions with it, %u without\n", with, without);
	printf("%sok %u - off, %s costs at most %d instructions\n", good ? "" : "not ", n, name,
	       OFF_INSTRUCTIONS_MAX);
	return good;
}

int main(void)
{
	unsigned int counts[SUBJECTS] = { 0 }, n = 0, without = 0;
	bool failed = false;
	int status;
	pid_t pid = fork();

	if (!pid)
		child();
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status)) {
		printf("1..0 # SKIP a process may not trace its child here\n");
		return 0;
	}
	if (count_all(pid, counts) != SUBJECTS) {
		printf("1..1\n# single-stepping ended early\nnot ok 1\n");
		return 1;
	}
	for (size_t i = 0; i < SUBJECTS; i++) {
		if (subjects[i].baseline)
			without = counts[i];
		else
			failed |= !judge(++n, subjects[i].name, counts[i], without);
	}
	printf("1..%u\n", n);
	return failed;
}
