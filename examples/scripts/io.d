/*
 * io.d - accesses by port, and by page of memory-mapped devices: counts, directions and sizes.
 *
 *	ringside script -s examples/scripts/io.d --on TRACE
 *
 * The size is -1 if Xen does not trace it.
 */
#pragma D option quiet
#pragma D option zdefs
#pragma D option aggsortrev

xdt:hvm::pio-read, xdt:hvm::pio-write
{
	@xen[dom, args.address, probename, args.size] = count();
}

xdt:hvm::mmio-read, xdt:hvm::mmio-write
{
	@pages[dom, args.address & ~0xfffULL, probename] = count();
}

kvm:io::pio
{
	@kvm[vm, args.port, args.write ? "pio-write" : "pio-read", args.size] = count();
}

kvm:io::mmio
{
	@kvm_pages[vm, args.gpa & ~0xfffULL, probename] = count();
}

END
{
	printf("%-16s %18s %-12s %4s %8s\n", "VM", "WHERE", "WHAT", "SIZE", "COUNT");
	printa("dom%-13d %#18x %-12s %4d %@8d\n", @xen);
	printa("%-16s %#18x %-12s %4d %@8d\n", @kvm);
	printa("dom%-13d %#18x %-12s    - %@8d\n", @pages);
	printa("%-16s %#18x %-12s    - %@8d\n", @kvm_pages);
}
