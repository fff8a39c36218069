/*
 * waits.d - time from a vCPU's wake-up to its next run on a physical CPU, in ns, by domain.
 *
 *	ringside script -s examples/scripts/waits.d --on XENTRACE-FILE
 */
#pragma D option quiet

xdt:sched::wake
{
	woken[args.domain, args.vcpu] = timestamp;
}

xdt:sched::on-cpu
/woken[args.domain, args.vcpu]/
{
	@[args.domain] = quantize(timestamp - woken[args.domain, args.vcpu]);
	woken[args.domain, args.vcpu] = 0;
}

END
{
	printa("domain %d: ns from wake to run%@d\n", @);
}
