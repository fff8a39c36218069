/*
 * block_io.d - block I/O of dom0's kernel, joined with Xen's scheduling of dom0: for the time from
 * a request's issue to its completion, how long the vCPU that issued it waited for a physical CPU,
 * and how long it slept; by the request's size, in us.
 *
 *	ringside record --xen --classes sched-min --tracepoint block:block_rq_issue \
 *	    --tracepoint block:block_rq_complete -o trace
 *	ringside script -s examples/scripts/block_io.d --on trace
 *
 * dom0's kernel runs on its vCPUs: a tracepoint's cpu is the vcpu of domain 0 in xdt's events.
 */
#pragma D option quiet

string state[int];		/* a vCPU's state, and its begin, */
uint64_t since[int];
uint64_t in[int, string];	/* and its total time in earlier states */

uint64_t issued[uint32_t, uint64_t];	/* by device and sector */
uint64_t waited[uint32_t, uint64_t], slept[uint32_t, uint64_t];
int by[uint32_t, uint64_t];
uint32_t size[uint32_t, uint64_t];

xdt:sched::runstate-change
/args.domain == 0 && since[args.vcpu]/
{
	in[args.vcpu, stringof(args.old)] += timestamp - since[args.vcpu];
}

xdt:sched::runstate-change
/args.domain == 0/
{
	state[args.vcpu] = stringof(args.new);
	since[args.vcpu] = timestamp;
}

/* Mostly it runs then; the trace gives the maximum difference of the two clocks. */
ftrace:block::block_rq_issue
{
	this->now = timestamp - since[cpu];
	issued[args.dev, args.sector] = timestamp;
	size[args.dev, args.sector] = args.bytes;
	by[args.dev, args.sector] = cpu;
	waited[args.dev, args.sector] = in[cpu, "runnable"] +
	    (state[cpu] == "runnable" ? this->now : 0);
	slept[args.dev, args.sector] = in[cpu, "blocked"] +
	    (state[cpu] == "blocked" ? this->now : 0);
}

ftrace:block::block_rq_complete
/issued[args.dev, args.sector]/
{
	this->size = size[args.dev, args.sector];
	this->by = by[args.dev, args.sector];
	this->now = timestamp - since[this->by];
	this->waited = in[this->by, "runnable"] - waited[args.dev, args.sector] +
	    (state[this->by] == "runnable" ? this->now : 0);
	this->slept = in[this->by, "blocked"] - slept[args.dev, args.sector] +
	    (state[this->by] == "blocked" ? this->now : 0);
	@times[this->size] = count();
	@took[this->size] = sum(timestamp - issued[args.dev, args.sector]);
	@waits[this->size] = sum(this->waited);
	@sleeps[this->size] = sum(this->slept);
	issued[args.dev, args.sector] = 0;	/* which frees the memory */
	size[args.dev, args.sector] = 0;
	by[args.dev, args.sector] = 0;
	waited[args.dev, args.sector] = 0;
	slept[args.dev, args.sector] = 0;
}

END
{
	normalize(@took, 1000);
	normalize(@waits, 1000);
	normalize(@sleeps, 1000);
	printf("%8s %8s %10s %10s %10s\n", "BYTES", "TIMES", "TOOK us", "WAITED us", "SLEPT us");
	printa("%8d %@8d %@10d %@10d %@10d\n", @times, @took, @waits, @sleeps);
}
