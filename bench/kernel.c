/* SPDX-License-Identifier: BSD-2-Clause */
/* kernel CORE: the time to find a guest's Linux kernel in its memory, and to read its tasks. */
#include "bench.h"

#include "insight/task.h"
#include "introspect/core.h"

#define ROUNDS	  9u
#define VCPUS_MAX 16u

int main(int argc, char **argv)
{
	static struct rs_memory memory;
	static struct rs_linux_vcpu vcpus[VCPUS_MAX];
	double found[ROUNDS], read[ROUNDS];
	struct rs_linux_tasks tasks;
	struct rs_core *core;
	uint32_t n = 0;

	if (argc < 2) {
		fprintf(stderr, "usage: kernel CORE\n");
		return 2;
	}
	bench_must(rs_core_open(argv[1], &core));
	rs_core_memory(core, &memory);
	for (; n < VCPUS_MAX && rs_core_registers(core, n, &vcpus[n].regs); n++)
		vcpus[n].tr_base = rs_core_tr_base(core, n);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		uint64_t start = bench_ns(), middle;
		struct rs_linux *kernel;

		bench_must(rs_linux_open(&memory, vcpus, n, &kernel));
		middle = bench_ns();
		bench_must(rs_linux_tasks_read(kernel, &tasks));
		found[i] = (double)(middle - start) / 1e9;
		read[i] = (double)(bench_ns() - middle) / 1e9 / tasks.n * 1e6;
		rs_linux_tasks_deinit(&tasks);
		rs_linux_close(kernel);
	}
	bench_figure("kernel", bench_median(found, ROUNDS), "a task then takes %.1f us",
		     bench_median(read, ROUNDS));
	rs_core_close(core);
	return 0;
}
