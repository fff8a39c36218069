// args: -s {} --on examples/traces/hello
/* Solaris Dynamic Tracing Guide, chapter 13: the form of specopen.d, over a vCPU's runs and exits */
vmm:vcpu::run
{
	/*
	 * The call to speculation() creates a new speculation.  If this fails,
	 * dtrace(1M) will generate an error message indicating the reason for
	 * the failed speculation(), but subsequent speculative tracing will be
	 * silently discarded.
	 */
	self->spec = speculation();
	speculate(self->spec);
	printf("run of %d", args.vcpu);
}

vmm:vcpu::exit
/self->spec && args.reason == io/
{
	commit(self->spec);
	self->spec = 0;
}

vmm:vcpu::exit
/self->spec && args.reason != io/
{
	discard(self->spec);
	self->spec = 0;
}
