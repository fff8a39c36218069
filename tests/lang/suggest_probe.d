/* A mistake is reported with its place, its line, a caret, DTrace's tag, and what may have been meant. */
BEGIN { }

vmm:vcpu::exti
{
	trace(1);
}
