/*
 * guest_exits.d - which of a guest's spans exit, why, and how long the guest does not run: exits
 * joined with the innermost span that the guest has open on that vCPU.
 *
 *	ringside script -s examples/scripts/guest_exits.d --on TRACE
 *
 * KVM's exits are in a separate trace, which is read with the guest's on one timeline:
 *
 *	ringside run --name web --record guest ... & ringside record --kvm -o kvm
 *	ringside script -s examples/scripts/guest_exits.d --on guest --on kvm
 *
 * self-> belongs to the vCPU, identified by the VM's name and the vCPU's number, for events of the
 * guest, the VMM and KVM.
 */
#pragma D option quiet
#pragma D option zdefs
#pragma D option aggsortrev

guest:span::begin
{
	self->names[args.depth] = args.name;
	self->depth = args.depth + 1;
}

guest:span::end
{
	self->names[args.depth] = 0;
	self->depth = args.depth;
}

vmm:vcpu::exit, kvm:vmx::exit, kvm:svm::exit
{
	self->exited = timestamp;
	this->span = self->depth ? self->names[self->depth - 1] : "(no span)";
	self->span = this->span;
	self->reason = stringof(args.reason);
	@exits[vm, this->span, self->reason] = count();
}

vmm:vcpu::run, kvm:::entry
/self->exited/
{
	@away[vm, self->span, self->reason] = avg(timestamp - self->exited);
	self->exited = 0;
	self->span = 0;
	self->reason = 0;
}

END
{
	printf("%-12s %-32s %-12s %8s %12s\n", "VM", "SPAN", "REASON", "EXITS", "AWAY avg ns");
	printa("%-12s %-32s %-12s %@8d %@12d\n", @exits, @away);
}
