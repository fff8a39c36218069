// args: -q -s {} --on tests/corpus/xen/small.trace --freq 10000000
/* xdt's records-lost has the context, how many, and the time of the first, on `xdt_timestamp's clock:
 * the file's words are 0x10000 (domain 0, vCPU 1), 96 and a stamp that `print` shows as -0.804531000;
 * the record itself is at 0.095763200. */
xdt:trace::records-lost
{
	printf("%d %d %d %d\n", arg0, arg1, arg2, arg3);
	printf("%d %d %d\n", args.from == arg3, args.to == `xdt_timestamp, args.from < 0);
	printf("%s %d\n", stringof(args.from), args.to);
	@lasted = sum(args.to - args.from);
	@first = min(args.from);
}

xdt:trace::records-lost
/args.from < -800000000/
{
	@early = count();
}

END
{
	printa("%@d\n", @lasted);
	printa("%@d\n", @first);
	printa("%@d\n", @early);
}
