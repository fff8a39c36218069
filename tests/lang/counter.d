// args: -s {} --on examples/traces/hello
/*
 * The guide's counter, faster: i counts ticks, and END prints it. 16.35 ms contain three ticks of 5
 * ms.
 */
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
