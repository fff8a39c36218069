/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Prints what insight reads from a Linux guest's core, one fact in a line:
 *
 *	kernel CORE	version TEXT; slide N; symbols N; types N; cpu VCPU CPU PID COMM; time NS
 *	ways CORE	tr CPU gs CPU apic CPU same|other; and of the page tables in RAM:
 *			roots same|other
 *	halves CORE	halves N of N: of how many tasks' page tables the next page is the user's
 *	symbols CORE	ADDRESS NAME
 *	address CORE ADDRESS...		the symbol that each is in: NAME OFFSET
 *	modules CORE	of each module: module NAME ADDRESS; symbol ADDRESS NAME; why TEXT
 *	text CORE PID GVA	a text in the task's own memory
 *	registers CORE	of each task: kernel TID RIP RSP RBP; user TID RIP RSP RDI RSI RDX R10 R8 R9
 *
 *	stacks CORE	of each task: task TID; k ORIGIN ADDRESS NAME+OFFSET/SIZE [MODULE];
 *			u ORIGIN ADDRESS FUNCTION FILE:LINE MODULE; why k|u TEXT
 *	bare CORE	the same, as if the stack pointers of vCPUs were unknown
 *
 * An error is printed as "error: MESSAGE".
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "insight/image.h"
#include "insight/modules.h"
#include "insight/stack.h"
#include "introspect/core.h"

#define VCPUS_MAX 16u
#define PAGE	  4096u
#define RAM_BYTES (UINT64_C(256) << 20)

static struct rs_linux_vcpu vcpus[VCPUS_MAX];
static uint32_t n_vcpus;
static struct rs_linux *kernel;

static void need(struct rs_error *err)
{
	if (!err)
		return;
	printf("error: %s\n", rs_error_text(err));
	exit(1);
}

static void cpu_print(uint32_t vcpu)
{
	struct rs_linux_task task;
	uint64_t base, address;
	uint32_t cpu;

	need(rs_linux_cpu(kernel, &vcpus[vcpu], &cpu, &base));
	need(rs_linux_current(kernel, base, &address));
	need(rs_linux_task_read(kernel, address, &task));
	printf("cpu %u %u %d %s\n", vcpu, cpu, task.pid, task.comm);
}

/* Compares the processors found by tr alone and by gs alone, which must be equal. */
static void ways_print(void)
{
	for (uint32_t i = 0; i < n_vcpus; i++) {
		struct rs_linux_vcpu by_tr = vcpus[i], by_gs = vcpus[i];
		struct rs_linux_vcpu by_apic = { .no_bases = true, .apic_id = i };
		uint64_t base[3];
		uint32_t cpu[3];

		by_tr.regs.gs_base = by_tr.regs.k_gs_base = 0;
		by_gs.tr_base = 0;
		need(rs_linux_cpu(kernel, &by_tr, &cpu[0], &base[0]));
		need(rs_linux_cpu(kernel, &by_gs, &cpu[1], &base[1]));
		need(rs_linux_cpu(kernel, &by_apic, &cpu[2], &base[2]));
		printf("tr %u gs %u apic %u %s\n", cpu[0], cpu[1], cpu[2],
		       base[0] == base[1] && base[0] == base[2] ? "same" : "other");
	}
}

/* Finds the kernel again, without the vCPUs' own page tables. */
static void roots_print(const struct rs_memory *memory)
{
	static struct rs_memory by_roots;
	struct rs_linux_vcpu found[RS_IMAGE_ROOTS_MAX];
	uint64_t roots[RS_IMAGE_ROOTS_MAX];
	struct rs_linux *again;
	uint32_t n;

	by_roots = *memory;
	rs_memory_at(&by_roots, &vcpus[0].regs);
	n = rs_image_roots(&by_roots, 0, RAM_BYTES, roots, RS_IMAGE_ROOTS_MAX);
	for (uint32_t i = 0; i < n; i++) {
		found[i] = (struct rs_linux_vcpu){ .regs = vcpus[0].regs };
		found[i].regs.cr3 = roots[i];
	}
	need(rs_linux_open(&by_roots, found, n, &again));
	printf("roots %s\n", again->text == kernel->text ? "same" : "other");
	rs_linux_close(again);
}

static void kernel_print(void)
{
	int64_t realtime_ns, monotonic_ns;

	printf("version %s\nslide %" PRId64 "\nsymbols %u\ntypes %u\n", kernel->version,
	       rs_linux_slide(kernel), rs_kallsyms_count(kernel->symbols),
	       kernel->btf ? rs_btf_count(kernel->btf) : 0);
	if (kernel->no_btf)
		printf("no btf: %s\n", rs_error_text(kernel->no_btf));
	for (uint32_t i = 0; i < n_vcpus; i++)
		cpu_print(i);
	need(rs_linux_time(kernel, &realtime_ns, &monotonic_ns));
	printf("time %" PRId64 "\nuptime %" PRId64 "\n", realtime_ns, monotonic_ns);
}

/* Counts the processes' page tables whose next page is the user's half. */
static void halves_print(void)
{
	uint32_t n = 0, halves = 0;
	struct rs_linux_tasks tasks;

	need(rs_linux_tasks_read(kernel, &tasks));
	for (uint32_t i = 0; i < tasks.n; i++) {
		uint64_t root = tasks.tasks[i].cr3;

		n += root != 0;
		halves += root && rs_linux_is_root(kernel, root + PAGE, root);
	}
	rs_linux_tasks_deinit(&tasks);
	printf("halves %u of %u\n", halves, n);
}

static void symbols_print(void)
{
	struct rs_ksym sym;

	for (uint32_t i = 0; rs_kallsyms_at(kernel->symbols, i, &sym); i++)
		printf("%016" PRIx64 " %s\n", sym.address, sym.name);
}

static void address_print(const char *text)
{
	uint64_t address = strtoull(text, NULL, 16), size;
	const char *module;
	struct rs_ksym sym;

	if (rs_linux_symbol(kernel, address, &sym, &size, &module))
		printf("%s 0x%" PRIx64 "\n", sym.name, address - sym.address);
	else
		printf("-\n");
}

static void modules_print(void)
{
	const struct rs_modules *modules;
	struct rs_ksym sym;
	uint64_t size;

	need(rs_modules_read(kernel, &modules));
	for (uint32_t i = 0; i < modules->n; i++) {
		const struct rs_linux_module *m = &modules->modules[i];

		printf("module %s 0x%" PRIx64 "\n", m->facts.name, m->facts.parts[0].from);
		for (uint32_t s = 0; rs_linux_module_symbol(m, s, &sym, &size); s++)
			printf("symbol %016" PRIx64 " %s\n", sym.address, sym.name);
	}
	if (modules->damage)
		printf("why %s\n", rs_error_text(modules->damage));
}

static struct rs_linux_task task_of(const char *pid)
{
	struct rs_linux_tasks tasks;

	need(rs_linux_tasks_read(kernel, &tasks));
	for (uint32_t i = 0; i < tasks.n; i++)
		if (tasks.tasks[i].pid == atoi(pid)) {
			struct rs_linux_task task = tasks.tasks[i];

			rs_linux_tasks_deinit(&tasks);
			return task;
		}
	printf("error: no task %s\n", pid);
	exit(1);
}

static void text_print(const char *pid, const char *gva)
{
	struct rs_linux_task task = task_of(pid);
	static struct rs_memory memory;
	char text[128];
	enum rs_fault fault;

	need(rs_linux_task_memory(kernel, &task, &memory));
	fault = rs_memory_read_text(&memory, strtoull(gva, NULL, 0), text, sizeof(text), NULL);
	printf("%s\n", fault ? rs_fault_text(fault) : text);
}

static void task_registers_print(const struct rs_linux_task *task)
{
	static const uint8_t arguments[] = { 7, 5, 4, 3, 10, 8, 9 };
	struct rs_x86_regs regs;
	struct rs_error *err = rs_linux_task_registers(kernel, task, &regs);

	if (!err)
		printf("kernel %d 0x%" PRIx64 " 0x%" PRIx64 " 0x%" PRIx64 "\n", task->pid, regs.rip,
		       regs.gpr[7], regs.gpr[6]);
	else
		printf("error: kernel %d %s\n", task->pid, rs_error_text(err));
	rs_error_free(err);
	err = rs_linux_user_registers(kernel, task, &regs);
	if (!err) {
		printf("user %d 0x%" PRIx64, task->pid, regs.rip);
		for (uint32_t i = 0; i < sizeof(arguments); i++)
			printf(" 0x%" PRIx64, regs.gpr[arguments[i]]);
		printf("\n");
	} else {
		printf("error: user %d %s\n", task->pid, rs_error_text(err));
	}
	rs_error_free(err);
}

static void registers_print(void)
{
	struct rs_linux_tasks tasks;

	need(rs_linux_tasks_read(kernel, &tasks));
	for (uint32_t i = 0; i < tasks.n; i++)
		task_registers_print(&tasks.tasks[i]);
	rs_linux_tasks_deinit(&tasks);
}

static void user_frame_print(struct rs_stacks *stacks, const struct rs_linux_stack *stack,
			     uint32_t i)
{
	struct rs_frame frames[RS_SYMBOL_FRAMES_MAX];
	uint32_t n = rs_stacks_lookup(stacks, stack, i, frames, RS_SYMBOL_FRAMES_MAX);

	for (uint32_t f = 0; f < n; f++)
		printf(" %s %s:%u %s", frames[f].function ? frames[f].function : "-",
		       frames[f].file ? frames[f].file : "-", frames[f].line, frames[f].module);
}

static void frame_print(struct rs_stacks *stacks, const struct rs_linux_stack *stack, uint32_t i)
{
	const struct rs_linux_frame *frame = &stack->frames[i];
	bool is_kernel = i < stack->n_kernel;
	static const char *const origins[] = { "registers", "orc", "cfi", "guess", "pointer" };
	uint64_t at = frame->address - !frame->is_exact, size = 0;
	const char *module;
	struct rs_ksym sym;

	printf("%c %s 0x%" PRIx64, is_kernel ? 'k' : 'u', origins[frame->origin], frame->address);
	if (is_kernel && rs_linux_symbol(kernel, at, &sym, &size, &module))
		printf(" %s+0x%" PRIx64 "/0x%" PRIx64 "%s%s%s", sym.name,
		       frame->address - sym.address, size, module ? " [" : "", module ? module : "",
		       module ? "]" : "");
	else if (!is_kernel)
		user_frame_print(stacks, stack, i);
	printf("\n");
}

static const struct rs_linux_vcpu *vcpu_of(const struct rs_linux_task *task)
{
	uint64_t base, address;
	uint32_t cpu;

	for (uint32_t i = 0; i < n_vcpus; i++) {
		need(rs_linux_cpu(kernel, &vcpus[i], &cpu, &base));
		need(rs_linux_current(kernel, base, &address));
		if (address == task->address)
			return &vcpus[i];
	}
	return NULL;
}

static void stacks_print(bool without_sp)
{
	static struct rs_linux_stack stack;
	struct rs_stacks *stacks;
	struct rs_linux_tasks tasks;

	need(rs_linux_tasks_read(kernel, &tasks));
	need(rs_stacks_create(kernel, NULL, &stacks));
	for (uint32_t i = 0; i < tasks.n; i++) {
		const struct rs_linux_vcpu *vcpu = vcpu_of(&tasks.tasks[i]);
		struct rs_linux_vcpu bare;

		printf("task %d\n", tasks.tasks[i].pid);
		if (vcpu && without_sp) {
			bare = *vcpu;
			bare.no_sp = true;
			bare.regs.gpr[7] = 0;
			vcpu = &bare;
		}
		need(rs_stacks_read(stacks, &tasks.tasks[i], vcpu, &stack));
		for (uint32_t f = 0; f < stack.n; f++)
			frame_print(stacks, &stack, f);
		if (*stack.kernel_why)
			printf("why k %s\n", stack.kernel_why);
		if (*stack.user_why)
			printf("why u %s\n", stack.user_why);
	}
	rs_stacks_destroy(stacks);
	rs_linux_tasks_deinit(&tasks);
}

int main(int argc, char **argv)
{
	static struct rs_memory memory;
	const char *what = argc > 2 ? argv[1] : "";
	struct rs_core *core;

	if (argc < 3)
		return 2;
	need(rs_core_open(argv[2], &core));
	rs_core_memory(core, &memory);
	for (; n_vcpus < VCPUS_MAX && rs_core_registers(core, n_vcpus, &vcpus[n_vcpus].regs);
	     n_vcpus++)
		vcpus[n_vcpus].tr_base = rs_core_tr_base(core, n_vcpus);
	need(rs_linux_open(&memory, vcpus, n_vcpus, &kernel));
	if (!strcmp(what, "kernel"))
		kernel_print();
	else if (!strcmp(what, "ways"))
		ways_print(), roots_print(&memory);
	else if (!strcmp(what, "halves"))
		halves_print();
	else if (!strcmp(what, "symbols"))
		symbols_print();
	else if (!strcmp(what, "address"))
		for (int i = 3; i < argc; i++)
			address_print(argv[i]);
	else if (!strcmp(what, "modules"))
		modules_print();
	else if (!strcmp(what, "text") && argc == 5)
		text_print(argv[3], argv[4]);
	else if (!strcmp(what, "registers"))
		registers_print();
	else if (!strcmp(what, "stacks") || !strcmp(what, "bare"))
		stacks_print(*what == 'b');
	else
		return 2;
	rs_linux_close(kernel);
	rs_core_close(core);
	return 0;
}
