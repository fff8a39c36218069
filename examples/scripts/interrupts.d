/*
 * interrupts.d - from the exit that an interrupt causes to the vCPU's next entry into its guest,
 * and from an interrupt's injection to that entry, in ns: the cost of an interrupt in the
 * hypervisor.
 *
 *	ringside script -s examples/scripts/interrupts.d --on XENTRACE-FILE
 *
 * The key is the physical CPU, which runs one vCPU at a time; a vCPU that leaves it before it
 * enters its guest is not counted.
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
