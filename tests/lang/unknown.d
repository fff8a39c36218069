// args: -q -s {} --on tests/corpus/xen/small.trace --freq 10000000
/* What Xen's trace does not say is -1 or "", and is reported once each; what it says is not. */
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
