/* Solaris Dynamic Tracing Guide, chapter 9, Normalization: the form of normalize.d */
#pragma D option quiet

BEGIN
{
	/*
	 * Get the start time, in nanoseconds.
	 */
	start = timestamp;
}

tick-100ms
{
	@func["tick"] = count();
}

tick-2sec
{
	/*
	 * Normalize the aggregation based on the number of seconds we have
	 * been running.  (There are 1,000,000,000 nanoseconds in one second.)
	 */
	normalize(@func, (timestamp - start) / 1000000000);
	exit(0);
}
