// args: -s {} --on examples/traces/hello
/* The guide's counter, quicker: i counts ticks, and END tells it. 16.35 ms hold three of 5 ms. */
dtrace:::BEGIN
{
	i = 0;
}

profile:::tick-5msec
{
	i = i + 1;
	trace(i);
}

dtrace:::END
{
	trace(i);
}
