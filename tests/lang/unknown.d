// args: -q -s {} --on tests/corpus/xen/small.trace --freq 10000000
/*
 * A value that Xen's trace does not have is -1 or "", and is reported once; others are not
 * reported.
 */
xdt:pv::hypercall
{
	@[execname, pid, tid, vm, vcpu >= 0, dom] = count();
	@frames[stackdepth, walltimestamp] = count();
	stack();
}

END
{
	printf("%Y|%12T|\n", walltimestamp, walltimestamp);
}
