// args: -q -s {} --on tests/corpus/xen/small.trace --freq 1000000
/*
 * Each unit of a tick: by this frequency the capture is 116.7 s long, so that a minute fires once.
 */
tick-60000000000ns, tick-60000000000nsec, tick-60000000us, tick-60000000usec, tick-60000ms,
tick-60000msec, tick-60s, tick-60sec, tick-1m, tick-1min
{
	@minutes[probename] = count();
}

tick-1hz, tick-1
{
	@seconds[probename] = count();
}

profile-1h, tick-1hour, tick-1d, tick-1day
{
	trace("never");
}

END
{
	printa("%-18s %@d\n", @minutes);
	printa("%-18s %@d\n", @seconds);
}
