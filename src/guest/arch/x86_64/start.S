/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kit's entry and its exception stubs, x86-64.
 *
 * _start: RDI is the vCPU's struct rs_kit_boot, RSP the top of its stack (kit_abi.h).
 */
#include "guest/kit/layout.h"

	.text
	.globl	_start
	.type	_start, @function
_start:
	xorl	%ebp, %ebp
	subq	$RS_KIT_VCPU_BYTES, %rsp
	cld
	call	rs_kit_main
1:	hlt
	jmp	1b
	.size	_start, . - _start

/*
 * One stub per exception, 16 bytes apart. The processor has pushed SS, RSP, RFLAGS, CS, RIP and,
 * for some exceptions, an error code. The stubs push the rest, so that all have an error code (or
 * 0) and a vector.
 */
	.macro	stub vector has_error
	.balign	16
	.if	\has_error == 0
	pushq	$0
	.endif
	pushq	$\vector
	jmp	exception
	.endm

	.balign	16
	.globl	rs_kit_stubs
	.hidden	rs_kit_stubs
rs_kit_stubs:
	.irp	vector, 0,1,2,3,4,5,6,7
	stub	\vector 0
	.endr
	stub	8 1		/* double fault */
	stub	9 0
	.irp	vector, 10,11,12,13,14
	stub	\vector 1	/* TSS, segment, stack, protection, page */
	.endr
	stub	15 0
	stub	16 0
	stub	17 1		/* alignment */
	.irp	vector, 18,19,20
	stub	\vector 0
	.endr
	stub	21 1		/* control protection */
	.irp	vector, 22,23,24,25,26,27,28
	stub	\vector 0
	.endr
	stub	29 1		/* VMM communication */
	stub	30 1		/* security */
	stub	31 0

/*
 * Saves the rest of struct rs_kit_frame and calls C. The processor aligned RSP to 16 before it
 * pushed 5 words. With the 2 words of the stub and 15 here, RSP is a multiple of 16 again.
 *
 * The return does not use IRETQ, because KVM's instruction emulator does not implement it in long
 * mode, and a KVM without hardware virtualization emulates each guest instruction. Handler and
 * interrupted code have the same privilege and code segment, so RFLAGS and RIP are stored below the
 * interrupted stack, for POPFQ and RET. Two words below RSP are free, because there is no red zone.
 *
 * The CFI uses the address of the processor's RIP as the CFA. The interrupted RSP follows it in
 * memory.
 */
	.cfi_sections .debug_frame

	.macro save register
	pushq	%\register
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset \register, 0
	.endm

	.macro restore register
	popq	%\register
	.cfi_adjust_cfa_offset -8
	.cfi_same_value \register
	.endm

	.type	exception, @function
exception:
	.cfi_startproc simple
	.cfi_signal_frame
	.cfi_def_cfa rsp, 16
	.cfi_offset rip, 0
	.cfi_offset rsp, 24
	save	rax
	save	rbx
	save	rcx
	save	rdx
	save	rsi
	save	rdi
	save	rbp
	save	r8
	save	r9
	save	r10
	save	r11
	save	r12
	save	r13
	save	r14
	save	r15
	movq	%rsp, %rdi
	cld
	call	rs_kit_exception
	movq	17*8(%rsp), %rax	/* rip */
	movq	19*8(%rsp), %rcx	/* rflags */
	movq	20*8(%rsp), %rdx	/* rsp */
	movq	%rax, -8(%rdx)
	movq	%rcx, -16(%rdx)
	subq	$16, %rdx
	movq	%rdx, 16*8(%rsp)	/* the error code's place: read last */
	restore	r15
	restore	r14
	restore	r13
	restore	r12
	restore	r11
	restore	r10
	restore	r9
	restore	r8
	restore	rbp
	restore	rdi
	restore	rsi
	restore	rdx
	restore	rcx
	restore	rbx
	restore	rax
	movq	8(%rsp), %rsp		/* from the error code's place */
	.cfi_def_cfa rsp, 16
	.cfi_offset rip, -8
	.cfi_escape 0x14, 7, 0	/* DW_CFA_val_offset rsp, 0: clang has no directive for it */
	popfq
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_endproc
	.size	exception, . - exception

	.section .note.GNU-stack, "", @progbits
