/* An error is reported with its position, its line, a caret, DTrace's tag, and a suggestion. */
BEGIN { }

vmm:vcpu::exti
{
	trace(1);
}
