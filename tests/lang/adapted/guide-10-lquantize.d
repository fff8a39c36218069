/* Solaris Dynamic Tracing Guide, chapter 9, lquantize() over tick probes, as in its renormalize */
tick-100ms
{
	@["ticks"] = lquantize(i++ % 10, 0, 10, 2);
}

tick-1sec
{
	printa(@);
	clear(@);
	n++;
}

tick-1sec
/n == 2/
{
	exit(0);
}
