// args: -q -s {} --on examples/traces/hello --on examples/traces/hello
/* Two traces, merged by time: here the same trace twice, so that each event occurs twice. */
uint64_t last;

vmm:vcpu::exit
{
	@exits[timestamp == last ? "again" : "first"] = count();
	last = timestamp;
}
