// args: --json -q -s {} --on examples/traces/hello
/* Keys in JSON: a name is a string, and so is what is shown in hexadecimal; a number is a number. */
vmm:vcpu::exit
{
	@[args.reason, args.detail, (uint32_t)args.detail] = count();
}
