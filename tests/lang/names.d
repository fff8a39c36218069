/* Names of arguments: two exits by hlt and two by io, as `print` shows them. A key that is a named
 * argument is shown by name; one that `print` shows in hexadecimal is also hexadecimal here; a cast
 * gives the number. */
self string last;

vmm:vcpu::exit
{
	@["by name", args.reason] = count();
	@n["by number", (int)args.reason] = count();
	@hex[args.detail, args.detail & 0xf000, args.detail - args.detail] = count();
	@dec[(uint32_t)args.detail] = count();
}

vmm:vcpu::exit
/args.reason == "hlt" && "HLT" == args.reason && args.reason != "io"/
{
	@seen["a text that is known"] = count();
}

vmm:vcpu::exit
/args.reason >= "hm" && args.reason < "ip"/
{
	@seen["in the order of names"] = count();
}

vmm:vcpu::exit
{
	self->last = stringof(args.reason);
}

vmm:vcpu::exit
/self->last == args.reason/
{
	@seen["a text in the program"] = count();
}

END
{
	printa("%s %s %@d\n", @);
}
