// args: --json -q -s {} --on examples/traces/hello
/* Keys in JSON: a name is a string, and so is a hexadecimal value; a number is a number. */
vmm:vcpu::exit
{
	@[args.reason, args.detail, (uint32_t)args.detail] = count();
}
