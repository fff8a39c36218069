// args: -n BEGIN -n END
/* Solaris Dynamic Tracing Guide, chapter 1: dtrace -n BEGIN -n END */
