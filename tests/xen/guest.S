/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A PVH guest for Xen with known exits: CPUIDS of CPUID and CALLS of hypercalls, one more of each
 * (to find the hypercall page, to shut down), WRITES of OUT, one WRMSR; and the host's interrupts
 * while it runs. It begins at its note's address, in 32-bit mode, no paging, EBX at hvm_start_info
 * (Xen's docs/misc/pvh.pandoc).
 */
#define XEN_ELFNOTE_PHYS32_ENTRY 18
#define HYPERCALL_XEN_VERSION	 17
#define HYPERCALL_SCHED_OP	 29
#define SCHEDOP_SHUTDOWN	 2
#define PORT			 0x2f0 /* nobody's */

	.section .note.Xen, "a", @note
	.long	4, 4, XEN_ELFNOTE_PHYS32_ENTRY
	.asciz	"Xen"
	.long	_start

	.text
	.code32
	.globl	_start
_start:
	mov	$stack, %esp
	/* EBX: the MSR to which a page's address is written, to be filled with calls. */
	mov	$0x40000002, %eax
	cpuid
	mov	%ebx, %ecx
	mov	$calls, %eax
	xor	%edx, %edx
	wrmsr

	mov	$CPUIDS, %esi
1:	xor	%eax, %eax
	cpuid
	dec	%esi
	jnz	1b

	mov	$CALLS, %esi
2:	mov	$calls + HYPERCALL_XEN_VERSION * 32, %eax
	xor	%ebx, %ebx /* XENVER_version */
	xor	%ecx, %ecx
	call	*%eax
	dec	%esi
	jnz	2b

	mov	$WRITES, %esi
	mov	$PORT, %dx
3:	out	%al, %dx
	dec	%esi
	jnz	3b

	mov	$calls + HYPERCALL_SCHED_OP * 32, %eax
	mov	$SCHEDOP_SHUTDOWN, %ebx
	mov	$reason, %ecx
	call	*%eax
4:	hlt
	jmp	4b

	.data
reason:	.long	0 /* SHUTDOWN_poweroff */

	.bss
	.balign	4096
calls:	.skip	4096
	.skip	4096
stack:

	.section .note.GNU-stack, "", @progbits
