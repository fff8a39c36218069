/*
 * exit_rips.d - the $1 guest instructions that exit most, with the reason: time of a guest that is
 * invisible to its own profiler.
 *
 *	ringside script -s examples/scripts/exit_rips.d --on TRACE 20
 */
#pragma D option quiet
#pragma D option zdefs
#pragma D option aggsortrev

xdt:hvm::vmexit
{
	@xen[dom, stringof(args.reason), args.rip] = count();
}

kvm:vmx::exit, kvm:svm::exit
{
	@kvm[vm, stringof(args.reason), args.rip] = count();
}

END
{
	trunc(@xen, $1);
	trunc(@kvm, $1);
	printf("%-16s %-24s %18s %8s\n", "VM", "REASON", "RIP", "COUNT");
	printa("dom%-13d %-24s %#18x %@8d\n", @xen);
	printa("%-16s %-24s %#18x %@8d\n", @kvm);
}
