/* Solaris Dynamic Tracing Guide, chapter 19, tick-n probes and profile-n with counts */
profile-10
{
	@p[probename] = count();
}

tick-5
{
	@p[probename] = count();
}

tick-1s
{
	exit(0);
}
