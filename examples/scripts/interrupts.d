/*
 * interrupts.d - from the exit that an interrupt makes to the vCPU's next entry into its guest, and
 * from an interrupt's injection to that entry, in ns: what an interrupt costs a guest in the
 * hypervisor.
 *
 *	ringside script -s examples/scripts/interrupts.d --on XENTRACE-FILE
 *
 * A physical CPU does one thing at a time, so it is the key; a vCPU that leaves it before it enters
 * its guest is not counted.
 */
#pragma D option quiet

xdt:hvm::intr
{
	exited[cpu] = timestamp;
}

xdt:hvm::virq-inject
{
	injected[cpu] = timestamp;
	@vectors[dom, args.vector] = count();
}

xdt:sched::off-cpu
{
	exited[cpu] = 0;
	injected[cpu] = 0;
}

xdt:hvm::vmentry
/exited[cpu]/
{
	@exit[dom] = quantize(timestamp - exited[cpu]);
	exited[cpu] = 0;
}

xdt:hvm::vmentry
/injected[cpu]/
{
	@inject[dom] = quantize(timestamp - injected[cpu]);
	injected[cpu] = 0;
}

END
{
	printa("domain %d: ns from a physical interrupt's exit to the entry%@d\n", @exit);
	printa("domain %d: ns from an injection to the entry%@d\n", @inject);
	printf("%6s %8s %8s\n", "DOMAIN", "VECTOR", "COUNT");
	printa("%6d %8x %@8d\n", @vectors);
}
