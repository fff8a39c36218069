// args: -s {} --on examples/traces/hello
/* Solaris Dynamic Tracing Guide, chapter 7: rwinfo.d, its system calls replaced by runs and exits */
struct callinfo {
	uint64_t ts;		/* timestamp of last syscall entry */
	uint64_t elapsed;	/* total elapsed time in nanoseconds */
	uint64_t calls;		/* number of calls made */
	size_t maxbytes;	/* maximum byte count argument */
};

struct callinfo i[string];	/* declare i as an associative array */

vmm:vcpu::run
{
	i[vm].ts = timestamp;
	i[vm].calls++;
	i[vm].maxbytes = arg0 > i[vm].maxbytes ? arg0 : i[vm].maxbytes;
}

vmm:vcpu::exit
/i[vm].ts != 0/
{
	i[vm].elapsed += timestamp - i[vm].ts;
}

END
{
	printf("        calls  max bytes  elapsed nsecs\n");
	printf("------  -----  ---------  -------------\n");
	printf("  run %5d  %9d  %d\n", i["hello"].calls, i["hello"].maxbytes, i["hello"].elapsed);
}
