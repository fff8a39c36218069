// args: -s {}
/* The guide's first program, and its output in the guide. */
BEGIN
{
	trace("hello, world");
	exit(0);
}
