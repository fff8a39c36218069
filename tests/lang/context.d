// args: -q -s {} --on tests/corpus/xen/small.trace --freq 10000000
/*
 * VM, vCPU and CPU of xdt's first event whose context is known, as `print --json` shows it; its
 * time is 96101200 ns. BEGIN is probe 1, END 2, as in DTrace.
 */
BEGIN
{
	printf("%s:%s:%s:%s %d %d|%s %d %d %d\n", probeprov, probemod, probefunc, probename, id,
	    epid, vm, vcpu, dom, cpu);
}

xdt:pv::hypercall
/dom == 0 && !seen++/
{
	printf("%s:%s:%s:%s %d\n", probeprov, probemod, probefunc, probename, id > 3);
	printf("%s %d %d %d [%s] %d\n", vm, vcpu, dom, cpu, execname, ustackdepth);
	printf("%d %d %d %d %d\n", `xdt_curpcpu, `xdt_curdom, `xdt_curvcpu, `xdt_timestamp,
	    timestamp == `xdt_timestamp);
}

END
{
	printf("%s %d\n", probename, id);
}
