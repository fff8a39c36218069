/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The entry points of the test kernel, x86-64: of the boot processor by PVH (a 32-bit entry with
 * paging off, which an ELF note names), of the other processors by SIPI in real mode, and of the
 * timer's interrupt.
 *
 * Page tables map the first 8 GiB to themselves, except that addresses from 2 GiB on map the RAM
 * from 4 GiB on. They also map the first GiB at KERNEL_BASE. So a virtual address less KERNEL_BASE
 * is the physical one, also of RAM at 4 GiB.
 */
#define TRAMPOLINE  0x8000
#define STACK_BYTES 0x4000

#define MSR_EFER 0xc0000080
#define APIC_ID	 0xfee00020

	.section .note.pvh, "a", @note
	.balign	4
	.long	4, 4, 18		/* "Xen", XEN_ELFNOTE_PHYS32_ENTRY */
	.asciz	"Xen"
	.long	pvh_entry

	.section .boot, "awx"
	.code32
	.globl	pvh_entry
pvh_entry:
	cli
	cld
	movl	%ebx, start_info
	/* Some loaders of ELF files do not clear this again at a reset. */
	movl	$bss_from, %edi
	movl	$bss_bytes, %ecx
	xorl	%eax, %eax
	rep stosb
	/* 8 tables of 2 MiB pages. */
	movl	$tables_2m, %edi
	movl	$0x83, %eax		/* present, writable, large */
	xorl	%edx, %edx
	movl	$(8 * 512), %ecx
1:	movl	%eax, (%edi)
	movl	%edx, 4(%edi)
	addl	$8, %edi
	addl	$0x200000, %eax
	adcl	$0, %edx
	loop	1b
	movl	$table_low, %edi
	movl	$(tables_2m + 3), %eax
	movl	$8, %ecx
2:	movl	%eax, (%edi)
	addl	$8, %edi
	addl	$0x1000, %eax
	loop	2b
	movl	$(tables_2m + 4 * 4096 + 3), table_low + 2 * 8
	movl	$(tables_2m + 3), table_high + 510 * 8
	movl	$(table_low + 3), table_top
	movl	$(table_high + 3), table_top + 511 * 8
	/* The other processors' entry, at an address that a SIPI can name. */
	movl	$trampoline, %esi
	movl	$TRAMPOLINE, %edi
	movl	$(trampoline_end - trampoline), %ecx
	rep movsb

long_mode:
	lgdt	gdt_pointer
	movl	$(1 << 5), %eax		/* PAE */
	movl	%eax, %cr4
	movl	$table_top, %eax
	movl	%eax, %cr3
	movl	$MSR_EFER, %ecx
	rdmsr
	orl	$(1 << 8), %eax		/* LME */
	wrmsr
	movl	$0x80000011, %eax	/* PG, ET, PE */
	movl	%eax, %cr0
	ljmpl	$8, $1f
	.code64
1:	movl	$16, %eax
	movl	%eax, %ds
	movl	%eax, %es
	movl	%eax, %ss
	/*
	 * Each processor's number is its APIC ID, which VMMs assign in the order of vCPUs. Its
	 * stack depends on the order in which processors start.
	 */
	movl	$1, %eax
	lock xaddl %eax, processors
	incl	%eax
	imull	$STACK_BYTES, %eax
	movabsq	$stacks, %rsp
	addq	%rax, %rsp
	movl	$APIC_ID, %eax
	movl	(%rax), %edi
	shrl	$24, %edi
	movl	start_info, %esi
	movabsq	$kernel_main, %rax
	xorl	%ebp, %ebp
	call	*%rax
2:	cli
	hlt
	jmp	2b

	/* In real mode, at TRAMPOLINE. */
	.code16
trampoline:
	cli
	xorw	%ax, %ax
	movw	%ax, %ds
	lgdtl	TRAMPOLINE + gdt_pointer_low - trampoline
	movl	$1, %eax
	movl	%eax, %cr0
	ljmpl	$24, $protected
	.balign	8
gdt_pointer_low:
	.word	gdt_end - gdt - 1
	.long	gdt
trampoline_end:
	.code32
protected:
	movl	$16, %eax
	movl	%eax, %ds
	movl	%eax, %es
	movl	%eax, %ss
	jmp	long_mode

	.balign	8
gdt:	.quad	0
	.quad	0x00af9b000000ffff	/* 8: 64-bit code */
	.quad	0x00cf93000000ffff	/* 16: data */
	.quad	0x00cf9b000000ffff	/* 24: 32-bit code */
gdt_end:
	.balign	8
gdt_pointer:
	.word	gdt_end - gdt - 1
	.quad	gdt
start_info:
	.long	0
processors:
	.long	0

	.section .tables, "aw", @nobits
	.balign	4096
table_top:
	.skip	4096
table_low:
	.skip	4096
table_high:
	.skip	4096
tables_2m:
	.skip	8 * 4096
	.globl	table_high, table_shared
table_shared:
	.skip	4096

	.text
	.code64
	/* Returns by POPFQ and RET: KVM's instruction emulator has no IRETQ in long mode. */
	.globl	timer_entry
timer_entry:
	.irp	register, rax, rcx, rdx, rsi, rdi, r8, r9, r10, r11
	pushq	%\register
	.endr
	cld
	call	timer_interrupt
	movq	9*8(%rsp), %rax		/* rip */
	movq	11*8(%rsp), %rcx	/* rflags */
	movq	12*8(%rsp), %rdx	/* rsp */
	movq	%rax, -8(%rdx)
	movq	%rcx, -16(%rdx)
	subq	$16, %rdx
	movq	%rdx, 9*8(%rsp)
	.irp	register, r11, r10, r9, r8, rdi, rsi, rdx, rcx, rax
	popq	%\register
	.endr
	movq	(%rsp), %rsp
	popfq
	ret

	.bss
	.balign	16
stacks:	.skip	3 * STACK_BYTES

	.section .note.GNU-stack, "", @progbits
