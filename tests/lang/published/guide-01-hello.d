/* Solaris Dynamic Tracing Guide, chapter 1: hello.d */
BEGIN
{
	trace("hello, world");
	exit(0);
}
