// args: -s {} --on examples/traces/hello
/* Solaris Dynamic Tracing Guide, chapter 3: associative arrays and thread-locals, as in rwtime.d */
vmm:vcpu::run
{
	self->ts = timestamp;
}

vmm:vcpu::exit
/self->ts/
{
	printf("%s: %d nsecs", probename, timestamp - self->ts);
	self->ts = 0;
}
