/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program whose allocations and calls are recorded. hooks.test links it with --wrap and
 * -finstrument-functions, records it, and has the expected numbers. argv: the trace's directory.
 */
#include <pthread.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include <ringside/recorder.h>
#include <ringside/trace.h>

#include <ringside/memory.h>

#define THREADS 2
#define EACH	103
#define FREED	97

__attribute__((noinline)) void *allocate(size_t bytes);
__attribute__((noinline)) void *allocate(size_t bytes)
{
	void *memory = malloc(bytes);

	__asm__ volatile("" : : : "memory"); /* no tail call */
	return memory;
}

static void *thread(void *arg)
{
	void *memory[EACH];

	for (int i = 0; i < EACH; i++)
		memory[i] = allocate(1009);
	for (int i = 0; i < FREED; i++)
		free(memory[i]);
	return arg;
}

/* The C library calls this function. */
static int compare(const void *a, const void *b)
{
	free(allocate(2029));
	return *(const int *)a != *(const int *)b;
}

__attribute__((noinline)) static void others(void)
{
	const int values[] = { 1, 2 };
	size_t n = 2;

	void *memory = calloc(3, 2003);

	memory = realloc(memory, 5003);
	memory = realloc(memory, 3001);
	free(memory);
	free(realloc(NULL, 2011));
	memory = malloc(2017);
	memory = realloc(memory, 0); /* frees it */
	free(memory);
	if (!posix_memalign(&memory, 512, 2027))
		free(memory);
	free(aligned_alloc(256, 2048));
	free(NULL);
	lfind(&values[1], values, &n, sizeof(int), compare);
	rs_trace_stack("others");
}

uint64_t fibonacci(uint64_t n);
uint64_t fibonacci(uint64_t n)
{
	return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

/* hooks_cxx.cc; returns 0 on success. Weak, because the program without it is only C. */
int hooks_cxx(void) __attribute__((weak));

int main(int argc, char **argv)
{
	struct rs_recorder_options options = { .directory = argv[argc - 1] };
	struct rs_recorder *recorder;
	pthread_t threads[THREADS];
	struct rs_error *err;

	free(allocate(1013)); /* nothing is recorded yet */
	err = rs_clock_host(&options.clock);
	if (!err)
		err = rs_trace_start(&(struct rs_trace_options){ .provider = "hooks" });
	if (!err)
		err = rs_recorder_create(&options, &recorder);
	if (!err)
		err = rs_recorder_add_trace(recorder);
	if (err || !rs_memory_start(&(struct rs_memory_options){ .stacks = RS_STACKS_FRAMES }))
		return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, thread, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	others();
	if (fibonacci(10) != 55 || (hooks_cxx && hooks_cxx()))
		return 1;
	rs_trace_stop();
	free(allocate(1019)); /* nor anymore */
	return rs_recorder_close(recorder, NULL) != NULL;
}
