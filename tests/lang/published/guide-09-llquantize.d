// args: -s {} --on tests/corpus/xen/small.trace --freq 10000000
/* Dynamic Tracing Guide (illumos), chapter 9, llquantize(); the output that the guide shows is what is
 * expected. */
tick-1ms
{
	/*
	 * A log-linear quantization with factor of 10 ranging from magnitude
	 * 0 to magnitude 6 (inclusive) with twenty steps per magnitude
	 */
	@ = llquantize(i++, 10, 0, 6, 20);
}

tick-1ms
/i == 1500/
{
	exit(0);
}
