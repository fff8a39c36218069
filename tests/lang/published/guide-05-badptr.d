/* Solaris Dynamic Tracing Guide, chapter 5, Pointer Safety: badptr.d */
BEGIN
{
	x = (int *)NULL;
	y = *x;
	trace(y);
}
