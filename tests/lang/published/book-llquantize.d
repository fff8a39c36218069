/* DTrace: Dynamic Tracing in Oracle Solaris, Mac OS X and FreeBSD, and the illumos test
 * tst.llquantbasic.d: llquantize of known values */
#pragma D option quiet

tick-1ms
/i++ <= 100/
{
	@ = llquantize(i, 10, 0, 10, 10);
}

tick-1ms
/i > 100/
{
	exit(0);
}
