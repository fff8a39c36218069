/*
 * sched.d - each domain's use of the machine, as xentop shows it: time on a physical CPU, time
 * runnable but waiting, and number of runs of its vCPUs.
 *
 *	ringside script -s examples/scripts/sched.d --on XENTRACE-FILE
 */
#pragma D option quiet

xdt:sched::off-cpu
{
	@run[args.domain, args.vcpu] = sum(args.runtime);
}

xdt:sched::on-cpu
{
	@wait[args.domain, args.vcpu] = sum(args.wait);
	@times[args.domain, args.vcpu] = count();
}

xdt:sched::idle-off-cpu
{
	@idle[`xdt_curpcpu] = sum(args.runtime);
}

END
{
	normalize(@run, 1000);
	normalize(@wait, 1000);
	normalize(@idle, 1000);
	printf("%6s %5s %12s %12s %8s\n", "DOMAIN", "VCPU", "RUN us", "WAIT us", "TIMES");
	printa("%6d %5d %@12d %@12d %@8d\n", @run, @wait, @times);
	printf("%6s %18s\n", "PCPU", "IDLE us");
	printa("%6d %@18d\n", @idle);
}
