/*
 * long_exits.d - exits that take longer than $1 us, with all events within them: each exit opens a
 * speculation, which is committed or discarded when the vCPU enters its guest again.
 *
 *	ringside script -s examples/scripts/long_exits.d --on XENTRACE-FILE 500
 */
#pragma D option quiet
#pragma D option nspec=64

xdt:hvm::vmexit
{
	held[cpu] = speculation();
	began[cpu] = timestamp;
}

xdt:hvm::vmexit
/held[cpu]/
{
	speculate(held[cpu]);
	printf("%d.%09d cpu %d exit %s rip 0x%x\n", timestamp / 1000000000, timestamp % 1000000000,
	    cpu, stringof(args.reason), args.rip);
}

xdt:::
/held[cpu] && probename != "vmexit" && probename != "vmentry"/
{
	speculate(held[cpu]);
	printf("  +%d ns %s:%s\n", timestamp - began[cpu], probemod, probename);
}

xdt:hvm::vmentry
/held[cpu] && timestamp - began[cpu] >= $1 * 1000/
{
	commit(held[cpu]);
	kept++;
}

xdt:hvm::vmentry
/held[cpu] && timestamp - began[cpu] < $1 * 1000/
{
	discard(held[cpu]);
}

xdt:hvm::vmentry
/held[cpu]/
{
	@ = quantize(timestamp - began[cpu]);
	held[cpu] = 0;
}

END
{
	printf("%d exits took %d us or longer; all of them, in ns:", kept, $1);
	printa(@);
}
