/* Solaris Dynamic Tracing Guide, chapter 17, The ERROR Probe: error.d */
BEGIN
{
	*(char *)NULL;
}

ERROR
{
	printf("Hit an error!");
}
