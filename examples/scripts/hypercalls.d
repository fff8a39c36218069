/*
 * hypercalls.d - hypercalls by domain and name.
 *
 *	ringside script -s examples/scripts/hypercalls.d --on XENTRACE-FILE
 */
#pragma D option quiet
#pragma D option aggsortrev

xdt:pv::hypercall
{
	@[dom, stringof(args.nr)] = count();
}

END
{
	printf("%6s %-24s %s\n", "DOMAIN", "HYPERCALL", "COUNT");
	printa("%6d %-24s %@d\n", @);
}
