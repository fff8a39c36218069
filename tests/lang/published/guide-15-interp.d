#!/usr/sbin/dtrace -s
/* Solaris Dynamic Tracing Guide, chapter 15, Interpreter Files: interp.d */
BEGIN
{
	trace("hello");
	exit(0);
}
