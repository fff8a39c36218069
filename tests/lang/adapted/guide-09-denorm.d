/* Solaris Dynamic Tracing Guide, chapter 9, Denormalization: denorm.d's printing */
#pragma D option quiet

BEGIN
{
	start = timestamp;
}

tick-100ms
{
	@func["tick"] = count();
}

tick-2sec
{
	this->seconds = (timestamp - start) / 1000000000;
	printf("Ran for %d seconds.\n", this->seconds);
	printf("Per-second rate:\n");
	normalize(@func, this->seconds);
	printa(@func);
	printf("\nRaw counts:\n");
	denormalize(@func);
	printa(@func);
	exit(0);
}
