// args: -n BEGIN
/* Solaris Dynamic Tracing Guide, chapter 1: dtrace -n BEGIN */
