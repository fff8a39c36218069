/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The guests of workload.c on arm64, at EL1 without an MMU, interrupts masked. They end with a
 * write to END_GPA. Numbers of instructions: Arm ARM (DDI 0487), C6.2.
 */
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "workload.h"

#define END_GPA	 0xe0000
#define WAKE_GPA 0xe0008

/*
 * Registers: x1 has addresses, x19 counts an action, x20 the rounds. A hypercall changes x0 to x3.
 */
#define COUNTER		  19
#define ROUNDS		  20
#define MOVZ(reg, value)  (0x52800000u | ((value) & 0xffff) << 5 | (reg))
#define MOVK_HIGH(reg, v) (0x72a00000u | (v) >> 16 << 5 | (reg))
#define DECREMENT(reg)	  (0x71000400u | (reg) << 5 | (reg)) /* subs wN, wN, #1 */
#define JUMP_NOT_ZERO(by) (0x54000001u | ((uint32_t)(by) & 0x7ffff) << 5)
#define MOV_END		  0x52a001c1u /* mov w1, #END_GPA */
#define STORE		  0xb9000020u /* str w0, [x1] */

static const struct action actions[] = {
	/* mov w1, #0xd0000; str w0, [x1] */
	{ "mmio", "mmio write", 0xd0000, CODE("\xa1\x01\xa0\x52\x20\0\0\xb9") },
	/* mov w1, #0x1008; movk w1, #0xd, lsl #16; ldr w0, [x1] */
	{ "mmio", "mmio read", 0xd1008, CODE("\x01\x01\x82\x52\xa1\x01\xa0\x72\x20\0\x40\xb9") },
	/* mov w0, #1000; hvc #0: an unknown hypercall; KVM returns an error and continues */
	{ "hypercall", "hypercall", 1000, CODE("\0\x7d\x80\x52\x02\0\0\xd4") },
	{ "smc", NULL, 0, CODE("\0\x7d\x80\x52\x03\0\0\xd4") },
	{ "sysreg", "sysreg read", 0xc020, CODE("\0\x04\x38\xd5") }, /* mrs x0, id_aa64pfr0_el1 */
	{ "sysreg", "sysreg write", 0x8084, CODE("\x9f\x10\x10\xd5") }, /* msr oslar_el1, xzr */
	/* mov w1, #0xe0000; str w0, [x1, #8]; wfi */
	{ "wfi", NULL, 0, CODE("\xc1\x01\xa0\x52\x20\x08\0\xb9\x7f\x20\x03\xd5") },
};

#define ACTIONS		 (sizeof(actions) / sizeof(*actions))
#define HYPERCALL_ACTION 2
#define WFI_ACTION	 (ACTIONS - 1)

/* No "wfi": if any interrupt is pending, even the host's, WFI does nothing and does not exit. */
static const char *const kinds[] = { "mmio", "hypercall", "smc", "sysreg", NULL };

const struct arch arch = {
	actions, ACTIONS, WFI_ACTION, kinds, "mmio", "mmio write", END_GPA, WAKE_GPA,
};

/* KVM always blocks in WFI; `irqchip` says that something will interrupt it. */
bool arch_does(unsigned int action)
{
	return (action != HYPERCALL_ACTION || !options.no_hypercall) &&
	       (action != WFI_ACTION || options.irqchip);
}

void arch_program(struct vcpu *vcpu)
{
	uint32_t *start = (void *)(vcpu->vm->memory + CODE_GPA + vcpu->number * CODE_STEP);
	uint32_t *p = start, *first;

	*p++ = MOVZ(ROUNDS, options.rounds);
	*p++ = MOVK_HIGH(ROUNDS, options.rounds);
	first = p;
	for (unsigned int i = 0; i < ACTIONS; i++) {
		uint32_t count = vcpu->counts[i] / options.rounds, words = actions[i].bytes / 4u;

		if (count == 0)
			continue;
		*p++ = MOVZ(COUNTER, count);
		*p++ = MOVK_HIGH(COUNTER, count);
		memcpy(p, actions[i].code, actions[i].bytes);
		p += words;
		*p++ = DECREMENT(COUNTER);
		*p++ = JUMP_NOT_ZERO(-(int)(words + 1));
	}
	*p++ = DECREMENT(ROUNDS);
	*p = JUMP_NOT_ZERO(first - p);
	p++;
	*p++ = MOV_END;
	*p++ = STORE;
	if ((p - start) * 4 > CODE_STEP)
		die("program too long");
}

/* Without an interrupt controller, the vCPU's own line is the only interrupt. */
void arch_vm(struct vm *vm)
{
	(void)vm;
}

void arch_vcpu(struct vcpu *vcpu, int kvm)
{
	struct kvm_vcpu_init init;
	uint64_t pc = CODE_GPA + (uint64_t)vcpu->number * CODE_STEP;
	struct kvm_one_reg reg = {
		.id = KVM_REG_ARM64 | KVM_REG_SIZE_U64 | KVM_REG_ARM_CORE |
		      KVM_REG_ARM_CORE_REG(regs.pc),
		.addr = (uint64_t)(uintptr_t)&pc,
	};

	(void)kvm;
	check(ioctl(vcpu->vm->fd, KVM_ARM_PREFERRED_TARGET, &init), "KVM_ARM_PREFERRED_TARGET");
	check(ioctl(vcpu->fd, KVM_ARM_VCPU_INIT, &init), "KVM_ARM_VCPU_INIT");
	check(ioctl(vcpu->fd, KVM_SET_ONE_REG, &reg), "KVM_SET_ONE_REG");
}

enum after_exit arch_exit(const struct kvm_run *run)
{
	if (run->exit_reason != KVM_EXIT_MMIO)
		return STRANGE;
	if (!run->mmio.is_write)
		return GO_ON;
	if (run->mmio.phys_addr == END_GPA)
		return ENDED;
	return run->mmio.phys_addr == WAKE_GPA ? WAKE : GO_ON;
}

static void set_line(struct vcpu *vcpu, uint32_t level)
{
	struct kvm_irq_level line = {
		.irq = KVM_ARM_IRQ_TYPE_CPU << KVM_ARM_IRQ_TYPE_SHIFT |
		       (uint32_t)vcpu->number << KVM_ARM_IRQ_VCPU_SHIFT | KVM_ARM_IRQ_CPU_IRQ,
		.level = level,
	};

	check(ioctl(vcpu->vm->fd, KVM_IRQ_LINE, &line), "KVM_IRQ_LINE");
}

void arch_calm(struct vcpu *vcpu)
{
	set_line(vcpu, 0);
}

static bool asleep(int tid)
{
	char path[64], line[512] = "", *state;
	FILE *stat;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	stat = fopen(path, "r");
	if (!stat || !fgets(line, sizeof(line), stat))
		die(path);
	fclose(stat);
	state = strrchr(line, ')'); /* "TID (NAME) STATE ..." */
	return state && state[1] == ' ' && state[2] == 'S';
}

/*
 * Waits until the vCPU sleeps. After the request for a wake-up, its thread sleeps only in that WFI.
 * If its WFI did nothing, the next action's request is the second one.
 */
void *arch_waker(void *arg)
{
	struct vcpu *vcpu = arg;
	uint64_t asked;

	while (read(vcpu->wake_fd, &asked, sizeof(asked)) == sizeof(asked)) {
		do
			usleep(WAKE_US);
		while (!asleep(vcpu->tid));
		set_line(vcpu, 1);
	}
	return NULL;
}
