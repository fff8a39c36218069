/*
 * states.d - how long each domain's vCPUs run, wait for a physical CPU, and are blocked, in ns: one
 * distribution each, of the intervals between two changes of state.
 *
 *	ringside script -s examples/scripts/states.d --on XENTRACE-FILE
 *
 * The first state of a vCPU began before the trace, and is left out.
 */
#pragma D option quiet

uint64_t since[uint32_t, uint32_t];

xdt:sched::runstate-change
/since[args.domain, args.vcpu]/
{
	@[args.domain, stringof(args.old)] =
	    quantize(timestamp - since[args.domain, args.vcpu]);
}

xdt:sched::runstate-change
{
	since[args.domain, args.vcpu] = timestamp;
}

END
{
	printa("domain %d, %s: ns%@d\n", @);
}
