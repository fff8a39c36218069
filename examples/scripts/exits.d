/*
 * exits.d - exits to the VMM or the hypervisor, by VM, vCPU and reason.
 *
 *	ringside script -s examples/scripts/exits.d --on TRACE
 *
 * Xen's are xdt:hvm::vmexit; those of a VMM that uses Ringside's trace API are vmm:vcpu::exit.
 */
#pragma D option quiet
#pragma D option zdefs
#pragma D option aggsortrev

vmm:vcpu::exit, kvm:::exit
{
	@[vm, vcpu, stringof(args.reason)] = count();
}

xdt:hvm::vmexit
{
	@xen[dom, vcpu, stringof(args.reason)] = count();
}

END
{
	printf("%-16s %4s %-24s %s\n", "VM", "VCPU", "REASON", "COUNT");
	printa("%-16s %4d %-24s %@d\n", @);
	printa("dom%-13d %4d %-24s %@d\n", @xen);
}
