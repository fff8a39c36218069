/* SPDX-License-Identifier: BSD-2-Clause */
/* The guests of workload.c on x86, in real mode. They end with an OUT to PORT_END. */
#include <cpuid.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "workload.h"

#define HANDLER_GPA   0x800
#define FAULT_GPA     0x810
#define GP_VECTOR     13
#define STACK_STEP    0x100
#define STACK_GPA     0xf000
#define WAKE_VECTOR   0x40
#define WAKE_CLASS    0x10 /* the next priority's vectors are higher by this */
#define WAKE_AGAIN_MS 500

#define PORT_END  0x604
#define PORT_WAKE 0x605

#define APIC_SVR    0xf0 /* SDM 10.9: bit 8 enables the local APIC */
#define APIC_SVR_ON 0x1ff

static const struct action actions[] = {
	{ "io", "pio write", 0x3f8, CODE("\xba\xf8\x03\xee") },	     /* mov dx, 0x3f8; out dx, al */
	{ "io", "pio write", 0x80, CODE("\xe6\x80") },		     /* out 0x80, al */
	{ "io", "pio read", 0x3fd, CODE("\xba\xfd\x03\xec") },	     /* mov dx, 0x3fd; in al, dx */
	{ "io", "pio read", 0x71, CODE("\xe4\x71") },		     /* in al, 0x71 */
	{ "cpuid", "cpuid", 0, CODE("\x66\x31\xc0\x0f\xa2") },	     /* xor eax, eax; cpuid */
	{ "cpuid", "cpuid", 1, CODE("\x66\xb8\x01\0\0\0\x0f\xa2") }, /* mov eax, 1; cpuid */
	{ "cpuid", "cpuid", 0x40000000, CODE("\x66\xb8\0\0\0\x40\x0f\xa2") },
	{ "rdmsr", "msr read", 0xfe, CODE("\x66\xb9\xfe\0\0\0\x0f\x32") },    /* MTRRcap */
	{ "rdmsr", "msr read", 0x1a0, CODE("\x66\xb9\xa0\x01\0\0\x0f\x32") }, /* MISC_ENABLE */
	/* mov ecx, 0x12345678; rdmsr: an unknown register, which causes a #GP */
	{ "rdmsr", "msr read", 0x12345678, CODE("\x66\xb9\x78\x56\x34\x12\x0f\x32") },
	/* mov ecx, 0x200; xor eax, eax; xor edx, edx; wrmsr: the first variable MTRR */
	{ "wrmsr", "msr write", 0x200, CODE("\x66\xb9\0\x02\0\0\x66\x31\xc0\x66\x31\xd2\x0f\x30") },
	{ "mmio", "mmio write", 0xd0000, CODE("\xa2\0\0") },	/* mov [0], al */
	{ "mmio", "mmio read", 0xd1008, CODE("\xa0\x08\x10") }, /* mov al, [0x1008] */
	{ "hlt", NULL, 0, CODE("\xf4") },			/* by user space, or as HLT_WAKE */
	{ "hypercall", "hypercall", 1000, NULL, 0 },		/* by the processor's vendor */
};

/* mov dx, PORT_WAKE; out dx, al; sti; hlt; cli */
static const char hlt_wake[] = "\xba\x05\x06\xee\xfb\xf4\xfa";
/* mov eax, 1000; vmcall or vmmcall: an unknown hypercall; KVM returns an error and continues */
static const char vmcall[] = "\x66\xb8\xe8\x03\0\0\x0f\x01\xc1";
static const char vmmcall[] = "\x66\xb8\xe8\x03\0\0\x0f\x01\xd9";

/*
 * push bp; mov bp, sp; add word [bp + 2], 2; pop bp; iret: continues after the RDMSR that faulted
 */
static const char behind_rdmsr[] = "\x55\x89\xe5\x83\x46\x02\x02\x5d\xcf";

#define ACTIONS		 (sizeof(actions) / sizeof(*actions))
#define HLT_ACTION	 (ACTIONS - 2)
#define HYPERCALL_ACTION (ACTIONS - 1)

static const char *const kinds[] = {
	"io", "cpuid", "rdmsr", "wrmsr", "mmio", "hlt", "hypercall", NULL,
};

const struct arch arch = {
	actions, ACTIONS, HLT_ACTION, kinds, "io", "pio write", PORT_END, PORT_WAKE,
};

bool arch_does(unsigned int action)
{
	return action != HYPERCALL_ACTION || !options.no_hypercall;
}

static void action_code(unsigned int action, const char **code, size_t *bytes)
{
	uint32_t a = 0, b = 0, c = 0, d = 0;

	*code = actions[action].code;
	*bytes = actions[action].bytes;
	if (action == HLT_ACTION && options.irqchip) {
		*code = hlt_wake;
		*bytes = sizeof(hlt_wake) - 1;
	}
	if (action == HYPERCALL_ACTION) {
		__cpuid(0, a, b, c, d);
		*code = b == signature_INTEL_ebx ? vmcall : vmmcall;
		*bytes = sizeof(vmcall) - 1;
	}
}

void arch_program(struct vcpu *vcpu)
{
	unsigned char *start = vcpu->vm->memory + CODE_GPA + vcpu->number * CODE_STEP, *p = start;
	const char *code;
	size_t bytes;

#define PUT(text)      (memcpy(p, text, sizeof(text) - 1), p += sizeof(text) - 1)
#define PUT_U32(value) (memcpy(p, &(uint32_t){ value }, 4), p += 4)
	PUT("\x66\xbe"); /* mov esi, rounds */
	PUT_U32(options.rounds);
	for (unsigned int i = 0; i < ACTIONS; i++) {
		if (vcpu->counts[i] == 0)
			continue;
		PUT("\x66\xbf"); /* mov edi, count */
		PUT_U32(vcpu->counts[i] / options.rounds);
		action_code(i, &code, &bytes);
		memcpy(p, code, bytes);
		p += bytes;
		PUT("\x66\x4f\x75"); /* dec edi; jnz back */
		*p = (unsigned char)-(int)(bytes + 4);
		p++;
	}
	PUT("\x66\x4e\x0f\x84\x03\0"); /* dec esi; jz over */
	PUT("\xe9");		       /* jmp back to the first loop */
	memcpy(p, &(uint16_t){ (uint16_t)(start + 6 - (p + 2)) }, 2);
	p += 2;
	PUT("\xba\x04\x06\xee\xf4"); /* mov dx, PORT_END; out dx, al; hlt */
	if (p - start > CODE_STEP)
		die("program too long");
#undef PUT
#undef PUT_U32
}

void arch_vm(struct vm *vm)
{
	ioctl(vm->fd, KVM_SET_TSS_ADDR, 0xfffbd000); /* only VMX needs it */
	if (options.irqchip)
		check(ioctl(vm->fd, KVM_CREATE_IRQCHIP, 0), "KVM_CREATE_IRQCHIP");
	for (int vector = WAKE_VECTOR; vector <= 0xff; vector += WAKE_CLASS)
		memcpy(vm->memory + vector * 4, &(uint32_t){ HANDLER_GPA }, 4);
	vm->memory[HANDLER_GPA] = 0xcf; /* iret */
	memcpy(vm->memory + GP_VECTOR * 4, &(uint32_t){ FAULT_GPA }, 4);
	memcpy(vm->memory + FAULT_GPA, behind_rdmsr, sizeof(behind_rdmsr) - 1);
}

void arch_vcpu(struct vcpu *vcpu, int kvm)
{
	struct {
		struct kvm_cpuid2 head;
		struct kvm_cpuid_entry2 entries[256];
	} cpuid = { .head.nent = 256 };
	struct kvm_sregs sregs;
	struct kvm_regs regs = { .rflags = 2 };
	struct kvm_lapic_state *lapic;

	check(ioctl(kvm, KVM_GET_SUPPORTED_CPUID, &cpuid), "KVM_GET_SUPPORTED_CPUID");
	check(ioctl(vcpu->fd, KVM_SET_CPUID2, &cpuid), "KVM_SET_CPUID2");
	check(ioctl(vcpu->fd, KVM_GET_SREGS, &sregs), "KVM_GET_SREGS");
	sregs.cs.selector = 0;
	sregs.cs.base = 0;
	sregs.ds.selector = 0xd000;
	sregs.ds.base = 0xd0000;
	check(ioctl(vcpu->fd, KVM_SET_SREGS, &sregs), "KVM_SET_SREGS");
	regs.rip = CODE_GPA + (uint64_t)vcpu->number * CODE_STEP;
	regs.rsp = STACK_GPA - (uint64_t)vcpu->number * STACK_STEP;
	check(ioctl(vcpu->fd, KVM_SET_REGS, &regs), "KVM_SET_REGS");
	if (!options.irqchip)
		return;
	check(ioctl(vcpu->fd, KVM_SET_MP_STATE, &(struct kvm_mp_state){ KVM_MP_STATE_RUNNABLE }),
	      "KVM_SET_MP_STATE");
	vcpu->own = lapic = malloc(sizeof(*lapic));
	if (!lapic)
		die("no memory");
	check(ioctl(vcpu->fd, KVM_GET_LAPIC, lapic), "KVM_GET_LAPIC");
	memcpy(lapic->regs + APIC_SVR, &(uint32_t){ APIC_SVR_ON }, 4);
}

enum after_exit arch_exit(const struct kvm_run *run)
{
	if (run->exit_reason == KVM_EXIT_IO)
		return run->io.port == PORT_END ? ENDED : run->io.port == PORT_WAKE ? WAKE : GO_ON;
	return run->exit_reason == KVM_EXIT_MMIO || run->exit_reason == KVM_EXIT_HLT ? GO_ON
										     : STRANGE;
}

/* The guests never acknowledge an interrupt. */
void arch_calm(struct vcpu *vcpu)
{
	check(ioctl(vcpu->fd, KVM_SET_LAPIC, vcpu->own), "KVM_SET_LAPIC");
}

/*
 * Interrupts the vCPU a moment after each of its requests, and again if it does not continue:
 * QEMU's SVM sometimes does not delay an interrupt until the HLT after STI. The first interrupt is
 * then in service, because the guests never acknowledge one, so that each further one has a higher
 * priority. A superfluous interrupt stays pending in the APIC, and the next request clears it.
 */
void *arch_waker(void *arg)
{
	struct vcpu *vcpu = arg;
	struct pollfd again = { .fd = vcpu->wake_fd, .events = POLLIN };
	uint64_t asked;

	while (read(vcpu->wake_fd, &asked, sizeof(asked)) == sizeof(asked)) {
		struct kvm_msi msi = {
			.address_lo = 0xfee00000u | (uint32_t)vcpu->number << 12,
			.data = WAKE_VECTOR,
		};

		do {
			usleep(WAKE_US);
			check(ioctl(vcpu->vm->fd, KVM_SIGNAL_MSI, &msi), "KVM_SIGNAL_MSI");
			msi.data += WAKE_CLASS;
		} while (msi.data <= 0xff && !poll(&again, 1, WAKE_AGAIN_MS) && !vcpu->over);
	}
	return NULL;
}
