/* Solaris Dynamic Tracing Guide, chapter 17, The END Probe: end.d */
BEGIN
{
	start = timestamp;
}

/*
 * ... other tracing actions...
 */

END
{
	printf("total time: %d secs", (timestamp - start) / 1000000000);
}
